// SPDX-License-Identifier: BSD-3-Clause
/// Reading and writing at offsets of a file: interrupted and partial calls are continued. All return 0 or errno.
#pragma once

#include "layout/checked.h"

#include <sys/uio.h>

namespace volley {

/// `moved` counts what was read; less than `bytes` without an error is the end of the file.
int read_at(int descriptor, void *memory, Count bytes, Count offset, Count &moved);
int write_at(int descriptor, const void *memory, Count bytes, Count offset, Count &moved);
/// The same with memory in pieces, which these functions change.
int read_pieces_at(int descriptor, iovec *pieces, int count, Count offset, Count &moved);
int write_pieces_at(int descriptor, iovec *pieces, int count, Count offset, Count &moved);

/// A lock of a range of a file, against all other opens of it, also in this process.
class RangeLock {
  public:
    RangeLock() = default;
    RangeLock(const RangeLock &) = delete;
    RangeLock &operator=(const RangeLock &) = delete;
    ~RangeLock() {
        release();
    }

    /// Waits until nobody else has a lock there that excludes it. 0 bytes: to the end, wherever that is.
    int take(int descriptor, bool exclusive, Count offset, Count bytes);
    void release();

  private:
    int descriptor_ = -1;
    Count offset_ = 0, bytes_ = 0;
};

} // namespace volley
