// SPDX-License-Identifier: BSD-3-Clause
// Collective operations of ranks that lie on nodes in any order: what each gets, from every root, with and without
// MPI_IN_PLACE, in one block and with gaps; and with communicators that come and go.
#include "../../check.h"

#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace {

int rank, size;
MPI_Comm comm;
using Numbers = std::vector<long>;

/// What rank `from` has for rank `to` as its element i.
long number(int from, int to, int i) {
    return from * 1000003L + to * 1009L + i;
}

Numbers numbers(int from, int to, int count) {
    Numbers made(static_cast<std::size_t>(count));
    for (int i = 0; i < count; i++) made[static_cast<std::size_t>(i)] = number(from, to, i);
    return made;
}

void broadcasts(int count, MPI_Datatype gapped) {
    for (int root = 0; root < size; root++) {
        Numbers data = numbers(rank, root, count);
        MPI_Bcast(data.data(), count, MPI_LONG, root, comm);
        CHECK(data == numbers(root, root, count));
        // The root sends every second number, the others receive a block.
        Numbers wide(static_cast<std::size_t>(2 * count), -1);
        for (int i = 0; i < count; i++) wide[static_cast<std::size_t>(2 * i)] = number(root, 7, i);
        Numbers narrow(static_cast<std::size_t>(count));
        if (rank == root)
            MPI_Bcast(wide.data(), count, gapped, root, comm);
        else
            MPI_Bcast(narrow.data(), count, MPI_LONG, root, comm);
        CHECK(rank == root || narrow == numbers(root, 7, count));
    }
}

void reductions(int count) {
    Numbers sum(static_cast<std::size_t>(count));
    for (int i = 0; i < count; i++)
        for (int from = 0; from < size; from++) sum[static_cast<std::size_t>(i)] += number(from, 0, i);
    const Numbers own = numbers(rank, 0, count);
    Numbers result(own.size());
    MPI_Allreduce(own.data(), result.data(), count, MPI_LONG, MPI_SUM, comm);
    CHECK(result == sum);
    result = own;
    MPI_Allreduce(MPI_IN_PLACE, result.data(), count, MPI_LONG, MPI_SUM, comm);
    CHECK(result == sum);
    for (int root = 0; root < size; root++) {
        std::ranges::fill(result, -1);
        MPI_Reduce(own.data(), rank == root ? result.data() : nullptr, count, MPI_LONG, MPI_SUM, root, comm);
        CHECK(rank != root || result == sum);
        result = own;
        MPI_Reduce(rank == root ? MPI_IN_PLACE : own.data(), rank == root ? result.data() : nullptr, count, MPI_LONG,
                   MPI_SUM, root, comm);
        CHECK(rank != root || result == sum);
    }
}

/// Does not commute: (a, b) then (c, d) is a*c, a*d + b, modulo 2^64.
void compose(void *in, void *inout, int *count, MPI_Datatype *) {
    auto *before = static_cast<unsigned long *>(in), *after = static_cast<unsigned long *>(inout);
    for (int i = 0; i < *count; i++) {
        after[2 * i + 1] = before[2 * i] * after[2 * i + 1] + before[2 * i + 1];
        after[2 * i] *= before[2 * i];
    }
}

void order_of_ranks() {
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_UNSIGNED_LONG, &pair);
    MPI_Type_commit(&pair);
    MPI_Op operation;
    MPI_Op_create(compose, 0, &operation);
    auto of = [](int r) {
        return std::vector<unsigned long>{2UL * static_cast<unsigned long>(r) + 3, 5UL + static_cast<unsigned long>(r)};
    };
    std::vector<unsigned long> wanted = of(size - 1), result(2);
    int one = 1;
    for (int r = size - 2; r >= 0; r--) compose(of(r).data(), wanted.data(), &one, nullptr);
    MPI_Allreduce(of(rank).data(), result.data(), 1, pair, operation, comm);
    CHECK(result == wanted);
    for (int root = 0; root < size; root++) {
        MPI_Reduce(of(rank).data(), result.data(), 1, pair, operation, root, comm);
        CHECK(rank != root || result == wanted);
    }
    MPI_Op_free(&operation);
    MPI_Type_free(&pair);
}

