// SPDX-License-Identifier: BSD-3-Clause
/// Where the data of a file view lies in the file.
///
/// A view shows the bytes of its filetype, repeated without end from the displacement on. *Positions* count these bytes
/// from 0; an etype is a fixed number of them. What is here maps positions to offsets in the file and back.
///
/// A filetype's plan says where its bytes lie, whatever an address is: here it is an offset in the file. So all that
/// copies typed data also copies between a piece of the file that is in memory and somebody's buffer (in_memory()).
#pragma once

#include "layout/copy.h"
#include "layout/plan.h"

namespace volley {

class View {
  public:
    /// `plan` must live as long as the view. It may be a copy of that of another rank.
    View(Count displacement, const DatatypePlan &plan) : displacement_(displacement), plan_(&plan) {}

    /// How many bytes one filetype shows.
    Count tile_bytes() const {
        return plan_->size;
    }
    Count displacement() const {
        return displacement_;
    }
    const DatatypePlan &plan() const {
        return *plan_;
    }
    /// The bytes from one position on are one piece of the file, however many.
    bool is_contiguous() const {
        return plan_->contiguous();
    }

    /// In the first tiles, offsets never decrease with positions, and no byte of the file is shown twice. Two tiles
    /// show how all follow each other: position_at() may be used then. Looks at each piece of the filetype.
    bool is_increasing(Count tiles = 2) const;

    /// Whether the offsets of the positions below `end` are ones that a file can have.
    bool can_reach(Count end) const;

    /// The offset of the byte at a position.
    Count offset_of(Count position) const;
    /// How many bytes the view shows before an offset. The view is increasing.
    Count position_at(Count offset) const;

    /// Visits the pieces of the file that positions [from, to) are, adjacent ones as one: bool visit(offset, bytes),
    /// which returns false to end the walk. False if the visitor has ended it.
    template <class Visit> bool for_each_piece(Count from, Count to, Visit &&visit) const {
        Part part = part_of(from, to);
        return for_each_segment(part.buffer, part.from, part.to, [&](char *address, Count bytes) {
            return visit(static_cast<Count>(reinterpret_cast<std::intptr_t>(address)), bytes);
        });
    }
    /// About how many pieces those are.
    Count count_pieces(Count from, Count to) const;

    /// A part of a message of filetypes, for the functions of layout/copy.h.
    struct Part {
        TypedBuffer buffer;
        Count from, to;
    };
    /// The positions [from, to), where the byte at `offset` of the file lies at `memory`.
    Part in_memory(Count from, Count to, char *memory, Count offset) const;

  private:
    /// The same with offsets of the file as addresses.
    Part part_of(Count from, Count to) const {
        return in_memory(from, to, nullptr, 0);
    }

    Count displacement_;
    const DatatypePlan *plan_;
};

} // namespace volley
