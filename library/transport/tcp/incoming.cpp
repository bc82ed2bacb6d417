// SPDX-License-Identifier: BSD-3-Clause
/// The receiver's end of a connection.
#include "core/engine.h"
#include "core/messages.h"
#include "transport/tcp/connection.h"

namespace volley {

Incoming::Incoming(int sender, std::uint64_t key, Descriptor socket) : Connection(sender, key) {
    use(std::move(socket));
}

bool Incoming::frame(const wire::FrameHeader &header, unsigned char *payload) {
    if (header.kind == wire::FrameKind::cancel) {
        cancel(header.id);
        return true;
    }
    bool is_eager = header.kind == wire::FrameKind::eager;
    if (!is_eager && header.kind != wire::FrameKind::request) return false;
    if (header.source < 0 || header.source >= engine.ranks) return false;
    if (!is_eager && header.id != ++last_id_) return false;
    auto bytes = static_cast<Count>(header.bytes);
    Unexpected *kept = messages.arrive({.context = header.context,
                                        .source = header.source,
                                        .tag = header.tag,
                                        .world_source = peer_,
                                        .bytes = bytes,
                                        .payload = is_eager ? payload : nullptr,
                                        .number = is_eager ? 0 : header.id});
    if (!is_eager && kept) kept_[header.id] = kept;
    if (is_eager && !kept) give_credit(bytes);
    return true;
}

/// If it is too late the message is received, and its sender hears nothing more. Messages that a matched probe has
/// taken will be received.
void Incoming::cancel(std::uint64_t id) {
    auto found = kept_.find(id);
    if (found == kept_.end() || found->second->communicator) return;
    Unexpected &message = *found->second;
    kept_.erase(found);
    writer_.add({.kind = wire::FrameKind::cancelled, .id = id});
    message.queues->remove(message);
    messages.discard(message);
}

void Incoming::pull(std::uint64_t id, Count wanted) {
    kept_.erase(id);
    writer_.add({.kind = wire::FrameKind::pull, .bytes = static_cast<std::uint64_t>(wanted), .id = id});
    flush();
}

void Incoming::fetch(Receive &receive, std::uint64_t id, Count wanted) {
    if (wanted > 0) fetches_[id] = {&receive, wanted, 0};
    pull(id, wanted);
    if (wanted == 0) messages.finish(receive);
}

void Incoming::drop(std::uint64_t id) {
    if (kept_.contains(id)) pull(id, 0);
}

void Incoming::give_credit(Count bytes) {
    owed_ += wire::eager_cost(static_cast<std::uint64_t>(bytes));
    if (owed_ < wire::credit_portion) return;
    writer_.add({.kind = wire::FrameKind::credit, .bytes = owed_});
    owed_ = 0;
    flush();
}

bool Incoming::begin_data(const wire::FrameHeader &header, char *&place) {
    auto found = fetches_.find(header.id);
    if (found == fetches_.end()) return false;
    auto &[receive, wanted, arrived] = found->second;
    if (header.bytes > static_cast<std::uint64_t>(wanted - arrived)) return false;
    current_ = &*found;
    part_ = static_cast<Count>(header.bytes);
    if (receive->contiguous) place = receive->contiguous + arrived;
    return true;
}

void Incoming::data(const unsigned char *part, std::size_t bytes) {
    Fetch &fetch = current_->second;
    auto size = static_cast<Count>(bytes);
    unpack(fetch.receive->buffer, fetch.arrived, fetch.arrived + size, part);
    fetch.arrived += size;
    part_ -= size;
}

void Incoming::end_data() {
    Fetch &fetch = current_->second;
    fetch.arrived += part_; // unless it went through data()
    if (fetch.arrived < fetch.wanted) return;
    Receive &receive = *fetch.receive;
    fetches_.erase(current_->first);
    messages.finish(receive);
}

bool Incoming::is_needed() const {
    return !fetches_.empty();
}

std::pair<int, int> Incoming::ends() const {
    return {peer_, engine.rank};
}

} // namespace volley
