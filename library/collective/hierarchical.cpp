// SPDX-License-Identifier: BSD-3-Clause
#include "collective/hierarchical.h"

#include "collective/algorithms.h"
#include "collective/hierarchy.h"
#include "collective/selection.h"
#include "layout/copy.h"

#include <core/functions.h>

#include <algorithm>
#include <memory>
#include <span>

namespace volley {
namespace {

/// Does one step after another. The first error is the operation's; a rank goes on after an error, since others wait
/// for it.
class Steps {
  public:
    void done(int code) {
        if (code_ == MPI_SUCCESS) code_ = code;
    }
    int code() const {
        return code_;
    }

  private:
    int code_ = MPI_SUCCESS;
};

void pack_block(const Block &block, Count bytes, char *packed) {
    pack({&block.type->plan(), block.address, block.count}, 0, bytes, packed);
}

void unpack_block(const char *packed, Count bytes, const Block &block) {
    unpack({&block.type->plan(), block.address, block.count}, 0, bytes, packed);
}

std::unique_ptr<char[]> make_buffer(Count bytes) {
    return std::unique_ptr<char[]>(new char[static_cast<std::size_t>(bytes)]);
}

/// Sections of a buffer, one for each node, with `each` bytes for each member of the node.
struct Sections {
    std::vector<Count> lengths, begins;

    Sections(const Hierarchy &hierarchy, Count each) {
        Count at = 0;
        for (const std::vector<int> &members : hierarchy.members) {
            lengths.push_back(static_cast<Count>(members.size()) * each);
            begins.push_back(at);
            at += lengths.back();
        }
    }
};

std::span<const int> own_members(const Communicator &communicator, const Hierarchy &hierarchy) {
    return hierarchy.members[static_cast<std::size_t>(hierarchy.place(communicator.rank()).node)];
}

/// Visits ranks in the order of nodes and, within a node, of members.
template <class Visit> void for_each_by_node(const Hierarchy &hierarchy, Visit &&visit) {
    for (const std::vector<int> &members : hierarchy.members)
        for (int rank : members) visit(rank);
}

/// The hierarchy with the communicators of its levels, if the operation is to use them; otherwise nullptr, on all
/// ranks.
const Hierarchy *choose_levels(Communicator &communicator, Collective operation, Count bytes = 0,
                               bool commutative = true, Count elements = 0) {
    // Without levels there is nothing to choose.
    if (const Hierarchy *hierarchy = hierarchy_of(communicator); !hierarchy || !hierarchy->has_levels()) return nullptr;
    Algorithm algorithm = choose({.operation = operation,
                                  .means = Means::nodes,
                                  .communicator = communicator,
                                  .ranks = communicator.size(),
                                  .bytes = bytes,
                                  .total = bytes * communicator.size(),
                                  .commutative = commutative,
                                  .elements = elements});
    return algorithm == Algorithm::hierarchical ? connected_hierarchy(communicator) : nullptr;
}

} // namespace

bool hierarchical_barrier(Communicator &communicator, int &code) {
    const Hierarchy *hierarchy = choose_levels(communicator, Collective::barrier);
    if (hierarchy == nullptr) return false;
    Steps steps;
    steps.done(mpi::Barrier(*hierarchy->node));
    if (hierarchy->leaders != nullptr) steps.done(mpi::Barrier(*hierarchy->leaders));
    steps.done(mpi::Barrier(*hierarchy->node));
    code = steps.code();
    return true;
}

bool hierarchical_broadcast(Communicator &communicator, int &code, const Passed &data, int root) {
    Arguments arguments;
    arguments.root(root, communicator);
    if (!arguments.ok() || hierarchy_of(communicator) == nullptr) return false;
    Block block = arguments.block({"buffer", "count", "datatype"}, data);
    arguments.not_in_place("buffer", data.buffer, "in a broadcast");
    code = arguments.code();
    if (code != MPI_SUCCESS || block.bytes() == 0) return true;
    const Hierarchy *hierarchy = choose_levels(communicator, Collective::bcast, block.bytes());
    if (hierarchy == nullptr) return false;
    auto *buffer = const_cast<void *>(data.buffer);
    auto [root_node, root_index] = hierarchy->place(root);
    bool with_root = hierarchy->place(communicator.rank()).node == root_node;
    bool before = with_root && root_index != 0; // the leader of the root's node has to get the data first
    Steps steps;
    if (before) steps.done(mpi::Bcast(buffer, data.count, data.type, root_index, *hierarchy->node));
    if (hierarchy->leaders != nullptr)
        steps.done(mpi::Bcast(buffer, data.count, data.type, root_node, *hierarchy->leaders));
    if (!before) steps.done(mpi::Bcast(buffer, data.count, data.type, 0, *hierarchy->node));
    code = steps.code();
    return true;
}

namespace {

/// Operands of a reduction, in memory of their own.
class OperandBuffer {
  public:
    OperandBuffer(Count count, const Datatype &type) {
        Count rest = (count - 1) * type.extent(), lowest = type.true_lb() + std::min<Count>(0, rest);
        // Results come with the gap at the end of their last element, which a program's array has as well.
        memory_ = make_buffer(std::max(type.true_extent(), type.extent()) + std::max(rest, -rest));
        begin_ = memory_.get() - lowest;
    }
    char *begin() const {
        return begin_;
    }

