// SPDX-License-Identifier: BSD-3-Clause
// Every operation and every synchronisation, on windows of every flavor, between any number of ranks.
#include "window.h"

#include <sched.h>

#include <algorithm>

namespace {

int next, before;

/// Each rank puts to the next and gets from the one before; fences keep it apart.
void fences(int flavor) {
    IntegerWindow window(flavor, 8);
    const long long mine[3] = {world_rank, 100 + world_rank, -world_rank};
    long long got[3] = {};
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window.window);
    MPI_Put(mine, 3, MPI_LONG_LONG, next, window.at(next, 2), 3, MPI_LONG_LONG, window.window);
    MPI_Win_fence(0, window.window);
    CHECK(window.memory[2] == before && window.memory[3] == 100 + before && window.memory[4] == -before);
    CHECK(window.memory[1] == 0 && window.memory[5] == 0);
    MPI_Get_c(got, 3, MPI_LONG_LONG, before, window.at(before, 2), 3, MPI_LONG_LONG, window.window);
    MPI_Put(mine, 1, MPI_LONG_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG_LONG, window.window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window.window);
    const long long two_before = (before + world_size - 1) % world_size;
    CHECK(got[0] == two_before && got[1] == 100 + two_before && got[2] == -two_before);
}

/// A column of the origin becomes a row of the target, and the other way round.
void derived_types(int flavor) {
    constexpr int n = 6;
    IntegerWindow window(flavor, n * n);
    MPI_Datatype column;
    MPI_Type_vector(n, 1, n, MPI_LONG_LONG, &column);
    MPI_Type_commit(&column);
    std::vector<long long> matrix(n * n), got(n * n, -1);
    for (int i = 0; i < n * n; i++) matrix[static_cast<std::size_t>(i)] = 1000 * world_rank + i;
    MPI_Win_fence(0, window.window);
    MPI_Put_c(matrix.data() + 1, 1, column, next, window.at(next, 2 * n), n, MPI_LONG_LONG, window.window);
    MPI_Put(matrix.data() + 3 * n, n, MPI_LONG_LONG, next, window.at(next, 5), 1, column, window.window);
    MPI_Win_fence(0, window.window);
    for (int i = 0; i < n; i++) {
        if (i != 2) CHECK(window.memory[i * n + 5] == 1000 * before + 3 * n + i);
        if (i != 5) CHECK(window.memory[2 * n + i] == 1000 * before + i * n + 1);
    }
    window.memory[2 * n + 5] = -7;
    MPI_Win_fence(0, window.window);
    MPI_Get(got.data(), 1, column, next, window.at(next, 2 * n), n, MPI_LONG_LONG, window.window);
    MPI_Win_fence(0, window.window);
    for (int i = 0; i < n; i++)
        CHECK(got[static_cast<std::size_t>(i * n)] == (i == 5 ? -7 : 1000 * world_rank + i * n + 1));
    MPI_Type_free(&column);
}

/// Both sides are scattered, in more pieces than a list for the kernel holds.
void many_pieces(int flavor) {
    constexpr int count = 1000;
    IntegerWindow window(flavor, 2 * count);
    MPI_Datatype every_second;
    MPI_Type_vector(count, 1, 2, MPI_LONG_LONG, &every_second);
    MPI_Type_commit(&every_second);
    std::vector<long long> data(3 * count), got(2 * count, -1);
    for (std::size_t i = 0; i < data.size(); i++) data[i] = static_cast<long long>(i) + 7 * world_rank;
    MPI_Datatype every_third;
    MPI_Type_vector(count, 1, 3, MPI_LONG_LONG, &every_third);
    MPI_Type_commit(&every_third);
    MPI_Win_fence(0, window.window);
    MPI_Put(data.data(), 1, every_third, next, window.at(next, 1), 1, every_second, window.window);
    MPI_Win_fence(0, window.window);
    for (int i = 0; i < count; i++) {
        CHECK(window.memory[2 * i + 1] == 3 * i + 7 * before);
        CHECK(window.memory[2 * i] == 0);
    }
    MPI_Win_fence(0, window.window);
    MPI_Get(got.data(), 1, every_second, next, window.at(next, 1), 1, every_second, window.window);
    MPI_Accumulate(data.data(), 1, every_third, next, window.at(next, 0), 1, every_second, MPI_SUM, window.window);
    MPI_Win_fence(0, window.window);
    for (int i = 0; i < count; i++) {
        CHECK(got[static_cast<std::size_t>(2 * i)] == 3 * i + 7 * world_rank);
        CHECK(window.memory[2 * i] == 3 * i + 7 * before);
    }
    MPI_Type_free(&every_second);
    MPI_Type_free(&every_third);
}

