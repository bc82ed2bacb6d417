// SPDX-License-Identifier: BSD-3-Clause
#include "launch/program.h"

#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstring>

#include "boot/error.h"
#include "launch/environment.h"
#include "launch/faces.h"

namespace volley::launch {
namespace {

/// What execvp uses without PATH.
constexpr const char *standard_path = "/bin:/usr/bin";

bool is_file(const std::string &path) {
    struct stat facts = {};
    return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

/// The path as seen from mpiexec's directory.
std::string from_here(const std::string &path, const std::string &directory) {
    return path.starts_with('/') || directory.empty() ? path : directory + "/" + path;
}

std::string look_up(const std::string &name, const std::string &directory,
                    const std::vector<std::string> &environment) {
    std::string forbidden;
    const auto usable = [&](const std::string &path) {
        const std::string seen = from_here(path, directory);
        if (!is_file(seen)) return false;
        if (access(seen.c_str(), X_OK) == 0) return true;
        forbidden = path;
        return false;
    };
    if (name.find('/') != std::string::npos) {
        if (usable(name)) return name;
    } else {
        const std::string path = find_variable(environment, "PATH").value_or(standard_path);
        for (std::size_t begin = 0; begin <= path.size();) {
            const auto end = std::min(path.find(':', begin), path.size());
            const std::string folder = end == begin ? "." : path.substr(begin, end - begin);
            if (usable(folder + "/" + name)) return folder + "/" + name;
            begin = end + 1;
        }
    }
    const std::string where = directory.empty() ? "" : " from " + directory;
    if (!forbidden.empty())
        throw Error("cannot start " + forbidden + where + ": it may not be executed (chmod +x?)",
                    ExitStatus::not_executable);
    if (name.find('/') == std::string::npos)
        throw Error("there is no program " + name + " in PATH" +
                        (is_file(from_here(name, directory)) ? "; did you mean ./" + name + "?" : ""),
                    ExitStatus::not_found);
    throw Error("there is no program " + name + where, ExitStatus::not_found);
}

bool limited(decltype(RLIMIT_AS) resource) {
    rlimit value = {};
    return getrlimit(resource, &value) == 0 && value.rlim_cur != RLIM_INFINITY;
}

/// Throws NotPlaceable for what holds for the file or the machine, not for its ELF headers.
void judge_surroundings(const std::string &path, const std::vector<std::string> &environment) {
    struct stat facts = {};
    if (stat(path.c_str(), &facts) != 0) throw system_error("cannot look at " + path);
    if ((facts.st_mode & (S_ISUID | S_ISGID)) != 0) throw NotPlaceable("it is set-user-id or set-group-id");
    if (getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) throw NotPlaceable("its file has capabilities");
    if (getauxval(AT_SECURE) != 0) throw NotPlaceable("mpiexec itself runs set-user-id");
    if (limited(RLIMIT_AS) || limited(RLIMIT_DATA))
        throw NotPlaceable("a limit on memory (ulimit -v or -d) would hold for all ranks together");
    const std::string preloaded = find_variable(environment, "LD_PRELOAD").value_or("");
    for (const char *library : {"libasan", "libtsan", "libmsan", "liblsan", "libhwasan"})
        if (preloaded.find(library) != std::string::npos)
            throw NotPlaceable(std::string("LD_PRELOAD loads a sanitizer, ") + library);
}

} // namespace

Program find_program(const std::string &name, const std::string &directory,
                     const std::vector<std::string> &environment) {
    Program program;
    program.path = look_up(name, directory, environment);
    const std::string seen = from_here(program.path, directory);
    program.mpis = check_linked_mpis(program.path, seen, environment);
    try {
        judge_surroundings(seen, environment);
        auto image = std::make_shared<ElfImage>(seen);
        if (image->interpreter().empty()) throw NotPlaceable("it is static");
        if (!image->sanitizer().empty()) throw NotPlaceable("it is built with " + image->sanitizer());
        try {
            program.interpreter = std::make_shared<ElfImage>(image->interpreter());
        } catch (const NotPlaceable &reason) {
            throw NotPlaceable("its interpreter " + image->interpreter() + " cannot be placed: " + reason.what());
        }
        program.image = std::move(image);
    } catch (const NotPlaceable &reason) {
        program.reason = reason.what();
    }
    return program;
}

} // namespace volley::launch
