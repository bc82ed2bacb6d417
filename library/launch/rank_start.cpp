// SPDX-License-Identifier: BSD-3-Clause
#include "launch/rank_start.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <csignal>

#include "launch/machine.h"

namespace volley::launch {
namespace {

[[noreturn]] void give_up(RankStart *start, const char *what, long result) {
    start->failure = static_cast<int>(-result);
    start->failed = what;
    while (true) raw_system_call(SYS_exit_group, start_failed);
}

void check(RankStart *start, const char *what, long result) {
    if (result < 0) give_up(start, what, result);
}

long address(const void *pointer) {
    return reinterpret_cast<long>(pointer);
}

void place_stream(RankStart *start, int from, int to) {
    if (from != to) check(start, "cannot set its streams", raw_system_call(SYS_dup3, from, to, 0));
}

void close_range(const DescriptorRange &range) {
    if (raw_system_call(SYS_close_range, range.first, range.last, 0) >= 0) return;
    for (unsigned int descriptor = range.first; descriptor <= range.last; ++descriptor) // kernels before 5.9
        raw_system_call(SYS_close, descriptor);
}

} // namespace

int start_rank(void *argument) {
    auto *start = static_cast<RankStart *>(argument);
    raw_system_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    if (raw_system_call(SYS_getppid) != start->launcher) // it had gone before the line above took effect
        give_up(start, "mpiexec has ended", 0);
    check(start, "cannot join the job's process group", raw_system_call(SYS_setpgid, 0, start->group));
    place_stream(start, start->streams.input, 0);
    place_stream(start, start->streams.output, 1);
    place_stream(start, start->streams.error, 2);
    for (std::uint32_t each = 0; each < start->streams.listeners.count; ++each)
        place_stream(start, start->streams.listeners.numbers[each], start->listeners.numbers[each]);
    if (start->directory != nullptr)
        check(start, "cannot change to its directory", raw_system_call(SYS_chdir, address(start->directory)));
    check(start, "cannot set its limit of open files",
          raw_system_call(SYS_prlimit64, 0, RLIMIT_NOFILE, address(&start->open_files), 0));
    for (std::uint32_t range = 0; range < start->to_close_count; ++range) close_range(start->to_close[range]);
    if (start->processors != nullptr) // refused if they were taken away meanwhile: it runs where it may, then
        raw_system_call(SYS_sched_setaffinity, 0, static_cast<long>(start->processor_bytes),
                        address(start->processors));
    raw_system_call(SYS_prctl, PR_SET_NAME, address(start->name));
    check(
        start, "cannot set its signal mask",
        raw_system_call(SYS_rt_sigprocmask, SIG_SETMASK, address(&start->signal_mask), 0, sizeof(start->signal_mask)));
    if (start->entry != 0) enter_program(start->entry, start->stack_pointer);
    give_up(start, "cannot be executed",
            raw_system_call(SYS_execve, address(start->path), address(start->arguments), address(start->environment)));
}

} // namespace volley::launch
