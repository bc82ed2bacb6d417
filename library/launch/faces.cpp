// SPDX-License-Identifier: BSD-3-Clause
#include "launch/faces.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "boot/error.h"
#include "launch/environment.h"

namespace volley::launch {
namespace {

bool exists(const std::string &path) {
    struct stat facts = {};
    return stat(path.c_str(), &facts) == 0;
}

/// The library of C whose binary interface it has. Debian has other names for MPICH's.
std::string interface_of(const std::string &library) {
    if (library.ends_with(".so.40") && library.starts_with("libmpi_")) return "libmpi.so.40";
    for (const char *name : {"libmpich.so.12", "libmpifort.so.12", "libmpichfort.so.12"})
        if (library == name) return "libmpi.so.12";
    return library;
}

bool same_interface(const std::string &one, const std::string &other) {
    return interface_of(one) == interface_of(other);
}

std::string needed_by(const LinkedMpi &linked) {
    return linked.library + " (" + linked.mpi + (linked.through.empty() ? "" : ", by " + linked.through) + ")";
}

/// Puts a text in front of those that the variable has.
void put_first(std::vector<std::string> &environment, const std::string &name, const std::string &first) {
    const std::string others = find_variable(environment, name).value_or("");
    set_variable(environment, name, others.empty() ? first : first + ":" + others);
}

} // namespace

std::string faces_folder() {
    static const std::string folder = [] {
        char own[PATH_MAX];
        const ssize_t length = readlink("/proc/self/exe", own, sizeof own);
        if (length <= 0) return std::string();
        std::string path(own, static_cast<std::size_t>(length));
        path.resize(path.rfind('/'));
        path += VOLLEY_FACES_FROM_PROGRAMS;
        char real[PATH_MAX];
        return realpath(path.c_str(), real) != nullptr ? std::string(real) : std::string();
    }();
    return folder;
}

bool has_face(const std::string &library) {
    return !library.empty() && !faces_folder().empty() && exists(faces_folder() + "/" + library);
}

void offer_faces(std::vector<std::string> &environment) {
    if (faces_folder().empty()) return;
    put_first(environment, "LD_LIBRARY_PATH", faces_folder());
    // PyPI's mpi4py looks for an MPI itself, and first where Python is installed: it must not find another there.
    if (!find_variable(environment, "MPI4PY_LIBMPI"))
        set_variable(environment, "MPI4PY_LIBMPI", faces_folder() + "/libmpi.so.12");
}

void preload_faces(std::vector<std::string> &environment, const std::vector<std::string> &libraries) {
    for (const std::string &library : libraries) put_first(environment, "LD_PRELOAD", faces_folder() + "/" + library);
}

std::vector<std::string> faces_behind_run_path(const std::vector<LinkedMpi> &found) {
    std::vector<std::string> libraries;
    for (const LinkedMpi &each : found)
        if (each.by_run_path && has_face(each.library)) libraries.push_back(each.library);
    return libraries;
}

std::vector<LinkedMpi> check_linked_mpis(const std::string &path, const std::string &seen,
                                         const std::vector<std::string> &environment) {
    std::vector<LinkedMpi> found = find_linked_mpis(seen, environment);
    if (found.empty()) return {};
    std::ranges::stable_partition(found, [](const LinkedMpi &each) { return !each.of_other_language; });
    const LinkedMpi &first = found.front();
    for (const LinkedMpi &other : found)
        if (!same_interface(first.library, other.library))
            throw Error(
                path + " needs two MPIs, " + needed_by(first) + " and " + needed_by(other) +
                    ", whose binary interfaces differ: build the program and all its libraries with one of them",
                ExitStatus::not_executable);
    for (const LinkedMpi &each : found)
        if (!each.launcher.empty() && !has_face(each.library))
            throw Error(
                path + " is linked with " + needed_by(each) +
                    ", whose binary interface Volley does not have: compile it with Volley's mpicc, or start it "
                    "with " +
                    each.launcher,
                ExitStatus::not_executable);
    return found;
}

} // namespace volley::launch
