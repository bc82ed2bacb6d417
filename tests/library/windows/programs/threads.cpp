// SPDX-License-Identifier: BSD-3-Clause
// Threads of each rank access windows at once: each a window of its own under locks, and all one window in common.
#include "window.h"

#include <thread>

namespace {

constexpr int threads = 3, rounds = 100;

void work(MPI_Win own, MPI_Win common, int first) {
    const long long one = 1;
    long long found;
    for (int i = 0; i < rounds; i++) {
        const int target = (first + i) % world_size;
        MPI_Win_lock(i % 2 != 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, own);
        MPI_Accumulate(&one, 1, MPI_LONG_LONG, target, 0, 1, MPI_LONG_LONG, MPI_SUM, own);
        MPI_Win_unlock(target, own);
        MPI_Fetch_and_op(&one, &found, MPI_LONG_LONG, 0, 0, MPI_SUM, common);
        MPI_Win_flush(0, common);
    }
}

} // namespace

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    {
        IntegerWindow common(MPI_WIN_FLAVOR_ALLOCATE, 1);
        std::vector<std::unique_ptr<IntegerWindow>> own;
        for (int i = 0; i < threads; i++) own.push_back(std::make_unique<IntegerWindow>(MPI_WIN_FLAVOR_CREATE, 1));
        MPI_Win_lock_all(0, common.window);
        std::vector<std::thread> started;
        for (const auto &window : own) started.emplace_back(work, window->window, common.window, world_rank);
        for (std::thread &each : started) each.join();
        MPI_Win_unlock_all(common.window);
        MPI_Barrier(MPI_COMM_WORLD);
        long long sum = 0, all = 0;
        for (const auto &window : own) sum += window->memory[0];
        MPI_Allreduce(&sum, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        CHECK(all == static_cast<long long>(world_size) * threads * rounds);
        if (world_rank == 0) CHECK(common.memory[0] == all);
    }
    if (world_rank == 0) std::puts("good");
    MPI_Finalize();
}
