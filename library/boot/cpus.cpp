// SPDX-License-Identifier: BSD-3-Clause
#include "boot/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace volley {
namespace {

constexpr double no_quota = std::numeric_limits<double>::infinity();

double affinity_cpus() {
    // Kernels with more processors than a cpu_set_t holds (1024) refuse it: ask with a larger one.
    for (std::size_t sets = 1; sets <= 64; sets *= 2) {
        std::vector<cpu_set_t> mask(sets);
        if (sched_getaffinity(0, sets * sizeof(cpu_set_t), mask.data()) == 0)
            return CPU_COUNT_S(sets * sizeof(cpu_set_t), mask.data());
    }
    return 1;
}

/// cpu.max of version 2: "max 100000" or "150000 100000".
double quota_v2(const std::string &folder) {
    std::ifstream file(folder + "/cpu.max");
    double quota = 0;
    double period = 0;
    return file >> quota >> period && period > 0 ? quota / period : no_quota;
}

double quota_v1(const std::string &folder) {
    double quota = 0;
    double period = 0;
    const bool read =
        std::ifstream(folder + "/cpu.cfs_quota_us") >> quota && std::ifstream(folder + "/cpu.cfs_period_us") >> period;
    return read && quota > 0 && period > 0 ? quota / period : no_quota;
}

/// The smallest quota of a group and those above it.
double smallest(double (*quota)(const std::string &), const std::string &root, std::string group) {
    double found = quota(root);
    while (group.size() > 1) {
        found = std::min(found, quota(root + group));
        group.resize(group.rfind('/'));
    }
    return found;
}

double quota_cpus() {
    double found = no_quota;
    std::ifstream file("/proc/self/cgroup"); // lines "number:controllers:/group"
    for (std::string line; std::getline(file, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        std::string controllers = line.substr(first + 1, second - first - 1);
        controllers.insert(controllers.begin(), ',');
        controllers.push_back(',');
        const std::string group = line.substr(second + 1);
        if (controllers == ",,") found = std::min(found, smallest(quota_v2, "/sys/fs/cgroup", group));
        if (controllers.find(",cpu,") != std::string::npos)
            found = std::min(found, smallest(quota_v1, "/sys/fs/cgroup/cpu", group));
    }
    return found;
}

} // namespace

std::uint32_t usable_cpus() {
    return static_cast<std::uint32_t>(std::max(1.0, std::ceil(std::min(affinity_cpus(), quota_cpus()))));
}

} // namespace volley
