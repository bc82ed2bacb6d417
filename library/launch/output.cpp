// SPDX-License-Identifier: BSD-3-Clause
#include "launch/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "boot/error.h"

namespace volley::launch {
namespace {

constexpr std::size_t chunk_bytes = 64 * 1024; ///< what a pipe holds
constexpr std::size_t longest_line_bytes = 1 << 20;
constexpr std::size_t most_pending_bytes = 4 << 20;
constexpr std::chrono::milliseconds wait_policy{200};

bool is_writable(int descriptor) {
    pollfd one = {descriptor, POLLOUT, 0};
    return poll(&one, 1, 0) > 0;
}

} // namespace

DescriptorSink::DescriptorSink(int descriptor) : descriptor_(descriptor), terminal_(isatty(descriptor) == 1) {
    struct stat facts = {};
    if (fstat(descriptor, &facts) != 0) return;
    always_ready_ = S_ISREG(facts.st_mode);
    constexpr unsigned int memory_major = 1;
    constexpr unsigned int null_minor = 3;
    null_ = S_ISCHR(facts.st_mode) && facts.st_rdev == makedev(memory_major, null_minor);
}

bool DescriptorSink::takes_lines_directly() const {
    if (null_) return true;
    termios settings = {};
    return terminal_ && tcgetattr(descriptor_, &settings) == 0 && (settings.c_lflag & TOSTOP) == 0;
}

bool DescriptorSink::full() const {
    return pending_.size() - written_ > most_pending_bytes;
}

void DescriptorSink::put(std::string_view text) {
    if (!broken_ && !has_lost_text_) pending_ += text;
}

/// The ranks go on: what they compute may be worth more than what they write.
void DescriptorSink::lose(int reason) {
    has_lost_text_ = true;
    dprintf(STDERR_FILENO, "mpiexec: cannot write standard %s: %s; what the ranks write there from now on is lost\n",
            descriptor_ == STDERR_FILENO ? "error" : "output", std::strerror(reason));
}

void DescriptorSink::advance() {
    while (!empty() && (always_ready_ || is_writable(descriptor_))) {
        // A pipe that is writable takes PIPE_BUF bytes without blocking.
        const std::size_t most = always_ready_ ? SIZE_MAX : PIPE_BUF;
        const ssize_t put = write(descriptor_, pending_.data() + written_, std::min(most, pending_.size() - written_));
        if (put < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (put < 0) {
            if (errno == EPIPE)
                broken_ = true;
            else
                lose(errno);
            written_ = pending_.size();
            break;
        }
        written_ += static_cast<std::size_t>(put);
    }
    if (empty() || written_ > most_pending_bytes) {
        pending_.erase(0, written_);
        written_ = 0;
    }
}

void DescriptorSink::watch(std::vector<pollfd> &watched) const {
    if (!empty()) watched.push_back({descriptor_, POLLOUT, 0});
}

void ChannelSink::put(std::string_view text) {
    channel_.send(FrameKind::output, stream_, text);
}

bool ChannelSink::empty() const {
    return channel_.pending() == 0 || channel_.closed();
}

bool ChannelSink::full() const {
    return channel_.pending() > most_pending_bytes;
}

bool ChannelSink::broken() const {
    return channel_.closed();
}

Stream::Stream(Descriptor pipe, std::string label, Sink &sink)
    : pipe_(std::move(pipe)), label_(std::move(label)), sink_(sink) {}

bool Stream::advance() {
    char chunk[chunk_bytes];
    if (sink_.broken()) { // let the rank see that nobody reads
        pipe_.reset();
        return false;
    }
    const ssize_t got = read(pipe_.get(), chunk, sizeof(chunk));
    if (got < 0) return false;
    if (got == 0) {
        flush(true);
        pipe_.reset();
        return false;
    }
    take({chunk, static_cast<std::size_t>(got)});
    return true;
}

void Stream::take(std::string_view text) {
    const auto newline = text.rfind('\n');
    std::string_view lines = newline == std::string_view::npos ? std::string_view() : text.substr(0, newline + 1);
    text.remove_prefix(lines.size());
    if (!lines.empty()) put(lines);
    if (text.empty()) return;
    if (line_.empty()) since_ = Clock::now();
    line_ += text;
    if (line_.size() > longest_line_bytes) flush(false);
}

/// All at once: between two pieces mpiexec could have those of other hosts.
void Stream::put(std::string_view lines) {
    std::string text;
    while (!lines.empty()) {
        const auto end = label_.empty() ? lines.size() : lines.find('\n') + 1;
        if (!continued_) text += label_;
        text += line_;
        text += lines.substr(0, end);
        lines.remove_prefix(end);
        line_.clear();
        continued_ = false;
    }
    sink_.put(text);
}

std::optional<Clock::time_point> Stream::unfinished_since() const {
    if (line_.empty()) return std::nullopt;
    return since_;
}

void Stream::flush(bool at_end) {
    if (line_.empty()) return;
    std::string text = continued_ ? "" : label_;
    text += line_;
    if (at_end && !label_.empty()) text += "\n";
    sink_.put(text);
    line_.clear();
    continued_ = true;
}

Output::Output(const std::vector<int> &here, int ranks, bool label)
    : output_(std::make_unique<DescriptorSink>(STDOUT_FILENO)), error_(std::make_unique<DescriptorSink>(STDERR_FILENO)),
      person_(output_->is_terminal() || isatty(STDIN_FILENO) == 1) {
    const bool alone = ranks == 1 && !label;
    if (!alone && (label || !output_->takes_lines_directly())) connect(here, ranks, label, *output_, rank_outputs_);
    // Standard error is written in pieces even to a terminal (C++'s std::cerr is): always through a pipe.
    if (!alone) connect(here, ranks, label, *error_, rank_errors_);
}

Output::Output(const std::vector<int> &here, int ranks, bool label, Channel &channel, bool person)
    : output_(std::make_unique<ChannelSink>(channel, STDOUT_FILENO)),
      error_(std::make_unique<ChannelSink>(channel, STDERR_FILENO)), channel_(&channel), person_(person) {
    connect(here, ranks, label, *output_, rank_outputs_);
    connect(here, ranks, label, *error_, rank_errors_);
}

void Output::connect(const std::vector<int> &here, int ranks, bool label, Sink &sink,
                     std::vector<Descriptor> &rank_ends) {
    rank_ends.resize(static_cast<std::size_t>(ranks));
    for (const int rank : here) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            throw system_error("cannot make a pipe for the output of rank " + std::to_string(rank) +
                               " (is the limit of open files, ulimit -n, too low?)");
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        rank_ends[static_cast<std::size_t>(rank)] = Descriptor(ends[1]);
        std::string prefix;
        if (label) prefix.append("[").append(std::to_string(rank)).append("] ");
        streams_.push_back(std::make_unique<Stream>(Descriptor(ends[0]), std::move(prefix), sink));
    }
}

int Output::output_of(int rank) const {
    return rank_outputs_.empty() ? STDOUT_FILENO : rank_outputs_[static_cast<std::size_t>(rank)].get();
}

int Output::error_of(int rank) const {
    return rank_errors_.empty() ? STDERR_FILENO : rank_errors_[static_cast<std::size_t>(rank)].get();
}

void Output::ranks_started() {
    for (auto *ends : {&rank_outputs_, &rank_errors_})
        for (Descriptor &end : *ends) end.reset();
}

void Output::message(const std::string &text) {
    if (channel_ != nullptr) return channel_->send(FrameKind::message, 0, text);
    error_->put("mpiexec: " + text + "\n");
    error_->advance();
}

void Output::watch(std::vector<pollfd> &watched) {
    output_->watch(watched);
    error_->watch(watched);
    first_watched_ = watched.size();
    watched_.clear();
    for (const auto &stream : streams_) {
        if (!stream->open() || stream->sink().full()) continue;
        watched_.push_back(stream.get());
        watched.push_back({stream->descriptor(), POLLIN, 0});
    }
}

std::optional<Clock::time_point> Output::deadline() const {
    std::optional<Clock::time_point> earliest;
    if (!person_) return earliest;
    for (const auto &stream : streams_)
        if (const auto since = stream->unfinished_since())
            if (!earliest || *since + wait_policy < *earliest) earliest = *since + wait_policy;
    return earliest;
}

void Output::advance(const std::vector<pollfd> &watched) {
    for (std::size_t index = 0; index < watched_.size(); ++index)
        if (watched[first_watched_ + index].revents != 0) watched_[index]->advance();
    const auto now = Clock::now();
    for (const auto &stream : streams_)
        if (const auto since = stream->unfinished_since(); person_ && since && now - *since >= wait_policy)
            stream->flush(false);
    output_->advance();
    error_->advance();
}

void Output::drain() {
    for (const auto &stream : streams_) {
        while (stream->open() && stream->advance()) {}
        stream->flush(true);
    }
    output_->advance();
    error_->advance();
}

} // namespace volley::launch
