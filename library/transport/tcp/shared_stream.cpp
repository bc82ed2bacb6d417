// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/shared_stream.h"

#include "layout/memory_copy.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace volley {
namespace {

/// No ring is longer: what another job says is checked.
constexpr std::uint64_t most_bytes = 1 << 30;

bool is_length(std::uint64_t bytes) {
    return std::has_single_bit(bytes) && bytes <= most_bytes;
}

/// Calls copy(place in the ring, place in the parts, bytes) for each piece that lies in one block in both.
template <class Copy>
void for_each_piece(std::span<const iovec> parts, std::size_t bytes, std::size_t capacity, std::uint64_t position,
                    Copy &&copy) {
    for (const iovec &part : parts) {
        for (std::size_t done = 0; done < part.iov_len && bytes > 0;) {
            const std::size_t at = position & (capacity - 1);
            const std::size_t piece = std::min({part.iov_len - done, bytes, capacity - at});
            copy(at, static_cast<char *>(part.iov_base) + done, piece);
            done += piece;
            position += piece;
            bytes -= piece;
        }
    }
}

/// One call moves a quarter of what is there, within these limits, so that the other end can begin with it while the
/// next part is copied.
constexpr std::size_t least_at_once = 16 << 10, most_at_once = 64 << 10;

std::size_t at_once(std::span<const iovec> parts) {
    std::size_t bytes = 0;
    for (const iovec &part : parts) bytes += part.iov_len;
    return std::min(bytes, std::clamp(bytes / 4, least_at_once, most_at_once));
}

} // namespace

SharedStream::SharedStream(SealedMemory memory, bool is_maker, std::size_t forth_bytes, std::size_t back_bytes)
    : memory_(std::move(memory)) {
    auto &head = *reinterpret_cast<SharedStreamHead *>(memory_.address());
    char *bytes = memory_.address() + sizeof head;
    out_ = {.ring = &head.forth, .bytes = bytes, .capacity = forth_bytes};
    in_ = {.ring = &head.back, .bytes = bytes + forth_bytes, .capacity = back_bytes};
    if (!is_maker) std::swap(out_, in_);
}

std::unique_ptr<SharedStream> SharedStream::make(std::size_t forth_bytes, std::size_t back_bytes, Descriptor &file) {
    SealedMemory memory =
        SealedMemory::make("messages-between-jobs", sizeof(SharedStreamHead) + forth_bytes + back_bytes, file);
    if (!memory) return nullptr;
    auto &head = *reinterpret_cast<SharedStreamHead *>(memory.address());
    head.forth_bytes = forth_bytes;
    head.back_bytes = back_bytes;
    return std::unique_ptr<SharedStream>(new SharedStream(std::move(memory), true, forth_bytes, back_bytes));
}

std::unique_ptr<SharedStream> SharedStream::map(const Descriptor &file) {
    SealedMemory memory = SealedMemory::map(file, sizeof(SharedStreamHead));
    if (!memory) return nullptr;
    const auto &head = *reinterpret_cast<SharedStreamHead *>(memory.address());
    const std::uint64_t forth_bytes = head.forth_bytes, back_bytes = head.back_bytes; // they may change there
    if (!is_length(forth_bytes) || !is_length(back_bytes) || memory.bytes() != sizeof head + forth_bytes + back_bytes)
        return nullptr;
    return std::unique_ptr<SharedStream>(new SharedStream(std::move(memory), false, forth_bytes, back_bytes));
}

std::size_t SharedStream::room() {
    const std::uint64_t used = out_.position - taken_;
    if (used > out_.capacity) is_broken_ = true;
    return is_broken_ ? 0 : out_.capacity - used;
}

std::size_t SharedStream::write(std::span<const iovec> from) {
    ByteRing &ring = *out_.ring;
    const std::size_t wanted = at_once(from);
    if (room() < wanted) taken_ = ring.read.load(std::memory_order_acquire);
    if (room() == 0) {
        ring.writer_waits.store(1, std::memory_order_seq_cst);
        taken_ = ring.read.load(std::memory_order_seq_cst);
    }
    const std::size_t bytes = std::min(wanted, room());
    if (bytes == 0) return 0;
    for_each_piece(
        from, bytes, out_.capacity, out_.position,
        [&](std::size_t at, const char *piece, std::size_t count) { copy_memory(out_.bytes + at, piece, count); });
    out_.position += bytes;
    ring.written.store(out_.position, std::memory_order_release);
    other_.ring();
    return bytes;
}

/// A writer that waits is told once half of the ring is free: it can then write a good deal at once.
std::size_t SharedStream::read(std::span<const iovec> into) {
    ByteRing &ring = *in_.ring;
    const std::uint64_t there = ring.written.load(std::memory_order_acquire) - in_.position;
    if (there > in_.capacity) is_broken_ = true;
    const std::size_t bytes = is_broken_ ? 0 : std::min(at_once(into), static_cast<std::size_t>(there));
    if (bytes == 0) return 0;
    for_each_piece(into, bytes, in_.capacity, in_.position,
                   [&](std::size_t at, char *piece, std::size_t count) { copy_memory(piece, in_.bytes + at, count); });
    in_.position += bytes;
    ring.read.store(in_.position, std::memory_order_seq_cst);
    if (there - bytes <= in_.capacity / 2 && ring.writer_waits.load(std::memory_order_seq_cst) != 0 &&
        ring.writer_waits.exchange(0, std::memory_order_seq_cst) != 0)
        other_.ring();
    return bytes;
}

} // namespace volley
