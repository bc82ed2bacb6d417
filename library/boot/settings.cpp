// SPDX-License-Identifier: BSD-3-Clause
#include "boot/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "boot/cpus.h"
#include "boot/error.h"

namespace volley {
namespace {

/// A ring holds four messages of this size, and there may be one ring from each rank to each other.
constexpr std::uint32_t largest_eager_limit = 1 << 20;

/// Such a message takes a block of common memory as long as it is under way.
constexpr std::uint32_t largest_pipeline_limit = 1 << 24;

/// The arena's address is chosen in the lower half of the addresses of a process.
constexpr std::uint64_t largest_arena_bytes = std::uint64_t{1} << 42;

template <class Number>
std::optional<Number> read_number(const char *name, const char *what, Number least, Number largest) {
    const char *text = std::getenv(name);
    if (text == nullptr || *text == '\0') return {};
    const std::string_view digits = text;
    Number value = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    if (error != std::errc() || end != digits.end() || value < least || value > largest)
        throw Error(std::string("environment variable ") + name + " is '" + text + "': it must be a number of " + what +
                    " from " + std::to_string(least) + " to " + std::to_string(largest) + ", or not be set");
    return value;
}

std::optional<Transport> read_transport() {
    const char *text = std::getenv("VOLLEY_TRANSPORT");
    const std::string_view name = text != nullptr ? text : "";
    if (name.empty() || name == "auto") return {};
    if (name == "shm") return Transport::shm;
    if (name == "tcp") return Transport::tcp;
    throw Error(std::string("environment variable VOLLEY_TRANSPORT is '") + text +
                "': it must be auto, shm or tcp, or not be set");
}

std::vector<std::uint32_t> read_nodes() {
    const char *text = std::getenv("VOLLEY_NODES");
    const std::string_view list = text != nullptr ? text : "";
    std::vector<std::uint32_t> nodes;
    for (const char *at = list.begin(); at < list.end();) {
        std::uint32_t ranks = 0;
        const auto [end, error] = std::from_chars(at, list.end(), ranks);
        if (error != std::errc() || ranks == 0 || (end != list.end() && (*end != ',' || end + 1 == list.end())))
            throw Error(std::string("environment variable VOLLEY_NODES is '") + text +
                        "': it must be numbers of ranks, 1 or more, with commas between, or not be set");
        nodes.push_back(ranks);
        at = end == list.end() ? end : end + 1;
    }
    return nodes;
}

/// As they were given.
std::string text_of(const std::vector<std::uint32_t> &numbers) {
    std::string text;
    for (std::uint32_t number : numbers) {
        if (!text.empty()) text += ',';
        text += std::to_string(number);
    }
    return text;
}

} // namespace

Settings read_settings() {
    Settings settings;
    const char *check = std::getenv("VOLLEY_CHECK");
    settings.checking = check != nullptr && *check != '\0' && std::string_view(check) != "0";
    settings.eager_limit = read_number<std::uint32_t>("VOLLEY_EAGER_LIMIT", "bytes", 0, largest_eager_limit);
    settings.pipeline_limit = read_number<std::uint32_t>("VOLLEY_PIPELINE_LIMIT", "bytes", 0, largest_pipeline_limit);
    settings.cpus = read_number<std::uint32_t>("VOLLEY_CPUS", "processors", 1, 65536);
    settings.arena_bytes = read_number("VOLLEY_ARENA_BYTES", "bytes", least_arena_bytes, largest_arena_bytes);
    settings.transport = read_transport();
    settings.nodes = read_nodes();
    if (const char *collectives = std::getenv("VOLLEY_COLLECTIVES")) settings.collectives = collectives;
    settings.refused_allocation = read_number<std::uint64_t>("VOLLEY_REFUSE", "a block", 0, ~0U).value_or(0);
    return settings;
}

std::string Settings::text(bool shared) const {
    return "VOLLEY_ARENA_BYTES=" + std::to_string(most_arena_bytes()) +
           "  memory that ranks share, for messages under way (virtual: pages exist once used)\n"
           "VOLLEY_CHECK=" +
           std::to_string(static_cast<int>(checking)) +
           "  1: ranks compare what they are about to do in collective operations\n"
           "VOLLEY_COLLECTIVES=" +
           collectives +
           "  show: says which algorithms collective operations take; OPERATION=ALGORITHM: takes that one\n"
           "VOLLEY_CPUS=" +
           std::to_string(usable_cpus()) +
           "  with more ranks than processors they give way instead of waiting busily\n"
           "VOLLEY_EAGER_LIMIT=" +
           std::to_string(eager_limit_to(shared)) +
           "  messages up to here go through a ring (bytes)\n"
           "VOLLEY_PIPELINE_LIMIT=" +
           std::to_string(pipeline_limit_to(shared)) +
           "  longer ones up to here go through a block of common memory (bytes); others wait for their receiver\n"
           "VOLLEY_NODES=" +
           text_of(nodes) +
           "  for tests: ranks are taken to be on several hosts, so many on each (the last number for all further "
           "ones)\n"
           "VOLLEY_REFUSE=" +
           std::to_string(refused_allocation) +
           "  for tests: which block of common memory a rank does not get\n"
           "VOLLEY_TRANSPORT=" +
           (!transport                     ? "auto"
            : *transport == Transport::tcp ? "tcp"
                                           : "shm") +
           "  what carries messages between ranks: shm, memory they share; tcp, TCP connections on this host; auto, "
           "what is fastest\n";
}

std::int32_t Settings::node_of(int rank) const {
    std::int32_t number = 0;
    for (auto before = static_cast<std::uint32_t>(rank); !nodes.empty(); number++) {
        std::uint32_t size = nodes[std::min(static_cast<std::size_t>(number), nodes.size() - 1)];
        if (before < size) break;
        before -= size;
    }
    return number;
}

std::uint32_t Settings::usable_cpus() const {
    return cpus ? *cpus : volley::usable_cpus();
}

std::uint32_t Settings::allowed_cores() const {
    return cpus ? *cpus : volley::allowed_cores();
}

} // namespace volley
