// SPDX-License-Identifier: BSD-3-Clause
/// The descriptor of a rendezvous: what sender and receiver share about a message of which the ring carries only a
/// request to send. It says where the data lies, who copies it, and when the copy is done.
///
/// The sender takes the descriptor from its own pool in the arena, and may use it again once `state` is done. Life:
///
///     open ──receiver, or its matched probe, claims──> taken ──copied──> done
///       │                         └─ both copy ─> shared ──all copied──> done
///       │                         └─ of another process ─> wanted ──sender has a block──> streaming ──copied──> done
///       ├──sender claims──> pipelining ──sender has copied it to a block of the arena──> buffered ──copied──> done
///       │                            (the receiver may follow it there)
///       └──sender cancels──> cancelled ──receiver meets it──> done
///
/// While a message streams, the sender fills the block and the receiver empties it, round after round. Once the last
/// byte is in the block, the rendezvous is buffered. If the sender stays away, the receiver takes the rendezvous back
/// and lets the kernel read the rest.
///
/// A sender polls only a few of its rendezvous in each round of progress. The receivers of the others notify it when
/// they want something or are done. So a round costs what is active, not what is outstanding.
///
/// A rendezvous may be pipelining from the start. Otherwise the first claim (a compare-and-swap from open) decides. If
/// the receiver claims it, the sender's buffer stays untouched until done. If the sender claims it, the receiver never
/// looks at that buffer. So a sender whose receiver is late can copy its message into the arena and go on.
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

/// Above this size both sides copy a message, if both wait. Below it, coordinating the two costs more than it saves.
inline constexpr std::int64_t shared_above_bytes = 8192;

/// The size of the block through which a message streams. It stays in the caches of both cores, however large the
/// message is (bench/messages.cpp "kept", --ranks process: 8 MiB take 270 to 290 us; they take 480 to 530 us by calls
/// of the kernel, of which each side makes half).
inline constexpr std::int64_t stream_block_bytes = 1 << 19;
/// While streaming, a side copies so many bytes before it tells the other side.
inline constexpr std::int64_t streamed_at_once = 1 << 16;
/// While streaming, a side copies so many bytes before it looks after its other messages.
inline constexpr std::int64_t streamed_per_look = 1 << 17;

/// How much each side claims at a time: half of a small message. Of larger messages each claims pieces that outweigh
/// the cost of the claim, and that are small enough that nobody waits long for the other's last one
/// (bench/messages.cpp: 64 KiB take 5.9 us with 4 KiB throughout, and 4.4 us with these).
constexpr std::int64_t chunk_of(std::int64_t bytes) {
    constexpr std::int64_t most = 16384;
    return bytes >= 2 * most ? most : static_cast<std::int64_t>(whole_lines(static_cast<std::uint64_t>(bytes + 1) / 2));
}

/// The first two lines, both of which the receiver reads, are aligned as a pair, since processors fetch lines in pairs.
struct alignas(2 * cache_line) Rendezvous {
    // Written by the sender before it announces the rendezvous, or before it stores buffered or streaming.
    std::uint64_t address;    ///< of the data in the sender's memory
    std::uint64_t plan;       ///< address of the sender's DatatypePlan; 0: one block of memory
    std::int64_t count;       ///< elements of that plan
    std::int64_t bytes;       ///< of the message
    std::int32_t sender;      ///< its place on the node
    std::int32_t receiver;    ///< for the sender only: index in its table of processes
    std::uint8_t waits;       ///< the sender does nothing but wait for this message: it can help to copy
    std::uint8_t watched;     ///< the receiver is to measure how fast it reads the data (transport/shm/in_place.h)
    std::uint8_t notifies;    ///< the sender does not poll it: the receiver notifies the sender (Inbox::attention)
    std::uint8_t is_buffered; ///< for the sender only: the send is complete, `owner` is a block of the arena or 0
    std::uint32_t block_bytes;
    std::uint64_t owner; ///< for the sender only: address of its Send, or as is_buffered says
    std::uint64_t block; ///< address of the block in the arena to which the data is copied

    alignas(cache_line) std::atomic<RendezvousState> state;
    std::uint32_t quick; ///< if watched: was it fast? Written by the receiver before it stores done
    std::uint32_t kept;  ///< if buffered: the receiver keeps the block; written likewise
    /// While pipelining or streaming: so many bytes have been copied to the arena, and the receiver may already copy
    /// them out.
    std::atomic<std::int64_t> pipelined;

    // Written by the receiver before it stores shared: where the data goes, for a sender that helps.
    std::uint64_t to_address;
    std::uint64_t to_plan; ///< 0: one block of memory
    std::int64_t to_count;
    std::int64_t to_bytes;             ///< how much of the message fits into the receiver's buffer
    std::uint64_t next_with_attention; ///< in the list of Inbox::attention: offset of the next, or 0
    alignas(cache_line) std::atomic<std::int64_t> claimed; ///< bytes claimed for copying, in whole chunks
    std::atomic<std::int64_t> copied; ///< bytes, by the sender; while streaming: taken out of the block

    /// The sender's or the receiver's claim.
    bool claim(RendezvousState wanted_state) {
        return move(RendezvousState::open, wanted_state);
    }

    /// A transition that one side tries while the other may try a different one: while a message streams or is to
    /// stream, its sender goes on and its receiver may take the rendezvous back.
    bool move(RendezvousState from, RendezvousState to) {
        return state.compare_exchange_strong(from, to, std::memory_order_acq_rel, std::memory_order_acquire);
    }

    /// Called by both sides of a shared rendezvous. Calls `copy(from, to)` for chunks until all are claimed, or until
    /// `copy` returns false because it could not copy. Returns how many bytes were copied here.
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