  private:
    std::unique_ptr<char[]> memory_;
    char *begin_;
};

/// Sends a block from the leader of a node to one of its members; all members call it.
int pass_on(Communicator &among, const Block &block, int to) {
    Schedule schedule("MPI_Reduce", among, Form::blocking);
    if (among.rank() == 0) schedule.send(block, to);
    if (among.rank() == to) schedule.receive(block, 0);
    return schedule.run();
}

} // namespace

bool hierarchical_reduce(Communicator &communicator, int &code, const PassedOperands &operands, Operation &operation,
                         int root) {
    Arguments arguments;
    arguments.root(root, communicator);
    if (!arguments.ok() || hierarchy_of(communicator) == nullptr) return false;
    bool is_root = communicator.rank() == root, in_place = is_root && operands.own == MPI_IN_PLACE;
    Block own, result;
    if (is_root) {
        result = arguments.operands("recvbuf", {operands.result, operands.count, operands.type}, operation);
        arguments.not_in_place("recvbuf", operands.result, "there");
    }
    if (arguments.ok())
        own =
            in_place ? result : arguments.operands("sendbuf", {operands.own, operands.count, operands.type}, operation);
    if (is_root && !in_place) arguments.apart(own, result);
    code = arguments.code();
    if (code != MPI_SUCCESS || own.count == 0) return true;
    const Hierarchy *hierarchy =
        choose_levels(communicator, Collective::reduce, own.bytes(), operation.is_commutative(), own.count);
    if (hierarchy == nullptr) return false;
    auto [root_node, root_index] = hierarchy->place(root);
    auto [own_node, own_index] = hierarchy->place(communicator.rank());
    bool leads = own_index == 0;
    // A leader that is not the root has no buffer for the result, so it needs one.
    std::unique_ptr<OperandBuffer> aside;
    char *reduced = is_root ? result.address : nullptr;
    if (leads && !is_root) {
        aside = std::make_unique<OperandBuffer>(own.count, *own.type);
        reduced = aside->begin();
    }
    Steps steps;
    const void *contributed = leads && in_place ? MPI_IN_PLACE : own.address;
    steps.done(mpi::Reduce(contributed, reduced, own.count, operands.type, operation, 0, *hierarchy->node));
    if (leads) {
        bool takes = own_node == root_node;
        steps.done(mpi::Reduce(takes ? MPI_IN_PLACE : reduced, reduced, own.count, operands.type, operation, root_node,
                               *hierarchy->leaders));
    }
    if (own_node == root_node && root_index != 0)
        steps.done(pass_on(*hierarchy->node, {reduced, own.count, own.type}, root_index));
    code = steps.code();
    return true;
}

bool hierarchical_allreduce(Communicator &communicator, int &code, const PassedOperands &operands,
                            Operation &operation) {
    if (hierarchy_of(communicator) == nullptr) return false;
    Arguments arguments;
    bool in_place = operands.own == MPI_IN_PLACE;
    Block result = arguments.operands("recvbuf", {operands.result, operands.count, operands.type}, operation);
    Block own =
        in_place ? result : arguments.operands("sendbuf", {operands.own, operands.count, operands.type}, operation);
    arguments.not_in_place("recvbuf", operands.result, "there");
    if (!in_place) arguments.apart(own, result);
    code = arguments.code();
    if (code != MPI_SUCCESS || own.count == 0) return true;
    const Hierarchy *hierarchy =
        choose_levels(communicator, Collective::allreduce, own.bytes(), operation.is_commutative(), own.count);
    if (hierarchy == nullptr) return false;
    bool leads = hierarchy->leaders != nullptr;
    Steps steps;
    const void *contributed = leads && in_place ? MPI_IN_PLACE : own.address;
    steps.done(mpi::Reduce(contributed, leads ? operands.result : nullptr, own.count, operands.type, operation, 0,
                           *hierarchy->node));
    if (leads)
        steps.done(
            mpi::Allreduce(MPI_IN_PLACE, operands.result, own.count, operands.type, operation, *hierarchy->leaders));
    steps.done(mpi::Bcast(operands.result, own.count, operands.type, 0, *hierarchy->node));
    code = steps.code();
    return true;
}

bool hierarchical_allgather(Communicator &communicator, int &code, const Passed &passed_own, const Passed &passed_all) {
    if (hierarchy_of(communicator) == nullptr) return false;
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
    Count bytes = all[0].bytes();
    if (bytes == 0) return true;
    const Hierarchy *hierarchy = choose_levels(communicator, Collective::allgather, bytes);
    if (hierarchy == nullptr) return false;
    // Leaders gather their node's blocks, exchange them in the order of nodes, and send all of them to their members.
    // Then each rank copies each block to its place.
    auto gathered = make_buffer(communicator.size() * bytes);
    Sections sections(*hierarchy, bytes);
    Count own_begin = sections.begins[static_cast<std::size_t>(hierarchy->place(communicator.rank()).node)];
    Steps steps;
    // A block that is too long is an error of the program. It is cut, so that all ranks decide by the same length.
    std::unique_ptr<char[]> cut;
    Passed mine{own.address, own.count, own.type->handle()};
    if (own.bytes() != bytes) {
        cut = make_buffer(bytes);
        pack_block(own, std::min(bytes, own.bytes()), cut.get());
        mine = {cut.get(), bytes, MPI_BYTE};
    }
    steps.done(mpi::Gather(mine.buffer, mine.count, mine.type, gathered.get() + own_begin, bytes, MPI_BYTE, 0,
                           *hierarchy->node));
    if (hierarchy->leaders != nullptr)
        steps.done(mpi::Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, gathered.get(), sections.lengths.data(),
                                   sections.begins.data(), MPI_BYTE, *hierarchy->leaders));
    steps.done(mpi::Bcast(gathered.get(), communicator.size() * bytes, MPI_BYTE, 0, *hierarchy->node));
    Count at = 0;
    for_each_by_node(*hierarchy, [&](int rank) { unpack_block(gathered.get() + bytes * at++, bytes, all[rank]); });
    steps.done(check_fits(own.bytes(), bytes));
    code = steps.code();
    return true;
}

