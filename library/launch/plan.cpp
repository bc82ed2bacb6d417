// SPDX-License-Identifier: BSD-3-Clause
#include "launch/plan.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "boot/cpus.h"
#include "boot/error.h"
#include "boot/new_job_request.h"
#include "launch/environment.h"
#include "launch/faces.h"

namespace volley::launch {
namespace {

/// How many mappings a rank has at most, with some threads (2 each) and large blocks: a C program has 40 when it
/// starts; Python has 120 with numpy, and 420 with scipy.
constexpr long usual_mappings = 150;
constexpr long python_mappings = 500;
constexpr long usual_most_mappings = 65530; ///< the kernel's default of vm.max_map_count

long most_mappings_per_space() {
    long most = usual_most_mappings;
    std::ifstream("/proc/sys/vm/max_map_count") >> most;
    return most;
}

void check_directory(const std::string &directory) {
    struct stat facts = {};
    if (stat(directory.c_str(), &facts) != 0) throw system_error("cannot run ranks in the directory " + directory);
    if (!S_ISDIR(facts.st_mode)) throw Error("cannot run ranks in " + directory + ": it is not a directory");
}

PlannedApplication plan_application(const CommandLine &line, const Application &application, int first_rank) {
    PlannedApplication planned;
    planned.application = application;
    planned.first_rank = first_rank;
    planned.environment = application_environment(line, application);
    offer_faces(planned.environment);
    if (!application.directory.empty()) check_directory(application.directory);
    planned.program = find_program(application.program, application.directory, planned.environment);
    preload_faces(planned.environment, faces_behind_run_path(planned.program.mpis));
    if (line.kind == RankKind::shared && !planned.program.image)
        throw Error("ranks of " + planned.program.path + " cannot share an address space: " + planned.program.reason +
                    "; use --ranks process, or auto for those that can");
    planned.shared = line.kind != RankKind::process && planned.program.image;
    if (planned.shared) keep_memory(planned.environment);
    return planned;
}

std::string ranks_text(int first, int last) {
    if (first == last) return "rank " + std::to_string(first);
    return "ranks " + std::to_string(first) + "-" + std::to_string(last);
}

} // namespace

void check_process_sets(const std::vector<NamedRanks> &sets, int ranks) {
    for (const NamedRanks &set : sets)
        if (set.ranks.back() >= ranks)
            throw Error("the process set " + set.name + " has rank " + std::to_string(set.ranks.back()) +
                        ", but the job's ranks are 0 to " + std::to_string(ranks - 1));
}

Plan make_plan(const CommandLine &line) {
    return make_plan(line, JobLayout::one_host(line.ranks()), {});
}

Plan make_plan(const CommandLine &line, JobLayout layout, std::vector<std::string> hosts) {
    Plan plan;
    plan.layout = std::move(layout);
    plan.hosts = std::move(hosts);
    plan.timeout_seconds = line.timeout_seconds;
    for (const Application &application : line.applications) {
        const int first = plan.ranks();
        plan.application_of.insert(plan.application_of.end(), static_cast<std::size_t>(application.ranks),
                                   static_cast<int>(plan.applications.size()));
        const std::size_t before = plan.here.size();
        for (int rank = first; rank < plan.ranks(); ++rank)
            if (plan.layout.own < 0 || plan.layout.node_of[static_cast<std::size_t>(rank)] == plan.layout.own)
                plan.here.push_back(rank);
        // A program need not be on hosts where it does not run.
        const bool runs_here = plan.here.size() > before;
        plan.applications.push_back(
            runs_here ? plan_application(line, application, first)
                      : PlannedApplication{
                            .application = application, .program = {}, .environment = {}, .first_rank = first});
    }
    long left = 0;
    for (const int rank : plan.here) {
        if (!plan.of_rank(rank).shared) continue;
        const long mappings = plan.of_rank(rank).program.image->runs_python() ? python_mappings : usual_mappings;
        if (mappings > left) {
            plan.spaces.emplace_back();
            left = most_mappings_per_space();
        }
        left -= mappings;
        plan.spaces.back().push_back(rank);
    }
    plan.universe_size = line.universe_size > 0 ? line.universe_size : static_cast<int>(usable_cpus());
    plan.masks = bind_ranks(line.binding, static_cast<int>(plan.here.size()));
    return plan;
}

const ProcessorMask *Plan::mask_of(int rank) const {
    if (masks.empty()) return nullptr;
    return &masks[static_cast<std::size_t>(std::ranges::find(here, rank) - here.begin())];
}

std::string describe(const Plan &plan) {
    std::string text;
    for (const PlannedApplication &planned : plan.applications) {
        if (planned.program.path.empty()) continue;
        const int last = planned.first_rank + planned.application.ranks - 1;
        text += "mpiexec: " + planned.program.path + ": " + ranks_text(planned.first_rank, last);
        if (planned.shared)
            text += " in a shared address space";
        else if (planned.program.image)
            text += planned.application.ranks == 1 ? " is a process, as asked" : " are processes, as asked";
        else
            text += (planned.application.ranks == 1 ? " is a process: " : " are processes: ") + planned.program.reason;
        if (!planned.program.mpis.empty() && has_face(planned.program.mpis.front().library)) {
            const LinkedMpi &mpi = planned.program.mpis.front();
            text += ", with " + faces_folder() + "/" + mpi.library + " for " + mpi.mpi;
        }
        text += "\n";
    }
    text += plan.masks.empty() ? "mpiexec: ranks are not bound to cores\n"
                               : "mpiexec: each rank is bound to its share of the cores\n";
    if (plan.spaces.size() > 1)
        text += "mpiexec: " + std::to_string(plan.spaces.size()) + " address spaces, the first of " +
                std::to_string(plan.spaces.front().size()) + " ranks: vm.max_map_count allows no more\n";
    return text;
}

void bind(RankStart &start, const Plan &plan, int rank) {
    const ProcessorMask *mask = plan.mask_of(rank);
    start.processors = mask != nullptr ? mask->data() : nullptr;
    start.processor_bytes = mask != nullptr ? mask->size() * sizeof(unsigned long) : 0;
}

std::vector<std::string> rank_environment(const Plan &plan, const Arena &arena, int rank) {
    constexpr std::uintptr_t hexadecimal = 16;
    std::string address;
    for (std::uintptr_t left = arena.address(); left != 0; left /= hexadecimal)
        address.insert(address.begin(), "0123456789abcdef"[left % hexadecimal]);
    std::vector<std::string> variables = plan.of_rank(rank).environment;
    set_variable(variables, environment::arena_file, std::to_string(arena.descriptor()));
    set_variable(variables, environment::arena_address, "0x" + address);
    set_variable(variables, environment::rank, std::to_string(rank));
    set_variable(variables, environment::ranks, std::to_string(plan.ranks()));
    set_variable(variables, environment::universe_size, std::to_string(std::max(plan.universe_size, plan.ranks())));
    std::string listeners;
    for (std::uint32_t each = 0; each < plan.listeners.count; ++each)
        listeners += (each == 0 ? "" : ",") + std::to_string(plan.listeners.numbers[each]);
    if (!listeners.empty()) set_variable(variables, environment::listeners, listeners);
    if (plan.launcher_socket != 0) set_variable(variables, environment::launcher, std::to_string(plan.launcher_socket));
    set_variable(variables, environment::application,
                 std::to_string(plan.application_of[static_cast<std::size_t>(rank)]));
    const auto local_rank = static_cast<int>(std::ranges::find(plan.here, rank) - plan.here.begin());
    set_familiar_variables(variables, {rank, plan.ranks(), local_rank, static_cast<int>(plan.here.size())});
    return variables;
}

} // namespace volley::launch