void exchanges(int count, MPI_Datatype gapped) {
    const auto each = static_cast<std::size_t>(count), all = each * static_cast<std::size_t>(size);
    Numbers to_all, from_all, gathered;
    for (int peer = 0; peer < size; peer++) {
        for (auto [list, block] :
             {std::pair{&to_all, numbers(rank, peer, count)}, std::pair{&from_all, numbers(peer, rank, count)},
              std::pair{&gathered, numbers(peer, 3, count)}})
            list->insert(list->end(), block.begin(), block.end());
    }
    Numbers result(all);
    MPI_Allgather(numbers(rank, 3, count).data(), count, MPI_LONG, result.data(), count, MPI_LONG, comm);
    CHECK(result == gathered);
    std::ranges::fill(result, -1);
    std::ranges::copy(numbers(rank, 3, count), result.begin() + rank * count);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, result.data(), count, MPI_LONG, comm);
    CHECK(result == gathered);
    MPI_Alltoall(to_all.data(), count, MPI_LONG, result.data(), count, MPI_LONG, comm);
    CHECK(result == from_all);
    result = to_all;
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, result.data(), count, MPI_LONG, comm);
    CHECK(result == from_all);
    // Received with gaps, which stay as they are.
    Numbers wide(2 * all, -1);
    MPI_Alltoall(to_all.data(), count, MPI_LONG, wide.data(), count, gapped, comm);
    for (std::size_t i = 0; i < all; i++) CHECK(wide[2 * i] == from_all[i] && wide[2 * i + 1] == -1);
    MPI_Allgather(numbers(rank, 3, count).data(), count, MPI_LONG, wide.data(), count, gapped, comm);
    for (std::size_t i = 0; i < all; i++) CHECK(wide[2 * i] == gathered[i] && wide[2 * i + 1] == -1);
}

/// To one and from one.
void with_roots(int count) {
    const auto each = static_cast<std::size_t>(count);
    Numbers gathered, scattered;
    for (int peer = 0; peer < size; peer++) {
        for (auto [list, block] :
             {std::pair{&gathered, numbers(peer, 4, count)}, std::pair{&scattered, numbers(8, peer, count)}})
            list->insert(list->end(), block.begin(), block.end());
    }
    for (int root = 0; root < size; root++) {
        Numbers all(rank == root ? gathered.size() : 0), own(each);
        MPI_Gather(numbers(rank, 4, count).data(), count, MPI_LONG, all.data(), count, MPI_LONG, root, comm);
        CHECK(rank != root || all == gathered);
        MPI_Scatter(rank == root ? scattered.data() : nullptr, count, MPI_LONG, own.data(), count, MPI_LONG, root,
                    comm);
        CHECK(own == numbers(8, rank, count));
    }
}

/// Of slices, and of the ranks before.
void partial_reductions(int count) {
    Numbers slices, wanted(static_cast<std::size_t>(count)), before(wanted), result(wanted);
    for (int peer = 0; peer < size; peer++) {
        const Numbers slice = numbers(rank, peer, count);
        slices.insert(slices.end(), slice.begin(), slice.end());
        for (int i = 0; i < count; i++) {
            wanted[static_cast<std::size_t>(i)] += number(peer, rank, i);
            if (peer < rank) before[static_cast<std::size_t>(i)] += number(peer, 6, i);
        }
    }
    MPI_Reduce_scatter_block(slices.data(), result.data(), count, MPI_LONG, MPI_SUM, comm);
    CHECK(result == wanted);
    MPI_Exscan(numbers(rank, 6, count).data(), result.data(), count, MPI_LONG, MPI_SUM, comm);
    CHECK(rank == 0 || result == before);
    MPI_Scan(numbers(rank, 6, count).data(), result.data(), count, MPI_LONG, MPI_SUM, comm);
    for (int i = 0; i < count; i++)
        CHECK(result[static_cast<std::size_t>(i)] == before[static_cast<std::size_t>(i)] + number(rank, 6, i));
}

/// Nobody leaves before all have come.
void barriers() {
    for (int last = 0; last < size; last++) {
        int mark = 0;
        MPI_Request request;
        if (rank != last) MPI_Irecv(&mark, 1, MPI_INT, last, 9, comm, &request);
        if (rank == last)
            for (int peer = 0; peer < size; peer++)
                if (int sent = 1; peer != last) MPI_Ssend(&sent, 1, MPI_INT, peer, 9, comm);
        MPI_Barrier(comm);
        int come = 1;
        if (rank != last) MPI_Test(&request, &come, MPI_STATUS_IGNORE);
        CHECK(come); // its message was received before `last` came to the barrier
    }
}

void everything() {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Datatype gapped;
    MPI_Type_create_resized(MPI_LONG, 0, 2 * sizeof(long), &gapped);
    MPI_Type_commit(&gapped);
    for (int count : {0, 1, 50, 300, 20000}) {
        broadcasts(count, gapped);
        reductions(count);
        exchanges(count, gapped);
        with_roots(count);
        partial_reductions(count);
    }
    order_of_ranks();
    barriers();
    MPI_Type_free(&gapped);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    comm = MPI_COMM_WORLD;
    everything();
    // As they are not on the nodes.
    MPI_Comm_split(MPI_COMM_WORLD, 0, world_rank * 7 % 5, &comm);
    everything();
    MPI_Comm_free(&comm);
    // All but one, the last first.
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == 1 && world_size > 2, -world_rank, &comm);
    everything();
    MPI_Comm_free(&comm);
    for (int i = 0; i < 300; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        int one = 1, sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == world_size);
        MPI_Comm_free(&comm);
    }
}
