// SPDX-License-Identifier: BSD-3-Clause
/// What the ranks of a node share besides the launcher's records: the inboxes, and what they number in common. It is
/// plain data in the arena, zero at first; the first rank that comes makes it.
#pragma once

#include "boot/job.h"

#include <atomic>
#include <cstdint>

namespace volley {

/// Where senders publish the rings they have made to a rank. The offsets of the rings follow the inbox in memory.
struct alignas(cache_line) Inbox {
    /// How many rings there are; a sender raises this after it has stored its ring's offset.
    std::atomic<std::uint32_t> rings;
    /// The kernel does not let this rank read other processes' memory: senders leave their messages in the arena.
    std::atomic<std::uint32_t> refuses_cma;
    /// Offset of the first of this rank's rendezvous that are done or want something of it, for those it does not poll
    /// (transport/shm/rendezvous.h). They form a stack: receivers push on it, and the rank takes it as a whole.
    std::atomic<std::uint64_t> attention;
    /// Offset of the ring of a sender, by its rank in the job; 0: none.
    std::atomic<std::uint64_t> &ring(std::size_t sender) {
        return reinterpret_cast<std::atomic<std::uint64_t> *>(this + 1)[sender];
    }

    static constexpr std::size_t footprint(std::size_t ranks) {
        return whole_lines(sizeof(Inbox) + ranks * sizeof(std::uint64_t));
    }
};

struct alignas(cache_line) NodeShared {
    std::atomic<std::uint64_t> contexts;   ///< offset of a table (core/contexts.cpp); 0: nobody made it yet
    std::atomic<std::uint64_t> recovery;   ///< offset of a table (core/recovery_state.cpp); 0: nobody made it yet
    std::atomic<std::uint32_t> joined;     ///< ranks whose RankRecord says for good where they are
    std::atomic<std::uint64_t> world_area; ///< offset of MPI_COMM_WORLD's CollectiveArea; 0: nobody made it yet
    alignas(cache_line) std::atomic<std::uint32_t> finalising; ///< ranks that have entered MPI_Finalize
    std::atomic<std::uint32_t> all_finalising;                 ///< 1: those of all other nodes have, too

    Inbox *inbox(int rank, int ranks) {
        std::size_t each = Inbox::footprint(static_cast<std::size_t>(ranks));
        return reinterpret_cast<Inbox *>(reinterpret_cast<char *>(this + 1) + static_cast<std::size_t>(rank) * each);
    }
    static constexpr std::size_t footprint(std::size_t ranks) {
        return sizeof(NodeShared) + ranks * Inbox::footprint(ranks);
    }
};

} // namespace volley
