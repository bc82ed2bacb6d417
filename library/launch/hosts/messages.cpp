// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/messages.h"

#include <cstring>
#include <type_traits>

#include "boot/error.h"

namespace volley::launch {
namespace {

/// Appends values; lists and texts with their length before them.
class Writer {
  public:
    template <class Value> Writer &operator<<(const Value &value) {
        if constexpr (std::is_trivially_copyable_v<Value>) {
            text_.append(reinterpret_cast<const char *>(&value), sizeof value);
        } else {
            *this << static_cast<std::uint64_t>(value.size());
            for (const auto &element : value) *this << element;
        }
        return *this;
    }
    std::string take() {
        return std::move(text_);
    }

  private:
    std::string text_;
};

class Reader {
  public:
    explicit Reader(const std::string &text) : text_(text) {}

    template <class Value> Reader &operator>>(Value &value) {
        if constexpr (std::is_trivially_copyable_v<Value>) {
            if (text_.size() - at_ < sizeof value) refuse();
            std::memcpy(&value, text_.data() + at_, sizeof value);
            at_ += sizeof value;
        } else {
            std::uint64_t size = 0;
            *this >> size;
            if (size > text_.size() - at_) refuse(); // every element takes a byte or more
            value.resize(size);
            for (auto &element : value) *this >> element;
        }
        return *this;
    }
    void end() const {
        if (at_ != text_.size()) refuse();
    }

  private:
    [[noreturn]] static void refuse() {
        throw Error(
            "mpiexec and its node daemon do not understand each other: are they of the same version of Volley?");
    }

    const std::string &text_;
    std::size_t at_ = 0;
};

Writer &operator<<(Writer &writer, const HostAddress &address) {
    return writer << address.interface << address.address << address.prefix;
}
Reader &operator>>(Reader &reader, HostAddress &address) {
    return reader >> address.interface >> address.address >> address.prefix;
}

Writer &operator<<(Writer &writer, const BootedNode &node) {
    return writer << node.name << node.host << node.slots << node.address << node.port;
}
Reader &operator>>(Reader &reader, BootedNode &node) {
    return reader >> node.name >> node.host >> node.slots >> node.address >> node.port;
}

template <class... Values> std::string encoded(const Values &...values) {
    Writer writer;
    (writer << ... << values);
    return writer.take();
}
template <class... Values> void decode_into(const std::string &text, Values &...values) {
    Reader reader(text);
    (reader >> ... >> values);
    reader.end();
}

} // namespace

std::string HelloMessage::encode() const {
    return encoded(version, machine, host, addresses);
}
HelloMessage HelloMessage::decode(const std::string &text) {
    HelloMessage message;
    decode_into(text, message.version, message.machine, message.host, message.addresses);
    return message;
}

std::string JobMessage::encode() const {
    return encoded(arguments, environment, directory, job, secret, node_of, hosts, node, address, person, beats, ranks,
                   asked_at, port);
}
JobMessage JobMessage::decode(const std::string &text) {
    JobMessage message{};
    decode_into(text, message.arguments, message.environment, message.directory, message.job, message.secret,
                message.node_of, message.hosts, message.node, message.address, message.person, message.beats,
                message.ranks, message.asked_at, message.port);
    return message;
}

std::string PortsMessage::encode() const {
    return encoded(ports, relay);
}
PortsMessage PortsMessage::decode(const std::string &text) {
    PortsMessage message;
    decode_into(text, message.ports, message.relay);
    return message;
}

std::string StartMessage::encode() const {
    return encoded(addresses, ports, relays);
}
StartMessage StartMessage::decode(const std::string &text) {
    StartMessage message;
    decode_into(text, message.addresses, message.ports, message.relays);
    return message;
}

std::string BootMessage::encode() const {
    return encoded(directory, secret, address, ports);
}
BootMessage BootMessage::decode(const std::string &text) {
    BootMessage message{};
    decode_into(text, message.directory, message.secret, message.address, message.ports);
    return message;
}

std::string FailedMessage::encode() const {
    return encoded(rank, why);
}
FailedMessage FailedMessage::decode(const std::string &text) {
    FailedMessage message{};
    decode_into(text, message.rank, message.why);
    return message;
}

std::string RanksMessage::encode() const {
    return encoded(ranks, status);
}
RanksMessage RanksMessage::decode(const std::string &text) {
    RanksMessage message;
    decode_into(text, message.ranks, message.status);
    return message;
}

std::string DescriptionMessage::encode() const {
    return encoded(version, process, jobs, began_at);
}
DescriptionMessage DescriptionMessage::decode(const std::string &text) {
    DescriptionMessage message{};
    decode_into(text, message.version, message.process, message.jobs, message.began_at);
    return message;
}

std::string encode(const BootedSet &set) {
    return encoded(set.secret, set.nodes);
}
BootedSet decode_booted_set(const std::string &text) {
    BootedSet set;
    decode_into(text, set.secret, set.nodes);
    return set;
}

} // namespace volley::launch
