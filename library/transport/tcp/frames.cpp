// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/frames.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace volley {
namespace {

/// A queue that has grown beyond this size gives its memory back when it is empty.
constexpr std::size_t kept_capacity = 256 << 10;

/// Buffers that no reader has now. They are of one thread at a time: who uses transports has the rank's lock.
class UnusedBuffers {
  public:
    FrameReader::Buffer take() {
        if (buffers_.empty()) return std::make_unique_for_overwrite<unsigned char[]>(FrameReader::capacity);
        FrameReader::Buffer buffer = std::move(buffers_.back());
        buffers_.pop_back();
        return buffer;
    }
    void give_back(FrameReader::Buffer buffer) {
        if (buffers_.size() < most_kept) buffers_.push_back(std::move(buffer));
    }

  private:
    static constexpr std::size_t most_kept = 4;
    std::vector<FrameReader::Buffer> buffers_;
};
UnusedBuffers &unused_buffers = *new UnusedBuffers; // outlives static destructors

} // namespace

int FrameReader::places(std::array<iovec, 2> &into) {
    if (!buffer_) buffer_ = unused_buffers.take();
    if (begin_ == end_) {
        begin_ = end_ = 0;
    } else if (begin_ > 0) { // the rest of a frame: all of it has to fit
        std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
        end_ -= std::exchange(begin_, 0);
    }
    int count = 0;
    if (data_left_ > 0 && place_) into[static_cast<std::size_t>(count++)] = {place_, data_left_};
    const std::size_t most = data_left_ > 0 && !place_ ? capacity : most_ahead_;
    into[static_cast<std::size_t>(count++)] = {buffer_.get() + end_, std::min(capacity - end_, most)};
    return count;
}

bool FrameReader::arrived(std::size_t bytes, FrameHandler &handler) {
    if (data_left_ > 0 && place_) { // the buffer is empty: places() gave the payload's place first
        std::size_t direct = std::min(bytes, data_left_);
        place_ += direct;
        data_left_ -= direct;
        bytes -= direct;
        if (data_left_ == 0) end_data(handler);
    }
    end_ += bytes;
    const bool is_sensible = take_frames(handler);
    nothing_came();
    return is_sensible;
}

void FrameReader::nothing_came() {
    if (begin_ == end_ && buffer_) unused_buffers.give_back(std::move(buffer_));
}

bool FrameReader::take_frames(FrameHandler &handler) {
    for (;;) {
        if (data_left_ > 0) take_data(handler);
        wire::FrameHeader header;
        if (data_left_ > 0 || end_ - begin_ < sizeof header) return true;
        std::memcpy(&header, buffer_.get() + begin_, sizeof header);
        if (!wire::is_sensible(header)) return false;
        if (wire::comes_in_parts(header, longest_whole_)) {
            begin_ += sizeof header;
            place_ = nullptr;
            if (!handler.begin_data(header, place_)) return false;
            data_left_ = header.bytes;
            continue;
        }
        const std::size_t all = sizeof header + wire::payload_bytes(header);
        if (end_ - begin_ < all) return true;
        if (!handler.frame(header, buffer_.get() + begin_ + sizeof header)) return false;
        begin_ += all;
        frames_++;
    }
}

/// Handles what the buffer has of a payload that comes in parts.
void FrameReader::take_data(FrameHandler &handler) {
    std::size_t bytes = std::min(end_ - begin_, data_left_);
    if (bytes == 0) return;
    if (place_) {
        std::memcpy(place_, buffer_.get() + begin_, bytes);
        place_ += bytes;
    } else {
        handler.data(buffer_.get() + begin_, bytes);
    }
    begin_ += bytes;
    data_left_ -= bytes;
    if (data_left_ == 0) end_data(handler);
}

void FrameReader::end_data(FrameHandler &handler) {
    handler.end_data();
    frames_++;
}

void FrameWriter::add(const wire::FrameHeader &header, const void *payload) {
    frames_++;
    add_bytes(&header, sizeof header);
    if (payload) add_bytes(payload, header.bytes);
}

void FrameWriter::add_bytes(const void *bytes, std::size_t count) {
    auto *begin = static_cast<const unsigned char *>(bytes);
    auto &queue = has_payload() ? back_ : front_;
    queue.insert(queue.end(), begin, begin + count);
}

void FrameWriter::add_in_place(const wire::FrameHeader &header, const char *payload) {
    frames_++;
    add_bytes(&header, sizeof header);
    payload_ = payload;
    payload_left_ = header.bytes;
}

void FrameWriter::keep_payload() {
    front_.insert(front_.end(), payload_, payload_ + std::exchange(payload_left_, 0));
    front_.insert(front_.end(), back_.begin(), back_.end());
    back_.clear();
}

int FrameWriter::gather(std::array<iovec, 3> &from) const {
    std::size_t count = 0;
    auto place = [&](const void *begin, std::size_t bytes) {
        if (bytes > 0) from[count++] = {const_cast<void *>(begin), bytes};
    };
    place(front_.data() + written_, front_.size() - written_);
    place(payload_, payload_left_);
    place(back_.data(), back_.size());
    return static_cast<int>(count);
}

void FrameWriter::written(std::size_t bytes) {
    std::size_t front = std::min(bytes, front_.size() - written_);
    written_ += front;
    bytes -= front;
    std::size_t payload = std::min(bytes, payload_left_);
    payload_ += payload;
    payload_left_ -= payload;
    bytes -= payload;
    if (written_ < front_.size() || payload_left_ > 0) return;
    front_.clear();
    if (front_.capacity() > kept_capacity) front_ = {};
    front_.swap(back_);
    written_ = bytes;
    if (written_ < front_.size()) return;
    front_.clear();
    written_ = 0;
}

} // namespace volley
