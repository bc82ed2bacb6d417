// SPDX-License-Identifier: BSD-3-Clause
/// Blocking collectives of data that goes in several pieces, one after the other and with ranks that are late: no piece
/// may be overwritten before all have it, and the ends of pieces are where mistakes show.
#include "collective.h"

#include <array>
#include <sched.h>

static constexpr int block_bytes = 1 << 18; // pieces end at some power of two up to here

/// Elements of 8 bytes: around the ends of one, two and three pieces, each rank with its slice or the whole.
static int length() {
    static constexpr std::array bytes{8192, 16384, 65536, block_bytes, 2 * block_bytes, 3 * block_bytes};
    int elements = bytes[static_cast<std::size_t>(draw(0, 5))] / 8 + draw(-3, 3);
    return draw(0, 1) == 0 ? elements : elements / world_size + draw(0, 3);
}

static int value(int rank, int turn, int i) {
    return rank * 7919 + turn * 104729 + i * 31;
}

static void be_late(int late) {
    if (late == world_rank)
        for (int i = 0; i < 20; ++i) sched_yield();
}

static std::string where(const char *what, int turn) {
    return std::string(what) + " in turn " + std::to_string(turn);
}

static void allgather(int turn) {
    const Layout &from = any_layout(), &to = any_layout();
    int count = length();
    bool in_place = draw(0, 3) == 0;
    Buffer own(from, count), all(to, count * world_size);
    for (int i = 0; i < 2 * count; ++i) {
        own.at(i) = value(world_rank, turn, i);
        if (in_place) all.at(2 * count * world_rank + i) = own.at(i);
    }
    MPI_Allgather(in_place ? MPI_IN_PLACE : own.data(), count, from.type, all.data(), count, to.type, MPI_COMM_WORLD);
    for (int rank = 0; rank < world_size; ++rank)
        for (int i = 0; i < 2 * count; ++i)
            expect(all.at(2 * count * rank + i), value(rank, turn, i), where("MPI_Allgather", turn), i);
}

static void alltoall(int turn) {
    const Layout &from = any_layout(), &to = any_layout();
    int count = length();
    Buffer rows(from, count * world_size), columns(to, count * world_size);
    for (int i = 0; i < 2 * count * world_size; ++i) rows.at(i) = value(world_rank, turn, i);
    MPI_Alltoall(rows.data(), count, from.type, columns.data(), count, to.type, MPI_COMM_WORLD);
    for (int rank = 0; rank < world_size; ++rank)
        for (int i = 0; i < 2 * count; ++i)
            expect(columns.at(2 * count * rank + i), value(rank, turn, 2 * count * world_rank + i),
                   where("MPI_Alltoall", turn), i);
}

static void broadcast(int turn) {
    const Layout &layout = any_layout();
    int count = length(), root = draw(0, world_size - 1);
    Buffer data(layout, count);
    for (int i = 0; i < 2 * count; ++i) data.at(i) = world_rank == root ? value(root, turn, i) : untouched;
    MPI_Bcast(data.data(), count, layout.type, root, MPI_COMM_WORLD);
    for (int i = 0; i < 2 * count; ++i) expect(data.at(i), value(root, turn, i), where("MPI_Bcast", turn), i);
}

/// Of pairs with a gap, or of ints: the largest, and which rank has it.
template <class Element> static void reduce(int turn, MPI_Datatype type, MPI_Op op) {
    int count = length(), root = draw(-1, world_size - 1); // -1: to all
    bool in_place = draw(0, 3) == 0 && (root < 0 || root == world_rank);
    auto operand = [&](int rank, int i) {
        Element element{};
        if constexpr (std::is_same_v<Element, int>)
            element = value(rank, turn, i);
        else
            element = {static_cast<short>(value((rank + i) % world_size, turn, i) % 1000), rank};
        return element;
    };
    std::vector<Element> own(static_cast<std::size_t>(count)), result(own.size());
    for (int i = 0; i < count; ++i) own[static_cast<std::size_t>(i)] = operand(world_rank, i);
    if (in_place) result = own;
    const void *sent = in_place ? MPI_IN_PLACE : static_cast<const void *>(own.data());
    if (root < 0)
        MPI_Allreduce(sent, result.data(), count, type, op, MPI_COMM_WORLD);
    else
        MPI_Reduce(sent, result.data(), count, type, op, root, MPI_COMM_WORLD);
    if (root >= 0 && root != world_rank) return;
    for (int i = 0; i < count; ++i) {
        Element wanted = operand(0, i), seen = result[static_cast<std::size_t>(i)];
        for (int rank = 1; rank < world_size; ++rank) {
            Element next = operand(rank, i);
            if constexpr (std::is_same_v<Element, int>)
                wanted += next;
            else if (next.value > wanted.value)
                wanted = next;
        }
        if constexpr (std::is_same_v<Element, int>) {
            expect(seen, wanted, where("MPI_SUM", turn), i);
        } else {
            expect(seen.value, wanted.value, where("MPI_MAXLOC", turn), i);
            expect(seen.rank, wanted.rank, where("rank of MPI_MAXLOC", turn), i);
        }
    }
}