void large(int flavor) {
    constexpr int count = 300'000;
    IntegerWindow window(flavor, count);
    std::vector<long long> data(count), got(count), old(count);
    for (int i = 0; i < count; i++) data[static_cast<std::size_t>(i)] = i * 3LL + world_rank;
    MPI_Win_fence(0, window.window);
    MPI_Put(data.data(), count, MPI_LONG_LONG, next, window.at(next, 0), count, MPI_LONG_LONG, window.window);
    MPI_Win_fence(0, window.window);
    MPI_Get(got.data(), count, MPI_LONG_LONG, next, window.at(next, 0), count, MPI_LONG_LONG, window.window);
    MPI_Win_fence(0, window.window);
    CHECK(got == data);
    MPI_Get_accumulate_c(data.data(), count, MPI_LONG_LONG, old.data(), count, MPI_LONG_LONG, next, window.at(next, 0),
                         count, MPI_LONG_LONG, MPI_SUM, window.window);
    MPI_Win_fence(0, window.window);
    CHECK(old == data);
    for (int i = 0; i < count; i++) CHECK(window.memory[i] == 2 * (i * 3LL + before));
}

/// Odd ranks' memory is accessed by their even neighbours.
void post_and_start(int flavor) {
    IntegerWindow window(flavor, 4);
    MPI_Group world, neighbour;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    const int partner = world_rank ^ 1;
    if (partner < world_size) {
        MPI_Group_incl(world, 1, &partner, &neighbour);
        for (int round = 1; round <= 20; round++) {
            if (world_rank % 2 == 0) {
                const long long value = round;
                MPI_Win_start(neighbour, 0, window.window);
                MPI_Put(&value, 1, MPI_LONG_LONG, partner, window.at(partner, 1), 1, MPI_LONG_LONG, window.window);
                MPI_Win_complete(window.window);
            } else {
                MPI_Win_post(neighbour, 0, window.window);
                if (round % 2 == 0) {
                    MPI_Win_wait(window.window);
                } else {
                    int flag = 0;
                    while (flag == 0) MPI_Win_test(window.window, &flag);
                }
                CHECK(window.memory[1] == round);
            }
        }
        MPI_Group_free(&neighbour);
    }
    // All expose to all, themselves included.
    const long long one = 1;
    MPI_Win_post(world, 0, window.window);
    MPI_Win_start(world, 0, window.window);
    for (int rank = 0; rank < world_size; rank++)
        MPI_Accumulate(&one, 1, MPI_LONG_LONG, rank, window.at(rank, 2), 1, MPI_LONG_LONG, MPI_SUM, window.window);
    MPI_Win_complete(window.window);
    MPI_Win_wait(window.window);
    CHECK(window.memory[2] == world_size);
    MPI_Group_free(&world);
}

/// Under an exclusive lock a rank reads, adds and writes, which only works if nobody comes between.
void locks(int flavor) {
    IntegerWindow window(flavor, 2);
    constexpr int rounds = 50;
    for (int round = 0; round < rounds; round++) {
        const int target = round % world_size;
        long long value = 0;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.window);
        MPI_Get(&value, 1, MPI_LONG_LONG, target, window.at(target, 0), 1, MPI_LONG_LONG, window.window);
        MPI_Win_flush(target, window.window);
        value++;
        sched_yield(); // so that others come between, if they can
        MPI_Put(&value, 1, MPI_LONG_LONG, target, window.at(target, 0), 1, MPI_LONG_LONG, window.window);
        MPI_Win_flush_local(target, window.window);
        MPI_Win_unlock(target, window.window);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window.window);
        long long seen = 0;
        MPI_Get(&seen, 1, MPI_LONG_LONG, target, window.at(target, 0), 1, MPI_LONG_LONG, window.window);
        MPI_Win_unlock(target, window.window);
        CHECK(seen >= value);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    long long sum = 0;
    MPI_Win_lock_all(0, window.window);
    for (int rank = 0; rank < world_size; rank++) {
        long long value = 0;
        MPI_Get(&value, 1, MPI_LONG_LONG, rank, window.at(rank, 0), 1, MPI_LONG_LONG, window.window);
        MPI_Win_flush_all(window.window);
        sum += value;
    }
    MPI_Win_flush_local_all(window.window);
    MPI_Win_sync(window.window);
    MPI_Win_unlock_all(window.window);
    CHECK(sum == static_cast<long long>(rounds) * world_size);
}

