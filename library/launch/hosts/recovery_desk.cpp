// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/recovery_desk.h"

#include <algorithm>

#include "boot/revocation.h"

namespace volley::launch {

RecoveryDesk::RecoveryDesk(Arena &arena) : arena_(arena) {
    std::uint32_t number = 0;
    socket_ = open_for_recovery(number);
    arena_.head()->launcher_socket = number;
}

void RecoveryDesk::watch(std::vector<pollfd> &watched) const {
    watched.push_back({socket_.get(), POLLIN, 0});
}

void RecoveryDesk::advance(Channel &mpiexec) {
    const auto ranks = static_cast<std::size_t>(arena_.ranks());
    while (const auto request = receive_recovery_request(socket_, *arena_.head())) {
        if (request->kind == RecoveryRequestKind::revoke) {
            mpiexec.send(FrameKind::revoke, static_cast<std::int32_t>(request->context));
            continue;
        }
        const auto contribution = Contribution::decode(request->contribution, ranks);
        if (!contribution || ticket_at(request->ticket) == nullptr) continue;
        waiting_[{contribution->context, contribution->number}].push_back(request->ticket);
        mpiexec.send(FrameKind::contribution, 0, request->contribution);
    }
}

bool RecoveryDesk::take(const Frame &news) {
    if (news.kind == FrameKind::revoked) {
        note_revoked(*arena_.head(), static_cast<std::uint32_t>(news.number));
        return true;
    }
    if (news.kind != FrameKind::decided) return false;
    if (const auto decision = Decision::decode(news.payload, static_cast<std::size_t>(arena_.ranks())))
        decided(*decision);
    return true;
}

void RecoveryDesk::decided(const Decision &decision) {
    const auto found = waiting_.extract({decision.context, decision.number});
    if (found.empty()) return;
    for (const std::uint64_t offset : found.mapped()) {
        DecisionTicket &ticket = *ticket_at(offset);
        ticket.flag = decision.flag;
        ticket.is_acknowledged = decision.is_acknowledged;
        ticket.contexts = decision.contexts;
        std::ranges::copy(decision.failed.words(), ticket.failed());
        ticket.is_decided.store(1, std::memory_order_release);
    }
}

/// nullptr if a rank that has gone wild names another place than one of the ranks' memory.
DecisionTicket *RecoveryDesk::ticket_at(std::uint64_t offset) const {
    ArenaHead &head = *arena_.head();
    const std::uint64_t bytes = DecisionTicket::footprint(head.ranks);
    if (offset % cache_line != 0 || offset < head.memory || offset > head.bytes - bytes) return nullptr;
    return reinterpret_cast<DecisionTicket *>(reinterpret_cast<char *>(&head) + offset);
}

} // namespace volley::launch
