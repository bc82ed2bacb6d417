// SPDX-License-Identifier: BSD-3-Clause
/// Members agree again and again, while one after the other is killed in the middle of it. What they have agreed on is
/// the same in all survivors. Argument: a seed.
#include "recovery.h"

int main(int argc, char **argv) {
    start(&argc, &argv);
    std::mt19937 random(static_cast<unsigned>(std::atoi(argv[1])));
    MPI_Comm current = MPI_COMM_WORLD;
    int size = world_size, rank = world_rank;
    while (size > 1) {
        const int victim = static_cast<int>(random() % static_cast<unsigned>(size));
        if (rank == victim)
            die_in(static_cast<long>(random() % 400));
        else
            random();
        std::vector<int> agreed;
        bool is_lost = false;
        for (int round = 0; !is_lost; round++) {
            // Each leaves out a bit of its own: the result tells who has contributed.
            int flag = ~(1 << rank);
            int code;
            if (round % 2 == 0) {
                code = MPIX_Comm_agree(current, &flag);
            } else {
                MPI_Request request;
                code = MPIX_Comm_iagree(current, &flag, &request);
                CHECK(code == MPI_SUCCESS);
                code = MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            CHECK(code == MPI_SUCCESS || class_of(code) == MPIX_ERR_PROC_FAILED);
            is_lost = code != MPI_SUCCESS;
            for (int each = 0; each < size; each++) CHECK(each == victim || (flag & 1 << each) == 0);
            if (!is_lost) CHECK((flag & 1 << victim) == 0);
            agreed.push_back(flag);
        }
        if (rank == victim) die();
        CHECK(failed_members(current) == 1);
        // Acknowledged by all, the failure is no error any more.
        MPIX_Comm_failure_ack(current);
        int flag = 6;
        CHECK(MPIX_Comm_agree(current, &flag) == MPI_SUCCESS && flag == 6);
        MPI_Comm shrunk;
        if (size % 2 == 0) {
            CHECK(MPIX_Comm_shrink(current, &shrunk) == MPI_SUCCESS);
        } else {
            MPI_Request request;
            CHECK(MPIX_Comm_ishrink(current, &shrunk, &request) == MPI_SUCCESS);
            CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
        const int own[2] = {static_cast<int>(agreed.size()), agreed.back()};
        int least[2], most[2];
        CHECK(MPI_Allreduce(own, least, 2, MPI_INT, MPI_MIN, shrunk) == MPI_SUCCESS);
        CHECK(MPI_Allreduce(own, most, 2, MPI_INT, MPI_MAX, shrunk) == MPI_SUCCESS);
        CHECK(least[0] == most[0] && least[1] == most[1]);
        MPIX_Comm_agree(shrunk, &flag); // nobody dies while others are still in these operations
        if (current != MPI_COMM_WORLD) MPI_Comm_free(&current);
        current = shrunk;
        MPI_Comm_size(current, &size);
        MPI_Comm_rank(current, &rank);
    }
    std::puts("good");
    MPI_Finalize();
}
