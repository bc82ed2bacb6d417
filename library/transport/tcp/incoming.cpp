// SPDX-License-Identifier: BSD-3-Clause
/// The receiver's end of a connection.
#include "boot/context_number.h"
#include "transport/abort.h"
#include "transport/message.h"
#include "transport/node.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/tcp.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace volley {

Incoming::Incoming(ProcessIndex sender, std::uint64_t key, Descriptor socket, std::unique_ptr<SharedStream> stream)
    : Connection(sender, key, ConnectionEntry::Direction::from_peer), GrantedSender(sender) {
    use(std::move(socket), std::move(stream));
}

Incoming::~Incoming() {
    tcp.grants.forget(*this);
    if (partial_) std::free(partial_->all);
}

bool Incoming::take_frame(const wire::FrameHeader &header, unsigned char *payload) {
    if (header.kind == wire::FrameKind::cancel) {
        cancel(header.id);
        return true;
    }
    if (header.kind == wire::FrameKind::withdrawn) return withdrawn(header);
    if (header.kind == wire::FrameKind::departed) return members_departed(header.context, header.bytes);
    const bool is_eager = header.kind == wire::FrameKind::eager;
    if (!is_eager && header.kind != wire::FrameKind::request) return false;
    if (!is_eager && header.id != ++last_id_) return false;
    const std::optional<Arrival> arrival = arrival_of(header);
    if (!arrival || (is_eager && !take_cost(header))) return false;
    count(header);
    if (is_eager)
        arrive(*arrival, payload);
    else if (Receive *receive = match(*arrival))
        fetch(*receive, header.id, accept(*receive, header.source, header.tag, arrival->bytes));
    else
        kept_[header.id] = &keep_unexpected(*arrival, {.by_tcp = true, .tcp_number = header.id});
    return true;
}

/// What a header tells matching; nothing if it makes no sense.
std::optional<Arrival> Incoming::arrival_of(const wire::FrameHeader &header) const {
    // A process may not know all members of a communicator of several jobs yet.
    if (header.source < 0 || (header.name == 0 && header.source >= processes.size())) return std::nullopt;
    std::uint32_t context = header.context;
    if (header.name != 0) {
        context = context_of_name(header.name);
        if (context == 0) abort_job_for("no context number is left for a communicator with processes of another job");
        context += static_cast<std::uint32_t>(traffic_of(header.context));
    } else if (processes.is_of_other_job(peer_)) {
        return std::nullopt;
    }
    return Arrival{.sender = peer_,
                   .envelope = {.tag = header.tag, .context = context, .source = header.source},
                   .bytes = static_cast<Count>(header.bytes)};
}

/// False if the sender has no credit for an eager message.
bool Incoming::take_cost(const wire::FrameHeader &header) {
    const std::uint64_t cost = wire::eager_cost(header.bytes);
    if (arrived_ + cost > wire::eager_credit) return false;
    arrived_ += cost;
    return true;
}

/// A whole message has arrived.
void Incoming::arrive(const Arrival &arrival, const unsigned char *payload) {
    if (Receive *receive = match(arrival)) {
        const Count wanted = accept(*receive, arrival.envelope.source, arrival.envelope.tag, arrival.bytes);
        return receive_whole(*receive, payload, wanted, arrival.bytes);
    }
    unsigned char *copy = allocate_payload(arrival.bytes);
    if (copy) std::memcpy(copy, payload, static_cast<std::size_t>(arrival.bytes));
    keep_unexpected(arrival, {.payload = copy, .by_tcp = true});
}

/// The receive wants the first bytes of a message that is there.
void Incoming::receive_whole(Receive &receive, const unsigned char *payload, Count wanted, Count bytes) {
    TypedBuffer here{nullptr, const_cast<unsigned char *>(payload), 0};
    if (wanted > 0) copy_piece(here, receive.destination(), 0, wanted); // without data there is no address
    received(receive);
    give_credit(bytes);
}

