// SPDX-License-Identifier: BSD-3-Clause
/// Converts frames (transport/tcp/wire.h) to and from the bytes of a stream, however these are cut. There are no
/// sockets here.
#pragma once

#include "transport/tcp/wire.h"

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace volley {

/// Handles the frames that arrive. A function returns false if the frame makes no sense at that point.
class FrameHandler {
  public:
    /// A whole frame whose payload does not come in parts; `payload` is what follows the header, valid during the call.
    virtual bool frame(const wire::FrameHeader &header, unsigned char *payload) = 0;
    /// A frame begins whose payload comes in parts (wire::comes_in_parts). The handler sets `place` to where the
    /// payload goes; if it leaves `place` alone, data() is called with each part that has come.
    virtual bool begin_data(const wire::FrameHeader &header, char *&place) = 0;
    virtual void data(const unsigned char *part, std::size_t bytes) = 0;
    /// All of the frame's payload is there.
    virtual void end_data() = 0;

  protected:
    ~FrameHandler() = default;
};

/// Takes a stream apart. The caller fills places() in order with what it reads, and says how much that was (arrived()).
///
/// A reader has a buffer only while part of a frame is there: the readers of a thousand idle connections have none.
class FrameReader {
  public:
    using Buffer = std::unique_ptr<unsigned char[]>;

    /// Where the next bytes go: up to two places; their number is returned. Then arrived() or nothing_came().
    int places(std::array<iovec, 2> &into);
    /// False if what has come is not a sensible sequence of frames.
    bool arrived(std::size_t bytes, FrameHandler &handler);
    void nothing_came();

    /// For a stream of which reads cost little: few bytes at a time go into the buffer, so that all that follows the
    /// header of a longer frame goes straight to its place.
    void read_little_ahead() {
        longest_whole_ = wire::longest_whole_in_memory;
        most_ahead_ = 2 * longest_whole_;
    }

    /// How many frames have been handled.
    std::uint64_t frames() const {
        return frames_;
    }
    /// No frame has come in part only.
    bool is_between_frames() const {
        return begin_ == end_ && data_left_ == 0;
    }

    /// The buffer holds the longest frame whose payload does not come in parts, and many short ones at once.
    static constexpr std::size_t capacity = 65536;
    static_assert(capacity >= sizeof(wire::FrameHeader) + wire::usual_eager);

  private:
    bool take_frames(FrameHandler &handler);
    void take_data(FrameHandler &handler);
    void end_data(FrameHandler &handler);

    Buffer buffer_;
    std::size_t begin_ = 0, end_ = 0; ///< of what has come but has not been handled
    std::uint64_t frames_ = 0;
    std::uint64_t longest_whole_ = wire::usual_eager;
    std::size_t most_ahead_ = capacity;
    std::size_t data_left_ = 0; ///< bytes still to come of a payload that comes in parts
    char *place_ = nullptr;     ///< where these bytes go, if it is one place
};

/// Makes a stream. Whole small frames are copied; one long payload at a time is written from where it lies. What is
/// added meanwhile goes behind that payload.
class FrameWriter {
  public:
    /// `payload` has header.bytes bytes if there is one.
    void add(const wire::FrameHeader &header, const void *payload = nullptr);
    void add_bytes(const void *bytes, std::size_t count);
    /// Precondition: !has_payload(). The payload stays where it is until has_payload() is false.
    void add_in_place(const wire::FrameHeader &header, const char *payload);
    /// Copies what is left of that payload.
    void keep_payload();
    bool has_payload() const {
        return payload_left_ > 0;
    }
    bool is_empty() const {
        return written_ == front_.size() && payload_left_ == 0;
    }

    /// How many frames have been added.
    std::uint64_t frames() const {
        return frames_;
    }
    /// Bytes that have not been written.
    std::size_t left() const {
        return front_.size() - written_ + payload_left_ + back_.size();
    }

    /// What is to be written next: up to three places; their number is returned.
    int gather(std::array<iovec, 3> &from) const;
    void written(std::size_t bytes);

  private:
    std::vector<unsigned char> front_, back_; ///< before and behind the payload
    std::size_t written_ = 0;                 ///< of front_
    std::uint64_t frames_ = 0;
    const char *payload_ = nullptr;
    std::size_t payload_left_ = 0;
};

} // namespace volley
