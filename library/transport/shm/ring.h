// SPDX-License-Identifier: BSD-3-Clause
/// A ring from one rank to another: single producer, single consumer, wait-free on both sides.
///
/// A message's envelope and up to 40 bytes of payload fill one slot of one cache line, so a small message is one line
/// moving from core to core. A slot is full when its `turn` is that of its position: the sender writes everything else
/// first and `turn` last (release), and the receiver polls only `turn` (acquire). No index is shared on this path, and
/// no instruction locks the bus. A longer payload lies beside its slot, where the next slots would be (caches that
/// fetch a line tend to fetch the next one, too), or in a second ring of bytes, at a position that the slot names. It
/// becomes visible with the slot.
///
/// Payload beside a slot may look like turns, so the receiver clears the turn of each position that held payload before
/// it gives the room back. A turn is never 0.
///
/// The receiver gives room back through two counters. The sender reads them only when the room it knows of is used up.
/// The receiver publishes them a quarter of a ring at a time, since each publication takes the sender's copy of that
/// line away.
///
/// After FastForward (Giacomoni, Moseley, Vachharajani 2008: data as flag) and rigtorp's SPSCQueue (cached index of the
/// other side). Costs per message: the sender makes 2 stores and writes the payload, the receiver makes 1 load per
/// poll.
///
/// A ring is plain data in the arena; either side may be any rank of the host. Positions have 64 bits and never wrap. A
/// turn holds 31 bits of a position; they repeat only after 2^31 positions, when the slot has long been rewritten.
#pragma once

#include "boot/job.h"
#include "transport/message.h"
#include "transport/shm/in_place.h"
#include "transport/shm/lines.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace volley {

/// The sender prefetches the line of the slot so far ahead, so that the line is back from the receiver when its turn
/// comes. Stores wait for their lines one after the other, and the core has room for the stores of only two or three
/// messages (windows of 64 MPI_Isend and MPI_Irecv of 8 bytes: 128 ns per message without, 72 with). The receiver is
/// polling the nearer slots. Where lines migrate the sender does not prefetch: there windows are as fast without, and
/// half a ping-pong takes 0.29 us instead of 0.30.
inline constexpr std::uint64_t slots_prefetched_ahead = 4;

/// What a slot says of its message; the values are part of the layout.
enum class MessageKind : std::uint8_t {
    eager = 1,   ///< the payload is here: in the slot, or in the ring of bytes
    request = 2, ///< a request to send: the payload is where the Rendezvous says
    beside = 3,  ///< the payload is here: behind the slot
};

inline constexpr std::size_t inline_bytes = 40;

/// How much of the next payload's room the sender prefetches for writing (transport/shm/lines.h): so much when it has
/// sent a message, and so much at a time while the rank waits. A core has some sixteen places for lines under way; with
/// more prefetches than these, what the core wants to read meanwhile has to wait (bench/messages.cpp: all at once, 1
/// KiB takes 0.42 us instead of 0.38, and exchanged by both 0.80 instead of 0.60).
inline constexpr std::size_t prefetched_when_sent = 2 * cache_line;
inline constexpr std::size_t prefetched_when_idle = 8 * cache_line;

/// Payloads up to this size may lie beside their slot. The receiver reclaims their room only when it waits or has its
/// next message, so that what it sends first need not wait for these lines (Zen 4, half a ping-pong of 64 B: 0.111 us
/// instead of 0.136, of 512 B 0.145 instead of 0.161). The receiver reclaims the lines of larger payloads while it
/// copies them; beside their slots these would use up the ring (streams of 1 KiB: 160 ns a message instead of 130).
inline constexpr std::size_t reclaimed_later = 512;

struct alignas(cache_line) Slot {
    std::atomic<std::uint32_t> turn; ///< turn_of(position) once the rest is written
    std::int32_t tag;
    std::uint32_t context; ///< communicator's context number
    std::int32_t source;   ///< sender's rank in that communicator
    /// Kind (low 8 bits) and bytes of the whole message. It is one word, written at once: with bit fields the compiler
    /// may read the line before it writes it, which costs a small message a third of its time.
    std::uint64_t kind_and_bytes;
    union {
        std::array<unsigned char, inline_bytes> payload;
        std::uint64_t payload_position; ///< in the ring of bytes, for eager messages above inline_bytes
        struct {
            std::uint64_t address;    ///< a hint: where the sender's data begins
            std::uint64_t rendezvous; ///< offset in the arena of the Rendezvous (transport/shm/rendezvous.h)
        } request;
    };

