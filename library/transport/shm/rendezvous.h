// SPDX-License-Identifier: BSD-3-Clause
/// What sender and receiver share about a message that is only announced by the ring: where its data lies, who
/// copies it, and when that is done.
///
/// The sender makes it, in its own pool in the arena, and has it back once `state` is done. Life:
///
///     open ──receiver, or its matched probe, claims──> taken ──copied──> done
///       │                         └─ both copy ─> shared ──all copied──> done
///       │                         └─ cannot read ─> wanted ──sender fills a block──> provided ──copied──> done
///       │                                             └─ no room for all ─> piece ──copied, the last──> done
///       │                                                                   │   ^
///       │                                                              copied   sender fills the block again
///       │                                                                   v   │
///       │                                                                taken_piece
///       ├──sender claims──> pipelining ──sender has copied it to a block of the arena──> buffered ──copied──> done
///       │                            (the receiver may follow it there)
///       └──sender cancels──> cancelled ──receiver meets it──> done
///
/// A sender looks at a few of its rendezvous in each round of progress. Of the others it is told, as soon as they want
/// something of it or are done: rounds cost what is active, not what is under way.
///
/// A rendezvous may be pipelining from the start. Else the claim (a compare-and-swap from open) decides: after the
/// receiver's, the sender's buffer stays untouched until done; after the sender's, the receiver never looks at that
/// buffer. So a sender whose receiver is late can take its message away into the arena and go on.
#pragma once

#include "boot/job.h"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace volley {

enum class RendezvousState : std::uint32_t {
    open,
    taken,
    shared,
    wanted,
    provided,
    piece,
    taken_piece,
    pipelining,
    buffered,
    cancelled,
    done,
};

/// Both sides copy messages above this, if both wait: up to here, agreeing costs more than is won.
inline constexpr std::int64_t shared_above_bytes = 8192;

/// The same for ranks that copy by calls of the kernel, and what each claims then: a call costs as much as some 8 KiB.
inline constexpr std::int64_t kernel_shared_from_bytes = 16384;
constexpr std::int64_t kernel_chunk_of(std::int64_t bytes) {
    return static_cast<std::int64_t>(whole_lines(
        static_cast<std::uint64_t>(bytes < 65536 ? bytes / 2 : std::clamp<std::int64_t>(bytes / 4, 16384, 131072))));
}

/// What each claims at a time: half of a small message; of larger ones pieces that outweigh the claim, and small enough
/// that nobody waits long for the other's last (bench/messages.cpp: with 4 KiB throughout 64 KiB take 5.9 us, with
/// these 4.4).
constexpr std::int64_t chunk_of(std::int64_t bytes) {
    constexpr std::int64_t most = 16384;
    return bytes >= 2 * most ? most : static_cast<std::int64_t>(whole_lines(static_cast<std::uint64_t>(bytes) / 2));
}

/// Two lines, of which the receiver reads both, lie where processors fetch lines in pairs.
struct alignas(2 * cache_line) Rendezvous {
    // Written by the sender before it announces the rendezvous, or before it stores buffered, piece or provided.
    std::uint64_t address; ///< of the data: the sender's buffer, or a block of the arena
    std::uint64_t plan;    ///< address of the sender's DatatypePlan; 0: one block of memory
    std::int64_t count;    ///< elements of that plan
    std::int64_t bytes;    ///< of the message
    std::int32_t sender;   ///< its place on the node
    std::int32_t receiver; ///< the sender's own: index in its table of processes
    std::uint8_t waits;    ///< the sender does nothing but wait for this: it can help to copy
    std::uint8_t watched;  ///< it might as well have gone through the ring (transport/shm/in_place.h): was that better?
    std::uint8_t notifies; ///< the sender does not look at it: it is to be told (Inbox::attention)
    std::uint8_t is_buffered; ///< the sender's own: the send is complete, `owner` is a block of the arena or 0
    std::uint64_t owner;      ///< the sender's own: address of its Send, or as is_buffered says

    alignas(cache_line) std::atomic<RendezvousState> state;
    std::uint32_t quick; ///< written by the receiver before it stores done, if watched
    std::uint32_t kept;  ///< the same, if buffered: the receiver keeps the block
    /// While pipelining: so many bytes are in the arena, where `address` says. The receiver may copy them on already.
    /// Of a piece: where it ends in the message.
    std::atomic<std::int64_t> pipelined;

    // Written by the receiver before it stores shared: where the data goes, for a sender that helps.
    std::uint64_t to_address;
    std::uint64_t to_plan; ///< 0: one block of memory
    std::int64_t to_count;
    std::int64_t to_bytes;   ///< how much of the message fits
    std::uint64_t next_told; ///< in the list of Inbox::attention: offset of the next, or 0
    alignas(cache_line) std::atomic<std::int64_t> claimed; ///< bytes given out for copying, by whole chunks
    std::atomic<std::int64_t> copied;                      ///< bytes that are there; of a piece: where it begins
    /// 0, or 1 + where a chunk begins that the sender has claimed and the kernel did not let it write.
    std::atomic<std::int64_t> refused;

    /// The sender's or the receiver's claim.
    bool claim(RendezvousState wanted_state) {
        RendezvousState expected = RendezvousState::open;
        return state.compare_exchange_strong(expected, wanted_state, std::memory_order_acq_rel,
                                             std::memory_order_acquire);
    }

    /// Both sides, of a shared rendezvous: calls `copy(from, to)` for chunks until all are given out, or until it says
    /// that it could not; returns how many bytes were copied.
    template <class Copy> std::int64_t copy_chunks(std::int64_t all, std::int64_t chunk, Copy &&copy) {
        std::int64_t mine = 0;
        for (;;) {
            std::int64_t from = claimed.fetch_add(chunk, std::memory_order_relaxed);
            if (from >= all) return mine;
            std::int64_t to = std::min(from + chunk, all);
            if (!copy(from, to)) return mine;
            mine += to - from;
        }
    }
};

} // namespace volley