/// Counters that all ranks draw numbers from: each number is drawn once.
void contention(int flavor) {
    IntegerWindow window(flavor, 4);
    constexpr int rounds = 300;
    std::vector<int> drawn(static_cast<std::size_t>(rounds * world_size)), all(drawn.size());
    const long long one = 1, zero = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window.window);
    for (int i = 0; i < rounds; i++) {
        long long number = -1, ticket = -1;
        MPI_Fetch_and_op(&one, &number, MPI_LONG_LONG, 0, window.at(0, 0), MPI_SUM, window.window);
        MPI_Win_flush(0, window.window);
        CHECK(number >= 0 && number < static_cast<long long>(drawn.size()));
        drawn[static_cast<std::size_t>(number)]++;
        // A spin lock of one word.
        do {
            MPI_Compare_and_swap(&one, &zero, &ticket, MPI_LONG_LONG, 0, window.at(0, 1), window.window);
            MPI_Win_flush(0, window.window);
        } while (ticket != 0);
        long long value = 0;
        MPI_Fetch_and_op(nullptr, &value, MPI_LONG_LONG, 0, window.at(0, 2), MPI_NO_OP, window.window);
        MPI_Win_flush(0, window.window);
        value++;
        MPI_Accumulate(&value, 1, MPI_LONG_LONG, 0, window.at(0, 2), 1, MPI_LONG_LONG, MPI_REPLACE, window.window);
        MPI_Win_flush(0, window.window);
        MPI_Accumulate_c(&zero, 1, MPI_LONG_LONG, 0, window.at(0, 1), 1, MPI_LONG_LONG, MPI_REPLACE, window.window);
    }
    MPI_Win_unlock_all(window.window);
    MPI_Allreduce(drawn.data(), all.data(), static_cast<int>(drawn.size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(std::ranges::all_of(all, [](int times) { return times == 1; }));
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) CHECK(window.memory[2] == static_cast<long long>(rounds) * world_size);
}

void requests(int flavor) {
    IntegerWindow window(flavor, 8);
    const long long values[2] = {world_rank, 5};
    long long got[2] = {-1, -1}, old[2] = {-1, -1};
    MPI_Request request;
    MPI_Win_lock_all(0, window.window);
    MPI_Rput(values, 2, MPI_LONG_LONG, next, window.at(next, 0), 2, MPI_LONG_LONG, window.window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(next, window.window);
    MPI_Rget_c(got, 2, MPI_LONG_LONG, next, window.at(next, 0), 2, MPI_LONG_LONG, window.window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got[0] == world_rank && got[1] == 5);
    MPI_Raccumulate(values, 2, MPI_LONG_LONG, next, window.at(next, 0), 2, MPI_LONG_LONG, MPI_MAX, window.window,
                    &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Rget_accumulate(values, 2, MPI_LONG_LONG, old, 2, MPI_LONG_LONG, next, window.at(next, 0), 2, MPI_LONG_LONG,
                        MPI_SUM, window.window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(old[0] == world_rank && old[1] == 5);
    MPI_Rput_c(values, 1, MPI_LONG_LONG, MPI_PROC_NULL, 0, 1, MPI_LONG_LONG, window.window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(window.window);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(window.memory[0] == 2 * before && window.memory[1] == 10);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    next = (world_rank + 1) % world_size;
    before = (world_rank + world_size - 1) % world_size;
    for (auto test : {fences, derived_types, many_pieces, large, post_and_start, locks, contention, requests})
        for_each_flavor(test);
}
