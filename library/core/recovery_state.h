// SPDX-License-Identifier: BSD-3-Clause
/// What the members of a communicator share for their agreements (communicator/agreement.h), if all have one arena. It
/// is plain data there, made by the first member that needs it.
///
/// A table has the offset of the state by the index of the communicator's context, together with the context's
/// generation: so the state of an earlier communicator with that index is known without looking at it. Who replaces it
/// gives its memory back. Nobody uses that any more: an index is used again only when all members have left.
#pragma once

#include "boot/job.h"
#include "core/communicator.h"

#include <atomic>
#include <cstdint>

namespace volley {

/// What a member brings to an agreement. A bitmap of members whose failure it has acknowledged follows.
struct AgreementSlot {
    std::atomic<std::uint32_t> number; ///< of the agreement for which the rest is there
    std::atomic<std::uint32_t> flag;

    std::atomic<std::uint64_t> &acknowledged(std::uint32_t word) {
        return reinterpret_cast<std::atomic<std::uint64_t> *>(this + 1)[word];
    }
};

struct alignas(cache_line) RecoveryState {
    std::uint32_t members; ///< of both groups
    /// The number of the last agreement that was decided, and where its decision is (communicator/agreement.cpp).
    alignas(cache_line) std::atomic<std::uint64_t> decision;

    std::uint32_t bitmap_words() const {
        return (members + 63) / 64;
    }
    AgreementSlot &slot(std::uint32_t member) {
        return *reinterpret_cast<AgreementSlot *>(reinterpret_cast<char *>(this + 1) + member * slot_bytes(members));
    }
    static std::size_t slot_bytes(std::uint32_t members) {
        return whole_lines(sizeof(AgreementSlot) + (members + 63) / 64 * sizeof(std::uint64_t));
    }
    static std::size_t footprint(std::uint32_t members) {
        return sizeof(RecoveryState) + members * slot_bytes(members);
    }
};

/// Whether all members of both groups have this process's arena.
bool share_arena(const Communicator &communicator);
/// The state of a communicator, made if need be; nullptr if the arena is used up, or if some members do not share it.
RecoveryState *recovery_state(const Communicator &communicator);

bool was_revoked(const Communicator &communicator);

} // namespace volley
