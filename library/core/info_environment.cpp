// SPDX-License-Identifier: BSD-3-Clause
/// MPI_INFO_ENV and MPI_Info_create_env: how the program was started (MPI 5.0, section 11.2.1).
#include "boot/job.h"
#include "core/engine.h"
#include "core/functions.h"
#include "core/hints.h"
#include "core/info.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>
#include <vector>

namespace volley {
namespace {

/// What the rank was started with. Its /proc/self/cmdline may be that of the process its address space belongs to.
int argument_count = 0;
char **argument_vector = nullptr;

/// Where it was started.
char start_folder[PATH_MAX];

/// The dynamic linker hands these to every constructor.
[[gnu::constructor]] void remember_start(int count, char **arguments) {
    argument_count = count;
    argument_vector = arguments;
    if (getcwd(start_folder, sizeof start_folder) == nullptr) start_folder[0] = '\0';
}

/// How many ranks the job has, also before it is joined.
std::string most_processes() {
    if (node.own == nullptr)
        for (const char *variable : {environment::ranks, "PMI_SIZE"})
            if (const char *told = std::getenv(variable)) return told;
    return std::to_string(processes.ranks());
}

void describe_arguments(Info &info, int count, char *const *arguments) {
    if (count < 1 || arguments == nullptr || arguments[0] == nullptr) return;
    info.set("command", std::string_view(arguments[0]).substr(0, MPI_MAX_INFO_VAL - 1));
    std::string rest;
    for (int i = 1; i < count && arguments[i] != nullptr; ++i) {
        if (i > 1) rest += ' ';
        rest += arguments[i];
    }
    info.set("argv", std::string_view(rest).substr(0, MPI_MAX_INFO_VAL - 1));
}

/// Nothing that changes while the program runs: MPI_Info_create_env tells before MPI_Init what it tells after. So not
/// the level of thread support, which nobody can ask for before the program starts.
void describe_machine(Info &info) {
    info.set("maxprocs", most_processes());
    utsname machine;
    if (uname(&machine) == 0) {
        info.set("host", machine.nodename);
        info.set("arch", machine.machine);
    }
    if (start_folder[0] != '\0') info.set("wdir", std::string_view(start_folder).substr(0, MPI_MAX_INFO_VAL - 1));
    info.set(memory_kinds_key, memory_kinds);
}

} // namespace

Info &Info::environment() {
    static Info *const info = [] {
        Info *made = make();
        describe_arguments(*made, argument_count, argument_vector);
        describe_machine(*made);
        return made;
    }();
    return *info;
}

int mpi::Info_create_env(int argc, char **argv, MPI_Info *info) {
    Info *made = Info::make();
    describe_arguments(*made, argc, argv);
    describe_machine(*made);
    *info = made->handle();
    return MPI_SUCCESS;
}

} // namespace volley
