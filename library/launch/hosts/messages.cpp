// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/messages.h"

#include "boot/encoding.h"

namespace volley {

auto fields(MaybeConst<HostAddress> auto &address) {
    return std::tie(address.interface, address.address, address.prefix, address.comes_last);
}

namespace launch {

auto fields(MaybeConst<BootedNode> auto &node) {
    return std::tie(node.name, node.host, node.slots, node.address, node.port);
}

std::string HelloMessage::encode() const {
    return encoded(version, machine, host, addresses);
}
HelloMessage HelloMessage::decode(const std::string &text) {
    HelloMessage message;
    decode_into(text, message.version, message.machine, message.host, message.addresses);
    return message;
}

std::string JobMessage::encode() const {
    return encoded(arguments, environment, directory, job, secret, node_of, hosts, node, addresses, person, beats,
                   ranks, asked_at, port);
}
JobMessage JobMessage::decode(const std::string &text) {
    JobMessage message{};
    decode_into(text, message.arguments, message.environment, message.directory, message.job, message.secret,
                message.node_of, message.hosts, message.node, message.addresses, message.person, message.beats,
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

} // namespace launch
} // namespace volley