static void scan(int turn) {
    int count = length();
    bool in_place = draw(0, 3) == 0, exclusive = draw(0, 1) == 0;
    std::vector<int> own(static_cast<std::size_t>(count)), result(own.size(), untouched);
    for (int i = 0; i < count; ++i) own[static_cast<std::size_t>(i)] = value(world_rank, turn, i);
    if (in_place) result = own;
    const void *sent = in_place ? MPI_IN_PLACE : static_cast<const void *>(own.data());
    (exclusive ? MPI_Exscan : MPI_Scan)(sent, result.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) {
        auto at = static_cast<std::size_t>(i);
        int ranks = world_rank + (exclusive ? 0 : 1), wanted = ranks > 0 ? 0 : in_place ? own[at] : untouched;
        for (int rank = 0; rank < ranks; ++rank) wanted += value(rank, turn, i);
        expect(result[at], wanted, where(exclusive ? "MPI_Exscan" : "MPI_Scan", turn), i);
    }
}

/// Slices of the same or of different lengths, some of them empty.
static void reduce_scatter(int turn) {
    bool even = draw(0, 1) == 0, in_place = draw(0, 3) == 0;
    std::vector<int> counts(static_cast<std::size_t>(world_size), length());
    if (!even)
        for (int &count : counts) count = draw(0, 3) == 0 ? 0 : length();
    int mine = counts[static_cast<std::size_t>(world_rank)], begin = 0, total = 0;
    for (int rank = 0; rank < world_size; ++rank) {
        if (rank == world_rank) begin = total;
        total += counts[static_cast<std::size_t>(rank)];
    }
    std::vector<int> own(static_cast<std::size_t>(total)),
        result(in_place ? own.size() : static_cast<std::size_t>(mine));
    for (int i = 0; i < total; ++i) own[static_cast<std::size_t>(i)] = value(world_rank, turn, i);
    if (in_place) result = own;
    const void *sent = in_place ? MPI_IN_PLACE : static_cast<const void *>(own.data());
    if (even)
        MPI_Reduce_scatter_block(sent, result.data(), mine, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Reduce_scatter(sent, result.data(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < mine; ++i) {
        int wanted = 0;
        for (int rank = 0; rank < world_size; ++rank) wanted += value(rank, turn, begin + i);
        expect(result[static_cast<std::size_t>(i)], wanted, where("MPI_Reduce_scatter", turn), i);
    }
}

struct ShortAndInt {
    short value;
    int rank;
};

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int turn = 0; turn < 100; ++turn) {
        be_late(draw(0, 2 * world_size));
        switch (draw(0, 6)) {
        case 0:
            allgather(turn);
            break;
        case 1:
            alltoall(turn);
            break;
        case 2:
            broadcast(turn);
            break;
        case 3:
            reduce<int>(turn, MPI_INT, MPI_SUM);
            break;
        case 4:
            scan(turn);
            break;
        case 5:
            reduce_scatter(turn);
            break;
        default:
            reduce<ShortAndInt>(turn, MPI_SHORT_INT, MPI_MAXLOC);
            break;
        }
    }
    // The same without looking at results in between: nothing keeps a rank from running ahead.
    int count = block_bytes / 8;
    std::vector<double> own(static_cast<std::size_t>(count)), sum(own.size());
    for (int turn = 0; turn < 40; ++turn) {
        be_late(draw(0, 2 * world_size));
        for (double &element : own) element = world_rank + turn;
        MPI_Allreduce(own.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        int wanted = world_size * (world_size - 1) / 2 + world_size * turn;
        for (int i = 0; i < count; i += 997)
            expect(static_cast<int>(sum[static_cast<std::size_t>(i)]), wanted, where("a sum", turn), i);
    }
    end();
}
