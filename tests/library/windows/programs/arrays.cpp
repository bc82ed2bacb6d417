// SPDX-License-Identifier: BSD-3-Clause
// Single elements and arrays of them are accumulated at the same time, and every addition counts once. The first array
// at a target comes while others are at single elements: again in each of many windows.
#include "window.h"

namespace {

constexpr int elements = 64, windows = 25, rounds = 120;

void add_single(const IntegerWindow &window, int round) {
    const long long one = 1;
    long long before = 0;
    const int at = round % elements;
    if (round % 3 == 0)
        MPI_Accumulate(&one, 1, MPI_LONG_LONG, 0, window.at(0, at), 1, MPI_LONG_LONG, MPI_SUM, window.window);
    else
        MPI_Fetch_and_op(&one, &before, MPI_LONG_LONG, 0, window.at(0, at), MPI_SUM, window.window);
    MPI_Win_flush(0, window.window);
}

void add_array(const IntegerWindow &window) {
    static const std::vector<long long> ones(elements, 1);
    MPI_Accumulate(ones.data(), elements, MPI_LONG_LONG, 0, window.at(0, 0), elements, MPI_LONG_LONG, MPI_SUM,
                   window.window);
    MPI_Win_flush(0, window.window);
}

/// From some round on, which differs by rank, arrays come as well.
void add_all(int flavor) {
    IntegerWindow window(flavor, elements);
    MPI_Win_lock_all(0, window.window);
    for (int round = 0; round < rounds; round++) {
        add_single(window, round);
        if (round >= 20 + 7 * world_rank && round % 2 == 0) add_array(window);
    }
    MPI_Win_unlock_all(window.window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank != 0) return;
    long long expected[elements] = {};
    for (int rank = 0; rank < world_size; rank++)
        for (int round = 0; round < rounds; round++) {
            expected[round % elements]++;
            if (round >= 20 + 7 * rank && round % 2 == 0)
                for (long long &each : expected) each++;
        }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.window);
    for (int i = 0; i < elements; i++) CHECK(window.memory[i] == expected[i]);
    MPI_Win_unlock(0, window.window);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    for (int i = 0; i < windows; i++) for_each_flavor(add_all);
}
