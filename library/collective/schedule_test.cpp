// SPDX-License-Identifier: BSD-3-Clause
#include "collective/schedule.h"

#include "core/test_ranks.h"

#include <array>
#include <vector>

namespace volley {
namespace {

class ScheduleTest : public RankTest {
  protected:
    static Communicator &world() {
        return Communicator::world();
    }
    static Block of(int &number) {
        return {reinterpret_cast<char *>(&number), 1, Datatype::from_handle(MPI_INT)};
    }
    static Block of(std::vector<int> &numbers) {
        return {reinterpret_cast<char *>(numbers.data()), static_cast<Count>(numbers.size()),
                Datatype::from_handle(MPI_INT)};
    }
    static int rank() {
        return world().rank();
    }
    static bool is_complete(MPI_Request &request) {
        int flag = 0;
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        return flag != 0;
    }
    /// A message outside schedules.
    static void let_go(int peer) {
        MPI_Send(nullptr, 0, MPI_INT, peer, 0, MPI_COMM_WORLD);
    }
    static void await(int peer) {
        MPI_Recv(nullptr, 0, MPI_INT, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
};

TEST_F(ScheduleTest, ARoundBeginsWhenThatBeforeHasEnded) {
    in_ranks(2, [] {
        int mine = rank() == 0 ? -1 : 42, copy = -1;
        Schedule &schedule = *Schedule::make("test", world(), Form::nonblocking);
        if (rank() == 0) {
            schedule.receive(of(mine), 1);
            schedule.end_round();
            schedule.copy(of(mine), of(copy));
            schedule.end_round();
        } else {
            schedule.send(of(mine), 0);
            schedule.end_round();
        }
        MPI_Request request = schedule.handle();
        if (rank() == 1) await(0);
        ASSERT_EQ(schedule.start(), MPI_SUCCESS);
        if (rank() == 0) {
            for (int i = 0; i < 100; i++) ASSERT_FALSE(is_complete(request));
            EXPECT_EQ(copy, -1);
            let_go(1);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(copy, rank() == 0 ? 42 : -1);
    });
}

/// Two operations are under way at once. The later one ends first: rank 1 has the first wait for rank 2.
TEST_F(ScheduleTest, MessagesBelongToTheirOperation) {
    in_ranks(3, [] {
        std::array<int, 2> numbers = rank() == 0 ? std::array{-1, -1} : std::array{10, 11};
        std::array<MPI_Request, 2> requests;
        int signal = 0;
        if (rank() == 2) await(0);
        for (std::size_t i : {0U, 1U}) {
            Schedule &schedule = *Schedule::make("test", world(), Form::nonblocking);
            if (i == 0 && rank() == 2) schedule.send(of(signal), 1);
            if (i == 0 && rank() == 1) schedule.receive(of(signal), 2);
            schedule.end_round();
            if (rank() == 0) schedule.receive(of(numbers[i]), 1);
            if (rank() == 1) schedule.send(of(numbers[i]), 0);
            schedule.end_round();
            requests[i] = schedule.handle();
            ASSERT_EQ(schedule.start(), MPI_SUCCESS);
        }
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        if (rank() == 0) {
            EXPECT_EQ(numbers[1], 11);
            EXPECT_EQ(numbers[0], -1);
            EXPECT_FALSE(is_complete(requests[0]));
            let_go(2);
        }
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        EXPECT_EQ(numbers[0], 10);
    });
}

TEST_F(ScheduleTest, APersistentOneBeginsAgain) {
    in_ranks(2, [] {
        int number = 0, sum = 0;
        Schedule &schedule = *Schedule::make("test", world(), Form::persistent);
        schedule.reduce_by(*Operation::from_handle(MPI_SUM), *Datatype::from_handle(MPI_INT));
        if (rank() == 0) {
            schedule.receive(of(number), 1);
            schedule.end_round();
            schedule.fold(&number, &sum, 1);
        } else {
            schedule.send(of(number), 0);
        }
        schedule.end_round();
        MPI_Request request = schedule.handle();
        for (int i = 1; i <= 4; i++) {
            if (rank() == 1) number = i;
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        EXPECT_EQ(sum, rank() == 0 ? 1 + 2 + 3 + 4 : 0);
        MPI_Request_free(&request);
    });
}

TEST_F(ScheduleTest, ABlockingOneRunsRoundsOfOneMessageAndOfSeveral) {
    in_ranks(3, [] {
        const int size = world().size(), next = (rank() + 1) % size, previous = (rank() + size - 1) % size;
        std::vector<int> mine(20'000, rank()), theirs(20'000, -1), handed_on(20'000, -1); // too long for a ring
        Schedule schedule("test", world(), Form::blocking);
        schedule.receive(of(theirs), previous);
        schedule.send(of(mine), next);
        schedule.end_round();
        // One after the other: rank 0 begins.
        if (rank() > 0) schedule.receive(of(handed_on), previous);
        schedule.end_round();
        if (rank() == 0) schedule.copy(of(mine), of(handed_on));
        schedule.send(of(handed_on), rank() + 1 < size ? next : MPI_PROC_NULL);
        schedule.end_round();
        ASSERT_EQ(schedule.run(), MPI_SUCCESS);
        EXPECT_EQ(theirs, std::vector<int>(20'000, previous));
        EXPECT_EQ(handed_on, std::vector<int>(20'000, 0));
    });
}

/// The rest is done all the same, so that no other rank waits for this one.
TEST_F(ScheduleTest, AnErrorIsReturnedAtTheEnd) {
    in_ranks(2, [] {
        std::vector<int> three{1, 2, 3}, two{0, 0};
        int token = rank();
        Schedule schedule("test", world(), Form::blocking);
        if (rank() == 0) schedule.copy(of(three), of(two));
        schedule.end_round();
        if (rank() == 0) schedule.send(of(token), 1);
        if (rank() == 1) schedule.receive(of(token), 0);
        schedule.end_round();
        int code = schedule.run(), error_class;
        MPI_Error_class(code, &error_class);
        EXPECT_EQ(error_class, rank() == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        EXPECT_EQ(token, 0);
    });
}

} // namespace
} // namespace volley
