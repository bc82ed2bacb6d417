// SPDX-License-Identifier: BSD-3-Clause
#include "launch/input.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "boot/error.h"

namespace volley::launch {
namespace {

constexpr std::size_t chunk_bytes = 4096;

bool is_ready(int descriptor, short event) {
    pollfd one = {descriptor, event, 0};
    return poll(&one, 1, 0) > 0;
}

} // namespace

Input::Input(Source source) : empty_(open("/dev/null", O_RDONLY | O_CLOEXEC)), is_fed_(source == Source::mpiexec) {
    if (!empty_) throw system_error("cannot open /dev/null");
    if (!is_fed_ && !isatty(STDIN_FILENO)) return;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot make a pipe for standard input");
    rank_end_ = Descriptor(ends[0]);
    to_rank_ = Descriptor(ends[1]);
    fcntl(to_rank_.get(), F_SETFL, O_NONBLOCK);
}

int Input::rank_end(int rank) const {
    if (rank != 0) return empty_.get();
    return rank_end_ ? rank_end_.get() : is_fed_ ? empty_.get() : STDIN_FILENO;
}

void Input::ranks_started() {
    rank_end_.reset();
}

void Input::watch(std::vector<pollfd> &watched) {
    if (!to_rank_) return;
    if (!pending_.empty())
        watched.push_back({to_rank_.get(), POLLOUT, 0});
    else if (!is_fed_ && !in_background_)
        watched.push_back({STDIN_FILENO, POLLIN, 0});
}

void Input::advance() {
    if (!to_rank_) return;
    if (pending_.empty() && !is_fed_ && !in_background_ && is_ready(STDIN_FILENO, POLLIN)) {
        // To read a terminal from its background would stop mpiexec.
        in_background_ = tcgetpgrp(STDIN_FILENO) != getpgrp();
        if (in_background_) return;
        pending_.resize(chunk_bytes);
        const ssize_t got = read(STDIN_FILENO, pending_.data(), pending_.size());
        pending_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        if (got <= 0) to_rank_.reset(); // Ctrl-D, or the terminal has gone
    }
    if (!pending_.empty()) {
        const ssize_t put = write(to_rank_.get(), pending_.data(), pending_.size());
        if (put > 0) {
            pending_.erase(0, static_cast<std::size_t>(put));
            passed_on_ += static_cast<int>(put);
        }
        if (put < 0 && errno != EAGAIN) { // nobody reads any more
            pending_.clear();
            ends_ = true;
        }
    }
    if (ends_ && pending_.empty()) to_rank_.reset();
}

void Input::feed(const std::string &bytes) {
    if (bytes.empty()) ends_ = true;
    if (to_rank_) pending_ += bytes;
    advance();
}

int Input::passed_on() {
    return std::exchange(passed_on_, 0);
}

} // namespace volley::launch
