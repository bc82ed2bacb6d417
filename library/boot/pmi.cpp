// SPDX-License-Identifier: BSD-3-Clause
#include "boot/pmi.h"

#include "boot/error.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

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

} // namespace

Client::Client(int socket, int rank, int ranks) : socket_(socket), rank_(rank), ranks_(ranks) {
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
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
        ssize_t got = read(socket_, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw system_error("cannot read from the launcher (PMI)");
        if (got == 0) throw Error("the launcher has closed its connection (PMI)");
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
        if (got < 0) throw system_error("cannot write to the launcher (PMI)");
        sent += static_cast<std::size_t>(got);
    }
    if (expected.empty()) return {};
    std::string answer = read_line();
    std::string status = value_of(answer, "rc");
    if (value_of(answer, "cmd") != expected || (!status.empty() && status != "0"))
        throw Error("the launcher answers \"" + answer + "\" to \"" + request + "\" (PMI)");
    return answer;
}

bool Client::one_host() {
    // "(vector,(first node,nodes,ranks each),...)"; absent with launchers of one host.
    std::string mapping;
    try {
        mapping = get("PMI_process_mapping");
    } catch (const Error &) {
        return true;
    }
    int nodes = 1, first = 0, each = 0;
    if (std::sscanf(mapping.c_str(), "(vector,(%d,%d,%d)", &first, &nodes, &each) != 3) return true;
    return nodes == 1 && mapping.find("),(") == std::string::npos;
}

void Client::put(const std::string &key, const std::string &value) {
    ask("cmd=put kvsname=" + space_ + " key=" + key + " value=" + value, "put_result");
}

std::string Client::get(const std::string &key) {
    return value_of(ask("cmd=get kvsname=" + space_ + " key=" + key, "get_result"), "value");
}

void Client::barrier() {
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

void Client::abort(int code) {
    try {
        ask("cmd=abort exitcode=" + std::to_string(code), "");
    } catch (const Error &) {}
}

Client *connect() {
    const char *socket = std::getenv("PMI_FD");
    const char *rank = std::getenv("PMI_RANK");
    const char *ranks = std::getenv("PMI_SIZE");
    if (!socket || !rank || !ranks) return nullptr;
    return new Client(std::atoi(socket), std::atoi(rank), std::atoi(ranks)); // as long as the process
}

} // namespace volley::pmi
