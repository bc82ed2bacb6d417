// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/booted_set.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "boot/addresses.h"
#include "boot/descriptor.h"
#include "boot/error.h"
#include "launch/hosts/messages.h"

namespace volley::launch {
namespace {

constexpr mode_t owner_only = 0700, others = 077, file_mode = 0600;

/// Whoever could write here could have programs run as this user. False if there is no such directory.
bool check_directory(const std::string &directory) {
    struct stat facts = {};
    if (lstat(directory.c_str(), &facts) != 0) {
        if (errno == ENOENT) return false;
        throw system_error("cannot look at the directory " + directory);
    }
    if (!S_ISDIR(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & others) != 0)
        throw Error(directory + " is no directory that is this user's alone (mode 0700): what node daemons say of "
                                "themselves would not be safe there. Remove it, or name another by "
                                "VOLLEY_STATE_DIRECTORY");
    return true;
}

} // namespace

const BootedNode *BootedSet::find(const std::string &name) const {
    const auto found = std::ranges::find(nodes, name, &BootedNode::name);
    return found == nodes.end() ? nullptr : &*found;
}

std::vector<Host> BootedSet::hosts() const {
    std::vector<Host> hosts;
    for (const BootedNode &node : nodes) hosts.push_back({node.name, node.slots});
    return hosts;
}

std::string state_directory() {
    const char *given = std::getenv("VOLLEY_STATE_DIRECTORY");
    if (given != nullptr && *given != '\0') return std::filesystem::absolute(given);
    return "/tmp/volley-" + std::to_string(geteuid());
}

StateFiles::StateFiles(std::string directory) : directory_(std::move(directory)) {}

std::string StateFiles::nodes() const {
    return directory_ + "/" + own_host_name() + ".nodes";
}

std::string StateFiles::log() const {
    return directory_ + "/" + own_host_name() + ".log";
}

std::optional<BootedSet> StateFiles::read() const {
    if (!check_directory(directory_)) return std::nullopt;
    std::ifstream file(nodes(), std::ios::binary);
    if (!file) return std::nullopt;
    try {
        return decode_booted_set({std::istreambuf_iterator<char>(file), {}});
    } catch (const Error &) {
        throw Error(nodes() + " is of another version of Volley, or damaged: end the daemons with that version's "
                              "`volley halt`, or remove the file, at which this host's daemon ends");
    }
}

void StateFiles::make_directory() const {
    mkdir(directory_.c_str(), owner_only);
    if (!check_directory(directory_)) throw system_error("cannot make the directory " + directory_);
}

/// Another program sees the old file or the new one, whole.
void StateFiles::write(const BootedSet &set) const {
    make_directory();
    const std::string text = encode(set), made = nodes() + "." + std::to_string(getpid());
    unlink(made.c_str());
    const Descriptor file(open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, file_mode));
    const ssize_t put = file ? ::write(file.get(), text.data(), text.size()) : -1;
    if (put != static_cast<ssize_t>(text.size()) || rename(made.c_str(), nodes().c_str()) != 0) {
        const int reason = errno;
        unlink(made.c_str());
        throw system_error("cannot write " + nodes(), reason);
    }
}

void StateFiles::remove() const {
    unlink(nodes().c_str());
    unlink(log().c_str());
    rmdir(directory_.c_str());
}

} // namespace volley::launch
