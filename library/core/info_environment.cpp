// SPDX-License-Identifier: BSD-3-Clause
/// MPI_INFO_ENV and MPI_Info_create_env: how the program was started (MPI 5.0, section 11.2.1).
#include "abi/functions.h"
#include "core/engine.h"
#include "core/hints.h"
#include "core/info.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <climits>
#include <string>
#include <vector>

namespace volley {
namespace {

/// What the rank was started with. Its /proc/self/cmdline may be that of the process its address space belongs to.
int argument_count = 0;
char **argument_vector = nullptr;

/// The dynamic linker hands these to every constructor.
[[gnu::constructor]] void remember_arguments(int count, char **arguments) {
    argument_count = count;
    argument_vector = arguments;
}

const char *name_of_thread_level(int level) {
    switch (level) {
    case MPI_THREAD_MULTIPLE:
        return "MPI_THREAD_MULTIPLE";
    case MPI_THREAD_SERIALIZED:
        return "MPI_THREAD_SERIALIZED";
    case MPI_THREAD_FUNNELED:
        return "MPI_THREAD_FUNNELED";
    default:
        return "MPI_THREAD_SINGLE";
    }
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

void describe_machine(Info &info) {
    info.set("maxprocs", std::to_string(engine.ranks));
    utsname machine;
    if (uname(&machine) == 0) {
        info.set("host", machine.nodename);
        info.set("arch", machine.machine);
    }
    char folder[PATH_MAX];
    if (getcwd(folder, sizeof folder) != nullptr)
        info.set("wdir", std::string_view(folder).substr(0, MPI_MAX_INFO_VAL - 1));
    info.set(memory_kinds_key, memory_kinds);
    if (engine.available) info.set("thread_level", name_of_thread_level(engine.thread_level));
}

} // namespace

Info &Info::environment() {
    static Info *const info = make();
    // What is known grows when MPI is started.
    static bool complete = false;
    if (!complete) {
        complete = engine.available;
        describe_arguments(*info, argument_count, argument_vector);
        describe_machine(*info);
    }
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
