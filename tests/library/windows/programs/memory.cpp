// SPDX-License-Identifier: BSD-3-Clause
// Windows that are made, used and freed again and again take no more memory than a few of them.
#include "../../memory/footprint.h"
#include "window.h"

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
    const int next = (world_rank + 1) % world_size;
    for_each_flavor([&](int flavor) {
        expect_flat("windows", 1100, rounds, 64 << 10, [&] {
            IntegerWindow window(flavor, 1000);
            const long long value = world_rank;
            MPI_Win_lock(MPI_LOCK_SHARED, next, 0, window.window);
            MPI_Put(&value, 1, MPI_LONG_LONG, next, window.at(next, 1), 1, MPI_LONG_LONG, window.window);
            MPI_Win_unlock(next, window.window);
            MPI_Barrier(MPI_COMM_WORLD);
        });
    });
}
