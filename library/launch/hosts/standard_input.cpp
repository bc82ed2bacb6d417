// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/standard_input.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace volley::launch {

void StandardInput::watch(std::vector<pollfd> &watched) const {
    if (is_readable()) watched.push_back({STDIN_FILENO, POLLIN, 0});
}

std::optional<std::string> StandardInput::take() {
    constexpr int chunk_bytes = 16 * 1024;
    pollfd one = {STDIN_FILENO, POLLIN, 0};
    if (!is_readable() || poll(&one, 1, 0) <= 0) return std::nullopt;
    // To read a terminal from its background would stop mpiexec.
    in_background_ = isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) != getpgrp();
    if (in_background_) return std::nullopt;
    std::string bytes(static_cast<std::size_t>(std::min(chunk_bytes, window_)), '\0');
    const ssize_t got = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    ended_ = bytes.empty();
    window_ -= static_cast<int>(bytes.size());
    return bytes;
}

} // namespace volley::launch
