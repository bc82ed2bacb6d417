// SPDX-License-Identifier: BSD-3-Clause
#include "tools/names.h"

#include "boot/datatype_names.h"
#include "boot/function_names.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string_view>

namespace volley::view {
namespace {

constexpr std::uintptr_t null_datatype = 0x200;
constexpr std::uintptr_t first_object = 4096; ///< handles below are the ABI's numbers

/// Names of blocking collective operations, without "MPI_" and "_c".
constexpr std::string_view collectives[] = {
    "Allgather",
    "Allgatherv",
    "Allreduce",
    "Alltoall",
    "Alltoallv",
    "Alltoallw",
    "Barrier",
    "Bcast",
    "Exscan",
    "Gather",
    "Gatherv",
    "Reduce",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Scan",
    "Scatter",
    "Scatterv",
    "Neighbor_allgather",
    "Neighbor_allgatherv",
    "Neighbor_alltoall",
    "Neighbor_alltoallv",
    "Neighbor_alltoallw",
};

} // namespace

std::string function_name(std::uint32_t function) {
    if (function >= std::size(function_names)) return "MPI function " + std::to_string(function);
    std::string_view name = function_names[function];
    if (name.ends_with("_c")) name.remove_suffix(2);
    return std::string(name);
}

bool is_collective(std::uint32_t function) {
    const std::string name = function_name(function);
    if (!name.starts_with("MPI_")) return false;
    return std::ranges::find(collectives, std::string_view(name).substr(4)) != std::end(collectives);
}

std::string datatype_name(std::uintptr_t handle) {
    if (handle == 0 || handle == null_datatype) return {};
    for (const DatatypeName &known : datatype_names)
        if (known.handle == handle) return std::string(known.name);
    return handle < first_object ? "datatype " + std::to_string(handle) : "a derived type";
}

std::string duration(double seconds) {
    constexpr double minute = 60, hour = 3600;
    char text[64];
    if (seconds < minute)
        std::snprintf(text, sizeof text, "%.1f s", seconds);
    else if (seconds < hour)
        std::snprintf(text, sizeof text, "%d min %d s", static_cast<int>(seconds / minute),
                      static_cast<int>(seconds) % static_cast<int>(minute));
    else
        std::snprintf(text, sizeof text, "%d h %d min", static_cast<int>(seconds / hour),
                      static_cast<int>(seconds / minute) % static_cast<int>(minute));
    return text;
}

std::string ranks_text(const std::vector<int> &ranks) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t end = i + 1;
        while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) end++;
        if (end - i >= 3) {
            parts.push_back(std::to_string(ranks[i]) + "-" + std::to_string(ranks[end - 1]));
            i = end;
        } else {
            parts.push_back(std::to_string(ranks[i++]));
        }
    }
    std::string text = ranks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < parts.size(); i++) {
        if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
        text += parts[i];
    }
    return text;
}

} // namespace volley::view
