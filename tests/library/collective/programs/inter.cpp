// SPDX-License-Identifier: BSD-3-Clause
/// Collective operations of intercommunicators, between groups of every size.
#include "collective.h"

static MPI_Comm inter;
static int rank, size, others, group, trial;

/// A value of rank `from` of group `side` for rank `to` of the other.
static int value(int side, int from, int to, int i) {
    return side * 100000007 + from * 1000003 + to * 10007 + i * 7 + trial;
}

static Form form;

static void test_barrier() {
    perform(
        form, [] {}, [] { MPI_Barrier(inter); }, [](MPI_Request *q) { MPI_Ibarrier(inter, q); },
        [](MPI_Request *q) { MPI_Barrier_init(inter, MPI_INFO_NULL, q); }, [] {});
}

/// Root and which group it is in are drawn; the argument differs by rank.
struct Root {
    int side, rank_in_side;
    int argument;
    bool is_root, is_other;

    Root() {
        side = draw(0, 1);
        int sizes[2] = {group == 0 ? size : others, group == 0 ? others : size};
        rank_in_side = draw(0, sizes[side] - 1);
        is_root = group == side && rank == rank_in_side;
        is_other = group != side;
        argument = is_other ? rank_in_side : is_root ? MPI_ROOT : MPI_PROC_NULL;
    }
};

static void test_broadcast() {
    Root root;
    int count = any_count();
    const Layout &a = any_layout(), &b = any_layout();
    Buffer buffer(group == 0 ? a : b, count);
    MPI_Datatype type = buffer.layout().type;
    perform(
        form,
        [&] {
            buffer.clear();
            for (int i = 0; i < 2 * count && root.is_root; ++i)
                buffer.at(i) = value(root.side, root.rank_in_side, 0, i);
        },
        [&] { MPI_Bcast(buffer.data(), count, type, root.argument, inter); },
        [&](MPI_Request *q) { MPI_Ibcast(buffer.data(), count, type, root.argument, inter, q); },
        [&](MPI_Request *q) { MPI_Bcast_init(buffer.data(), count, type, root.argument, inter, MPI_INFO_NULL, q); },
        [&] {
            for (int i = 0; i < 2 * count && root.is_other; ++i)
                expect(buffer.at(i), value(root.side, root.rank_in_side, 0, i), "MPI_Bcast", i);
        });
}

static void test_gather_and_scatter() {
    Root root;
    int count = any_count();
    const Layout &a = any_layout(), &b = any_layout();
    Buffer one(a, count), all(b, count * others);
    int n = 2 * count;
    perform(
        form,
        [&] {
            for (int i = 0; i < n; ++i) one.at(i) = value(group, rank, root.rank_in_side, i);
            all.clear();
        },
        [&] { MPI_Gather(one.data(), count, a.type, all.data(), count, b.type, root.argument, inter); },
        [&](MPI_Request *q) {
            MPI_Igather(one.data(), count, a.type, all.data(), count, b.type, root.argument, inter, q);
        },
        [&](MPI_Request *q) {
            MPI_Gather_init(one.data(), count, a.type, all.data(), count, b.type, root.argument, inter, MPI_INFO_NULL,
                            q);
        },
        [&] {
            for (int from = 0; from < others && root.is_root; ++from)
                for (int i = 0; i < n; ++i)
                    expect(all.at(from * n + i), value(1 - group, from, rank, i), "MPI_Gather", i);
        });
    perform(
        form,
        [&] {
            for (int to = 0; to < others; ++to)
                for (int i = 0; i < n; ++i) all.at(to * n + i) = value(group, rank, to, i);
            one.clear();
        },
        [&] { MPI_Scatter(all.data(), count, b.type, one.data(), count, a.type, root.argument, inter); },
        [&](MPI_Request *q) {
            MPI_Iscatter(all.data(), count, b.type, one.data(), count, a.type, root.argument, inter, q);
        },
        [&](MPI_Request *q) {
            MPI_Scatter_init(all.data(), count, b.type, one.data(), count, a.type, root.argument, inter, MPI_INFO_NULL,
                             q);
        },
        [&] {
            for (int i = 0; i < n && root.is_other; ++i)
                expect(one.at(i), value(root.side, root.rank_in_side, rank, i), "MPI_Scatter", i);
        });
}

