// SPDX-License-Identifier: BSD-3-Clause
/// The plan of a datatype: where its bytes lie, normalised into few nested loops and lists.
///
/// A plan is plain data in one allocation; nodes and tables refer to each other by their distance in bytes
/// from the plan's beginning. So any rank that can read the memory can walk it, wherever it is mapped, and it
/// may be copied with memcpy.
///
/// The *packed bytes* of a node are its bytes in the order of the type map. Positions in them, from 0 to
/// `size`, are how every function here names a part of a message: a copy can stop and resume at any byte.
/// Every node begins at its own first packed byte: displacements inside it are relative to that.
#pragma once

#include "layout/checked.h"

#include <cstdint>

namespace volley {

enum class NodeKind : std::uint32_t {
    empty,
    block,    ///< `size` adjacent bytes
    vector,   ///< `count` blocks of `block` bytes, `stride` apart
    index,    ///< `count` blocks of `block` bytes at the displacements in `table` (Count[count])
    list,     ///< `count` blocks of any length: `table` is ListEntry[count + 1]
    loop,     ///< `count` times the node `child` (of `block` packed bytes), `stride` apart
    scatter,  ///< `count` times the node `child` at the displacements in `table` (Count[count])
    sequence, ///< `count` nodes one after another: `table` is SequenceEntry[count + 1]
};

struct PlanNode {
    NodeKind kind = NodeKind::empty;
    std::uint32_t reserved = 0;
    Count size = 0; ///< packed bytes of all
    Count count = 0;
    Count stride = 0; ///< bytes
    Count block = 0;  ///< packed bytes of one repetition
    Count child = 0;  ///< offset of a PlanNode
    Count table = 0;  ///< offset of a table
};

/// One block of a list. A last entry, beyond the count, has `begin` = the node's size.
struct ListEntry {
    Count displacement;
    Count begin; ///< position of its first byte among the node's packed bytes
};

/// One node of a sequence; again with a last entry for the end.
struct SequenceEntry {
    Count displacement;
    Count begin;
    Count child; ///< offset of a PlanNode
};

struct DatatypePlan {
    Count bytes = 0;               ///< of the whole allocation
    Count size = 0;                ///< packed bytes of one element
    Count extent = 0;              ///< bytes from one element to the next
    Count displacement = 0;        ///< of the root's first packed byte from the element's address
    Count root = 0;                ///< offset of a PlanNode
    Count nodes = 0;               ///< how many; informs people and tests
    Count blocks = 0;              ///< adjacent pieces of memory in one element, as the nodes have them
    Count runs = 0;                ///< blocks, vectors counted as one
    Count uniform_block = 0;       ///< bytes of every block, 0 if they differ
    std::uint64_t fingerprint = 0; ///< equal for equal layouts whatever their displacement; 0: not computed

    const PlanNode &node(Count offset) const {
        return *static_cast<const PlanNode *>(at(offset));
    }

    template <class Entry> const Entry *table(const PlanNode &node) const {
        return static_cast<const Entry *>(at(node.table));
    }

    /// `count` elements are one block of count * size bytes, for every count.
    bool contiguous() const {
        return size == 0 || (node(root).kind == NodeKind::block && size == extent);
    }

  private:
    const void *at(Count offset) const {
        return reinterpret_cast<const char *>(this) + offset;
    }
};

} // namespace volley
