// SPDX-License-Identifier: BSD-3-Clause
/// The job before anything is started: which rank runs what, and how.
#pragma once

#include <string>
#include <vector>

#include "boot/arena.h"
#include "boot/named_ranks.h"
#include "launch/binding.h"
#include "launch/command_line.h"
#include "launch/program.h"
#include "launch/rank_start.h"

namespace volley::launch {

/// One program of the job, found and judged.
struct PlannedApplication {
    Application application;
    Program program;
    std::vector<std::string> environment; ///< of its ranks, but for what differs between them
    bool shared = false;
    int first_rank = 0;
};

struct Plan {
    std::vector<PlannedApplication> applications;
    std::vector<int> application_of; ///< by rank
    JobLayout layout;
    std::vector<std::string> hosts;       ///< by node, as the user has named them; empty: all ranks are on this host
    std::vector<int> here;                ///< the ranks of this host
    std::vector<std::vector<int>> spaces; ///< ranks of each shared address space; their numbers start with 1
    std::vector<ProcessorMask> masks;     ///< in the order of `here`; empty: ranks are not bound
    Listeners listeners;                  ///< the descriptors that are a rank's (boot/job.h)
    std::uint32_t launcher_socket = 0;    ///< where ranks ask for further jobs (boot/new_job_request.h); 0: nowhere
    int timeout_seconds = 0;              ///< the job ends after them; 0: never
    int universe_size = 0;                ///< the attribute MPI_UNIVERSE_SIZE

    [[nodiscard]] int ranks() const {
        return static_cast<int>(application_of.size());
    }
    /// Of a rank's processors; nullptr if it is not bound.
    [[nodiscard]] const ProcessorMask *mask_of(int rank) const;
    /// The name of this host, if there are others; otherwise empty.
    [[nodiscard]] std::string host() const {
        return hosts.empty() ? "" : hosts[static_cast<std::size_t>(layout.own)];
    }
    [[nodiscard]] const PlannedApplication &of_rank(int rank) const {
        return applications[static_cast<std::size_t>(application_of[static_cast<std::size_t>(rank)])];
    }
};

/// All ranks on this host. Throws Error, if a program is not there or cannot run as it is asked to.
Plan make_plan(const CommandLine &line);
/// The part of this host (layout.own) of a job of several; `hosts` are the names of all.
Plan make_plan(const CommandLine &line, JobLayout layout, std::vector<std::string> hosts);

/// Throws Error if a set names a rank that the job does not have.
void check_process_sets(const std::vector<NamedRanks> &sets, int ranks);

/// For --verbose: one line for each program, and each further address space.
std::string describe(const Plan &plan);

/// All environment variables of a rank.
std::vector<std::string> rank_environment(const Plan &plan, const Arena &arena, int rank);

/// Enters the rank's processors; the plan must outlive the rank's start.
void bind(RankStart &start, const Plan &plan, int rank);

} // namespace volley::launch
