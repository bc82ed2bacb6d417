// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/host_list.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#include "boot/error.h"

namespace volley::launch {
namespace {

constexpr int most_slots = 1 << 16;
constexpr const char *blanks = " \t\r";

std::optional<int> read_number(const std::string &text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > most_slots)
        return std::nullopt;
    return number;
}

bool is_host_name(const std::string &name) {
    // What ssh would take for an option, or a shell for more than a word, is no host.
    return !name.empty() && name[0] != '-' && std::ranges::all_of(name, [](unsigned char character) {
        return std::isalnum(character) != 0 || character == '.' || character == '-' || character == '_' ||
               character == ':' || character == '@' || character == '[' || character == ']' || character == '%';
    });
}

void add(std::vector<Host> &hosts, const std::string &name, int slots) {
    const auto found = std::ranges::find(hosts, name, &Host::name);
    if (found == hosts.end())
        hosts.push_back({name, slots});
    else
        found->slots += slots;
}

/// A name, and behind a colon its slots. An IPv6 address has several colons, and no slots.
Host read_host(const std::string &word, const std::string &where) {
    const auto colon = word.rfind(':');
    const bool has_slots = colon != std::string::npos && word.find(':') == colon;
    const std::string name = has_slots ? word.substr(0, colon) : word;
    if (!is_host_name(name)) throw Error(where + "'" + name + "' is no name of a host", ExitStatus::usage);
    if (!has_slots) return {name, 1};
    const auto slots = read_number(word.substr(colon + 1));
    if (!slots || *slots == 0)
        throw Error(where + "'" + word.substr(colon + 1) + "' is no number of slots: it is a whole number from 1 to " +
                        std::to_string(most_slots),
                    ExitStatus::usage);
    return {name, *slots};
}

/// "FILE, line 3, column 7: ".
std::string position(const std::string &path, int line, std::size_t column) {
    return path + ", line " + std::to_string(line) + ", column " + std::to_string(column + 1) + ": ";
}

/// One line of a hostfile, without its comment.
void read_line(const std::string &text, const std::string &path, int number, std::vector<Host> &hosts) {
    std::optional<Host> host;
    for (auto begin = text.find_first_not_of(blanks); begin != std::string::npos;) {
        const auto end = std::min(text.find_first_of(blanks, begin), text.size());
        const std::string word = text.substr(begin, end - begin);
        const std::string where = position(path, number, begin);
        const auto equals = word.find('=');
        if (!host) {
            host = read_host(word, where);
        } else if (equals == std::string::npos) {
            throw Error(where + "'" + word + "' is not understood: behind a host stand words such as slots=4",
                        ExitStatus::usage);
        } else {
            const std::string key = word.substr(0, equals);
            const auto value = read_number(word.substr(equals + 1));
            const bool counts = key == "slots" || key == "cpu" || key == "count";
            if (counts && (!value || *value == 0))
                throw Error(where + "'" + word + "': the number is from 1 to " + std::to_string(most_slots),
                            ExitStatus::usage);
            if (counts) host->slots = *value;
            // Others (max_slots, user, schedule, binding ...) say nothing that matters here.
        }
        begin = text.find_first_not_of(blanks, end);
    }
    if (host) add(hosts, host->name, host->slots);
}

} // namespace

PortRange read_port_range(const std::string &option, const std::string &text) {
    if (const auto range = parse_port_range(text)) return *range;
    throw Error("option " + option + " has the value '" + text + "': it is two ports, as in 50000-50100",
                ExitStatus::usage);
}

std::vector<Host> read_hosts(const std::string &option, const std::string &text) {
    std::vector<Host> hosts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find(',', begin), text.size());
        const Host host = read_host(text.substr(begin, end - begin), "option " + option + ": ");
        add(hosts, host.name, host.slots);
        begin = end + 1;
    }
    return hosts;
}

std::vector<Host> read_hostfile(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw system_error("cannot read the hostfile " + path);
    std::vector<Host> hosts;
    std::string line;
    for (int number = 1; std::getline(file, line); number++)
        read_line(line.substr(0, line.find('#')), path, number, hosts);
    if (hosts.empty()) throw Error("the hostfile " + path + " names no host", ExitStatus::usage);
    return hosts;
}

std::vector<std::int32_t> assign_ranks(const std::vector<Host> &hosts, int ranks, Mapping mapping, int per_host) {
    std::vector<int> left;
    int all = 0;
    for (const Host &host : hosts) {
        left.push_back(per_host > 0 ? per_host : host.slots);
        all += left.back();
    }
    if (all < ranks)
        throw Error("the job has " + std::to_string(ranks) + " ranks, but its " + std::to_string(hosts.size()) +
                        (hosts.size() == 1 ? " host has " : " hosts have ") + std::to_string(all) +
                        (all == 1 ? " slot" : " slots") +
                        ": name more hosts, give a host more slots as HOST:SLOTS, or set their number by -ppn",
                    ExitStatus::usage);
    std::vector<std::int32_t> host_of;
    for (std::size_t host = 0; host_of.size() < static_cast<std::size_t>(ranks); host = (host + 1) % hosts.size()) {
        int takes = mapping == Mapping::slot ? left[host] : std::min(1, left[host]);
        left[host] -= takes;
        for (; takes > 0 && host_of.size() < static_cast<std::size_t>(ranks); takes--)
            host_of.push_back(static_cast<std::int32_t>(host));
    }
    return host_of;
}

int slots_of(const std::vector<Host> &hosts, int per_host) {
    int slots = 0;
    for (const Host &host : hosts) slots += per_host > 0 ? per_host : host.slots;
    return slots;
}

} // namespace volley::launch
