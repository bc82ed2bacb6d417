// SPDX-License-Identifier: BSD-3-Clause
#include "boot/cpus.h"

#include <sched.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <utility>

namespace volley {
namespace {

constexpr double no_quota = std::numeric_limits<double>::infinity();

/// The numbers of the processors in the affinity mask.
std::vector<int> affinity() {
    std::vector<int> found;
    // Kernels with more processors than a cpu_set_t holds (1024) refuse it: ask with a larger one.
    for (std::size_t sets = 1; sets <= 64 && found.empty(); sets *= 2) {
        std::vector<cpu_set_t> mask(sets);
        const std::size_t bytes = sets * sizeof(cpu_set_t);
        if (sched_getaffinity(0, bytes, mask.data()) != 0) continue;
        for (int number = 0; number < static_cast<int>(bytes * CHAR_BIT); ++number)
            if (CPU_ISSET_S(static_cast<std::size_t>(number), bytes, mask.data())) found.push_back(number);
    }
    return found;
}

/// A fact of the topology, as the kernel tells it; `otherwise` where the kernel does not.
int topology_fact(int processor, const char *name, int otherwise) {
    int value = otherwise;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/" + name);
    return file >> value && value >= 0 ? value : otherwise;
}

std::uint32_t at_least_one(double cpus) {
    return static_cast<std::uint32_t>(std::max(1.0, std::ceil(cpus)));
}

std::vector<Processor> processors_of(const std::vector<int> &numbers) {
    std::vector<Processor> found;
    for (const int number : numbers)
        found.push_back(
            {number, topology_fact(number, "physical_package_id", 0), topology_fact(number, "core_id", number)});
    return found;
}

std::uint32_t cores_of(const std::vector<Processor> &processors) {
    std::set<std::pair<int, int>> cores;
    for (const Processor &one : processors) cores.emplace(one.package, one.core);
    return static_cast<std::uint32_t>(std::max<std::size_t>(1, cores.size()));
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

#if defined(__x86_64__)
constexpr unsigned zen5_family = 0x1A;

/// AMD64 Architecture Programmer's Manual, volume 3, function 1: base and extended family.
unsigned cpu_family() {
    unsigned signature = 0, others = 0;
    __get_cpuid(1, &signature, &others, &others, &others);
    return (signature >> 8 & 0xF) + (signature >> 20 & 0xFF);
}
#endif

} // namespace

#if defined(__x86_64__)
const bool lines_migrate = __builtin_cpu_is("amd") && __builtin_cpu_supports("avx2");
const bool blocks_migrate = lines_migrate && cpu_family() < zen5_family;
#else
const bool lines_migrate = false;
const bool blocks_migrate = false;
#endif

std::vector<Processor> allowed_processors() {
    return processors_of(affinity());
}

std::uint32_t usable_cpus() {
    return at_least_one(std::min(static_cast<double>(affinity().size()), quota_cpus()));
}

std::uint32_t allowed_cores() {
    return cores_of(allowed_processors());
}

std::string allowed_list() {
    std::string list;
    const std::vector<int> numbers = affinity();
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t end = i + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
        if (!list.empty()) list += ',';
        list += std::to_string(numbers[i]);
        if (end > i + 1) list.append("-").append(std::to_string(numbers[end - 1]));
        i = end;
    }
    return list;
}

UsableTogether usable_together(const std::vector<std::string> &lists) {
    std::set<int> numbers;
    for (const std::string &list : lists) {
        std::istringstream ranges(list);
        for (std::string range; std::getline(ranges, range, ',');) {
            int first = 0, last = 0;
            const int found = std::sscanf(range.c_str(), "%d-%d", &first, &last);
            for (int number = first; found > 0 && number <= (found == 2 ? last : first); ++number)
                numbers.insert(number);
        }
    }
    const double cpus = std::min(static_cast<double>(numbers.size()), quota_cpus());
    return {at_least_one(cpus), cores_of(processors_of({numbers.begin(), numbers.end()}))};
}

} // namespace volley