/// A message that no receive takes yet is kept from matching until all of it is there. Nothing of its sender comes in
/// between, so the order of messages stays.
bool Incoming::begin_eager(const wire::FrameHeader &header, char *&place) {
    const std::optional<Arrival> arrival = arrival_of(header);
    if (!arrival || !take_cost(header)) return false;
    count(header);
    partial_ = {.arrival = *arrival, .receive = match(*arrival), .wanted = 0, .all = nullptr};
    Receive *receive = partial_->receive;
    if (receive != nullptr) partial_->wanted = accept(*receive, header.source, header.tag, arrival->bytes);
    if (receive != nullptr && receive->contiguous && partial_->wanted == arrival->bytes)
        place = receive->contiguous;
    else
        place = reinterpret_cast<char *>(partial_->all = allocate_payload(arrival->bytes));
    return true;
}

void Incoming::end_eager() {
    const Partial message = *std::exchange(partial_, std::nullopt);
    const Arrival &arrival = message.arrival;
    if (message.all == nullptr) {
        received(*message.receive);
        return give_credit(arrival.bytes);
    }
    Receive *receive = message.receive != nullptr ? message.receive : match(arrival);
    if (receive == nullptr) {
        keep_unexpected(arrival, {.payload = message.all, .by_tcp = true});
        return;
    }
    const Count wanted = message.receive != nullptr
                             ? message.wanted
                             : accept(*receive, arrival.envelope.source, arrival.envelope.tag, arrival.bytes);
    receive_whole(*receive, message.all, wanted, arrival.bytes);
    std::free(message.all);
}

/// If the cancellation comes too late, the message is received, and its sender hears nothing more. Messages that a
/// matched probe has taken will be received.
void Incoming::cancel(std::uint64_t id) {
    auto found = kept_.find(id);
    if (found == kept_.end() || found->second->communicator) return;
    Unexpected &message = *found->second;
    kept_.erase(found);
    say({.kind = wire::FrameKind::cancelled, .id = id});
    drop_unexpected(message);
}

bool Incoming::withdrawn(const wire::FrameHeader &header) {
    const auto found = fetches_.find(header.id);
    if (found == fetches_.end() || found->second.arrived > 0) return false;
    Receive &receive = *found->second.receive;
    if (!stream_) tcp.grants.withdrawn(*this, found->second);
    fetches_.erase(found);
    given_up(receive, header.context);
    received(receive);
    return true;
}

void Incoming::abandon() {
    close();
    for (const auto &[id, message] : std::exchange(kept_, {}))
        if (!message->communicator) drop_unexpected(*message); // otherwise a matched probe has it
    for (const auto &[id, fetch] : std::exchange(fetches_, {})) {
        volley::lost(*fetch.receive, peer_);
        received(*fetch.receive);
    }
    if (const std::optional<Partial> message = std::exchange(partial_, std::nullopt)) {
        std::free(message->all);
        if (message->receive == nullptr) return;
        volley::lost(*message->receive, peer_);
        received(*message->receive);
    }
}

void Incoming::tell_alone(bool is_alone) {
    if (fabric_) return; // its limit is the provider's
    say({.kind = wire::FrameKind::limit, .bytes = is_alone ? wire::largest_eager : wire::usual_eager});
    flush();
}

void Incoming::pull(std::uint64_t id, Count granted, bool is_all, std::uint64_t tag) {
    say({.kind = wire::FrameKind::pull,
         .tag = is_all ? 1 : 0,
         .bytes = static_cast<std::uint64_t>(granted),
         .id = id,
         .name = tag});
    flush();
}

void Incoming::tell_granted(Fetch &fetch) {
    const std::uint64_t tag = fabric_ ? post_places(fetch) : 0;
    pull(fetch.id, fetch.granted, fetch.granted == fetch.wanted, tag);
}

/// The place of a piece of a message's data, which comes by libfabric.
class Incoming::FabricPlace final : public FabricOperation {
  public:
    FabricPlace(Incoming &connection, const Fetch &fetch, Count from, Count to)
        : connection_(connection), id_(fetch.id), from_(from), bytes_(to - from) {
        if (!fetch.receive->contiguous) packed_.resize(static_cast<std::size_t>(bytes_));
        place_ = fetch.receive->contiguous ? fetch.receive->contiguous + from : packed_.data();
    }
    void post(std::uint64_t tag) {
        fabric.endpoint().receive_tagged(place_, static_cast<std::size_t>(bytes_), tag, *this);
    }
    void completed(std::size_t bytes) override {
        const std::unique_ptr<FabricPlace> own(this);
        if (static_cast<Count>(bytes) != bytes_) return connection_.fabric_failed("a piece of data has another size");
        connection_.piece_arrived(id_, from_, bytes_, packed_.empty() ? nullptr : packed_.data());
    }
    void failed(const std::string &reason) override {
        const std::unique_ptr<FabricPlace> own(this);
        connection_.fabric_failed(reason);
    }

