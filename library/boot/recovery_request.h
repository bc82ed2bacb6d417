// SPDX-License-Identifier: BSD-3-Clause
/// What ranks of a job on several hosts ask of their node daemon when they recover from failures: to tell the other
/// hosts that a communicator was revoked, and to take part in an agreement (communicator/agreement.h). mpiexec decides
/// on those whose members are on several hosts (launch/hosts/agreements.h).
///
/// A request is one datagram to a socket in Linux's abstract namespace, whose number is in the arena. So a rank that is
/// killed has sent all of it or nothing. Only processes of the same user are heard, and it begins with the job's
/// secret.
#pragma once

#include "boot/descriptor.h"
#include "boot/job.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace volley {

/// A set of ranks of the job.
class RankSet {
  public:
    explicit RankSet(std::size_t ranks) : words_((ranks + 63) / 64) {}
    explicit RankSet(std::vector<std::uint64_t> words) : words_(std::move(words)) {}

    void add(std::size_t rank) {
        words_[rank / 64] |= std::uint64_t{1} << rank % 64;
    }
    bool has(std::size_t rank) const {
        return (words_[rank / 64] >> rank % 64 & 1) != 0;
    }
    /// Whether all of these are among those of two others.
    bool is_within(const RankSet &one, const RankSet &other) const;
    RankSet both(const RankSet &other) const;
    const std::vector<std::uint64_t> &words() const {
        return words_;
    }

  private:
    std::vector<std::uint64_t> words_;
};

/// Contexts that a member has drawn for a shrunk communicator, and the local communicators of both its groups; 0: none.
using OfferedContexts = std::array<std::uint64_t, 3>;

/// What a member brings to an agreement of a communicator whose members are on several hosts.
struct Contribution {
    std::uint32_t context; ///< of the communicator
    std::uint32_t number;  ///< of the agreement, among those of the communicator
    std::uint32_t rank;    ///< of the member, in the job, as are those of the sets
    std::uint32_t flag;
    OfferedContexts contexts;
    RankSet members, acknowledged;

    std::string encode() const;
    /// Nothing if it makes no sense for a job of so many ranks.
    static std::optional<Contribution> decode(const std::string &text, std::size_t ranks);
};

/// What was decided.
struct Decision {
    std::uint32_t context, number;
    std::uint32_t flag;
    std::uint32_t is_acknowledged; ///< 1: all that have contributed had acknowledged all failures
    OfferedContexts contexts;      ///< of the first member that has contributed and lives
    RankSet failed;                ///< members

    std::string encode() const;
    static std::optional<Decision> decode(const std::string &text, std::size_t ranks);
};

/// Where a member waits for the decision: in the arena, and the words of the set of failed members follow.
struct alignas(cache_line) DecisionTicket {
    std::atomic<std::uint32_t> is_decided; ///< 1: all that follows is there
    std::uint32_t flag, is_acknowledged;
    OfferedContexts contexts;

    std::uint64_t *failed() {
        return reinterpret_cast<std::uint64_t *>(this + 1);
    }
    static std::size_t footprint(std::size_t ranks) {
        return sizeof(DecisionTicket) + whole_lines((ranks + 63) / 64 * sizeof(std::uint64_t));
    }
};

enum class RecoveryRequestKind : std::uint32_t {
    revoke = 1, ///< the communicator with context `context`
    agree = 2,  ///< an encoded Contribution follows
};

struct RecoveryRequest {
    RecoveryRequestKind kind;
    std::uint32_t context;
    std::uint64_t ticket; ///< offset of the DecisionTicket
    std::string contribution;
};

/// The launcher's end; its number goes to ArenaHead::launcher_socket. Throws Error.
Descriptor open_for_recovery(std::uint32_t &number);
/// The next request; nothing if there is none. What is none of this job's is left out.
std::optional<RecoveryRequest> receive_recovery_request(const Descriptor &socket, const ArenaHead &arena);
/// The rank's end. False if no launcher takes it.
bool send_recovery_request(const ArenaHead &arena, const RecoveryRequest &request);

} // namespace volley
