// SPDX-License-Identifier: BSD-3-Clause
#include "boot/settings.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "boot/cpus.h"
#include "boot/error.h"
#include "boot/text.h"

namespace volley {
namespace {

/// A ring holds four messages of this size, and there may be one ring from each rank to each other.
constexpr std::uint32_t largest_eager_limit = 1 << 20;

/// Such a message takes a block of common memory as long as it is under way.
constexpr std::uint32_t largest_pipeline_limit = 1 << 24;

/// The arena's address is chosen in the lower half of the addresses of a process.
constexpr std::uint64_t largest_arena_bytes = std::uint64_t{1} << 42;

/// Whether a switch is on: it is there, and neither empty nor 0.
bool is_set(const char *name) {
    const char *text = std::getenv(name);
    return text != nullptr && *text != '\0' && std::string_view(text) != "0";
}

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

const char *name_of(Transport transport) {
    return std::ranges::find(transport_names, transport, &TransportName::transport)->name;
}

std::optional<Transport> read_transport() {
    const char *text = std::getenv("VOLLEY_TRANSPORT");
    const std::string_view name = text != nullptr ? text : "";
    if (name.empty() || name == "auto") return {};
    if (const auto transport = transport_of(name)) return transport;
    throw Error(std::string("environment variable VOLLEY_TRANSPORT is '") + text + "': it must be " +
                transport_choice() + ", or not be set");
}

std::vector<NamedRanks> read_process_sets() {
    const char *text = std::getenv("VOLLEY_PROCESS_SETS");
    try {
        return parse_named_ranks(text != nullptr ? text : "");
    } catch (const Error &error) {
        throw Error(std::string("environment variable VOLLEY_PROCESS_SETS: ") + error.what());
    }
}

PortRange read_port_range() {
    const char *text = std::getenv("VOLLEY_PORT_RANGE");
    if (text == nullptr || *text == '\0') return {};
    if (const auto range = parse_port_range(text)) return *range;
    throw Error(std::string("environment variable VOLLEY_PORT_RANGE is '") + text +
                "': it must be two ports, as in 50000-50100, or not be set");
}

/// The lines of a file, without comments, with ':' between.
std::string choices_in(const std::string &file) {
    std::ifstream stream(file);
    std::string text, line;
    while (std::getline(stream, line)) {
        line.resize(std::min(line.find('#'), line.size()));
        std::erase_if(line, [](unsigned char letter) { return std::isspace(letter) != 0; });
        if (!line.empty()) text += (text.empty() ? "" : ":") + line;
    }
    if (!stream.eof()) throw Error("cannot read the file " + file + ": " + std::strerror(errno));
    return text;
}

std::string read_own_collectives() {
    const char *text = std::getenv("VOLLEY_COLLECTIVES");
    try {
        return read_collectives(text != nullptr ? text : "");
    } catch (const Error &error) {
        throw Error(std::string("environment variable VOLLEY_COLLECTIVES: ") + error.what() +
                    " (mpiexec --collectives @FILE brings it to other hosts)");
    }
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

} // namespace

std::optional<Transport> transport_of(std::string_view name) {
    const auto *found = std::ranges::find(transport_names, name, &TransportName::name);
    if (found == std::end(transport_names)) return {};
    return found->transport;
}

std::string transport_choice() {
    std::string text = "auto";
    for (const TransportName &each : transport_names)
        text += std::string(&each == std::end(transport_names) - 1 ? " or " : ", ") + each.name;
    return text;
}

std::string read_collectives(std::string_view text) {
    std::string read;
    for (const std::string &item : fields_of(text, ':'))
        read += (read.empty() ? "" : ":") + (item.starts_with('@') ? choices_in(item.substr(1)) : item);
    return read;
}

std::string numbers_text(const std::vector<std::uint32_t> &numbers) {
    std::string text;
    for (std::uint32_t number : numbers) {
        if (!text.empty()) text += ',';
        text += std::to_string(number);
    }
    return text;
}

Settings read_settings() {
    Settings settings;
    settings.checking = is_set("VOLLEY_CHECK");
    settings.progress_thread = is_set("VOLLEY_PROGRESS_THREAD");
    settings.eager_limit = read_number<std::uint32_t>("VOLLEY_EAGER_LIMIT", "bytes", 0, largest_eager_limit);
    settings.pipeline_limit = read_number<std::uint32_t>("VOLLEY_PIPELINE_LIMIT", "bytes", 0, largest_pipeline_limit);
    settings.cpus = read_number<std::uint32_t>("VOLLEY_CPUS", "processors", 1, 65536);
    settings.arena_bytes = read_number("VOLLEY_ARENA_BYTES", "bytes", least_arena_bytes, largest_arena_bytes);
    settings.process_sets = read_process_sets();
    settings.transport = read_transport();
    if (const char *interface = std::getenv("VOLLEY_INTERFACE")) settings.interface = interface;
    settings.port_range = read_port_range();
    settings.nodes = read_nodes();
    settings.collectives = read_own_collectives();
    settings.refused_allocation = read_number<std::uint64_t>("VOLLEY_REFUSE", "a block", 0, ~0U).value_or(0);
    return settings;
}

namespace {

/// What `mpiexec --settings` and tools tell of a setting.
struct SettingText {
    const char *name, *description;
    std::string (*value)(const Settings &settings, bool shared);
};

constexpr SettingText setting_texts[] = {
    {"VOLLEY_ARENA_BYTES", "memory that ranks share, for messages under way (virtual: pages exist once used)",
     [](const Settings &settings, bool) { return std::to_string(settings.most_arena_bytes()); }},
    {"VOLLEY_CHECK", "1: ranks compare what they are about to do in collective operations",
     [](const Settings &settings, bool) { return std::to_string(static_cast<int>(settings.checking)); }},
    {"VOLLEY_COLLECTIVES",
     "show: says which algorithms collective operations take; OPERATION=ALGORITHM: takes that one; @FILE: as the file "
     "says (mpiexec: --collectives)",
     [](const Settings &settings, bool) { return settings.collectives; }},
    {"VOLLEY_CPUS", "with more ranks than processors they give way instead of waiting busily",
     [](const Settings &settings, bool) { return std::to_string(settings.usable_cpus()); }},
    {"VOLLEY_EAGER_LIMIT", "messages up to here go through a ring (bytes)",
     [](const Settings &settings, bool shared) { return std::to_string(settings.eager_limit_to(shared)); }},
    {"VOLLEY_INTERFACE",
     "under other launchers: the network between hosts, an interface's name or ADDRESS/PREFIX (mpiexec: --interface)",
     [](const Settings &settings, bool) { return settings.interface; }},
    {"VOLLEY_PIPELINE_LIMIT",
     "longer ones up to here go through a block of common memory (bytes); others wait for their receiver",
     [](const Settings &settings, bool shared) { return std::to_string(settings.pipeline_limit_to(shared)); }},
    {"VOLLEY_NODES",
     "for tests: ranks are taken to be on several hosts, so many on each (the last number for all further ones)",
     [](const Settings &settings, bool) { return numbers_text(settings.nodes); }},
    {"VOLLEY_PORT_RANGE", "FIRST-LAST: ports for TCP connections to ranks and daemons; otherwise the system chooses",
     [](const Settings &settings, bool) { return text_of(settings.port_range); }},
    {"VOLLEY_PROCESS_SETS", "NAME=RANKS;NAME=RANKS: process sets of sessions, besides those of MPI",
     [](const Settings &settings, bool) { return text_of(settings.process_sets); }},
    {"VOLLEY_PROGRESS_THREAD", "1: a thread of each rank makes progress while the program computes outside of MPI",
     [](const Settings &settings, bool) { return std::to_string(static_cast<int>(settings.progress_thread)); }},
    {"VOLLEY_REFUSE", "for tests: which block of common memory a rank does not get",
     [](const Settings &settings, bool) { return std::to_string(settings.refused_allocation); }},
    {"VOLLEY_TRANSPORT",
     "what carries messages between ranks: shm, memory they share; tcp, TCP connections; daemon, a process beside the "
     "ranks of each host; fabric, libfabric (InfiniBand and others); auto, what is fastest",
     [](const Settings &settings, bool) -> std::string {
         return settings.transport ? name_of(*settings.transport) : "auto";
     }},
};

} // namespace

std::string Settings::text(bool shared) const {
    std::string text;
    for (const SettingText &each : setting_texts)
        text += std::string(each.name) + '=' + each.value(*this, shared) + "  " + each.description + '\n';
    return text;
}

const char *setting_description(std::string_view name) {
    for (const SettingText &each : setting_texts)
        if (each.name == name) return each.description;
    return "";
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
