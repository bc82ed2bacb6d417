// SPDX-License-Identifier: BSD-3-Clause
/// Published names (MPI 5.0, section 11.9.4): files of a folder that only their user can enter, VOLLEY_NAMES, else
/// volley-names in XDG_RUNTIME_DIR, else /tmp/volley-names-UID. So jobs of several mpiexecs find each other, and jobs
/// on several hosts where they share that folder.
///
/// An entry whose publisher has ended is stale: it is not found, and is replaced.
#include "boot/addresses.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/info.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace volley {
namespace {

struct Entry {
    std::string port, publisher;
    std::string name; ///< of the service: file names may be cut
};

std::string folder_path() {
    if (const char *given = std::getenv("VOLLEY_NAMES")) return given;
    if (const char *runtime = std::getenv("XDG_RUNTIME_DIR")) return std::string(runtime) + "/volley-names";
    return "/tmp/volley-names-" + std::to_string(getuid());
}

/// Makes the folder if it is not there. Returns an error code if others could write to it.
int open_folder(std::string &folder) {
    folder = folder_path();
    struct stat facts = {};
    if ((mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) || lstat(folder.c_str(), &facts) != 0)
        return fail(MPI_ERR_OTHER, "the folder of published names, %s, cannot be made: %s (VOLLEY_NAMES names another)",
                    folder.c_str(), std::strerror(errno));
    if (S_ISDIR(facts.st_mode) && facts.st_uid == getuid() && (facts.st_mode & 022) == 0) return MPI_SUCCESS;
    return fail(MPI_ERR_OTHER, "the folder of published names, %s, can be written by others: that is not safe",
                folder.c_str());
}

/// A name of any characters and length as a file's.
std::string file_of(const std::string &folder, const std::string &service) {
    constexpr std::size_t longest = 60;
    std::string name = folder + "/";
    for (unsigned char character : service.substr(0, longest)) {
        constexpr std::string_view digits = "0123456789abcdef";
        name += {digits[character >> 4], digits[character & 15]};
    }
    if (service.size() <= longest) return name;
    std::uint64_t hash = 14695981039346656037U; // FNV-1a (Fowler, Noll, Vo)
    for (unsigned char character : service) hash = (hash ^ character) * 1099511628211U;
    return name + "-" + std::to_string(hash);
}

/// When a process began: with its number, this names it for good. Empty if there is none.
std::string beginning_of(const std::string &process) {
    std::ifstream status("/proc/" + process + "/stat");
    std::string text;
    if (!std::getline(status, text)) return {};
    std::size_t at = text.rfind(')');
    constexpr int fields = 20; // from there to field 22, the time of its beginning
    for (int field = 0; field < fields && at != std::string::npos; field++) at = text.find(' ', at + 1);
    return at == std::string::npos ? std::string() : text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

std::string publisher_here(const std::string &process) {
    return process + " " + beginning_of(process) + " " + own_host_name();
}

bool read_entry(const std::string &path, Entry &entry) {
    std::ifstream file(path);
    return std::getline(file, entry.port) && std::getline(file, entry.publisher) &&
           std::getline(file, entry.name, '\0');
}

/// Whether the publisher is a process of this host that has ended.
bool is_stale(const Entry &entry) {
    const std::string process = entry.publisher.substr(0, entry.publisher.find(' '));
    return entry.publisher.ends_with(std::string(" ").append(own_host_name())) &&
           entry.publisher != publisher_here(process);
}

/// The entry of a service, if there is one that is not stale.
bool find_entry(const std::string &path, const std::string &service, Entry &entry) {
    if (!read_entry(path, entry) || entry.name != service) return false;
    if (!is_stale(entry)) return true;
    unlink(path.c_str());
    return false;
}

/// Makes the whole file at once, or none if there is one.
bool write_entry(const std::string &path, const Entry &entry) {
    const std::string draft = path + "." + std::to_string(getpid()) + ".new";
    {
        std::ofstream file(draft);
        file << entry.port << '\n' << entry.publisher << '\n' << entry.name;
        if (!file.flush()) return false;
    }
    const bool made = link(draft.c_str(), path.c_str()) == 0;
    const int reason = errno;
    unlink(draft.c_str());
    errno = reason;
    return made;
}

} // namespace

namespace mpi {

int Publish_name(const char *service_name, Info *, const char *port_name) {
    std::string folder;
    if (int code = open_folder(folder); code != MPI_SUCCESS) return code;
    const std::string path = file_of(folder, service_name);
    if (Entry entry; find_entry(path, service_name, entry))
        return fail(MPI_ERR_SERVICE, "the name \"%.200s\" is published already", service_name);
    if (write_entry(path, {port_name, publisher_here(std::to_string(getpid())), service_name})) return MPI_SUCCESS;
    return fail(MPI_ERR_SERVICE, "the name \"%.200s\" cannot be published: %s", service_name, std::strerror(errno));
}

int Unpublish_name(const char *service_name, Info *, const char *port_name) {
    std::string folder;
    if (int code = open_folder(folder); code != MPI_SUCCESS) return code;
    const std::string path = file_of(folder, service_name);
    Entry entry;
    if (!find_entry(path, service_name, entry))
        return fail(MPI_ERR_SERVICE, "the name \"%.200s\" is not published", service_name);
    if (entry.port != port_name)
        return fail(MPI_ERR_SERVICE, "the name \"%.200s\" is published with another port", service_name);
    unlink(path.c_str());
    return MPI_SUCCESS;
}

int Lookup_name(const char *service_name, Info *, char *port_name) {
    std::string folder;
    if (int code = open_folder(folder); code != MPI_SUCCESS) return code;
    Entry entry;
    if (!find_entry(file_of(folder, service_name), service_name, entry))
        return fail(MPI_ERR_NAME, "nobody has published the name \"%.200s\" (in %s)", service_name, folder.c_str());
    port_name[entry.port.copy(port_name, MPI_MAX_PORT_NAME - 1)] = '\0';
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
