// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/pmi.h"

#include "boot/error.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace volley::pmi {
namespace {

/// The value of `key` in a line of answers; nothing if it is not there.
std::string value_of(const std::string &line, const std::string &key) {
    for (std::size_t at = line.find(key + "="); at != std::string::npos; at = line.find(key + "=", at + 1)) {
        if (at != 0 && line[at - 1] != ' ') continue;
        std::size_t begin = at + key.size() + 1;
        return line.substr(begin, line.find(' ', begin) - begin);
    }
    return {};
}

std::size_t number_of(const std::string &line, const std::string &key) {
    return std::strtoul(value_of(line, key).c_str(), nullptr, 10);
}

/// Launchers of old versions read lines of up to 1024 characters, whatever they say of values. The rest of a line has
/// names of the space and the key, of up to 256 and 64.
constexpr std::size_t longest_value_that_fits = 640;

/// Reads "(12,3,4)" at the beginning of a text, and takes it away from there; false if it is something else.
bool take_block(std::string_view &text, std::array<std::int32_t, 3> &block) {
    for (std::size_t number = 0; number < block.size(); number++) {
        if (text.empty() || text.front() != (number == 0 ? '(' : ',')) return false;
        const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), block[number]);
        if (error != std::errc() || block[number] < (number == 0 ? 0 : 1)) return false;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    if (text.empty() || text.front() != ')') return false;
    text.remove_prefix(1);
    return true;
}

} // namespace

std::optional<std::vector<std::int32_t>> hosts_of(const std::string &mapping, int ranks) {
    constexpr std::string_view begin = "(vector";
    std::string_view text = mapping;
    if (!text.starts_with(begin)) return std::nullopt;
    text.remove_prefix(begin.size());
    std::vector<std::array<std::int32_t, 3>> blocks;
    while (text.starts_with(",")) {
        text.remove_prefix(1);
        if (!take_block(text, blocks.emplace_back())) return std::nullopt;
    }
    if (blocks.empty() || text != ")") return std::nullopt;
    std::vector<std::int32_t> hosts;
    const auto all = static_cast<std::size_t>(ranks);
    for (std::size_t next = 0; hosts.size() < all; next = (next + 1) % blocks.size()) {
        const auto [first, count, each] = blocks[next];
        for (std::int32_t host = first; host - first < count && hosts.size() < all; host++)
            hosts.insert(hosts.end(), std::min(static_cast<std::size_t>(each), all - hosts.size()), host);
    }
    return hosts;
}

Client::Client(int socket, int rank, int ranks) : socket_(socket), rank_(rank), ranks_(ranks) {
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
    const std::size_t most = number_of(ask("cmd=get_maxes", "maxes"), "vallen_max");
    longest_value_ = std::clamp<std::size_t>(most, 2, longest_value_that_fits + 1) - 1; // with a zero at its end
    space_ = value_of(ask("cmd=get_my_kvsname", "my_kvsname"), "kvsname");
}

std::string Client::read_line() {
    for (;;) {
        std::size_t end = rest_.find('\n');
        if (end != std::string::npos) {
            std::string line = rest_.substr(0, end);
            rest_.erase(0, end + 1);
            return line;
        }
        char bytes[1024];
        ssize_t got = ::read(socket_, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw Gone(std::string("cannot read from the launcher (PMI): ") + std::strerror(errno));
        if (got == 0) throw Gone("the launcher has closed its connection (PMI)");
        rest_.append(bytes, static_cast<std::size_t>(got));
    }
}

/// Sends one line and returns the answer, whose command must be `expected`; "" sends without waiting.
std::string Client::ask(const std::string &request, const std::string &expected) {
    std::string line = request + "\n";
    for (std::size_t sent = 0; sent < line.size();) {
        // Not write(): a launcher that is gone shall be an error, not SIGPIPE.
        ssize_t got = send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw Gone(std::string("cannot write to the launcher (PMI): ") + std::strerror(errno));
        sent += static_cast<std::size_t>(got);
    }
    if (expected.empty()) return {};
    std::string answer = read_line();
    std::string status = value_of(answer, "rc");
    if (value_of(answer, "cmd") != expected || (!status.empty() && status != "0"))
        throw Error("the launcher answers \"" + answer + "\" to \"" + request + "\" (PMI)");
    return answer;
}

int Client::application() {
    return static_cast<int>(number_of(ask("cmd=get_appnum", "appnum"), "appnum"));
}

std::optional<std::vector<std::int32_t>> Client::hosts() {
    try {
        return hosts_of(get("PMI_process_mapping", 0), ranks_);
    } catch (const Error &) {
        return std::nullopt; // launchers need not have that key
    }
}

void Client::put(const std::string &key, const std::string &value) {
    ask("cmd=put kvsname=" + space_ + " key=" + key + " value=" + value, "put_result");
}

std::string Client::get(const std::string &key, int) {
    return value_of(ask("cmd=get kvsname=" + space_ + " key=" + key, "get_result"), "value");
}

void Client::fence() {
    ask("cmd=barrier_in", "barrier_out");
}

void Client::finalize() {
    if (finalized_) return;
    finalized_ = true;
    try {
        ask("cmd=finalize", "finalize_ack");
    } catch (const Error &) {
        // The launcher is gone, so there is nobody to tell.
    }
}

void Client::abort(int status) {
    try {
        ask("cmd=abort exitcode=" + std::to_string(status), "");
    } catch (const Error &) {}
}

std::unique_ptr<ForeignLauncher> connect() {
    const char *socket = std::getenv("PMI_FD");
    const char *rank = std::getenv("PMI_RANK");
    const char *ranks = std::getenv("PMI_SIZE");
    if (!socket || !rank || !ranks) return nullptr;
    return std::make_unique<Client>(std::atoi(socket), std::atoi(rank), std::atoi(ranks));
}

} // namespace volley::pmi
