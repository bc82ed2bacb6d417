// SPDX-License-Identifier: BSD-3-Clause
/// The shared file pointer: one position for all ranks that have opened a file together.
///
/// Ranks of one node have it in the arena: taking a part of the file is one atomic addition, and no rank needs another
/// to be inside MPI. Ranks of several nodes share nothing but files: there it lies in a hidden file beside the file,
/// which the first that uses the pointer makes, and the close removes. A lock of that file guards it; who waits for the
/// lock is woken by the kernel. A job that is killed may leave the hidden file.
#pragma once

#include "core/communicator.h"
#include "layout/checked.h"

#include <atomic>
#include <cstdint>
#include <string>

namespace volley {

class SharedPointer {
  public:
    SharedPointer() = default;
    SharedPointer(const SharedPointer &) = delete;
    SharedPointer &operator=(const SharedPointer &) = delete;

    /// In the rank that opens a file for all: what open() gets in every rank.
    static std::uint64_t draw(const Communicator &communicator);
    /// `drawn` is what rank 0 has drawn, `file` the name of the file.
    void open(std::uint64_t drawn, const std::string &file);
    /// In all ranks, when no other rank uses the pointer any more.
    void close(bool first_rank);

    /// Adds bytes; `before` is where the pointer was. Returns an error code.
    int advance(Count bytes, Count &before);
    int get(Count &position) {
        return advance(0, position);
    }
    int set(Count position);

  private:
    /// What is done with the position in the hidden file, under its lock.
    template <class Change> int in_file(Change &&change);

    std::atomic<std::int64_t> *in_arena_ = nullptr;
    std::string hidden_; ///< the name of the hidden file
};

} // namespace volley
