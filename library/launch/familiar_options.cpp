// SPDX-License-Identifier: BSD-3-Clause
#include "launch/familiar_options.h"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "boot/error.h"

namespace volley::launch {
namespace {

[[noreturn]] void refuse(const std::string &text) {
    throw Error(text + " (see mpiexec --help)", ExitStatus::usage);
}

int read_number(const std::string &option, const std::string &text, const char *of_what) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 1)
        refuse("option " + option + " has the value '" + text + "': it is " + of_what + ", a whole number from 1");
    return number;
}

enum class Meaning {
    not_needed,
    ranks, ///< in all, unless -n says it: one host has all of them
    label,
    verbose,
    quiet,
    directory,
    timeout,
    recovery,
    fault_tolerance, ///< Open MPI's --with-ft
    bind,
    bind_core,
    bind_none,
    output, ///< what Open MPI 5 adds to lines of output
};

struct Familiar {
    std::string_view name;
    int values;
    Meaning meaning = Meaning::not_needed;
};

constexpr Familiar familiar[] = {
    // Open MPI
    {"allow-run-as-root", 0},
    {"bind-to", 1, Meaning::bind},
    {"bind-to-core", 0, Meaning::bind_core},
    {"bind-to-none", 0, Meaning::bind_none},
    {"bycore", 0},
    {"bynode", 0},
    {"byslot", 0},
    {"display", 1},
    {"display-allocation", 0},
    {"display-map", 0},
    {"enable-recovery", 0, Meaning::recovery},
    {"gmca", 2},
    {"mca", 2},
    {"N", 1, Meaning::ranks},
    {"nooversubscribe", 0},
    {"npernode", 1, Meaning::ranks},
    {"omca", 2},
    {"output", 1, Meaning::output},
    {"oversubscribe", 0},
    {"pmixmca", 2},
    {"prefix", 1},
    {"prtemca", 2},
    {"q", 0, Meaning::quiet},
    {"quiet", 0, Meaning::quiet},
    {"rank-by", 1},
    {"report-bindings", 0},
    {"tag-output", 0, Meaning::label},
    {"timeout", 1, Meaning::timeout},
    {"use-hwthread-cpus", 0},
    {"v", 0, Meaning::verbose},
    {"wd", 1, Meaning::directory},
    {"with-ft", 1, Meaning::fault_tolerance},
    // MPICH and Intel MPI
    {"bootstrap", 1},
    {"disable-auto-cleanup", 0, Meaning::recovery},
    {"disable-hostname-propagation", 0},
    {"iface", 1},
    {"launcher", 1},
    {"membind", 1},
    {"perhost", 1},
    {"prepend-rank", 0, Meaning::label},
    {"print-rank-map", 0},
    {"rmk", 1},
    {"silent-abort", 0},
};

const Familiar *find(std::string_view name) {
    const auto *found = std::ranges::find(familiar, name, &Familiar::name);
    return found != std::end(familiar) ? found : nullptr;
}

Binding read_binding(const std::string &option, const std::string &text) {
    // What follows a colon says whether ranks may share a core.
    const std::string where = text.substr(0, text.find(':'));
    if (where == "core" || where == "hwthread") return Binding::core;
    if (where == "none" || where == "board") return Binding::none;
    for (const char *larger : {"package", "socket", "numa", "l1cache", "l2cache", "l3cache", "user"})
        if (where == larger) return Binding::automatic;
    refuse("option " + option + " has the value '" + text + "': it is core, hwthread, socket, numa or none");
}

/// How many characters have to be added, removed or changed.
std::size_t distance(std::string_view one, std::string_view other) {
    std::vector<std::size_t> row(other.size() + 1);
    std::iota(row.begin(), row.end(), 0);
    for (std::size_t i = 1; i <= one.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= other.size(); ++j) {
            const std::size_t changed = diagonal + (one[i - 1] == other[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

} // namespace

bool take_familiar_option(std::string_view name, const std::string &typed,
                          const std::function<const std::string &()> &value, CommandLine &line,
                          Application &application) {
    const Familiar *option = find(name);
    if (option == nullptr) return false;
    std::vector<std::string> values;
    while (static_cast<int>(values.size()) < option->values) values.push_back(value());
    const std::string &first = values.empty() ? typed : values.front();
    switch (option->meaning) {
    case Meaning::ranks:
        if (const int ranks = read_number(typed, first, "the number of ranks on each host"); !application.ranks_given)
            application.ranks = ranks;
        return true;
    case Meaning::label:
        line.label = true;
        return true;
    case Meaning::verbose:
        line.verbose = true;
        return true;
    case Meaning::quiet:
        line.quiet = true;
        return true;
    case Meaning::directory:
        application.directory = first;
        return true;
    case Meaning::timeout:
        line.timeout_seconds = read_number(typed, first, "a number of seconds");
        return true;
    case Meaning::recovery:
        line.recovery = true;
        return true;
    case Meaning::fault_tolerance:
        if (first != "ulfm" && first != "mpi" && first != "no" && first != "none")
            refuse("option " + typed + " has the value '" + first + "': it is ulfm, or no");
        line.recovery = first == "ulfm" || first == "mpi";
        return true;
    case Meaning::bind:
        line.binding = read_binding(typed, first);
        return true;
    case Meaning::bind_core:
        line.binding = Binding::core;
        return true;
    case Meaning::bind_none:
        line.binding = Binding::none;
        return true;
    case Meaning::output:
        if (first != "tag" && first != "rank" && first != "tag-detailed" && first != "tag-fullname")
            refuse("option " + typed + " has the value '" + first + "': it is tag, which is -l here");
        line.label = true;
        return true;
    case Meaning::not_needed:
        break;
    }
    std::string text = typed;
    for (const std::string &each : values) text += " " + each;
    add_not_needed(line, std::move(text));
    return true;
}

void add_not_needed(CommandLine &line, std::string option) {
    if (std::ranges::find(line.not_needed, option) == line.not_needed.end())
        line.not_needed.push_back(std::move(option));
}

std::string nearest_option(std::string_view name, const std::vector<std::string_view> &own) {
    std::vector<std::string_view> known = own;
    for (const Familiar &option : familiar) known.push_back(option.name);
    std::string_view nearest;
    const std::size_t most = std::min(std::max<std::size_t>(2, name.size() / 3), name.size() - 1);
    std::size_t least = most + 1;
    for (const std::string_view each : known)
        if (const std::size_t steps = distance(name, each); steps < least) {
            least = steps;
            nearest = each;
        }
    return std::string(nearest);
}

std::string describe_not_needed(const CommandLine &line) {
    if (line.not_needed.empty() || line.quiet) return {};
    std::string text = "mpiexec: not needed here: ";
    for (const std::string &each : line.not_needed) text += (&each == &line.not_needed.front() ? "" : ", ") + each;
    return text + "\n";
}

} // namespace volley::launch
