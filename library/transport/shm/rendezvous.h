// SPDX-License-Identifier: BSD-3-Clause
/// What sender and receiver share about a message that is only announced by the ring: where its data lies, who
/// copies it, and when that is done.
///
/// The sender makes it, in its own pool in the arena, and has it back once `state` is done. Life:
///
///     open ──receiver, or its matched probe, claims──> taken ──copied──> done
///       │                         └─ both copy ─> shared ──all copied──> done
///       │                         └─ of another process ─> wanted ──sender has a block──> streaming ──copied──> done
///       ├──sender claims──> pipelining ──sender has copied it to a block of the arena──> buffered ──copied──> done
///       │                            (the receiver may follow it there)
///       └──sender cancels──> cancelled ──receiver meets it──> done
///
/// While streaming, both copy, round and round through the block; once the last byte is there, it is buffered. A
/// receiver whose sender stays away takes the rendezvous back, and the kernel reads the rest.
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
    streaming,
    pipelining,
    buffered,
    cancelled,
    done,
};

/// Both sides copy messages above this, if both wait: up to here, agreeing costs more than is won.
inline constexpr std::int64_t shared_above_bytes = 8192;

/// While streaming: the room for what the receiver has not copied yet. It stays in the caches of both cores, whatever
/// the message takes (bench/messages.cpp "kept", --ranks process: 8 MiB take 270 to 290 us, and 480 to 530 by calls of
/// the kernel, of which each side makes half).
inline constexpr std::int64_t stream_block_bytes = 1 << 19;
/// What is copied before the other side is told.
inline constexpr std::int64_t streamed_at_once = 1 << 16;
/// And before the rank looks after its other messages.
inline constexpr std::int64_t streamed_per_look = 1 << 17;

/// What each claims at a time: half of a small message; of larger ones pieces that outweigh the claim, and small enough
/// that nobody waits long for the other's last (bench/messages.cpp: with 4 KiB throughout 64 KiB take 5.9 us, with
/// these 4.4).
constexpr std::int64_t chunk_of(std::int64_t bytes) {
    constexpr std::int64_t most = 16384;
    return bytes >= 2 * most ? most : static_cast<std::int64_t>(whole_lines(static_cast<std::uint64_t>(bytes + 1) / 2));
}

/// Two lines, of which the receiver reads both, lie where processors fetch lines in pairs.
struct alignas(2 * cache_line) Rendezvous {
    // Written by the sender before it announces the rendezvous, or before it stores buffered or streaming.
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
    std::uint32_t block_bytes;
    std::uint64_t owner; ///< the sender's own: address of its Send, or as is_buffered says
    std::uint64_t block; ///< address in the arena, of what is copied there

    alignas(cache_line) std::atomic<RendezvousState> state;
    std::uint32_t quick; ///< written by the receiver before it stores done, if watched
    std::uint32_t kept;  ///< the same, if buffered: the receiver keeps the block
    /// While pipelining or streaming: so many bytes have been copied to the arena. The receiver may copy them on
    /// already.
    std::atomic<std::int64_t> pipelined;

    // Written by the receiver before it stores shared: where the data goes, for a sender that helps.
    std::uint64_t to_address;
    std::uint64_t to_plan; ///< 0: one block of memory
    std::int64_t to_count;
    std::int64_t to_bytes;   ///< how much of the message fits
    std::uint64_t next_told; ///< in the list of Inbox::attention: offset of the next, or 0
    alignas(cache_line) std::atomic<std::int64_t> claimed; ///< bytes given out for copying, by whole chunks
    std::atomic<std::int64_t> copied; ///< bytes that are there; while streaming: taken from the block

    /// The sender's or the receiver's claim.
    bool claim(RendezvousState wanted_state) {
        return move(RendezvousState::open, wanted_state);
    }

    /// Of one that streams or is to: what its sender tries while its receiver may take it back, and the other way
    /// round.
    bool move(RendezvousState from, RendezvousState to) {
        return state.compare_exchange_strong(from, to, std::memory_order_acq_rel, std::memory_order_acquire);
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
