// SPDX-License-Identifier: BSD-3-Clause
#include "collective/algorithms.h"
#include "collective/area.h"
#include "collective/selection_table.h"
#include "collective/shared.h"
#include "transport/shm/lines.h"

#include <algorithm>
#include <cstring>

namespace volley {
namespace {

/// The pieces in which a long vector is reduced: sources and result of a piece stay in the first-level cache.
constexpr Count piece_bytes = 8192;

/// Where a rank's operands are and its result goes.
struct Buffers {
    const char *own;
    char *result;
};

/// A reduction among the ranks of an area, by one of the library's loops, with its arguments checked.
struct Shared {
    Communicator &communicator;
    Reduction reduction;
    Buffers buffers;
    Count count;
    WaitingFor waiting;

    /// Of an element: gaps inside of pairs are copied with them.
    Count extent() const {
        return reduction.datatype().extent();
    }
    Count bytes() const {
        return count * extent();
    }
};

/// The choice depends on `count`, all elements of the vector or of all slices together.
template <const auto &rows> Algorithm choose_in_memory(const Shared &shared, Collective operation, Count count) {
    return selection::choose_inline<rows>({.operation = operation,
                                           .means = Means::memory,
                                           .communicator = shared.communicator,
                                           .ranks = shared.communicator.size(),
                                           .bytes = count * shared.extent(),
                                           .total = count * shared.extent(),
                                           .commutative = shared.reduction.operation().is_commutative(),
                                           .elements = count,
                                           .extent = shared.extent()});
}

/// Only the library's own loops are suitable: a user's function may want its operands in order, and in its own rank.
bool is_suitable(const Communicator &communicator, const Operation &operation) {
    return communicator.area != nullptr && operation.is_predefined() && !operation.is_assignment();
}

void copy_bytes(void *to, const void *from, Count bytes) {
    if (to != from) copy_for_peer(to, from, static_cast<std::size_t>(bytes));
}

/// Reduces the operands of the first `size` ranks, in the order of ranks; `source(i)` is where rank i's operands are.
template <class Source> void join_all(const Shared &shared, int size, void *out, Count count, Source &&source) {
    constexpr int few = 64;
    const void *on_stack[few];
    std::vector<const void *> many;
    const void **sources = on_stack;
    if (size > few) {
        many.resize(static_cast<std::size_t>(size));
        sources = many.data();
    }
    for (int i = 0; i < size; ++i) sources[i] = source(i);
    shared.reduction.join_all(sources, size, out, count);
}

/// Reduces published operands. This rank reads its own from the user's buffer: the published copy is in another core's
/// cache by now, and would have to come back first.
void join_posts(Shared &shared, CollectiveRound &round, int size, void *out) {
    const void *own = shared.buffers.own;
    alignas(16) unsigned char aside[CollectiveArea::largest_room_bytes];
    if (own == out) own = std::memcpy(aside, own, static_cast<std::size_t>(shared.bytes()));
    join_all(shared, size, out, shared.count, [&](int i) {
        return i == shared.communicator.rank() ? own : static_cast<const void *>(round.data(i, shared.bytes()));
    });
}

/// Reduces operands in place; the slots say where they are.
void join_buffers(Shared &shared, CollectiveRound &round, void *out, Count first, Count count) {
    join_all(shared, shared.communicator.size(), out, count, [&](int i) {
        return static_cast<const void *>(round.slot(i).as<Buffers>().own + first * shared.extent());
    });
}

/// Reduces this rank's slice of a long vector from all ranks' operands, piece by piece; `deliver` gets each piece of
/// the result.
template <class Deliver>
void reduce_slice(Shared &shared, CollectiveRound &round, Count begin, Count end, Deliver &&deliver) {
    alignas(cache_line) unsigned char piece[piece_bytes];
    Count most = piece_bytes / shared.extent();
    for (Count first = begin; first < end; first += most) {
        Count length = std::min(most, end - first);
        join_buffers(shared, round, piece, first, length);
        deliver(piece, first * shared.extent(), length * shared.extent());
    }
}

/// A rank's slice of a vector: all have about the same length, and are cut at cache lines.
std::pair<Count, Count> slice_of(const Shared &shared, Count count, int rank) {
    Count line = std::max<Count>(1, static_cast<Count>(cache_line) / shared.extent());
    Count lines = (count + line - 1) / line, size = shared.communicator.size();
    return {std::min(count, lines * rank / size * line), std::min(count, lines * (rank + 1) / size * line)};
}

void allreduce_posts(Shared &shared) {
    CollectiveRound round(shared.communicator, shared.waiting);
    copy_bytes(round.own_data(shared.bytes()), shared.buffers.own, shared.bytes());
    bool small = shared.bytes() <= static_cast<Count>(RoundSlot::inline_bytes);
    if (exchanges(shared.communicator) || (!small && !node.oversubscribed())) {
        round.meet(); // each rank reduces all operands, in the same order
        return join_posts(shared, round, shared.communicator.size(), shared.buffers.result);
    }
    unsigned char *result = small ? round.area().small_result : round.area().result;
    if (round.arrive()) {
        join_posts(shared, round, shared.communicator.size(), result);
        round.release();
    } else {
        round.wait();
    }
    copy_bytes(shared.buffers.result, result, shared.bytes());
}

/// The last rank to arrive reduces for all. Ranks without `wants_result` leave their result buffer alone.
void reduce_by_last(Shared &shared, bool wants_result) {
    InPlaceRound round(shared.communicator, shared.waiting);
    round.own().as<Buffers>() = shared.buffers;
    unsigned char *result = round.area().result;
    if (round.arrive()) {
        join_buffers(shared, round, result, 0, shared.count);
        round.release();
    } else {
        round.wait();
    }
    if (wants_result) copy_bytes(shared.buffers.result, result, shared.bytes());
}

void allreduce_directly(Shared &shared) {
    InPlaceRound round(shared.communicator, shared.waiting);
    round.own().as<Buffers>() = shared.buffers;
    round.meet();
    auto [begin, end] = slice_of(shared, shared.count, shared.communicator.rank());
    int rank = shared.communicator.rank(), size = shared.communicator.size();
    reduce_slice(shared, round, begin, end, [&](const void *piece, Count at, Count bytes) {
        for (int i = 0; i < size; ++i)
            copy_bytes(round.slot((rank + i) % size).as<Buffers>().result + at, piece, bytes);
    });
    CollectiveRound(shared.communicator, shared.waiting).meet();
}

void reduce_posts(Shared &shared, int root) {
    CollectiveRound round(shared.communicator, shared.waiting);
    if (shared.communicator.rank() != root) {
        copy_bytes(round.own_data(shared.bytes()), shared.buffers.own, shared.bytes());
        return round.hand_in();
    }
    round.collect();
    join_posts(shared, round, shared.communicator.size(), shared.buffers.result);
}

void reduce_directly(Shared &shared, int root) {
    InPlaceRound round(shared.communicator, shared.waiting);
    round.own().as<Buffers>() = shared.buffers;
    round.meet();
    auto [begin, end] = slice_of(shared, shared.count, shared.communicator.rank());
    char *result = round.slot(root).as<Buffers>().result;
    reduce_slice(shared, round, begin, end,
                 [&](const void *piece, Count at, Count bytes) { copy_bytes(result + at, piece, bytes); });
    CollectiveRound(shared.communicator, shared.waiting).meet();
}

/// A piece of the vector on the stage.
struct StagedPiece {
    Shared &shared;
    Count first, length;  ///< elements
    std::uint64_t number; ///< of the piece

