// SPDX-License-Identifier: BSD-3-Clause
#include "launch/rank_host.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "boot/error.h"
#include "launch/initial_stack.h"
#include "wait/sleep.h"

namespace volley::launch {
namespace {

/// The program break belongs to the address space, but every rank's C library believes it its own: make all
/// attempts to move it fail, so that each malloc takes its memory from mmap.
void fix_program_break() {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto now = reinterpret_cast<std::uintptr_t>(sbrk(0));
    const std::uintptr_t end = (now + page - 1) / page * page;
    if (end != now) sbrk(static_cast<std::intptr_t>(end - now)); // moves within a page would still succeed
    if (mmap(reinterpret_cast<void *>(end), page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
             0) != reinterpret_cast<void *>(end))
        throw system_error("cannot fix the program break");
}

/// The descriptors that an exec would close, in as few ranges as possible.
std::vector<DescriptorRange> close_on_exec() {
    std::vector<unsigned int> found;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == nullptr) throw system_error("cannot read /proc/self/fd");
    while (const dirent *entry = readdir(folder)) {
        const int descriptor = std::atoi(entry->d_name);
        if (descriptor > STDERR_FILENO && (fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0)
            found.push_back(static_cast<unsigned int>(descriptor));
    }
    closedir(folder);
    std::sort(found.begin(), found.end());
    std::vector<DescriptorRange> ranges;
    for (const unsigned int descriptor : found)
        if (!ranges.empty() && ranges.back().last + 1 == descriptor)
            ranges.back().last = descriptor;
        else
            ranges.push_back({descriptor, descriptor});
    return ranges;
}

std::uint64_t bytes_of(const std::vector<std::string> &texts) {
    std::uint64_t bytes = 0;
    for (const std::string &text : texts) bytes += text.size() + 1 + sizeof(char *);
    return bytes;
}

/// All that is placed here stays until the last rank of the address space has ended: nothing is unmapped and
/// the heap's blocks that ranks may still read while they start (`common`, the paths) are never freed.
class Host {
  public:
    Host(const Plan &plan, const Arena &arena, std::uint32_t space, const RankStart &common)
        : plan_(plan), arena_(arena), space_(space), common_(common), auxiliary_(own_auxiliary_vector()) {
        fix_program_break();
        to_close_ = close_on_exec();
        common_.to_close = to_close_.data();
        common_.to_close_count = static_cast<std::uint32_t>(to_close_.size());
    }

    void place(int rank, const RankStreams &streams) {
        const PlannedApplication &planned = plan_.of_rank(rank);
        const ElfImage &image = *planned.program.image;
        const std::vector<std::string> variables = rank_environment(plan_, arena_, rank);
        const std::vector<std::string> &arguments = planned.application.arguments;

        const MappedImage program = image.map();
        const MappedImage interpreter = planned.program.interpreter->map();
        const std::uintptr_t top =
            map_stack(stack_bytes(bytes_of(variables) + bytes_of(arguments)), image.executable_stack());
        const InitialStack stack = build_initial_stack(top, arguments, variables, planned.program.path, program,
                                                       image.program_header_count(), interpreter, auxiliary_);

        // Below what the program will find, its first process state; the program overwrites it in time.
        auto *start = reinterpret_cast<RankStart *>((stack.stack_pointer - sizeof(RankStart)) & ~std::uintptr_t{63});
        *start = common_;
        start->streams = streams;
        bind(*start, plan_, rank);
        start->directory = planned.application.directory.empty() ? nullptr : planned.application.directory.c_str();
        const std::string name = planned.program.path.substr(planned.program.path.rfind('/') + 1);
        start->name[name.copy(start->name, name_bytes - 1)] = '\0';
        start->entry = interpreter.entry;
        start->stack_pointer = stack.stack_pointer;

        RankRecord &record = arena_.record(rank);
        record.placement = Placement::shared;
        record.application = plan_.application_of[static_cast<std::size_t>(rank)];
        record.space = space_;
        record.placed_at = stack.random;
        record.program_base = program.base;
        record.interpreter_base = interpreter.base;
        record.state = RankState::started;
        // Descriptors, directory and signal handlers are the rank's own, as after a fork. The process id is in
        // the record before the rank runs.
        if (clone(start_rank, start, CLONE_VM | CLONE_PARENT | CLONE_PARENT_SETTID | SIGCHLD, start, &record.process) <
            0) {
            const int reason = errno;
            throw system_error("cannot start rank " + std::to_string(rank) + " of " + std::to_string(plan_.ranks()) +
                                   (reason == EAGAIN ? " (is the limit of processes, ulimit -u, too low?)" : ""),
                               reason);
        }
    }

  private:
    const Plan &plan_;
    const Arena &arena_;
    std::uint32_t space_;
    RankStart common_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> auxiliary_;
    std::vector<DescriptorRange> to_close_;
};

int run_host(const Plan &plan, const Arena &arena, std::uint32_t space, const RankStart &common,
             const std::vector<RankStreams> &streams) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != common.launcher) return EXIT_FAILURE;
    setpgid(0, common.group);
    prepare_fences(); // while the address space has one process, which makes it quick
    try {
        // Never destroyed: see Host.
        auto *host = new Host(plan, arena, space, common);
        for (const int rank : plan.spaces[space - 1]) host->place(rank, streams[static_cast<std::size_t>(rank)]);
        return EXIT_SUCCESS;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "mpiexec: %s\n", error.what());
        return EXIT_FAILURE;
    }
}

} // namespace

pid_t start_rank_host(const Plan &plan, const Arena &arena, std::uint32_t space, const RankStart &common,
                      const std::vector<RankStreams> &streams) {
    const pid_t host = fork();
    if (host < 0) throw system_error("cannot start the process that places ranks");
    if (host == 0) _exit(run_host(plan, arena, space, common, streams));
    return host;
}

} // namespace volley::launch
