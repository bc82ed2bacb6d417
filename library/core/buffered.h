// SPDX-License-Identifier: BSD-3-Clause
/// Buffered sends (MPI 5.0 §3.6): messages are copied, so that the call never waits for the receiver.
///
/// The copies are in memory of the library. The size of the program's attached buffer limits how much of this memory
/// may be in use, by the standard's own accounting (packed size and an overhead for each message under way).
#pragma once

#include "core/point_to_point.h"

#include <vector>

namespace volley {

class BufferedSends {
  public:
    /// `buffer` may be MPI_BUFFER_AUTOMATIC: then there is no limit.
    BufferedSends(void *buffer, Count bytes) : buffer_(buffer), bytes_(bytes) {}
    BufferedSends(const BufferedSends &) = delete;
    BufferedSends &operator=(const BufferedSends &) = delete;

    /// Copies the message and starts sending it.
    int send(const Data &data, const Address &to);
    /// Waits until all messages have left the buffer.
    void flush();
    /// Whether all have, without waiting.
    bool is_empty();

    void *buffer() const {
        return buffer_;
    }
    Count bytes() const {
        return bytes_;
    }

  private:
    struct Copy {
        Request *request;
        void *memory;
        Count accounted;
    };

    void collect();

    void *buffer_;
    Count bytes_;
    Count used_ = 0;
    std::vector<Copy> copies_;
};

/// What MPI_Buffer_attach attached for the whole process, or nullptr.
BufferedSends *&process_buffer();

} // namespace volley