    unsigned char *place(int rank) {
        return shared.communicator.area->stage(rank, number);
    }
    char *result() {
        return shared.buffers.result + first * shared.extent();
    }
};

/// Reduces this rank's slice, which no other rank reads until all meet again. The result goes to the result buffer if
/// it is wanted here, and over this rank's own operands on the stage if it is wanted elsewhere.
void join_slice(StagedPiece piece, bool wanted_here, bool wanted_elsewhere) {
    Shared &shared = piece.shared;
    int rank = shared.communicator.rank(), size = shared.communicator.size();
    Count extent = shared.extent(), most = piece_bytes / extent;
    alignas(cache_line) unsigned char joined[piece_bytes];
    auto [begin, end] = slice_of(shared, piece.length, rank);
    for (Count first = begin; first < end; first += most) {
        Count at = first * extent, length = std::min(most, end - first), bytes = length * extent;
        join_all(shared, size, joined, length, [&](int i) { return static_cast<const void *>(piece.place(i) + at); });
        for (int i = 0; i < size; ++i)
            if (i != rank) reclaim(piece.place(i) + at, static_cast<std::size_t>(bytes));
        if (wanted_elsewhere) copy_bytes(piece.place(rank) + at, joined, bytes);
        if (wanted_here) copy_bytes(piece.result() + at, joined, bytes);
    }
}

/// Takes the other ranks' slices of the result. `alone`: no other rank reads them.
void take_slices(StagedPiece piece, bool alone) {
    Shared &shared = piece.shared;
    int rank = shared.communicator.rank(), size = shared.communicator.size();
    for (int i = 1; i < size; ++i) {
        int peer = (rank + i) % size;
        auto [begin, end] = slice_of(shared, piece.length, peer);
        Count at = begin * shared.extent(), bytes = (end - begin) * shared.extent();
        unsigned char *from = piece.place(peer) + at;
        if (alone)
            copy_and_reclaim(piece.result() + at, from, static_cast<std::size_t>(bytes));
        else
            copy_bytes(piece.result() + at, from, bytes);
    }
}

/// All ranks bring their operands to the stage, piece by piece. `work` is called when all operands of a piece are
/// there.
template <class Work> void for_staged_pieces(Shared &shared, Work &&work) {
    Count extent = shared.extent(), most = shared.communicator.area->stage_bytes / extent;
    for (Count first = 0; first < shared.count; first += most) {
        StagedPiece piece{shared, first, std::min(most, shared.count - first), shared.communicator.staged_pieces++};
        copy_bytes(piece.place(shared.communicator.rank()), shared.buffers.own + first * extent, piece.length * extent);
        CollectiveRound(shared.communicator, shared.waiting).meet();
        work(piece);
    }
}

/// Each rank reduces a slice; the root, or all ranks (MPI_ANY_SOURCE), then take the others' slices.
void reduce_staged(Shared &shared, int root) {
    bool all = root == MPI_ANY_SOURCE, wanted_here = all || root == shared.communicator.rank();
    for_staged_pieces(shared, [&](StagedPiece piece) {
        join_slice(piece, wanted_here, all || !wanted_here);
        CollectiveRound(shared.communicator, shared.waiting).meet();
        if (wanted_here) take_slices(piece, !all || shared.communicator.size() == 2);
    });
}

/// Computes this rank's slice of all ranks' prefixes, in the order of ranks. Rank i's operands begin at `operands(i)`
/// and its result at `result(i)`, which may be the same place. An exclusive scan leaves the first rank's result alone.
template <class Operands, class Result>
void scan_slice(const Shared &shared, Count count, bool exclusive, Operands &&operands, Result &&result) {
    int size = shared.communicator.size();
    Count extent = shared.extent(), most = piece_bytes / extent;
    alignas(cache_line) unsigned char buffers[2][piece_bytes];
    auto [begin, end] = slice_of(shared, count, shared.communicator.rank());
    for (Count first = begin; first < end; first += most) {
        Count at = first * extent, length = std::min(most, end - first), bytes = length * extent;
        unsigned char *prefix = buffers[0], *next = buffers[1];
        copy_bytes(prefix, operands(0) + at, bytes);
        if (!exclusive) copy_bytes(result(0) + at, prefix, bytes);
        for (int i = 1; i < size; ++i) {
            shared.reduction.join(prefix, operands(i) + at, next, length);
            copy_bytes(result(i) + at, exclusive ? prefix : next, bytes);
            std::swap(prefix, next);
        }
    }
}

void scan_directly(Shared &shared, bool exclusive) {
    InPlaceRound round(shared.communicator, shared.waiting);
    round.own().as<Buffers>() = shared.buffers;
    round.meet();
    scan_slice(
        shared, shared.count, exclusive, [&](int i) { return round.slot(i).as<Buffers>().own; },
        [&](int i) { return round.slot(i).as<Buffers>().result; });
    CollectiveRound(shared.communicator, shared.waiting).meet();
}

void scan_staged(Shared &shared, bool exclusive) {
    int rank = shared.communicator.rank();
    for_staged_pieces(shared, [&](StagedPiece piece) {
        auto place = [&](int i) { return piece.place(i); };
        scan_slice(shared, piece.length, exclusive, place, place);
        CollectiveRound(shared.communicator, shared.waiting).meet();
        if (rank > 0 || !exclusive) copy_bytes(piece.result(), piece.place(rank), piece.length * shared.extent());
    });
}

void scan_posts(Shared &shared, bool exclusive) {
    CollectiveRound round(shared.communicator, shared.waiting);
    copy_bytes(round.own_data(shared.bytes()), shared.buffers.own, shared.bytes());
    round.meet();
    int sources = shared.communicator.rank() + (exclusive ? 0 : 1);
    if (sources > 0) join_posts(shared, round, sources, shared.buffers.result);
}

Shared make_shared(Communicator &communicator, Operation &operation, const Block &own, char *result, int root,
                   MPI_Datatype type) {
    WaitingFor waiting{root, 0, communicator.context(Traffic::collective), own.count,
                       reinterpret_cast<std::uintptr_t>(type)};
    return {communicator, Reduction(operation, *own.type), {own.address, result}, own.count, waiting};
}

/// Checks the arguments of operations in which every rank has operands and a result.
Block check(const PassedOperands &passed, Operation &operation, int &code) {
    Arguments arguments;
    bool in_place = passed.own == MPI_IN_PLACE;
    Block result = arguments.operands("recvbuf", {passed.result, passed.count, passed.type}, operation);
    Block own = in_place ? result : arguments.operands("sendbuf", {passed.own, passed.count, passed.type}, operation);
    arguments.not_in_place("recvbuf", passed.result, "there");
    if (!in_place) arguments.apart(own, result);
    code = arguments.code();
    return own;
}

/// Reduces slices so small that all operands are published. With MPI_IN_PLACE, this rank reads its own published
/// operands.
template <class Begin> void reduce_scatter_posts(Shared &shared, Begin &&begin, bool in_place) {
    int rank = shared.communicator.rank(), size = shared.communicator.size();
    Count bytes = begin(size) * shared.extent(), at = begin(rank) * shared.extent();
    CollectiveRound round(shared.communicator, shared.waiting);
    copy_bytes(round.own_data(bytes), shared.buffers.own, bytes);
    round.meet();
    if (shared.count == 0) return; // the result may be nullptr
    join_all(shared, size, shared.buffers.result, shared.count, [&](int i) -> const void * {
        if (i == rank && !in_place) return shared.buffers.own + at;
        return round.data(i, bytes) + at;
    });
}

/// Each rank reduces its slice. With MPI_IN_PLACE, the result would overwrite what others still read, so it is set
/// aside first.
void reduce_scatter_directly(Shared &shared, Count begin, bool in_place) {
    std::vector<char> aside;
    char *result = shared.buffers.result;
    if (in_place) {
        aside.resize(static_cast<std::size_t>(shared.bytes()));
        result = aside.data();
    }
    InPlaceRound round(shared.communicator, shared.waiting);
    round.own().as<Buffers>() = shared.buffers;
    round.meet();
    Count start = begin * shared.extent();
    reduce_slice(shared, round, begin, begin + shared.count,
                 [&](const void *piece, Count at, Count bytes) { copy_bytes(result + at - start, piece, bytes); });
    CollectiveRound(shared.communicator, shared.waiting).meet();
    if (shared.count > 0) copy_bytes(shared.buffers.result, result, shared.bytes());
}

/// A piece is as much of each slice as the stage has room for. With MPI_IN_PLACE, the result of a piece only overwrites
/// operands that have gone to the stage with this piece or before: no element lies further from the beginning of its
/// slice than from the beginning of the vector.
template <class Begin> void reduce_scatter_staged(Shared &shared, Begin &&begin) {
    int rank = shared.communicator.rank(), size = shared.communicator.size();
    CollectiveArea &area = *shared.communicator.area;
    Count extent = shared.extent(), longest = 0, most = area.stage_bytes / size / extent;
    for (int i = 0; i < size; ++i) longest = std::max(longest, begin(i + 1) - begin(i));
    for (Count first = 0; first < longest; first += most) {
        std::uint64_t number = shared.communicator.staged_pieces++;
        auto part_of = [&](int i) { return std::min(most, begin(i + 1) - begin(i) - first); };
        auto place = [&](int i, int slice) { return area.stage(i, number) + slice * most * extent; };
        for (int i = 0; i < size; ++i)
            if (Count length = part_of(i); length > 0)
                copy_bytes(place(rank, i), shared.buffers.own + (begin(i) + first) * extent, length * extent);
        CollectiveRound(shared.communicator, shared.waiting).meet();
        Count length = part_of(rank);
        if (length <= 0) continue;
        join_all(shared, size, shared.buffers.result + first * extent, length,
                 [&](int i) { return static_cast<const void *>(place(i, rank)); });
        for (int i = 0; i < size; ++i)
            if (i != rank) reclaim(place(i, rank), static_cast<std::size_t>(length * extent));
    }
}

/// Rank i's slice begins at element `begin(i)`, where the slice before it ends. False if the operation was not done.
template <class Begin> bool reduce_scatter(Shared &shared, Begin &&begin, bool in_place) {
    const Communicator &communicator = shared.communicator;
    switch (choose_in_memory<selection::reduce_scatter_rows>(shared, Collective::reduce_scatter,
                                                             begin(communicator.size()))) {
    case Algorithm::published:
        reduce_scatter_posts(shared, begin, in_place);
        return true;
    case Algorithm::direct:
        reduce_scatter_directly(shared, begin(communicator.rank()), in_place);
        return true;
    case Algorithm::staged:
        reduce_scatter_staged(shared, begin);
        return true;
    default:
        return false;
    }
}

} // namespace

bool shared_allreduce(Communicator &communicator, int &code, const PassedOperands &passed, Operation &operation) {
    if (!is_suitable(communicator, operation)) return false;
    Block own = check(passed, operation, code);
    if (code != MPI_SUCCESS || own.count == 0) return true;
    Shared shared =
        make_shared(communicator, operation, own, static_cast<char *>(passed.result), MPI_ANY_SOURCE, passed.type);
    switch (choose_in_memory<selection::allreduce_rows>(shared, Collective::allreduce, shared.count)) {
    case Algorithm::published:
        allreduce_posts(shared);
        return true;
    case Algorithm::staged:
        reduce_staged(shared, MPI_ANY_SOURCE);
        return true;
    case Algorithm::last:
        reduce_by_last(shared, true);
        return true;
    case Algorithm::direct:
        allreduce_directly(shared);
        return true;
    default:
        return false;
    }
}

bool shared_reduce(Communicator &communicator, int &code, const PassedOperands &passed, Operation &operation,
                   int root) {
    if (!is_suitable(communicator, operation)) return false;
    Arguments arguments;
    arguments.root(root, communicator);
    bool is_root = communicator.rank() == root, in_place = is_root && passed.own == MPI_IN_PLACE;
    Block own, result;
    if (arguments.ok() && is_root) {
        result = arguments.operands("recvbuf", {passed.result, passed.count, passed.type}, operation);
        arguments.not_in_place("recvbuf", passed.result, "there");
    }
    if (arguments.ok())
        own = in_place ? result : arguments.operands("sendbuf", {passed.own, passed.count, passed.type}, operation);
    if (is_root && !in_place) arguments.apart(own, result);
    code = arguments.code();
    if (code != MPI_SUCCESS || own.count == 0) return true;
    Shared shared = make_shared(communicator, operation, own, result.address, root, passed.type);
    switch (choose_in_memory<selection::reduce_rows>(shared, Collective::reduce, shared.count)) {
    case Algorithm::published:
        reduce_posts(shared, root);
        return true;
    case Algorithm::staged:
        reduce_staged(shared, root);
        return true;
    case Algorithm::last:
        reduce_by_last(shared, is_root);
        return true;
    case Algorithm::direct:
        reduce_directly(shared, root);
        return true;
    default:
        return false;
    }
}

bool shared_reduce_scatter_block(Communicator &communicator, int &code, const PassedOperands &passed,
                                 Operation &operation) {
    if (!is_suitable(communicator, operation)) return false;
    Block own = check(passed, operation, code);
    if (code != MPI_SUCCESS || own.count == 0) return true;
    Arguments arguments;
    arguments.repeated("recvcount", own.count, communicator.size(), *own.type);
    code = arguments.code();
    if (code != MPI_SUCCESS) return true;
    Shared shared =
        make_shared(communicator, operation, own, static_cast<char *>(passed.result), MPI_ANY_SOURCE, passed.type);
    return reduce_scatter(shared, [&](int i) { return i * own.count; }, passed.own == MPI_IN_PLACE);
}

bool shared_reduce_scatter(Communicator &communicator, int &code, const PassedOperands &passed, CountArray counts,
                           Operation &operation) {
    if (!is_suitable(communicator, operation)) return false;
    Arguments arguments;
    arguments.total("recvcount", counts, communicator.size(), passed.type);
    code = arguments.code();
    if (code != MPI_SUCCESS) return true;
    Slices slices = Slices::of(counts, communicator.size());
    PassedOperands mine = passed;
    mine.count = slices.length(communicator.rank());
    Block own = check(mine, operation, code);
    if (code != MPI_SUCCESS || slices.total() == 0) return true;
    Shared shared =
        make_shared(communicator, operation, own, static_cast<char *>(passed.result), MPI_ANY_SOURCE, passed.type);
    auto begin = [&](int i) { return slices.begin[static_cast<std::size_t>(i)]; };
    return reduce_scatter(shared, begin, passed.own == MPI_IN_PLACE);
}

bool shared_scan(Communicator &communicator, int &code, const PassedOperands &passed, Operation &operation,
                 bool exclusive) {
    if (!is_suitable(communicator, operation)) return false;
    Block own = check(passed, operation, code);
    if (code != MPI_SUCCESS || own.count == 0) return true;
    Shared shared =
        make_shared(communicator, operation, own, static_cast<char *>(passed.result), MPI_ANY_SOURCE, passed.type);
    switch (choose_in_memory<selection::scan_rows>(shared, Collective::scan, shared.count)) {
    case Algorithm::published:
        scan_posts(shared, exclusive);
        return true;
    case Algorithm::direct:
        scan_directly(shared, exclusive);
        return true;
    case Algorithm::staged:
        scan_staged(shared, exclusive);
        return true;
    default:
        return false;
    }
}

} // namespace volley
