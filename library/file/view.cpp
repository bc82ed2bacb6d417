// SPDX-License-Identifier: BSD-3-Clause
#include "file/view.h"

#include "layout/checked.h"

#include <algorithm>

namespace volley {

View::Part View::in_memory(Count from, Count to, char *memory, Count offset) const {
    Count size = std::max<Count>(plan_->size, 1);
    Count tile = from / size;
    Count skipped = tile * size;
    auto address = reinterpret_cast<std::uintptr_t>(memory) + static_cast<std::uintptr_t>(displacement_) +
                   static_cast<std::uintptr_t>(tile * plan_->extent) - static_cast<std::uintptr_t>(offset);
    Count tiles = (to - skipped + size - 1) / size;
    return {{plan_, reinterpret_cast<void *>(address), tiles}, from - skipped, to - skipped};
}

bool View::is_increasing(Count tiles) const {
    if (plan_->size == 0) return true;
    Count end = INT64_MIN;
    return for_each_piece(0, tiles * plan_->size, [&](Count offset, Count bytes) {
        bool follows = offset >= end;
        end = offset + bytes;
        return follows;
    });
}

bool View::can_reach(Count end) const {
    if (end <= 0 || plan_->size == 0) return true;
    Count tiles = (end - 1) / plan_->size;
    // A filetype's own displacements fit a Count; two of them and the tiles' distance may not.
    Checked last = Checked(tiles) * plan_->extent + displacement_;
    if (last.overflow() || last.value() < 0) return false;
    bool fits = true;
    Count first = tiles * plan_->size;
    for_each_segment({plan_, nullptr, 1}, 0, end - first, [&](char *address, Count bytes) {
        auto offset = static_cast<Count>(reinterpret_cast<std::intptr_t>(address));
        Checked stop = last + offset + bytes;
        fits = !stop.overflow() && stop.value() >= 0;
        return fits;
    });
    return fits;
}

Count View::offset_of(Count position) const {
    Count found = displacement_;
    for_each_piece(position, position + 1, [&](Count offset, Count) {
        found = offset;
        return false;
    });
    return found;
}

Count View::position_at(Count offset) const {
    if (plan_->size == 0) return 0;
    Count first = offset_of(0);
    if (offset <= first) return 0;
    Count tile = is_contiguous() ? 0 : (offset - first) / plan_->extent;
    Count low = tile * plan_->size;
    if (is_contiguous()) return offset - first;
    // In this tile, the first byte that does not lie before the offset.
    Count high = low + plan_->size;
    while (low < high) {
        Count middle = low + (high - low) / 2;
        if (offset_of(middle) < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

Count View::count_pieces(Count from, Count to) const {
    if (to <= from || plan_->size == 0) return 0;
    if (is_contiguous()) return 1;
    Count average = std::max<Count>(plan_->size / std::max<Count>(plan_->blocks, 1), 1);
    return (to - from + average - 1) / average;
}

} // namespace volley
