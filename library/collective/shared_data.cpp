// SPDX-License-Identifier: BSD-3-Clause
#include "collective/algorithms.h"
#include "collective/area.h"
#include "collective/selection_table.h"
#include "collective/shared.h"
#include "core/error.h"
#include "layout/copy.h"
#include "transport/shm/lines.h"

#include <cstring>

namespace volley {
namespace {

/// Where the data of a block is, for ranks in the same address space. Each may have its own copy of the library, but
/// all copies understand each other's plans.
struct Location {
    void *address;
    Count count;
    const DatatypePlan *plan;
};

Location location_of(const Block &block) {
    return {block.address, block.count, &block.type->plan()};
}

TypedBuffer typed(const Location &location) {
    return {location.plan, location.address, location.count};
}

TypedBuffer typed(const Block &block) {
    return {&block.type->plan(), block.address, block.count};
}

void copy(const TypedBuffer &from, const TypedBuffer &to, Count bytes) {
    copy_between(from, to, 0, bytes);
}

// Copy between a block and a few packed bytes, mostly without using the datatype's plan.

void pack_bytes(const Block &block, Count bytes, unsigned char *packed) {
    char *data = nullptr;
    if (flat(block, data))
        copy_for_peer(packed, data, static_cast<std::size_t>(bytes));
    else
        pack(typed(block), 0, bytes, packed);
}

void unpack_bytes(const unsigned char *packed, Count bytes, const Block &block) {
    char *data = nullptr;
    if (flat(block, data))
        copy_for_peer(data, packed, static_cast<std::size_t>(bytes));
    else
        unpack(typed(block), 0, bytes, packed);
}

/// Copies as much as there is and as fits.
void copy_bytes(const Block &from, const Block &to) {
    Count bytes = std::min(from.bytes(), to.bytes());
    char *source = nullptr, *target = nullptr;
    if (flat(from, source) && flat(to, target))
        copy_memory(target, source, static_cast<std::size_t>(bytes));
    else
        copy(typed(from), typed(to), bytes);
}

/// Copies what was sent, as far as it fits; MPI_ERR_TRUNCATE if it does not fit.
int copy_checked(const TypedBuffer &from, Count from_bytes, const TypedBuffer &to, Count to_bytes) {
    copy(from, to, std::min(from_bytes, to_bytes));
    return check_fits(from_bytes, to_bytes);
}

WaitingFor about(const Communicator &communicator, int root, Count count, MPI_Datatype type) {
    return {root, 0, communicator.context(Traffic::collective), count, reinterpret_cast<std::uintptr_t>(type)};
}

/// `bytes` is the length of a block; negative where blocks differ.
template <const auto &rows> Algorithm choose_in_memory(Communicator &communicator, Collective operation, Count bytes) {
    return selection::choose_inline<rows>({.operation = operation,
                                           .means = Means::memory,
                                           .communicator = communicator,
                                           .ranks = communicator.size(),
                                           .bytes = std::max<Count>(bytes, 0),
                                           .total = bytes * communicator.size(),
                                           .even = bytes >= 0});
}

} // namespace

bool shared_barrier(Communicator &communicator, int &code) {
    if (communicator.area == nullptr) return false;
    if (choose_in_memory<selection::barrier_rows>(communicator, Collective::barrier, 0) == Algorithm::none)
        return false;
    WaitingFor waiting = about(communicator, MPI_ANY_SOURCE, 0, MPI_DATATYPE_NULL);
    CollectiveRound(communicator, waiting).meet();
    code = MPI_SUCCESS;
    return true;
}

namespace {

/// Broadcasts data or a piece of it: the root publishes a copy and goes on without waiting.
template <class Pack, class Unpack>
void broadcast_posts(Communicator &communicator, const WaitingFor &waiting, Count bytes, int root, Pack &&pack,
                     Unpack &&unpack) {
    CollectiveRound round(communicator, waiting);
    if (communicator.rank() == root) {
        pack(round.own_data(bytes));
        round.publish();
    } else {
        round.wait_for_published(root);
        unpack(round.data(root, bytes));
    }
    round.depart();
}

/// Broadcasts in pieces where ranks share cores: each rank then runs once for many pieces.
void broadcast_pieces(Communicator &communicator, const WaitingFor &waiting, const Block &block, int root) {
    auto most = static_cast<Count>(communicator.area->all_rooms_bytes());
    for (Count at = 0, bytes = block.bytes(); at < bytes; at += most) {
        Count length = std::min(most, bytes - at);
        broadcast_posts(
            communicator, waiting, length, root,
            [&](unsigned char *published) { pack(typed(block), at, at + length, published); },
            [&](const unsigned char *published) { unpack(typed(block), at, at + length, published); });
    }
}

/// The others read the root's data in place.
int broadcast_directly(Communicator &communicator, const WaitingFor &waiting, const Block &block, int root) {
    InPlaceRound round(communicator, waiting);
    if (communicator.rank() == root) {
        round.own().as<Location>() = location_of(block);
        round.publish();
        round.arrive_and_wait();
        return MPI_SUCCESS;
    }
    round.wait_for_published(root);
    Location from = round.slot(root).as<Location>();
    int code = copy_checked(typed(from), from.count * from.plan->size, typed(block), block.bytes());
    round.arrive_and_go();
    return code;
}

} // namespace

bool shared_broadcast(Communicator &communicator, int &code, const Passed &passed, int root) {
    if (communicator.area == nullptr) return false;
    Arguments arguments;
    arguments.root(root, communicator);
    Block block = arguments.block({"buffer", "count", "datatype"}, passed);
    arguments.not_in_place("buffer", passed.buffer, "in a broadcast");
    code = arguments.code();
    if (code != MPI_SUCCESS || block.bytes() == 0) return true;
    Count bytes = block.bytes();
    WaitingFor waiting = about(communicator, root, passed.count, passed.type);
    switch (choose_in_memory<selection::bcast_rows>(communicator, Collective::bcast, bytes)) {
    case Algorithm::published:
        broadcast_posts(
            communicator, waiting, bytes, root, [&](unsigned char *published) { pack_bytes(block, bytes, published); },
            [&](const unsigned char *published) { unpack_bytes(published, bytes, block); });
        return true;
    case Algorithm::direct:
        code = broadcast_directly(communicator, waiting, block, root);
        return true;
    case Algorithm::pieces:
        broadcast_pieces(communicator, waiting, block, root);
        return true;
    default:
        return false;
    }
}

namespace {

/// Where the root's blocks are, for the others, which may read the root's datatype objects.
struct BlocksAt {
    const Blocks *blocks;
};

/// The root publishes where its blocks are; each other rank copies its own block from or to there.
template <class Copy>
void with_root(Communicator &communicator, const WaitingFor &waiting, const Blocks &all, int root, Copy &&copy_one) {
    InPlaceRound round(communicator, waiting);
    if (communicator.rank() == root) {
        round.own().as<BlocksAt>() = {&all};
        round.publish();
        copy_one(all);
        round.arrive_and_wait();
        return;
    }
    round.wait_for_published(root);
    copy_one(*round.slot(root).as<BlocksAt>().blocks);
    round.arrive_and_go();
}

/// Gathers blocks so small that each is published: only the root waits.
void gather_posts(Communicator &communicator, const WaitingFor &waiting, const Block &own, const Blocks &all,
                  Count bytes, int root) {
    CollectiveRound round(communicator, waiting);
    if (communicator.rank() != root) {
        pack_bytes(own, bytes, round.own_data(bytes));
        return round.hand_in();
    }
    round.collect();
    for (int i = 0; i < communicator.size(); ++i)
        if (i != root) unpack_bytes(round.data(i, bytes), bytes, all[i]);
    if (own.type != nullptr) copy_bytes(own, all[root]);
}

template <class PassedAll>
bool gather(Communicator &communicator, int &code, const Passed &passed_own, const PassedAll &passed_all, int root) {
    if (communicator.area == nullptr) return false;
    Arguments arguments;
    arguments.root(root, communicator);
    bool is_root = communicator.rank() == root, in_place = is_root && passed_own.buffer == MPI_IN_PLACE;
    Block own;
    Blocks all;
    if (arguments.ok() && !in_place) own = arguments.block(send_names, passed_own);
    if (arguments.ok() && is_root) {
        arguments.not_in_place("recvbuf", passed_all.buffer, "there");
        all = arguments.blocks(receive_names, passed_all, communicator.size());
        if (arguments.ok() && !in_place) arguments.apart(own, all[root]);
    }
    code = arguments.code();
    if (code != MPI_SUCCESS) return true;
    WaitingFor waiting = about(communicator, root, passed_own.count, passed_own.type);
    Count bytes = -1;
    if constexpr (std::is_same_v<PassedAll, Passed>) {
        bytes = is_root ? all[root].bytes() : own.bytes();
        if (bytes == 0) return true;
    }
    Algorithm algorithm = choose_in_memory<selection::gather_rows>(communicator, Collective::gather, bytes);
    if (algorithm == Algorithm::published) {
        gather_posts(communicator, waiting, own, all, bytes, root);
        if (is_root && !in_place) code = check_fits(own.bytes(), bytes);
        return true;
    }
    if (algorithm == Algorithm::none) return false;
    with_root(communicator, waiting, all, root, [&](const Blocks &blocks) {
        if (in_place) return;
        Block place = blocks[communicator.rank()];
        code = copy_checked(typed(own), own.bytes(), typed(place), place.bytes());
    });
    return true;
}

template <class PassedAll>
bool scatter(Communicator &communicator, int &code, const PassedAll &passed_all, const Passed &passed_own, int root) {
    if (communicator.area == nullptr || !communicator.area->direct) return false;
    Arguments arguments;
    arguments.root(root, communicator);
    bool is_root = communicator.rank() == root, in_place = is_root && passed_own.buffer == MPI_IN_PLACE;
    Block own;
    Blocks all;
    if (arguments.ok() && !in_place) own = arguments.block(receive_names, passed_own);
    if (arguments.ok() && is_root) {
        arguments.not_in_place("sendbuf", passed_all.buffer, "there");
        all = arguments.blocks(send_names, passed_all, communicator.size());
        if (arguments.ok() && !in_place) arguments.apart(all[root], own);
    }
    code = arguments.code();
    if (code != MPI_SUCCESS) return true;
    WaitingFor waiting = about(communicator, root, passed_own.count, passed_own.type);
    Count bytes = -1;
    if constexpr (std::is_same_v<PassedAll, Passed>) bytes = is_root ? all[root].bytes() : own.bytes();
    if (choose_in_memory<selection::scatter_rows>(communicator, Collective::scatter, bytes) == Algorithm::none)
        return false;
    with_root(communicator, waiting, all, root, [&](const Blocks &blocks) {
        if (in_place) return;
        Block place = blocks[communicator.rank()];
        code = copy_checked(typed(place), place.bytes(), typed(own), own.bytes());
    });
    return true;
}

/// Gathers to all blocks so small that each is published. Meanwhile this rank's own block is copied to its place.
void allgather_posts(Communicator &communicator, const WaitingFor &waiting, const Block &own, const Blocks &all,
                     Count bytes, bool in_place) {
    int rank = communicator.rank();
    CollectiveRound round(communicator, waiting);
    pack_bytes(own, std::min(bytes, own.bytes()), round.own_data(bytes));
    round.meet([&] {
        if (!in_place) copy_bytes(own, all[rank]);
    });
    for (int i = 0; i < communicator.size(); ++i)
        if (i != rank) unpack_bytes(round.data(i, bytes), bytes, all[i]);
}

/// Copies bytes [from, to) of a block from a place on the stage. `alone`: no other rank reads that place.
void take_from_stage(unsigned char *place, const Block &block, Count from, Count to, bool alone) {
    char *data = nullptr;
    auto bytes = static_cast<std::size_t>(to - from);
    if (!alone) {
        unpack(typed(block), from, to, place);
    } else if (flat(block, data)) {
        copy_and_reclaim(data + from, place, bytes);
    } else {
        unpack(typed(block), from, to, place);
        reclaim(place, bytes);
    }
}

void allgather_staged(Communicator &communicator, const WaitingFor &waiting, const Block &own, const Blocks &all,
                      Count longest, bool in_place) {
    int rank = communicator.rank(), size = communicator.size();
    CollectiveArea &area = *communicator.area;
    for (Count at = 0, most = area.stage_bytes; at < longest; at += most) {
        std::uint64_t piece = communicator.staged_pieces++;
        if (Count end = std::min(at + most, own.bytes()); at < end) pack(typed(own), at, end, area.stage(rank, piece));
        CollectiveRound(communicator, waiting).meet([&] {
            if (at == 0 && !in_place) copy_bytes(own, all[rank]);
        });
        for (int i = 1; i < size; ++i) {
            int peer = (rank + i) % size; // so that not all ranks read from the same rank at a time
            Block place = all[peer];
            if (Count end = std::min(at + most, place.bytes()); at < end)
                take_from_stage(area.stage(peer, piece), place, at, end, size == 2);
        }
    }
}

int allgather_directly(Communicator &communicator, const WaitingFor &waiting, const Block &own, const Blocks &all,
                       bool in_place) {
    int code = MPI_SUCCESS, rank = communicator.rank(), size = communicator.size();
    InPlaceRound round(communicator, waiting);
    round.own().as<Location>() = location_of(own);
    round.meet();
    for (int i = 0; i < size; ++i) {
        int peer = (rank + i) % size; // so that not all ranks read from the same rank at a time
        if (in_place && peer == rank) continue;
        Location from = round.slot(peer).as<Location>();
        Block to = all[peer];
        int copied = copy_checked(typed(from), from.count * from.plan->size, typed(to), to.bytes());
        if (code == MPI_SUCCESS) code = copied;
    }
    CollectiveRound(communicator, waiting).meet();
    return code;
}

template <class PassedAll>
bool allgather(Communicator &communicator, int &code, const Passed &passed_own, const PassedAll &passed_all) {
    if (communicator.area == nullptr) return false;
    Arguments arguments;
    bool in_place = passed_own.buffer == MPI_IN_PLACE;
    Block own;
    if (!in_place) own = arguments.block(send_names, passed_own);
    arguments.not_in_place("recvbuf", passed_all.buffer, "there");
    Blocks all = arguments.blocks(receive_names, passed_all, communicator.size());
    if (arguments.ok() && in_place) own = all[communicator.rank()];
    if (arguments.ok() && !in_place) arguments.apart(own, all[communicator.rank()]);
    code = arguments.code();
    if (code != MPI_SUCCESS) return true;
    WaitingFor waiting = about(communicator, MPI_ANY_SOURCE, passed_own.count, passed_own.type);
    Count bytes = all.uniform() ? all[0].bytes() : -1;
    if (bytes == 0) return true;
    switch (choose_in_memory<selection::allgather_rows>(communicator, Collective::allgather, bytes)) {
    case Algorithm::published:
        allgather_posts(communicator, waiting, own, all, bytes, in_place);
        break;
    case Algorithm::staged:
        allgather_staged(communicator, waiting, own, all, bytes, in_place);
        break;
    case Algorithm::direct:
        code = allgather_directly(communicator, waiting, own, all, in_place);
        break;
    default:
        return false;
    }
    if (code == MPI_SUCCESS && bytes > 0) code = check_fits(own.bytes(), bytes);
    return true;
}

void alltoall_posts(Communicator &communicator, const WaitingFor &waiting, const Blocks &from, const Blocks &to,
                    Count bytes) {
    int rank = communicator.rank(), size = communicator.size();
    CollectiveRound round(communicator, waiting);
    unsigned char *own = round.own_data(bytes * size);
    for (int i = 0; i < size; ++i)
        if (i != rank) pack_bytes(from[i], bytes, own + i * bytes);
    round.meet([&] { copy_bytes(from[rank], to[rank]); });
    for (int i = 0; i < size; ++i)
        if (i != rank) unpack_bytes(round.data(i, bytes * size) + rank * bytes, std::min(bytes, to[i].bytes()), to[i]);
}

void alltoall_staged(Communicator &communicator, const WaitingFor &waiting, const Blocks &from, const Blocks &to,
                     Count bytes) {
    int rank = communicator.rank(), size = communicator.size();
    CollectiveArea &area = *communicator.area;
    Count most = area.stage_bytes / size / static_cast<Count>(cache_line) * static_cast<Count>(cache_line);
    for (Count at = 0; at < bytes; at += most) {
        std::uint64_t piece = communicator.staged_pieces++;
        Count end = std::min(at + most, bytes);
        for (int i = 1; i < size; ++i) {
            int peer = (rank + i) % size;
            pack(typed(from[peer]), at, end, area.stage(rank, piece) + peer * most);
        }
        CollectiveRound(communicator, waiting).meet([&] {
            if (at == 0) copy_bytes(from[rank], to[rank]);
        });
        for (int i = 1; i < size; ++i) {
            int peer = (rank + i) % size;
            Block place = to[peer];
            if (Count last = std::min(end, place.bytes()); at < last)
                take_from_stage(area.stage(peer, piece) + rank * most, place, at, last, true);
        }
    }
}

int alltoall_directly(Communicator &communicator, const WaitingFor &waiting, const Blocks &from, const Blocks &to) {
    int code = MPI_SUCCESS, rank = communicator.rank(), size = communicator.size();
    InPlaceRound round(communicator, waiting);
    round.own().as<BlocksAt>() = {&from};
    round.meet();
    for (int i = 0; i < size; ++i) {
        int peer = (rank + i) % size;
        Block source = (*round.slot(peer).as<BlocksAt>().blocks)[rank], place = to[peer];
        int copied = copy_checked(typed(source), source.bytes(), typed(place), place.bytes());
        if (code == MPI_SUCCESS) code = copied;
    }
    CollectiveRound(communicator, waiting).meet();
    return code;
}

template <class PassedAll>
bool alltoall(Communicator &communicator, int &code, const PassedAll &passed_from, const PassedAll &passed_to) {
    if (communicator.area == nullptr || passed_from.buffer == MPI_IN_PLACE) return false;
    Arguments arguments;
    Blocks from = arguments.blocks(send_names, passed_from, communicator.size());
    arguments.not_in_place("recvbuf", passed_to.buffer, "there");
    Blocks to = arguments.blocks(receive_names, passed_to, communicator.size());
    if (arguments.ok() && from.uniform()) arguments.apart(from[0], to[0]);
    code = arguments.code();
    if (code != MPI_SUCCESS) return true;
    WaitingFor waiting = about(communicator, MPI_ANY_SOURCE, 0, MPI_DATATYPE_NULL);
    Count bytes = from.uniform() ? from[0].bytes() : -1;
    if (bytes == 0) return true;
    switch (choose_in_memory<selection::alltoall_rows>(communicator, Collective::alltoall, bytes)) {
    case Algorithm::published:
        alltoall_posts(communicator, waiting, from, to, bytes);
        break;
    case Algorithm::staged:
        alltoall_staged(communicator, waiting, from, to, bytes);
        break;
    case Algorithm::direct:
        code = alltoall_directly(communicator, waiting, from, to);
        break;
    default:
        return false;
    }
    if (code == MPI_SUCCESS && bytes > 0) code = check_fits(bytes, to[0].bytes());
    return true;
}

} // namespace

bool shared_gather(Communicator &communicator, int &code, const Passed &own, const Passed &all, int root) {
    return gather(communicator, code, own, all, root);
}

bool shared_gather(Communicator &communicator, int &code, const Passed &own, const PassedEach &all, int root) {
    return gather(communicator, code, own, all, root);
}

bool shared_scatter(Communicator &communicator, int &code, const Passed &all, const Passed &own, int root) {
    return scatter(communicator, code, all, own, root);
}

bool shared_scatter(Communicator &communicator, int &code, const PassedEach &all, const Passed &own, int root) {
    return scatter(communicator, code, all, own, root);
}

bool shared_allgather(Communicator &communicator, int &code, const Passed &own, const Passed &all) {
    return allgather(communicator, code, own, all);
}

bool shared_allgather(Communicator &communicator, int &code, const Passed &own, const PassedEach &all) {
    return allgather(communicator, code, own, all);
}

bool shared_alltoall(Communicator &communicator, int &code, const Passed &from, const Passed &to) {
    return alltoall(communicator, code, from, to);
}

bool shared_alltoall(Communicator &communicator, int &code, const PassedEach &from, const PassedEach &to) {
    return alltoall(communicator, code, from, to);
}

} // namespace volley
