// SPDX-License-Identifier: BSD-3-Clause
#include "transport/node.h"

#include "boot/join.h"
#include "transport/abort.h"

#include <mpi.h>
#include <unistd.h>

#include <cstdio>

namespace volley {

Node node;

void Node::wake_all() const {
    // Records of ranks on other hosts are there, too; nobody sleeps on them.
    for (std::uint32_t place = 0; place < arena->ranks; place++) wake(rank_records(arena)[place], fences);
}

namespace {

int exit_status(int code) {
    const int status = code & 0xff;
    return status == 0 && code != 0 ? 1 : status;
}

} // namespace

void abort_marked_ranks(int code) {
    std::fflush(nullptr);
    node.own->to_abort.store(static_cast<std::uint32_t>(node.rank) + 1, std::memory_order_release);
    _exit(exit_status(code));
}

void abort_job(int code) {
    std::fflush(nullptr);
    if (node.arena) {
        node.arena->abort_code.store(code, std::memory_order_relaxed);
        std::uint32_t nobody = 0;
        node.arena->ending.compare_exchange_strong(nobody, static_cast<std::uint32_t>(node.rank) + 1);
    }
    abort_through_launcher(code); // also if this rank could not join its job: the others wait for it
    _exit(exit_status(code));
}

void abort_job_for(const char *reason) {
    std::fprintf(stderr, "Volley: rank %d: %s\n", node.rank, reason);
    abort_job(MPI_ERR_INTERN);
}

} // namespace volley
