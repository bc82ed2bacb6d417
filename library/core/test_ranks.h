// SPDX-License-Identifier: BSD-3-Clause
/// For tests that need ranks of a job: this program is started again for each rank, as a process of its own, to run the
/// same test. A test makes one of the calls below, and nothing else.
#pragma once

#include "boot/arena.h"
#include "transport/node.h"

#include <gtest/gtest.h>
#include <mpi.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace volley {

class RankTest : public testing::Test {
  protected:
    /// Runs `body` in every rank of a job, between MPI_Init and MPI_Finalize.
    template <class Body> void in_ranks(int ranks, Body &&body) {
        if (!is_rank()) return start(ranks, ranks);
        MPI_Init(nullptr, nullptr);
        body();
        // Others would wait for ever for messages of a rank that has stopped.
        if (HasFatalFailure()) MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Finalize();
    }

    /// Runs `body` in rank 0 of a job, after MPI_Init. The other ranks never run: the test does in memory what they
    /// would do. They are in the address space of rank 0.
    template <class Body> void in_lone_rank(int ranks, Body &&body) {
        if (!is_rank()) return start(ranks, 1);
        MPI_Session session;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ABORT, &session); // it does not wait for the others
        node.shared->joined = static_cast<std::uint32_t>(ranks);
        for (int rank = 0; rank < ranks; rank++) processes[rank].record->space = 1;
        MPI_Init(nullptr, nullptr);
        body();
    }

  private:
    static bool is_rank() {
        return std::getenv(environment::rank) != nullptr;
    }

    static void start(int ranks, int started) {
        Arena arena(JobLayout::one_host(ranks));
        std::vector<pid_t> running;
        for (int rank = 0; rank < ranks; rank++) {
            RankRecord &record = arena.record(rank);
            record.placement = Placement::process;
            record.space = started < ranks ? 1 : 0;
            if (rank >= started) continue;
            record.state = RankState::started;
            running.push_back(record.process = start_rank(arena, rank));
        }
        while (!running.empty()) {
            int status = 0;
            pid_t ended = waitpid(-1, &status, 0);
            if (ended < 0 && errno != EINTR) break;
            if (std::erase(running, ended) == 0) continue;
            EXPECT_EQ(status, 0);
            if (status != 0) // the others may wait for it
                for (pid_t process : running) kill(process, SIGKILL);
        }
        for (int rank = 0; rank < ranks; rank++) EXPECT_EQ(arena.record(rank).lost_wake_ups.load(), 0U);
    }

    static pid_t start_rank(const Arena &arena, int rank) {
        const testing::TestInfo &test = *testing::UnitTest::GetInstance()->current_test_info();
        std::string program = std::filesystem::read_symlink("/proc/self/exe");
        std::string filter = std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name();
        setenv(environment::arena_file, std::to_string(arena.descriptor()).c_str(), 1);
        char address[2 * sizeof(std::uintptr_t) + 1];
        std::snprintf(address, sizeof address, "%zx", arena.address());
        setenv(environment::arena_address, address, 1);
        setenv(environment::rank, std::to_string(rank).c_str(), 1);
        setenv(environment::ranks, std::to_string(arena.ranks()).c_str(), 1);
        setenv("GTEST_BRIEF", "1", 1);
        char *arguments[] = {program.data(), filter.data(), nullptr};
        pid_t process = -1;
        EXPECT_EQ(posix_spawn(&process, program.c_str(), nullptr, nullptr, arguments, environ), 0);
        for (const char *name : {environment::arena_file, environment::arena_address, environment::rank,
                                 environment::ranks, "GTEST_BRIEF"})
            unsetenv(name);
        return process;
    }
};

} // namespace volley
