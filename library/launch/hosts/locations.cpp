// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/locations.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "boot/error.h"

namespace volley::launch {
namespace {

struct Range {
    unsigned first, last;
};

/// Takes a number from the beginning; nothing if there is none.
std::optional<unsigned> take_number(std::string_view &text) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// Reads "0-3,5"; nothing if that is something else.
std::optional<std::vector<Range>> read_ranges(std::string_view text) {
    std::vector<Range> ranges;
    while (true) {
        const auto first = take_number(text);
        if (!first) return std::nullopt;
        auto last = first;
        if (text.starts_with('-')) {
            text.remove_prefix(1);
            last = take_number(text);
            if (!last) return std::nullopt;
        }
        ranges.push_back({*first, *last});
        if (text.empty()) return ranges;
        if (!text.starts_with(',')) return std::nullopt;
        text.remove_prefix(1);
    }
}

/// The host of each slot.
std::vector<std::int32_t> hosts_of_slots(const std::vector<Host> &hosts) {
    std::vector<std::int32_t> slots;
    for (std::size_t host = 0; host < hosts.size(); host++)
        slots.insert(slots.end(), static_cast<std::size_t>(hosts[host].slots), static_cast<std::int32_t>(host));
    return slots;
}

std::vector<std::int32_t> all_of(const std::vector<Host> &hosts) {
    std::vector<std::int32_t> all(hosts.size());
    for (std::size_t host = 0; host < hosts.size(); host++) all[host] = static_cast<std::int32_t>(host);
    return all;
}

/// "0-3,5" of those.
std::vector<std::int32_t> chosen(const std::string &word, const std::vector<std::int32_t> &all) {
    std::vector<std::int32_t> hosts;
    const char *const what = word[0] == 'n' ? "node" : "slot";
    const auto ranges = read_ranges(std::string_view(word).substr(1)).value_or(std::vector<Range>());
    for (const auto &[first, last] : ranges) {
        if (last < first) throw Error("'" + word + "' has a range that ends before it begins", ExitStatus::usage);
        if (last >= all.size())
            throw Error("'" + word + "' names " + what + " " + std::to_string(last) + ", but there " +
                            (all.size() == 1 ? std::string("is one ") + what
                                             : "are " + std::to_string(all.size()) + " " + what + "s") +
                            ", counted from 0 (volley nodes shows them)",
                        ExitStatus::usage);
        for (auto index = first; index <= last; index++) hosts.push_back(all[index]);
    }
    return hosts;
}

std::vector<std::int32_t> hosts_at(const std::string &word, const std::vector<Host> &hosts) {
    if (word == "C") return hosts_of_slots(hosts);
    if (word == "N") return all_of(hosts);
    return chosen(word, word[0] == 'n' ? all_of(hosts) : hosts_of_slots(hosts));
}

} // namespace

bool is_location(const std::string &word) {
    if (word == "C" || word == "N") return true;
    return (word.starts_with('n') || word.starts_with('c')) && read_ranges(std::string_view(word).substr(1));
}

std::vector<std::int32_t> place_ranks(CommandLine &line) {
    const auto names_locations = [](const Application &application) { return !application.locations.empty(); };
    if (std::ranges::none_of(line.applications, names_locations))
        return assign_ranks(line.hosts, line.ranks(), line.mapping, line.ranks_per_host);
    std::vector<std::int32_t> host_of;
    for (Application &application : line.applications) {
        if (!names_locations(application))
            throw Error("other programs of the job say where they run, but " + application.program +
                            " does not: write C, N or n0-3 before it, too",
                        ExitStatus::usage);
        std::vector<std::int32_t> places;
        for (const std::string &word : application.locations) {
            const auto more = hosts_at(word, line.hosts);
            places.insert(places.end(), more.begin(), more.end());
        }
        if (!application.ranks_given) application.ranks = static_cast<int>(places.size());
        for (std::size_t rank = 0; rank < static_cast<std::size_t>(application.ranks); rank++)
            host_of.push_back(places[rank % places.size()]);
    }
    return host_of;
}

} // namespace volley::launch
