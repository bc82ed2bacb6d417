// SPDX-License-Identifier: BSD-3-Clause
/// `--preload`: mpiexec brings program and files to other hosts, through the channels to its node daemons. There they
/// lie in a directory of the job's, which is removed when it ends.
#pragma once

#include <string>
#include <vector>

#include "boot/descriptor.h"
#include "launch/command_line.h"
#include "launch/hosts/channel.h"

namespace volley::launch {

struct PreloadFile {
    std::string path; ///< here
    std::string name; ///< there, in the job's directory
};

/// What the line asks for: all programs, by their index, and other files. Throws Error.
std::vector<PreloadFile> files_to_preload(const CommandLine &line);

/// The name that the program of that index has in the job's directory.
std::string preloaded_name(std::size_t application, const std::string &program);

/// Sends files to one daemon, no faster than it takes them.
class PreloadSender {
  public:
    explicit PreloadSender(std::vector<PreloadFile> files) : files_(std::move(files)) {}
    /// True once all has been said. Throws Error if a file cannot be read.
    bool advance(Channel &channel);

  private:
    std::vector<PreloadFile> files_;
    std::size_t next_ = 0;
    Descriptor open_; ///< of files_[next_]
};

/// A daemon's end. The directory goes with the object.
class PreloadReceiver {
  public:
    PreloadReceiver() = default;
    PreloadReceiver(const PreloadReceiver &) = delete;
    PreloadReceiver &operator=(const PreloadReceiver &) = delete;
    ~PreloadReceiver();

    /// Frames of other kinds are none of its business. Throws Error.
    void take(const Frame &frame);
    [[nodiscard]] const std::string &directory() const {
        return directory_;
    }

  private:
    std::string directory_; ///< empty until the first file
    std::string path_;
    Descriptor file_;
};

/// Removes the directories of jobs on this host whose node daemon was killed.
void remove_stale_preloads(const std::string &state_directory);

} // namespace volley::launch