  private:
    Incoming &connection_;
    const std::uint64_t id_;
    const Count from_, bytes_;
    char *place_ = nullptr;
    std::vector<char> packed_; ///< for a buffer that is not one block
};

/// Places for all that is granted and has none yet. Returns the tag of the first; the others have those that follow.
std::uint64_t Incoming::post_places(Fetch &fetch) {
    std::uint64_t first = 0;
    while (fetch.placed < fetch.granted) {
        const Count to = std::min<Count>(fetch.placed + wire::largest_data, fetch.granted);
        const std::uint64_t tag = fabric.new_tag();
        if (first == 0) first = tag;
        (new FabricPlace(*this, fetch, fetch.placed, to))->post(tag);
        fetch.placed = to;
    }
    return first;
}

void Incoming::piece_arrived(std::uint64_t id, Count from, Count bytes, const char *packed) {
    current_ = &fetches_.at(id);
    if (packed != nullptr) unpack(current_->receive->buffer, from, from + bytes, packed);
    part_ = frame_ = bytes;
    end_data();
}

void Incoming::fetch(Receive &receive, std::uint64_t id, Count wanted) {
    kept_.erase(id);
    if (wanted > 0) {
        Fetch &fetch = fetches_[id] = {.receive = &receive, .id = id, .wanted = wanted};
        if (!stream_) return tcp.grants.add(*this, fetch);
        fetch.granted = wanted; // memory has no switch whose queues could overflow
        return pull(id, wanted, true);
    }
    pull(id, 0, true);
    received(receive);
}

void Incoming::drop(std::uint64_t id) {
    if (kept_.erase(id) > 0) pull(id, 0, true);
}

void Incoming::give_credit(Count bytes) {
    const std::uint64_t cost = wire::eager_cost(static_cast<std::uint64_t>(bytes));
    if (cost > arrived_) return; // the message came by an earlier connection
    arrived_ -= cost;
    owed_ += cost;
    if (owed_ < wire::credit_portion) return;
    say({.kind = wire::FrameKind::credit, .bytes = owed_});
    owed_ = 0;
    flush();
}

bool Incoming::begin_data(const wire::FrameHeader &header, char *&place) {
    if (header.kind == wire::FrameKind::eager) return begin_eager(header, place);
    auto found = fetches_.find(header.id);
    if (found == fetches_.end()) return false;
    Fetch &fetch = found->second;
    if (header.bytes > static_cast<std::uint64_t>(fetch.granted - fetch.arrived)) return false;
    current_ = &fetch;
    part_ = frame_ = static_cast<Count>(header.bytes);
    if (fetch.receive->contiguous) place = fetch.receive->contiguous + fetch.arrived;
    return true;
}

void Incoming::data(const unsigned char *part, std::size_t bytes) {
    Fetch &fetch = *current_;
    auto size = static_cast<Count>(bytes);
    unpack(fetch.receive->buffer, fetch.arrived, fetch.arrived + size, part);
    fetch.arrived += size;
    part_ -= size;
}

void Incoming::end_data() {
    if (partial_) return end_eager();
    Fetch &fetch = *current_;
    fetch.arrived += part_; // unless it went through data()
    Receive *complete = fetch.arrived == fetch.wanted ? fetch.receive : nullptr;
    if (complete) fetches_.erase(fetch.id);
    if (!stream_) tcp.grants.arrived(*this, frame_);
    if (complete) received(*complete);
}

bool Incoming::is_needed() const {
    return !fetches_.empty() || partial_;
}

std::pair<ProcessIndex, ProcessIndex> Incoming::ends() const {
    return {peer_, node.rank};
}

} // namespace volley
