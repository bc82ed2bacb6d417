// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/host_card.h"

#include "boot/build_id.h"
#include "boot/error.h"
#include "boot/text.h"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <functional>
#include <vector>

namespace volley {
namespace {

/// The first field of a card, so that later versions can tell theirs.
constexpr const char *kind = "volley2";
constexpr char separator = '|';
constexpr std::size_t fields_before_addresses = 7;
/// Behind an address that comes last.
constexpr char last = '-';
/// Hosts of containers can have hundreds.
constexpr std::size_t most_told = 16;

std::string hexadecimal(std::uint64_t number) {
    char digits[16];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), number, 16).ptr;
    return {digits, end};
}

std::uint64_t number_in(const std::string &text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (error != std::errc() || end != text.data() + text.size()) throw Error("\"" + text + "\" is no number");
    return number;
}

std::string link_target(const char *path) {
    char target[128];
    const ssize_t bytes = readlink(path, target, sizeof target);
    return {target, bytes < 0 ? 0 : static_cast<std::size_t>(bytes)};
}

/// What people are told of a library.
std::string description(const HostCard &card) {
    return "Volley " + card.version + ", build " + hexadecimal(card.build);
}

} // namespace

std::string HostCard::encode() const {
    std::string text = kind;
    for (const std::string &field : {version, hexadecimal(build), hexadecimal(identity), hexadecimal(socket),
                                     to_hexadecimal(public_key), addresses.host})
        text += separator + field;
    for (const HostAddress &address : addresses.addresses)
        text += separator + text_of(address) + (address.comes_last ? std::string(1, last) : "");
    return text;
}

HostCard HostCard::decode(const std::string &text) {
    const std::vector<std::string> fields = fields_of(text, separator);
    const auto wrong = [&] {
        return Error("another rank says \"" + text +
                     "\" of itself, which this version of Volley (" VOLLEY_VERSION
                     ") does not understand: install the same one on all hosts");
    };
    if (fields.size() < fields_before_addresses || fields[0] != kind) throw wrong();
    const auto key = from_hexadecimal(fields[5]);
    if (!key) throw wrong();
    HostCard card{.version = fields[1],
                  .build = number_in(fields[2]),
                  .identity = number_in(fields[3]),
                  .socket = static_cast<std::uint32_t>(number_in(fields[4])),
                  .public_key = *key,
                  .addresses = {.name = fields[6], .host = fields[6], .addresses = {}}};
    for (std::size_t field = fields_before_addresses; field < fields.size(); field++) {
        const bool comes_last = fields[field].ends_with(last);
        auto address = read_host_address(fields[field].substr(0, fields[field].size() - (comes_last ? 1 : 0)));
        if (!address) throw wrong();
        address->comes_last = comes_last;
        card.addresses.addresses.push_back(*address);
    }
    return card;
}

std::uint64_t host_identity() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    const std::string all = boot + separator + own_host_name() + separator + link_target("/proc/self/ns/net") +
                            separator + link_target("/proc/self/ns/pid");
    return std::hash<std::string>()(all);
}

HostCard own_card(std::uint32_t socket, const std::string &public_key, const std::string &interface) {
    const std::string host = own_host_name();
    HostCard card{.version = VOLLEY_VERSION,
                  .build = build_id(),
                  .identity = host_identity(),
                  .socket = socket,
                  .public_key = public_key,
                  .addresses = {.name = host, .host = host, .addresses = {}}};
    if (public_key.empty()) return card;
    card.addresses.addresses = own_addresses(interface);
    if (card.addresses.addresses.empty())
        throw Error("host " + host + " has no address of interface or network " + interface +
                    " (environment variable VOLLEY_INTERFACE)");
    if (card.addresses.addresses.size() > most_told) card.addresses.addresses.resize(most_told);
    return card;
}

void check_same_library(const HostCard &one, const HostCard &other) {
    if (one.version == other.version && (one.build == other.build || one.build == 0 || other.build == 0)) return;
    throw Error("host " + other.addresses.name + " has another library than host " + one.addresses.name + " (" +
                description(other) + ", and " + description(one) +
                "): install the same one on all hosts of the job, and see which one each finds (ldd, LD_LIBRARY_PATH)");
}

} // namespace volley
