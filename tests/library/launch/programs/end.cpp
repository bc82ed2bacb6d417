// SPDX-License-Identifier: BSD-3-Clause
// end RANK STATE HOW [FUNCTION]: all ranks come to STATE (none, waiting: in MPI_Init but RANK; initialised,
// finalised); then RANK ends by HOW: a status, "signal N", "abort CODE" or "overflow", inside FUNCTION; the others
// end with status 0 (none, finalised), or else wait for ever.
#include <alloca.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "arena.h"

/// Takes stack until there is none.
static std::uint32_t overflow(volatile char *above) {
    auto *here = static_cast<volatile char *>(alloca(4000));
    here[0] = above[0];
    return here[0] == 0 ? 0 : overflow(here) + static_cast<std::uint32_t>(here[0]);
}

int main(int count, char **arguments) {
    const Rank rank = attach();
    const int ending = std::atoi(arguments[1]);
    const std::string state = arguments[2];
    const std::string how = arguments[3];
    const int number = count > 4 ? std::atoi(arguments[4]) : 0;
    auto *there = reinterpret_cast<std::atomic<int> *>(reinterpret_cast<char *>(rank.arena) + rank.arena->memory);
    if (state == "initialised") rank.record().state = volley::RankState::initialised;
    if (state == "finalised") rank.record().state = volley::RankState::finalised;
    if (state == "waiting" && rank.number != ending) rank.record().call_status.function = 1;
    ++*there;
    while (*there != rank.ranks) sched_yield();
    if (rank.number != ending) {
        if (state == "none" || state == "finalised") return 0;
        std::signal(SIGTERM, SIG_IGN); // so that it takes SIGKILL
        while (true) pause();
    }
    if (count > 5) rank.record().call_status.function = static_cast<std::uint32_t>(std::atoi(arguments[5]));
    if (how == "signal") kill(getpid(), number);
    if (how == "overflow") {
        char bottom = 1;
        return static_cast<int>(overflow(&bottom));
    }
    if (how == "abort") {
        rank.arena->abort_code = number;
        rank.arena->ending = static_cast<std::uint32_t>(rank.number) + 1;
        _exit(1);
    }
    return std::atoi(how.c_str());
}
