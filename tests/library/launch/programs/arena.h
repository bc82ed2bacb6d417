// SPDX-License-Identifier: BSD-3-Clause
/// The arena as a rank finds it, before there is a library: for the tests of the launcher alone.
#pragma once

#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "boot/job.h"

struct Rank {
    int number;
    int ranks;
    volley::ArenaHead *arena;

    volley::RankRecord &record(int rank) const {
        return volley::rank_records(arena)[rank];
    }
    volley::RankRecord &record() const {
        return record(number);
    }
};

inline const char *variable(const char *name) {
    const char *value = std::getenv(name);
    if (value == nullptr) {
        std::fprintf(stderr, "%s is not set\n", name);
        std::exit(99);
    }
    return value;
}

/// Maps the arena unless it is mapped: a rank is where the launcher placed it, or has exec'd something since.
inline Rank attach() {
    const Rank rank = {
        std::atoi(variable(volley::environment::rank)), std::atoi(variable(volley::environment::ranks)),
        reinterpret_cast<volley::ArenaHead *>(std::strtoul(variable(volley::environment::arena_address), nullptr, 16))};
    const int file = std::atoi(variable(volley::environment::arena_file));
    volley::ArenaHead head = {};
    if (pread(file, &head, sizeof(head), 0) != sizeof(head) || head.magic != volley::arena_magic) std::exit(98);
    volley::RankRecord record = {};
    if (pread(file, &record, sizeof(record),
              static_cast<off_t>(head.records + static_cast<std::size_t>(rank.number) * sizeof(record))) < 0)
        std::exit(97);
    if (record.placed_at == getauxval(AT_RANDOM)) return rank;
    void *wanted = rank.arena;
    if (mmap(wanted, head.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0) !=
        wanted)
        std::exit(96);
    rank.record().placement = volley::Placement::process;
    return rank;
}
