// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/preload.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "boot/addresses.h"
#include "boot/error.h"
#include "launch/environment.h"
#include "launch/hosts/booted_set.h"
#include "launch/program.h"

namespace volley::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t piece_bytes = 256 * 1024;
/// Of one daemon; more is read from the file when it has taken some.
constexpr std::size_t most_pending_bytes = 1 << 20;
constexpr mode_t permissions = 0777;
constexpr const char *suffix = ".preload";

/// "HOST.PID.preload": of the node daemon.
std::string directory_name() {
    return own_host_name() + "." + std::to_string(getpid()) + suffix;
}

/// Throws Error unless the name stays below the job's directory.
void check_name(const std::string &name) {
    const fs::path path = name;
    for (const fs::path &part : path)
        if (part == "..")
            throw Error("option --preload-files: '" + name + "' leads out of the directory", ExitStatus::usage);
    if (name.empty() || name.ends_with('/'))
        throw Error("option --preload-files: '" + name + "' is no name of a file", ExitStatus::usage);
}

void check_file(const std::string &path) {
    struct stat facts = {};
    if (stat(path.c_str(), &facts) != 0) throw system_error("cannot preload " + path);
    if (!S_ISREG(facts.st_mode)) throw Error("cannot preload " + path + ": it is no ordinary file");
}

} // namespace

std::string preloaded_name(std::size_t application, const std::string &program) {
    return ".programs/" + std::to_string(application) + "/" + fs::path(program).filename().string();
}

std::vector<PreloadFile> files_to_preload(const CommandLine &line) {
    std::vector<PreloadFile> files;
    for (std::size_t index = 0; index < line.applications.size(); index++) {
        const Application &application = line.applications[index];
        const std::string path =
            find_program(application.program, application.directory, application_environment(line, application)).path;
        const bool is_from_here = path.starts_with('/') || application.directory.empty();
        files.push_back(
            {is_from_here ? path : application.directory + "/" + path, preloaded_name(index, application.program)});
    }
    for (const std::string &path : line.preload_files) {
        check_name(path);
        files.push_back({path, path.starts_with('/') ? fs::path(path).filename().string() : path});
    }
    for (const PreloadFile &file : files) check_file(file.path);
    return files;
}

bool PreloadSender::advance(Channel &channel) {
    std::string piece;
    while (next_ < files_.size() && channel.pending() < most_pending_bytes) {
        const PreloadFile &file = files_[next_];
        if (!open_) {
            struct stat facts = {};
            open_ = Descriptor(open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
            if (!open_ || fstat(open_.get(), &facts) != 0) throw system_error("cannot preload " + file.path);
            channel.send(FrameKind::file, static_cast<std::int32_t>(facts.st_mode & permissions), file.name);
        }
        piece.resize(piece_bytes);
        const ssize_t got = read(open_.get(), piece.data(), piece.size());
        if (got < 0) throw system_error("cannot preload " + file.path);
        if (got == 0) {
            open_.reset();
            next_++;
        } else {
            channel.send(FrameKind::file_bytes, 0, {piece.data(), static_cast<std::size_t>(got)});
        }
    }
    return next_ == files_.size();
}

void PreloadReceiver::take(const Frame &frame) {
    if (frame.kind == FrameKind::file) {
        if (directory_.empty()) {
            const StateFiles files(state_directory());
            files.make_directory();
            remove_stale_preloads(files.directory());
            directory_ = files.directory() + "/" + directory_name();
        }
        path_ = directory_ + "/" + frame.payload;
        std::error_code error;
        fs::create_directories(fs::path(path_).parent_path(), error);
        file_ = Descriptor(
            open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, static_cast<mode_t>(frame.number) | S_IWUSR));
        if (!file_) throw system_error("cannot write the preloaded file " + path_);
    } else if (frame.kind == FrameKind::file_bytes) {
        for (std::size_t done = 0; done < frame.payload.size();) {
            const ssize_t put = write(file_.get(), frame.payload.data() + done, frame.payload.size() - done);
            if (put < 0 && errno != EINTR) throw system_error("cannot write the preloaded file " + path_);
            if (put > 0) done += static_cast<std::size_t>(put);
        }
    } else if (frame.kind == FrameKind::job) {
        file_.reset(); // no process may have a program open for writing that another starts
    }
}

PreloadReceiver::~PreloadReceiver() {
    if (directory_.empty()) return;
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
    rmdir(fs::path(directory_).parent_path().c_str()); // if nothing else is there
}

void remove_stale_preloads(const std::string &state_directory) {
    const std::string begin = own_host_name() + ".";
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(state_directory, error)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(begin) || !name.ends_with(suffix)) continue;
        const auto process = static_cast<pid_t>(std::atoi(name.c_str() + begin.size()));
        if (process <= 0 || kill(process, 0) == 0) continue;
        std::error_code ignored;
        fs::remove_all(entry.path(), ignored);
    }
}

} // namespace volley::launch