static void test_allgather() {
    // The groups may send different amounts, even nothing.
    int counts[2] = {any_count() / 4, any_count() / 4};
    int mine = counts[group], theirs = counts[1 - group];
    Buffer own(any_layout(), mine), all(any_layout(), theirs * others);
    MPI_Datatype from = own.layout().type, to = all.layout().type;
    perform(
        form,
        [&] {
            for (int i = 0; i < 2 * mine; ++i) own.at(i) = value(group, rank, 0, i);
            all.clear();
        },
        [&] { MPI_Allgather(own.data(), mine, from, all.data(), theirs, to, inter); },
        [&](MPI_Request *q) { MPI_Iallgather(own.data(), mine, from, all.data(), theirs, to, inter, q); },
        [&](MPI_Request *q) {
            MPI_Allgather_init(own.data(), mine, from, all.data(), theirs, to, inter, MPI_INFO_NULL, q);
        },
        [&] {
            for (int k = 0; k < others; ++k)
                for (int i = 0; i < 2 * theirs; ++i)
                    expect(all.at(k * 2 * theirs + i), value(1 - group, k, 0, i), "MPI_Allgather", i);
        });
}

static void test_alltoall() {
    int count = any_count() / 8, n = 2 * count;
    Buffer sent(any_layout(), count * others), received(any_layout(), count * others);
    MPI_Datatype from = sent.layout().type, to = received.layout().type;
    perform(
        form,
        [&] {
            received.clear();
            for (int k = 0; k < others; ++k)
                for (int i = 0; i < n; ++i) sent.at(k * n + i) = value(group, rank, k, i);
        },
        [&] { MPI_Alltoall(sent.data(), count, from, received.data(), count, to, inter); },
        [&](MPI_Request *q) { MPI_Ialltoall(sent.data(), count, from, received.data(), count, to, inter, q); },
        [&](MPI_Request *q) {
            MPI_Alltoall_init(sent.data(), count, from, received.data(), count, to, inter, MPI_INFO_NULL, q);
        },
        [&] {
            for (int k = 0; k < others; ++k)
                for (int i = 0; i < n; ++i)
                    expect(received.at(k * n + i), value(1 - group, k, rank, i), "MPI_Alltoall", i);
        });
}

static void test_reductions() {
    Root root;
    int count = any_count();
    std::vector<int> own(static_cast<std::size_t>(count + 1)), sum(own.size());
    auto wanted = [&](int i) {
        int result = 0;
        for (int k = 0; k < others; ++k) result += value(1 - group, k, 0, i) % 1000;
        return result;
    };
    auto fill = [&] {
        for (int i = 0; i < count; ++i) own[static_cast<std::size_t>(i)] = value(group, rank, 0, i) % 1000;
        sum.assign(sum.size(), untouched);
    };
    auto look = [&](const char *function, int first, int elements) {
        for (int i = 0; i < elements; ++i) expect(sum[static_cast<std::size_t>(i)], wanted(first + i), function, i);
    };
    perform(
        form, fill, [&] { MPI_Reduce(own.data(), sum.data(), count, MPI_INT, MPI_SUM, root.argument, inter); },
        [&](MPI_Request *q) { MPI_Ireduce(own.data(), sum.data(), count, MPI_INT, MPI_SUM, root.argument, inter, q); },
        [&](MPI_Request *q) {
            MPI_Reduce_init(own.data(), sum.data(), count, MPI_INT, MPI_SUM, root.argument, inter, MPI_INFO_NULL, q);
        },
        [&] {
            if (root.is_root) look("MPI_Reduce", 0, count);
        });
    perform(
        form, fill, [&] { MPI_Allreduce(own.data(), sum.data(), count, MPI_INT, MPI_SUM, inter); },
        [&](MPI_Request *q) { MPI_Iallreduce(own.data(), sum.data(), count, MPI_INT, MPI_SUM, inter, q); },
        [&](MPI_Request *q) {
            MPI_Allreduce_init(own.data(), sum.data(), count, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, q);
        },
        [&] { look("MPI_Allreduce", 0, count); });
    // As many elements in both groups.
    int each = (count / (size * others)) * others;
    perform(
        form, fill, [&] { MPI_Reduce_scatter_block(own.data(), sum.data(), each, MPI_INT, MPI_SUM, inter); },
        [&](MPI_Request *q) { MPI_Ireduce_scatter_block(own.data(), sum.data(), each, MPI_INT, MPI_SUM, inter, q); },
        [&](MPI_Request *q) {
            MPI_Reduce_scatter_block_init(own.data(), sum.data(), each, MPI_INT, MPI_SUM, inter, MPI_INFO_NULL, q);
        },
        [&] { look("MPI_Reduce_scatter_block", rank * each, each); });
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int split = 1; split < world_size; ++split) {
        group = world_rank < split ? 0 : 1;
        MPI_Comm half;
        MPI_Comm_split(MPI_COMM_WORLD, group, world_rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, group == 0 ? split : 0, 7, &inter);
        MPI_Comm_rank(inter, &rank);
        MPI_Comm_size(inter, &size);
        MPI_Comm_remote_size(inter, &others);
        for (trial = 0; trial < 7; ++trial) {
            form = any_form();
            test_barrier();
            test_broadcast();
            test_gather_and_scatter();
            test_allgather();
            test_alltoall();
            test_reductions();
        }
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    end();
}
