// SPDX-License-Identifier: BSD-3-Clause
// On one node a target's memory is locked and changed while the target calls nothing of MPI: it waits, by loads of its
// own memory alone, until the last of the others has been there.
#include "window.h"

#include <sched.h>

#include <atomic>

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    for_each_flavor([](int flavor) {
        IntegerWindow window(flavor, 2);
        const long long one = 1;
        constexpr int rounds = 20;
        if (world_rank == 0) {
            const std::atomic_ref<long long> done(window.memory[1]);
            while (done.load() < world_size - 1) continue;
            CHECK(window.memory[0] == rounds * (world_size - 1));
        } else {
            for (int i = 0; i < rounds; i++) {
                long long value = 0;
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.window);
                MPI_Get(&value, 1, MPI_LONG_LONG, 0, window.at(0, 0), 1, MPI_LONG_LONG, window.window);
                MPI_Win_flush(0, window.window);
                value++;
                sched_yield(); // so that others come between, if they can
                MPI_Put(&value, 1, MPI_LONG_LONG, 0, window.at(0, 0), 1, MPI_LONG_LONG, window.window);
                MPI_Win_unlock(0, window.window);
            }
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.window);
            MPI_Accumulate(&one, 1, MPI_LONG_LONG, 0, window.at(0, 1), 1, MPI_LONG_LONG, MPI_SUM, window.window);
            MPI_Win_unlock(0, window.window);
        }
    });
}