namespace {

/// The blocks that a leader has from its members and for them. Towards the members, the blocks of one member lie one
/// behind the other, in the order of nodes; between leaders, the blocks for one node do.
class Collected {
  public:
    Collected(const Communicator &communicator, const Hierarchy &hierarchy, Count bytes)
        : hierarchy_(hierarchy), members_(static_cast<Count>(own_members(communicator, hierarchy).size())),
          size_(communicator.size()), bytes_(bytes), by_member(make_buffer(members_ * size_ * bytes)),
          by_node(make_buffer(members_ * size_ * bytes)), sections(hierarchy, members_ * bytes) {}

    void sort_by_node() {
        visit([&](Count node_at, Count member_at) { copy(by_member, member_at, by_node, node_at); }, true);
    }
    void sort_by_member() {
        visit([&](Count node_at, Count member_at) { copy(by_node, node_at, by_member, member_at); }, false);
    }

  private:
    /// Calls `move` with both places of each block. In a node's section, leaving blocks are ordered by this node's
    /// members, then by the other node's. Blocks that have come are ordered the other way round, as they left there.
    template <class Move> void visit(Move &&move, bool leaving) {
        Count node_at = 0, before = 0;
        for (const std::vector<int> &others : hierarchy_.members) {
            auto count = static_cast<Count>(others.size());
            Count outer = leaving ? members_ : count, inner = leaving ? count : members_;
            for (Count i = 0; i < outer; i++)
                for (Count j = 0; j < inner; j++) {
                    Count own = leaving ? i : j, other = leaving ? j : i;
                    move(node_at++, own * size_ + before + other);
                }
            before += count;
        }
    }
    void copy(const std::unique_ptr<char[]> &from, Count from_at, const std::unique_ptr<char[]> &to, Count to_at) {
        std::copy_n(from.get() + from_at * bytes_, bytes_, to.get() + to_at * bytes_);
    }

