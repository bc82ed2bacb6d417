// SPDX-License-Identifier: BSD-3-Clause
#include "launch/environment.h"

#include <unistd.h>

#include <algorithm>

#include "boot/job.h"

namespace volley::launch {
namespace {

auto find_entry(auto &environment, const std::string &name) {
    return std::find_if(environment.begin(), environment.end(), [&](const std::string &entry) {
        return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
    });
}

} // namespace

std::optional<std::string> find_variable(const std::vector<std::string> &environment, const std::string &name) {
    const auto found = find_entry(environment, name);
    if (found == environment.end()) return std::nullopt;
    return found->substr(name.size() + 1);
}

void set_variable(std::vector<std::string> &environment, const std::string &name, const std::string &value) {
    const auto found = find_entry(environment, name);
    if (found == environment.end())
        environment.push_back(name + "=" + value);
    else
        *found = name + "=" + value;
}

std::vector<std::string> application_environment(const CommandLine &line, const Application &application) {
    std::vector<std::string> environment;
    for (char **entry = environ; entry != nullptr && *entry != nullptr; ++entry) environment.emplace_back(*entry);
    if (line.inherited) {
        std::vector<std::string> chosen;
        for (const std::string &name : *line.inherited)
            if (const auto value = find_variable(environment, name)) set_variable(chosen, name, *value);
        environment = std::move(chosen);
    }
    for (const auto &[name, value] : line.environment) set_variable(environment, name, value);
    for (const auto &[name, value] : application.environment) set_variable(environment, name, value);
    return environment;
}

void keep_memory(std::vector<std::string> &environment) {
    struct Setting {
        const char *name;
        const char *value;
        const char *older_name; ///< the environment variable that means the same
    };
    static constexpr Setting settings[] = {
        // 32 MiB, the most glibc takes: blocks below come from the heap, and go back to it.
        {"glibc.malloc.mmap_threshold", "33554432", "MALLOC_MMAP_THRESHOLD_"},
        // 1 TiB: the heap never shrinks.
        {"glibc.malloc.trim_threshold", "1099511627776", "MALLOC_TRIM_THRESHOLD_"},
        // Not glibc.malloc.hugetlb: each rank's first small block would take a huge page, which has to be zeroed
        // (256 ranks started in 2.1 seconds instead of 0.5).
    };
    std::string tunables = find_variable(environment, "GLIBC_TUNABLES").value_or("");
    for (const Setting &setting : settings) {
        const std::string assignment = std::string(setting.name) + "=";
        if ((":" + tunables).find(":" + assignment) != std::string::npos) continue;
        if (find_variable(environment, setting.older_name)) continue;
        tunables += (tunables.empty() ? "" : ":") + assignment + setting.value;
    }
    set_variable(environment, "GLIBC_TUNABLES", tunables);
}

void set_familiar_variables(std::vector<std::string> &variables, const RankNumbers &numbers) {
    const struct {
        const char *name;
        int value;
    } familiar[] = {
        {"OMPI_COMM_WORLD_RANK", numbers.rank},
        {"OMPI_COMM_WORLD_SIZE", numbers.ranks},
        {"OMPI_COMM_WORLD_LOCAL_RANK", numbers.local_rank},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", numbers.local_ranks},
        {"PMI_RANK", numbers.rank},
        {"PMI_SIZE", numbers.ranks},
        {"MPI_LOCALRANKID", numbers.local_rank},
        {"MPI_LOCALNRANKS", numbers.local_ranks},
    };
    for (const auto &[name, value] : familiar) set_variable(variables, name, std::to_string(value));
    set_variable(variables, environment::launched, "1");
}

} // namespace volley::launch
