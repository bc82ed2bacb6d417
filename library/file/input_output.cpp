// SPDX-License-Identifier: BSD-3-Clause
#include "file/input_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace volley {
namespace {

/// Repeats `call(descriptor, pieces, count, offset)` until all is moved, or nothing moves any more.
template <class Call>
int move_all(Call &&call, int descriptor, iovec *pieces, int count, Count offset, Count &moved, bool ends) {
    moved = 0;
    while (count > 0) {
        if (pieces->iov_len == 0) {
            ++pieces;
            --count;
            continue;
        }
        ssize_t done = call(descriptor, pieces, count, offset + moved);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return errno;
        if (done == 0) return ends ? 0 : EIO;
        moved += done;
        for (auto left = static_cast<std::size_t>(done); left > 0;) {
            std::size_t part = left < pieces->iov_len ? left : pieces->iov_len;
            pieces->iov_base = static_cast<char *>(pieces->iov_base) + part;
            pieces->iov_len -= part;
            left -= part;
            if (pieces->iov_len != 0) break;
            ++pieces;
            --count;
        }
    }
    return 0;
}

flock range(short type, Count offset, Count bytes) {
    flock wanted{};
    wanted.l_type = type;
    wanted.l_whence = SEEK_SET;
    wanted.l_start = offset;
    wanted.l_len = bytes;
    return wanted;
}

} // namespace

int read_pieces_at(int descriptor, iovec *pieces, int count, Count offset, Count &moved) {
    return move_all(preadv, descriptor, pieces, count, offset, moved, true);
}

int write_pieces_at(int descriptor, iovec *pieces, int count, Count offset, Count &moved) {
    return move_all(pwritev, descriptor, pieces, count, offset, moved, false);
}

int read_at(int descriptor, void *memory, Count bytes, Count offset, Count &moved) {
    iovec piece{memory, static_cast<std::size_t>(bytes)};
    return read_pieces_at(descriptor, &piece, 1, offset, moved);
}

int write_at(int descriptor, const void *memory, Count bytes, Count offset, Count &moved) {
    iovec piece{const_cast<void *>(memory), static_cast<std::size_t>(bytes)};
    return write_pieces_at(descriptor, &piece, 1, offset, moved);
}

int RangeLock::take(int descriptor, bool exclusive, Count offset, Count bytes) {
    flock wanted = range(exclusive ? F_WRLCK : F_RDLCK, offset, bytes);
    while (fcntl(descriptor, F_OFD_SETLKW, &wanted) < 0)
        if (errno != EINTR) return errno;
    descriptor_ = descriptor;
    offset_ = offset;
    bytes_ = bytes;
    return 0;
}

void RangeLock::release() {
    if (descriptor_ < 0) return;
    flock whole = range(F_UNLCK, offset_, bytes_);
    fcntl(descriptor_, F_OFD_SETLK, &whole);
    descriptor_ = -1;
}

} // namespace volley
