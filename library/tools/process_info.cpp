// SPDX-License-Identifier: BSD-3-Clause
#include "tools/process_info.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>

namespace volley::view {

std::optional<ProcessInfo> process_info(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    // "4711 (name) S ...": a name may hold anything, parentheses as well.
    const auto begin = text.find('('), end = text.rfind(')');
    if (begin == std::string::npos || end == std::string::npos || end + 2 >= text.size()) return std::nullopt;
    const char state = text[end + 2];
    return ProcessInfo{.name = text.substr(begin + 1, end - begin - 1),
                       .gone = state == 'Z' || state == 'X',
                       .stopped = state == 'T' || state == 't'};
}

pid_t creator_of(const std::string &job) {
    constexpr std::string_view start = "volley-";
    if (!job.starts_with(start)) return 0;
    pid_t process = 0;
    std::from_chars(job.data() + start.size(), job.data() + job.size(), process);
    return process;
}

} // namespace volley::view
