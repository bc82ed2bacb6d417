// SPDX-License-Identifier: BSD-3-Clause
#include "tools/jobs.h"

#include "tools/process_info.h"
#include "tools/snapshot.h"
#include "tools/whole_job.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

namespace volley::view {
namespace {

namespace fs = std::filesystem;

template <class Number> std::optional<Number> number_in(std::string_view text) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// "volley-4711-..." if a descriptor is a job's memory, else empty.
std::string job_behind(const std::string &descriptor) {
    constexpr std::string_view before = "/memfd:", after = " (deleted)";
    char target[PATH_MAX];
    const ssize_t length = readlink(descriptor.c_str(), target, sizeof target);
    std::string_view text(target, length > 0 ? static_cast<std::size_t>(length) : 0);
    if (!text.starts_with(before) || !text.ends_with(after)) return {};
    text.remove_prefix(before.size());
    text.remove_suffix(after.size());
    return creator_of(std::string(text)) > 0 ? std::string(text) : std::string();
}

/// Whether the job's arenas have that file among them.
bool has_arena(const Job &job, const std::string &path) {
    struct stat wanted = {}, known = {};
    return stat(path.c_str(), &wanted) == 0 && std::ranges::any_of(job.arenas, [&](const Descriptor &arena) {
               return fstat(arena.get(), &known) == 0 && known.st_ino == wanted.st_ino && known.st_dev == wanted.st_dev;
           });
}

bool has_ranks(const Descriptor &arena) {
    std::uint32_t ranks_here = 0;
    return pread(arena.get(), &ranks_here, sizeof ranks_here, offsetof(ArenaHead, ranks_here)) ==
               static_cast<ssize_t>(sizeof ranks_here) &&
           ranks_here > 0;
}

/// Adds the jobs one process has open. False if it may not be looked into.
bool add_jobs_of(pid_t process, std::vector<Job> &jobs) {
    const std::string folder = "/proc/" + std::to_string(process) + "/fd";
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    if (error) return error.value() != EACCES && error.value() != EPERM;
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
        const std::string path = entries->path();
        std::string name = job_behind(path);
        if (name.empty()) continue;
        auto known = std::ranges::find(jobs, name, &Job::name);
        if (known == jobs.end() || !has_arena(*known, path)) {
            Descriptor arena(open(path.c_str(), O_RDONLY | O_CLOEXEC));
            if (!arena) {
                if (errno == EACCES || errno == EPERM) return false;
                continue;
            }
            const pid_t creator = creator_of(name);
            if (known == jobs.end()) known = jobs.insert(jobs.end(), {std::move(name), creator, {}, {}});
            known->arenas.push_back(std::move(arena));
        }
        known->holders.push_back(process);
    }
    return true;
}

bool is_rank(const Job &job, pid_t process) {
    try {
        const Snapshot snapshot = look_here(job);
        return std::ranges::find(snapshot.ranks, process, &RankView::process) != snapshot.ranks.end();
    } catch (const Unreadable &) {
        return false;
    }
}

} // namespace

Search find_jobs() {
    Search search;
    std::error_code error;
    for (fs::directory_iterator entries("/proc", error); !error && entries != fs::directory_iterator();
         entries.increment(error)) {
        const auto process = number_in<pid_t>(entries->path().filename().string());
        if (process && !add_jobs_of(*process, search.jobs)) search.forbidden++;
    }
    std::ranges::sort(search.jobs, {}, &Job::creator);
    for (Job &job : search.jobs) std::ranges::stable_partition(job.arenas, has_ranks);
    return search;
}

void choose(Search &search, const std::string &wanted) {
    const auto process = number_in<pid_t>(wanted);
    std::vector<Job> chosen;
    for (Job &job : search.jobs)
        if (process ? job.creator == *process || std::ranges::find(job.holders, *process) != job.holders.end() ||
                          is_rank(job, *process)
                    : job.name == wanted)
            chosen.push_back(std::move(job));
    search.jobs = std::move(chosen);
    if (!search.jobs.empty()) return;
    if (!process) throw Unreadable{"no running job of Volley is called " + wanted};
    if (!process_info(*process)) throw Unreadable{"there is no process " + wanted};
    std::vector<Job> jobs;
    if (!add_jobs_of(*process, jobs))
        throw Unreadable{"process " + wanted + " may not be looked into: it is another user's (try as root)"};
    throw Unreadable{"process " + wanted + " belongs to no job of Volley"};
}

} // namespace volley::view