    const Hierarchy &hierarchy_;
    Count members_, size_, bytes_;

  public:
    std::unique_ptr<char[]> by_member, by_node;
    Sections sections;
};

} // namespace

bool hierarchical_alltoall(Communicator &communicator, int &code, const Passed &passed_from, const Passed &passed_to) {
    if (hierarchy_of(communicator) == nullptr) return false;
    Arguments arguments;
    bool in_place = passed_from.buffer == MPI_IN_PLACE;
    Blocks from;
    if (!in_place) from = arguments.blocks(send_names, passed_from, communicator.size());
    arguments.not_in_place("recvbuf", passed_to.buffer, "there");
    Blocks to = arguments.blocks(receive_names, passed_to, communicator.size());
    if (arguments.ok() && in_place) from = to;
    if (arguments.ok() && !in_place) arguments.apart(from[0], to[0]);
    code = arguments.code();
    if (code != MPI_SUCCESS) return true;
    Count bytes = from[0].bytes(), size = communicator.size();
    if (bytes == 0) return true;
    const Hierarchy *hierarchy = choose_levels(communicator, Collective::alltoall, bytes);
    if (hierarchy == nullptr) return false;
    auto own = make_buffer(size * bytes);
    Count at = 0;
    for_each_by_node(*hierarchy, [&](int rank) { pack_block(from[rank], bytes, own.get() + bytes * at++); });
    std::unique_ptr<Collected> collected;
    if (hierarchy->leaders != nullptr) collected = std::make_unique<Collected>(communicator, *hierarchy, bytes);
    char *by_member = collected ? collected->by_member.get() : nullptr;
    Steps steps;
    steps.done(mpi::Gather(own.get(), size * bytes, MPI_BYTE, by_member, size * bytes, MPI_BYTE, 0, *hierarchy->node));
    if (collected) {
        collected->sort_by_node();
        const Sections &sections = collected->sections;
        steps.done(mpi::Alltoallv(collected->by_node.get(), sections.lengths.data(), sections.begins.data(), MPI_BYTE,
                                  by_member, sections.lengths.data(), sections.begins.data(), MPI_BYTE,
                                  *hierarchy->leaders));
        collected->by_node.swap(collected->by_member);
        collected->sort_by_member();
        by_member = collected->by_member.get();
    }
    steps.done(mpi::Scatter(by_member, size * bytes, MPI_BYTE, own.get(), size * bytes, MPI_BYTE, 0, *hierarchy->node));
    at = 0;
    for_each_by_node(*hierarchy, [&](int rank) {
        unpack_block(own.get() + bytes * at++, std::min(bytes, to[rank].bytes()), to[rank]);
    });
    steps.done(check_fits(bytes, to[0].bytes()));
    code = steps.code();
    return true;
}

} // namespace volley
