// SPDX-License-Identifier: BSD-3-Clause
/// For tests: one rank that believes to be in a job, with communicators on which nothing can be sent.
#pragma once

#include "core/communicator.h"
#include "core/engine.h"
#include "core/errhandler.h"

#include <gtest/gtest.h>

#include <string>

namespace volley {

void set_predefined_communicators(Communicator *world, Communicator *self);

class TestJob : public testing::Test {
  protected:
    static constexpr int ranks = 8;
    static constexpr int rank = 2;

    static void SetUpTestSuite() {
        static RankRecord records[ranks];
        static ArenaHead arena{};
        node.arena = &arena;
        node.own = &records[rank];
        node.rank = rank;
        processes.open(records, ranks, rank, Transport::shm);
        engine.phase = Phase::initialised;
        engine.available = true;
        Communicator *world = Communicator::make_unsettled(Group::world(), nullptr);
        Communicator *self = Communicator::make_unsettled(Group::self(), nullptr);
        world->set_name("MPI_COMM_WORLD");
        self->set_name("MPI_COMM_SELF");
        set_predefined_communicators(world, self);
    }

    void SetUp() override {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    }

    /// The class of what a function returned.
    static int class_of(int code) {
        int error_class;
        MPI_Error_class(code, &error_class);
        return error_class;
    }

    static std::string text_of(int code) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(code, text, &length);
        return {text, static_cast<std::size_t>(length)};
    }
};

} // namespace volley