    MessageKind kind() const {
        return static_cast<MessageKind>(kind_and_bytes & 0xff);
    }
    std::uint64_t bytes() const {
        return kind_and_bytes >> 8;
    }
    /// How many positions a message takes.
    static std::uint64_t span_of(MessageKind kind, std::uint64_t bytes) {
        return kind == MessageKind::beside ? 1 + whole_lines(bytes) / cache_line : 1;
    }
    std::uint64_t span() const {
        return span_of(kind(), bytes());
    }
    unsigned char *payload_beside() {
        return reinterpret_cast<unsigned char *>(this + 1);
    }
    static std::uint32_t turn_of(std::uint64_t position) {
        return static_cast<std::uint32_t>(2 * position + 1);
    }
};
static_assert(sizeof(Slot) == cache_line);
static_assert(static_cast<std::uint64_t>(largest_message) == ~std::uint64_t{0} >> 8); // beside the kind

/// The part of a ring that both sides know; slots and bytes follow it in memory.
struct alignas(cache_line) RingHead {
    std::uint32_t slots; ///< a power of two
    std::uint32_t bytes; ///< of the second ring, a multiple of cache_line and a power of two
    /// The sender uses no more than this of the second ring as long as the receiver is close behind.
    std::uint32_t span_limit;
    /// Payloads up to this size may lie beside their slots: whole cache lines, of no more than a quarter of the slots.
    std::uint32_t beside;
    /// Positions up to which the receiver has given room back; only the receiver writes them.
    alignas(cache_line) std::atomic<std::uint64_t> slots_free_until;
    std::atomic<std::uint64_t> bytes_free_until;
    /// The position up to which the receiver has taken messages out, for introspection. The sender never reads this
    /// line.
    alignas(cache_line) std::atomic<std::uint64_t> taken;

    Slot *slot(std::uint64_t position) {
        return reinterpret_cast<Slot *>(this + 1) + (position & (slots - 1));
    }
    unsigned char *payload(std::uint64_t position) {
        // Payload beside the last slot continues behind it; the slots at the ring's beginning that belong to it stay
        // unused.
        auto *behind = reinterpret_cast<unsigned char *>(reinterpret_cast<Slot *>(this + 1) + slots) + beside;
        return behind + (position & (bytes - 1));
    }
    static constexpr std::size_t footprint(std::uint32_t slots, std::uint32_t bytes, std::uint32_t beside) {
        return sizeof(RingHead) + slots * sizeof(Slot) + beside + bytes;
    }
    std::size_t footprint() const {
        return footprint(slots, bytes, beside);
    }
    /// Puts an empty ring into zeroed memory of footprint(slots, bytes, beside) bytes.
    void construct(std::uint32_t slot_count, std::uint32_t byte_count, std::uint32_t most_beside = 0,
                   std::uint32_t most_used = ~0u) {
        slots = slot_count;
        bytes = byte_count;
        beside = most_beside;
        span_limit = std::min(most_used, byte_count);
    }
};
static_assert(sizeof(RingHead) == 3 * cache_line);

/// The sending end, in the sender's private memory.
class RingSender {
  public:
    /// `eager_limit`: larger messages do not go through the ring. `apart`: the receiver runs on another core.
    explicit RingSender(RingHead *ring = nullptr, std::uint32_t eager_limit = ~0u, bool apart = true)
        : ring_(ring), eager_limit_(ring ? std::min(eager_limit, ring->bytes / 4) : 0), copied_limit_(eager_limit_),
          apart_(apart), beside_(ring ? ring->beside : 0), span_limit_(ring ? ring->span_limit : 0) {}

    bool exists() const {
        return ring_ != nullptr;
    }

