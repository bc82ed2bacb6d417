// SPDX-License-Identifier: BSD-3-Clause
#include "transport/fabric/fabric.h"

#include "boot/addresses.h"
#include "boot/error.h"
#include "transport/abort.h"
#include "transport/node.h"
#include "transport/tcp/tcp.h"
#include "wait/descriptors.h"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace volley {
namespace {

/// Before each frame.
struct Prefix {
    std::uint64_t token;
    std::uint64_t number; ///< of the connection's messages in this direction, from 0
};
constexpr std::size_t head_bytes = FabricChannel::head_bytes;
static_assert(head_bytes == sizeof(Prefix) + sizeof(wire::FrameHeader));

/// Tags of most providers have 48 bits or more.
constexpr std::uint64_t first_tags = (std::uint64_t{1} << 47) - 1;

std::uint64_t random_number() {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != sizeof number) abort_job_for("the system gives no random numbers");
    return number;
}

} // namespace

Fabric &fabric = *new Fabric;

void Fabric::open() {
    endpoint_ = std::make_unique<FabricEndpoint>(text_of(address_of(node.number())), head_bytes + wire::usual_eager,
                                                 static_cast<FabricReceiver &>(*this));
    if (endpoint_->address().size() > sizeof wire::FabricIntroduction::address)
        throw Error("addresses of libfabric's provider " + endpoint_->provider() + " are longer than expected");
    next_tag_ = random_number() & first_tags;
    descriptors.ask_before_sleep([] { return fabric.endpoint_->may_sleep(); });
    if (endpoint_->descriptor() >= 0) tcp.watch_elsewhere(endpoint_->descriptor());
}

void Fabric::arrived(unsigned char *message, std::size_t bytes) {
    std::uint64_t token = 0;
    if (bytes < head_bytes) return; // of nobody that we know
    std::memcpy(&token, message, sizeof token);
    const auto found = channels_.find(token);
    if (found != channels_.end() && !found->second->arrived(message, bytes))
        found->second->user_.fabric_failed("what arrived is no message of this library");
}

void Fabric::failed(const std::string &reason) {
    const std::string text = "libfabric (" + endpoint_->provider() + ") has failed: " + reason;
    abort_job_for(text.c_str());
}

/// A frame that is under way. It belongs to libfabric until then.
struct FabricChannel::Message final : FabricOperation {
    Message(FabricChannel &of_channel, const wire::FrameHeader &header, const void *payload)
        : channel(of_channel), bytes(sizeof(Prefix)) {
        append(&header, sizeof header);
        if (payload != nullptr) append(payload, header.bytes);
    }
    void completed(std::size_t) override {
        channel.under_way_--;
        delete this;
    }
    void failed(const std::string &reason) override {
        channel.under_way_--;
        channel.user_.fabric_failed(reason);
        delete this;
    }

    void append(const void *begin, std::size_t count) {
        const auto *first = static_cast<const unsigned char *>(begin);
        bytes.insert(bytes.end(), first, first + count);
    }

    FabricChannel &channel;
    std::vector<unsigned char> bytes;
};

FabricChannel::FabricChannel(FabricUser &user) : user_(user), token_(random_number()) {
    fabric.channels_[token_] = this;
}

FabricChannel::~FabricChannel() {
    fabric.channels_.erase(token_);
}

wire::FabricIntroduction FabricChannel::introduction() const {
    wire::FabricIntroduction own{};
    own.token = token_;
    const FabricEndpoint &endpoint = fabric.endpoint();
    endpoint.provider().copy(own.provider, sizeof own.provider - 1);
    own.address_bytes = static_cast<std::uint32_t>(endpoint.address().size());
    std::ranges::copy(endpoint.address(), own.address);
    return own;
}

bool FabricChannel::introduce(const wire::FabricIntroduction &other) {
    if (is_introduced_ || other.address_bytes > sizeof other.address || other.provider[sizeof other.provider - 1] != 0)
        return false;
    if (other.provider != fabric.endpoint().provider())
        throw Error("libfabric's provider is " + fabric.endpoint().provider() + " here and " + other.provider +
                    " there: name one that both hosts have, in the environment variable FI_PROVIDER");
    other_ = fabric.endpoint().find({other.address, other.address + other.address_bytes});
    other_token_ = other.token;
    is_introduced_ = true;
    for (auto &message : std::exchange(waiting_, {})) send(std::move(message));
    return true;
}

void FabricChannel::say(const wire::FrameHeader &header, const void *payload) {
    auto message = std::make_unique<Message>(*this, header, payload);
    if (is_introduced_)
        send(std::move(message));
    else
        waiting_.push_back(std::move(message));
}

void FabricChannel::send(std::unique_ptr<Message> message) {
    const Prefix prefix{.token = other_token_, .number = sent_++};
    std::memcpy(message->bytes.data(), &prefix, sizeof prefix);
    under_way_++;
    Message &sent = *message.release();
    fabric.endpoint().send(other_, sent.bytes.data(), sent.bytes.size(), sent);
}

void FabricChannel::send_data(const void *bytes, std::size_t count, std::uint64_t tag, FabricOperation &operation) {
    fabric.endpoint().send_tagged(other_, bytes, count, tag, operation);
}

/// False if it makes no sense.
bool FabricChannel::arrived(unsigned char *message, std::size_t bytes) {
    Prefix prefix;
    std::memcpy(&prefix, message, sizeof prefix);
    if (prefix.number != taken_)
        return prefix.number > taken_ && early_.try_emplace(prefix.number, message, message + bytes).second;
    if (!take(message, bytes)) return false;
    while (!early_.empty() && early_.begin()->first == taken_) {
        auto next = early_.extract(early_.begin());
        if (!take(next.mapped().data(), next.mapped().size())) return false;
    }
    return true;
}

bool FabricChannel::take(unsigned char *message, std::size_t bytes) {
    taken_++;
    wire::FrameHeader header;
    std::memcpy(&header, message + sizeof(Prefix), sizeof header);
    if (!wire::is_sensible(header) || bytes != head_bytes + wire::payload_bytes(header) ||
        wire::comes_in_parts(header) || header.kind == wire::FrameKind::fabric)
        return false;
    user_.take_from_fabric(header, message + head_bytes);
    return true;
}

} // namespace volley
