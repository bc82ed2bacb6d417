// SPDX-License-Identifier: BSD-3-Clause
// Each rank leaves a pointer in the arena, and reads what its neighbour's points to where it may.
#include <sched.h>
#include <unistd.h>

#include "arena.h"

static int secret; // at another address in every rank of a shared address space

int main() {
    const Rank rank = attach();
    if (rank.arena->address != reinterpret_cast<std::uintptr_t>(rank.arena) || rank.arena->cpus < 1 ||
        static_cast<int>(rank.arena->ranks) != rank.ranks || rank.record().process != getpid() ||
        rank.record().application != std::atoi(variable(volley::environment::application)))
        return 95;
    struct Slot {
        std::atomic<int *> pointer;
    };
    auto *slots = reinterpret_cast<Slot *>(reinterpret_cast<char *>(rank.arena) + rank.arena->memory);
    secret = 1000 + rank.number;
    slots[rank.number].pointer = &secret;
    const int neighbour = (rank.number + 1) % rank.ranks;
    while (slots[neighbour].pointer == nullptr) sched_yield();
    const volley::RankRecord &theirs = rank.record(neighbour);
    const bool readable = rank.record().space != 0 && theirs.space == rank.record().space &&
                          theirs.placement == volley::Placement::shared;
    std::printf("rank %d space %u %s rank %d: %d\n", rank.number, rank.record().space,
                readable ? "reads" : "cannot read", neighbour, readable ? *slots[neighbour].pointer.load() : -1);
    return 0;
}