    /// How many slots have been filled since the ring was made; a longer payload lies in several.
    std::uint64_t filled() const {
        return position_;
    }
    /// Largest eager message; at most a quarter of the ring, so that several are under way.
    std::size_t eager_limit() const {
        return eager_limit_;
    }
    /// Whether a message of that size is to go through the ring now.
    bool takes(std::size_t size) const {
        return size <= eager_limit_ && !stays(size);
    }
    /// Whether a message of that size, too large for the ring, is to be copied through the arena (pipelined).
    bool pipelines(std::size_t size) const {
        return size > eager_limit_ && size <= copied_limit_ && !stays(size);
    }
    /// From now on, messages up to `limit` are pipelined.
    void pipeline_up_to(std::uint32_t limit) {
        copied_limit_ = std::max(eager_limit_, limit);
    }
    /// Whether the sender tries both ways for a message of that size: copying it, and leaving it in the sender's
    /// buffer.
    bool is_tried(std::size_t size) const {
        return learns_ && size > in_place_above_bytes && size <= copied_limit_;
    }
    /// From now on the sender tries both ways. Precondition: both sides have a core each, and the receiver may read the
    /// sender's buffer.
    void try_in_place() {
        learns_ = true;
    }
    /// Notes whether the last message that the ring did not take was pipelined.
    void has_pipelined(bool pipelined) {
        has_pipelined_ = pipelined;
    }
    /// The peer is trying messages that stay in its buffer, so this rank joins if its own tries are due soon. True if
    /// the peer may judge by how quick they are. Results mislead while one side pipelines and the other does not: if a
    /// rank receives into the buffer it has sent, that buffer has been read by its peer, and the pipelined messages pay
    /// for what the others gain (256 KiB: 33 us back and forth, where both ways alike take 18 or 21).
    bool join_trial() {
        in_place_.join();
        return !has_pipelined_;
    }
    bool is_watched(std::size_t size) {
        return is_tried(size) && in_place_.is_watched();
    }
    void learn(bool quick) {
        in_place_.learn(quick);
    }
    /// The receiver of a message that stayed in the sender's buffer did not come while the sender waited.
    void late(std::size_t size) {
        if (is_tried(size)) in_place_.late();
        receiver_is_late_ = true;
    }
    /// The receiver came while the sender waited.
    void in_time() {
        receiver_is_late_ = false;
    }
    /// Whether it is not worth waiting long for the receiver, since it was late the last time. Now and then it gets
    /// another chance.
    bool expects_delay() {
        return receiver_is_late_ && ++expected_ % expected_per_chance != 0;
    }

    /// Puts a whole small message into the ring; false if there is no room now. Precondition:
    /// size <= eager_limit(). Published with release order; the caller then wakes the receiver.
    bool send_eager(const MessageEnvelope &envelope, const void *data, std::size_t size) {
        return send_eager_filled(envelope, size, [&](unsigned char *place) {
            if (size <= inline_bytes)
                copy_inline(place, data, size);
            else
                copy_for_peer(place, data, size);
        });
    }

    /// Like send_eager(), for a payload that `fill(unsigned char *place)` writes.
    template <class Fill>
    [[gnu::always_inline]] bool send_eager_filled(const MessageEnvelope &envelope, std::size_t size, Fill &&fill) {
        Slot *slot = claim();
        if (!slot) [[unlikely]]
            return false;
        if (size <= inline_bytes) {
            fill(slot->payload.data());
        } else if (size <= beside_ && has_room_beside(size)) {
            fill(slot->payload_beside());
            publish(slot, envelope, MessageKind::beside, size);
            return true;
        } else {
            std::uint64_t at;
            if (!claim_bytes(size, at)) [[unlikely]]
                return false;
            unsigned char *payload = ring_->payload(at);
            fill(payload);
            if (size <= most_demoted && apart_) demote(payload, size);
            // The slot is written after the payload: the receiver has the slot's line, and a store to it holds up all
            // later stores.
            slot->payload_position = at;
        }
        publish(slot, envelope, MessageKind::eager, size);
        if (is_tried(size)) in_place_.count(size);
        if (size > inline_bytes && apart_) expect(size);
        return true;
    }

    /// Sends a request to send. `address` is where the data begins, for a receiver that wants to prefetch it; the
    /// Rendezvous says for certain.
    bool send_request(const MessageEnvelope &envelope, const void *address, std::size_t size,
                      std::uint64_t rendezvous) {
        Slot *slot = claim();
        if (!slot) [[unlikely]]
            return false;
        slot->request.address = reinterpret_cast<std::uint64_t>(address);
        slot->request.rendezvous = rendezvous;
        publish(slot, envelope, MessageKind::request, size);
        if (is_tried(size)) in_place_.count(size);
        return true;
    }

    /// Prefetches for writing at most `most` more bytes of where the next payload will lie, as far as they are free by
    /// now. False if there are none left.
    bool prefetch_some(std::size_t most) {
        if (prefetch_from_ >= prefetch_until_) return false;
        if (prefetch_from_ >= byte_limit_) look_for_room();
        if (prefetch_from_ >= byte_limit_) return true;
        std::size_t size =
            std::min({prefetch_until_ - prefetch_from_, byte_limit_ - prefetch_from_, std::uint64_t{most}});
        prefetch_for_writing(ring_->payload(prefetch_from_), size);
        prefetch_from_ += size;
        return true;
    }

  private:
    /// Whether a message stays in the sender's buffer, since that is quicker or to find out whether it is.
    bool stays(std::size_t size) const {
        return is_tried(size) && in_place_.stays();
    }

