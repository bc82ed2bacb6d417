// SPDX-License-Identifier: BSD-3-Clause
/// The node daemons that `volley boot` has left running, as each of their hosts knows them: a file of the user's in
/// /tmp/volley-UID, which holds their secret and which nobody else can read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "boot/job.h"
#include "launch/hosts/host_list.h"

namespace volley::launch {

struct BootedNode {
    std::string name; ///< as the user has named the host
    std::string host; ///< as it names itself
    std::int32_t slots;
    NetworkAddress address; ///< where the daemon takes connections
    std::uint16_t port;
};

struct BootedSet {
    std::string secret; ///< secret_bytes of them
    std::vector<BootedNode> nodes;

    [[nodiscard]] const BootedNode *find(const std::string &name) const;
    [[nodiscard]] std::vector<Host> hosts() const;
};

/// Where the files are: VOLLEY_STATE_DIRECTORY, or /tmp/volley-UID. (XDG_RUNTIME_DIR would go when the user logs out,
/// and the login that started a daemon has an end.)
std::string state_directory();

/// The files of this host, whose name is in theirs: a directory may be one that several hosts see.
class StateFiles {
  public:
    explicit StateFiles(std::string directory);

    /// Nothing if there is none. Throws Error if somebody else could have written it.
    [[nodiscard]] std::optional<BootedSet> read() const;
    /// Unless it is there. Throws Error if it is not the user's alone.
    void make_directory() const;
    /// Makes the directory, if need be. Throws Error.
    void write(const BootedSet &set) const;
    /// Both files, and the directory if nothing is left in it.
    void remove() const;

    [[nodiscard]] const std::string &directory() const {
        return directory_;
    }
    [[nodiscard]] std::string nodes() const;
    [[nodiscard]] std::string log() const;

  private:
    std::string directory_;
};

} // namespace volley::launch
