// SPDX-License-Identifier: BSD-3-Clause
/// Which bytes of a window have been written: a bit each.
#pragma once

#include "layout/checked.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace volley {

class Coverage {
  public:
    /// Nothing is written of a window of so many bytes.
    void clear(Count bytes) {
        bytes_ = bytes;
        words_.assign(static_cast<std::size_t>(bytes / 64 + 1), 0);
    }
    void mark(Count from, Count bytes) {
        const Count to = from + bytes;
        for (Count word = from / 64; word * 64 < to; ++word) {
            const Count low = std::max<Count>(from - word * 64, 0), high = std::min<Count>(to - word * 64, 64);
            words_[static_cast<std::size_t>(word)] |= bits_below(high) & ~bits_below(low);
        }
    }
    /// Visits the runs of written bytes, as far as possible in one: bool visit(from, bytes). False if that ended it.
    template <class Visit> bool for_each_run(Visit &&visit) const {
        for (Count at = find(0, true); at < bytes_;) {
            const Count end = find(at, false);
            if (!visit(at, end - at)) return false;
            at = find(end, true);
        }
        return true;
    }

  private:
    static std::uint64_t bits_below(Count bit) {
        return bit >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bit) - 1;
    }
    /// The first byte from `at` on that is written, or is not; `bytes_` if there is none.
    Count find(Count at, bool written) const {
        while (at < bytes_) {
            std::uint64_t word = words_[static_cast<std::size_t>(at / 64)];
            if (!written) word = ~word;
            word &= ~bits_below(at % 64);
            if (word != 0) return std::min<Count>(at / 64 * 64 + std::countr_zero(word), bytes_);
            at = (at / 64 + 1) * 64;
        }
        return bytes_;
    }

    Count bytes_ = 0;
    std::vector<std::uint64_t> words_;
};

} // namespace volley