    Slot *claim() {
        if (position_ >= slot_limit_) [[unlikely]] {
            slot_limit_ = ring_->slots_free_until.load(std::memory_order_acquire) + ring_->slots;
            if (position_ >= slot_limit_) return nullptr;
        }
        return ring_->slot(position_);
    }

    /// Whether a payload may lie beside the next slot: there is room, and half of the slots are free, so the receiver
    /// is close.
    bool has_room_beside(std::size_t size) {
        std::uint64_t needed = position_ + Slot::span_of(MessageKind::beside, size) + ring_->slots / 2;
        if (needed <= slot_limit_) return true;
        slot_limit_ = ring_->slots_free_until.load(std::memory_order_acquire) + ring_->slots;
        return needed <= slot_limit_;
    }

    /// Where the next contiguous piece of the ring of bytes begins. The sender skips the end of the ring if the piece
    /// does not fit there, and everything beyond span_limit if the receiver is close behind.
    std::uint64_t next_bytes(std::uint64_t wanted) const {
        std::uint64_t offset = byte_position_ & (ring_->bytes - 1);
        std::uint64_t begin = byte_position_ - offset + ring_->bytes; // where it comes round
        if (wanted > ring_->bytes - offset) return begin;
        bool fits = begin + wanted <= byte_limit_,
             is_close = byte_position_ + ring_->bytes <= byte_limit_ + span_limit_ / 2;
        return exceeds_span(wanted) && fits && is_close ? begin : byte_position_;
    }

    bool exceeds_span(std::uint64_t wanted) const {
        std::uint64_t offset = byte_position_ & (ring_->bytes - 1);
        return offset > 0 && offset + wanted > span_limit_;
    }

    void look_for_room() {
        byte_limit_ = ring_->bytes_free_until.load(std::memory_order_acquire) + ring_->bytes;
    }

    /// Claims such a piece, in whole cache lines.
    bool claim_bytes(std::size_t size, std::uint64_t &at) {
        std::uint64_t wanted = whole_lines(size);
        if (exceeds_span(wanted)) look_for_room();
        std::uint64_t start = next_bytes(wanted);
        if (start + wanted > byte_limit_) [[unlikely]] {
            look_for_room();
            if (start + wanted > byte_limit_) return false;
        }
        at = start;
        byte_position_ = start + wanted;
        return true;
    }

    /// The next payload may be as large as this one: prefetches its lines for writing.
    void expect(std::size_t size) {
        prefetch_from_ = next_bytes(whole_lines(size));
        prefetch_until_ = prefetch_from_ + size;
        prefetch_some(prefetched_when_sent);
    }

    /// Copies at most inline_bytes in whole words. memcpy of a length unknown to the compiler would be a call.
    static void copy_inline(unsigned char *to, const void *from, std::size_t size) {
        const auto *source = static_cast<const unsigned char *>(from);
        if (size >= 8) {
            // Words from the front, the last one overlapping its neighbour.
            for (std::size_t i = 0; i + 8 < size; i += 8) __builtin_memcpy(to + i, source + i, 8);
            __builtin_memcpy(to + size - 8, source + size - 8, 8);
        } else if (size >= 4) {
            __builtin_memcpy(to, source, 4);
            __builtin_memcpy(to + size - 4, source + size - 4, 4);
        } else {
            for (std::size_t i = 0; i < size; i++) to[i] = source[i];
        }
    }

    void publish(Slot *slot, const MessageEnvelope &envelope, MessageKind kind, std::size_t size) {
        slot->tag = envelope.tag;
        slot->context = envelope.context;
        slot->source = envelope.source;
        slot->kind_and_bytes = std::uint64_t{size} << 8 | static_cast<std::uint64_t>(kind);
        slot->turn.store(Slot::turn_of(position_), std::memory_order_release);
        position_ += Slot::span_of(kind, size);
        if (apart_ && !lines_migrate) prefetch_for_writing(ring_->slot(position_ + slots_prefetched_ahead), cache_line);
    }

    RingHead *ring_;
    std::uint32_t eager_limit_;
    std::uint32_t copied_limit_; ///< no less than eager_limit_
    static constexpr std::uint32_t expected_per_chance = 16;

    bool learns_ = false;
    InPlace in_place_;
    bool has_pipelined_ = false;
    bool receiver_is_late_ = false;
    std::uint32_t expected_ = 0;
    bool apart_;
    std::uint32_t beside_;
    std::uint64_t position_ = 0;   ///< of the next message
    std::uint64_t slot_limit_ = 0; ///< first position that is not known to be free
    std::uint64_t byte_position_ = 0;
    std::uint64_t byte_limit_ = 0;
    std::uint64_t prefetch_from_ = 0, prefetch_until_ = 0; ///< positions still to be prefetched for writing
    std::uint64_t span_limit_; ///< bytes of the ring that are used again and again, if possible
};

