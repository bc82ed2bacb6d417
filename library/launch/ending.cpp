// SPDX-License-Identifier: BSD-3-Clause
#include "launch/ending.h"

#include <sys/wait.h>

#include "launch/function_name.h"
#include "launch/signals.h"

namespace volley::launch {
namespace {

constexpr int signal_offset = 128; ///< as shells have it
constexpr int status_mask = 0xff;  ///< what is left of an exit status on Unix

} // namespace

int signal_status(int number) {
    return signal_offset + number;
}

int shell_status(int wait_status) {
    return WIFSIGNALED(wait_status) ? signal_status(WTERMSIG(wait_status)) : WEXITSTATUS(wait_status);
}

bool ends_job(RankState state) {
    return state == RankState::initialised;
}

std::string describe_rank(int rank, const std::string &program, const std::string &host, const RankRecord &record) {
    return "rank " + std::to_string(rank) + " (" + program + ", process " + std::to_string(record.process) +
           (host.empty() ? "" : " on " + host) + ")";
}

std::string describe_end(const std::string &rank, const RankRecord &record, RankState state, int wait_status) {
    std::string text = rank;
    if (WIFSIGNALED(wait_status)) {
        const int number = WTERMSIG(wait_status);
        text += " was ended by signal " + std::to_string(number) + " (" + signal_name(number) + ")";
    } else {
        text += " ended with status " + std::to_string(WEXITSTATUS(wait_status));
    }
    const std::uint32_t function = record.call_status.function.load(std::memory_order_relaxed);
    if (function != 0) return text + " in " + function_name(function);
    if (state == RankState::started) return text + " before MPI_Init";
    if (state == RankState::initialised) return text + " without MPI_Finalize";
    return text;
}

int abort_status(int code) {
    const int status = code & status_mask;
    return status == 0 && code != 0 ? 1 : status;
}

} // namespace volley::launch