/// The receiving end, in the receiver's private memory.
class RingReceiver {
  public:
    explicit RingReceiver(RingHead *ring = nullptr) : ring_(ring) {
        if (ring) advance(0);
    }

    /// The next message, or nullptr if none has been published. It stays valid until release().
    Slot *front() const {
        return front_->turn.load(std::memory_order_acquire) == front_turn_ ? front_ : nullptr;
    }

    /// The payload of an eager message.
    unsigned char *payload(Slot *slot) const {
        if (slot->kind() == MessageKind::beside) return slot->payload_beside();
        return slot->bytes() <= inline_bytes ? slot->payload.data() : ring_->payload(slot->payload_position);
    }

    /// Gives the front message's room back. Precondition: front() returned it, and its bytes are copied.
    ///
    /// True if the sender may have waited for that room: the caller then wakes it. Waking a sender that sleeps costs a
    /// system call, so not every publication says so: only once a quarter of the slots or of the bytes has been given
    /// back since the last time. No sender is forgotten. A message takes at most a quarter of the bytes, and the end of
    /// the ring it skips another quarter. So when a sender finds no room, the receiver still holds either all slots or
    /// more than half of the bytes, and giving these back comes to a quarter before the ring is empty (room.pml).
    [[nodiscard]] bool release(Slot *slot) {
        bool gave_bytes = false, gave_slots = false;
        if (slot->kind() != MessageKind::request && slot->bytes() > inline_bytes) gave_bytes = release_payload(slot);
        advance(position_ + slot->span());
        ring_->taken.store(position_, std::memory_order_relaxed);
        if (position_ - published_slots_ >= ring_->slots / 4) {
            reclaim_room();
            published_slots_ = position_;
            ring_->slots_free_until.store(published_slots_, std::memory_order_release);
            gave_slots = true;
        }
        return gave_slots || gave_bytes;
    }

    /// Makes the room of the last message ready for the sender. A rank that waits calls this, so that what it sends
    /// afterwards need not wait for these lines.
    void reclaim_room() {
        if (unreclaimed_bytes_ == 0) return;
        if (unreclaimed_slots_ > 0)
            forget_turns();
        else
            reclaim(unreclaimed_, unreclaimed_bytes_);
        unreclaimed_bytes_ = 0;
    }

  private:
    void advance(std::uint64_t position) {
        position_ = position;
        front_ = ring_->slot(position);
        front_turn_ = Slot::turn_of(position);
    }

    /// True if a quarter of the bytes has been given back since this function last returned true.
    bool release_payload(Slot *slot) {
        if (slot->kind() == MessageKind::beside || (lines_migrate && slot->bytes() <= reclaimed_later)) {
            reclaim_room();
            unreclaimed_ = payload(slot);
            unreclaimed_bytes_ = slot->bytes();
            unreclaimed_slots_ = slot->span() - 1;
            unreclaimed_position_ = position_ + 1;
        }
        if (slot->kind() == MessageKind::beside) return false;
        byte_position_ = slot->payload_position + whole_lines(slot->bytes());
        if (byte_position_ - published_bytes_ < ring_->span_limit / 4) return false;
        reclaim_room();
        published_bytes_ = byte_position_;
        ring_->bytes_free_until.store(published_bytes_, std::memory_order_release);
        if (published_bytes_ - woken_for_bytes_ < ring_->bytes / 4) return false;
        woken_for_bytes_ = published_bytes_;
        return true;
    }

    /// Clears the turns, which also reclaims the lines.
    void forget_turns() {
        for (std::uint64_t i = 0; i < unreclaimed_slots_; i++)
            ring_->slot(unreclaimed_position_ + i)->turn.store(0, std::memory_order_relaxed);
    }

    Slot *front_ = nullptr; ///< where the next message will be, and its turn
    std::uint32_t front_turn_ = 0;
    RingHead *ring_;
    std::uint64_t position_ = 0;
    std::uint64_t byte_position_ = 0;
    std::uint64_t published_slots_ = 0;
    std::uint64_t published_bytes_ = 0;
    std::uint64_t woken_for_bytes_ = 0;
    unsigned char *unreclaimed_ = nullptr; ///< payload that has been read
    std::uint64_t unreclaimed_bytes_ = 0;
    std::uint64_t unreclaimed_slots_ = 0; ///< positions it lay in, and the first of them
    std::uint64_t unreclaimed_position_ = 0;
};

} // namespace volley
