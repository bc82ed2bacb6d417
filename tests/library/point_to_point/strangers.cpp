// SPDX-License-Identifier: BSD-3-Clause
/// strangers N: by TCP only, others connect to the ports where ranks take connections while these exchange messages. N
/// at each port say nothing, some talk nonsense, some begin as ranks do (boot/proof/handshake.h), but belong to no job,
/// or say half of it. All messages arrive, and whoever talks is closed without an answer.
#include <mpi.h>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int messages = 300;
constexpr int most_kept = 64;       ///< of those who say nothing
constexpr rlim_t descriptors = 200; ///< that a rank has, if it is not the one that connects
constexpr int patience_ms = 10000;

[[noreturn]] void end(const char *what) {
    std::fprintf(stderr, "strangers: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    __builtin_unreachable();
}

/// Where this process takes connections.
int own_port() {
    for (int descriptor = 3; descriptor < 1024; descriptor++) {
        int listens = 0;
        socklen_t bytes = sizeof listens;
        sockaddr_in address{};
        if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0 || listens == 0) continue;
        bytes = sizeof address;
        getsockname(descriptor, reinterpret_cast<sockaddr *>(&address), &bytes);
        if (address.sin_family != AF_INET) continue;
        if (ntohl(address.sin_addr.s_addr) != INADDR_LOOPBACK) end("the port is open to other machines");
        return ntohs(address.sin_port);
    }
    end("there is no port where this rank takes connections");
}

int connected(int port) {
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(made, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0) end("cannot connect");
    return made;
}

/// As a rank begins, of a job that nobody knows.
std::string false_introduction() {
    const std::uint64_t magic = 0x0159'454c'4c4f'5600, protocol = 0x0450'4354'4c4f'5600;
    std::string introduction(88, 'x');
    std::memcpy(introduction.data(), &magic, sizeof magic);
    std::memcpy(introduction.data() + sizeof magic, &protocol, sizeof protocol);
    return introduction;
}

void limit_descriptors(bool connects) {
    rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = connects ? limit.rlim_max : descriptors;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/// Messages of all lengths to the next rank in the ring, and back.
void traffic(int rank, int ranks) {
    for (int i = 0; i < messages; i++) {
        std::vector<int> out(static_cast<std::size_t>(1 << i % 18), rank + i), in(out.size());
        int count = static_cast<int>(out.size()), from = (rank + ranks - 1) % ranks;
        MPI_Sendrecv(out.data(), count, MPI_INT, (rank + 1) % ranks, i, in.data(), count, MPI_INT, from, i,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int value : in)
            if (value != from + i) end("a message is not what was sent");
    }
}

/// While all ranks are in MPI the connection is closed, and nothing comes out of it before.
bool is_closed(int stranger, int rank) {
    pollfd watched{.fd = stranger, .events = POLLIN, .revents = 0};
    char byte;
    int flag;
    for (int waited = 0; waited < patience_ms; waited++) {
        if (poll(&watched, 1, 1) > 0) return recv(stranger, &byte, 1, 0) <= 0;
        MPI_Iprobe(rank, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
    return false;
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const int silent_for_each = argc > 1 ? std::atoi(argv[1]) : 0;
    int rank, ranks, flag;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    std::vector<int> ports(static_cast<std::size_t>(ranks)), silent, loud;
    int port = own_port();
    limit_descriptors(rank == 0);
    MPI_Gather(&port, 1, MPI_INT, ports.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        const std::vector<std::string> words = {"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: everything\r\n\r\n",
                                                std::string(100000, '\0'), false_introduction()};
        for (int to : ports) {
            for (int i = 0; i < silent_for_each; i++) {
                silent.push_back(connected(to));
                MPI_Iprobe(rank, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); // its own port is among them
            }
            for (const std::string &word : words) {
                loud.push_back(connected(to));
                if (send(loud.back(), word.data(), word.size(), MSG_NOSIGNAL) < 0) end("cannot talk");
            }
            silent.push_back(connected(to));
            if (send(silent.back(), words[2].data(), 47, MSG_NOSIGNAL) < 0) end("cannot talk");
            close(connected(to));
        }
    }
    traffic(rank, ranks);
    MPI_Request all_closed;
    if (rank == 0) {
        for (int stranger : loud)
            if (!is_closed(stranger, 0)) end("one that talked nonsense was not closed, or got an answer");
        int open = 0;
        for (int stranger : silent) {
            pollfd watched{.fd = stranger, .events = POLLIN, .revents = 0};
            open += poll(&watched, 1, 0) == 0;
        }
        if (open > most_kept * ranks) end("too many of those who say nothing are kept");
        for (int stranger : silent)
            if (!is_closed(stranger, 0)) end("one that said nothing was not closed, or got an answer");
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &all_closed);
    MPI_Wait(&all_closed, MPI_STATUS_IGNORE);
    traffic(rank, ranks);
    MPI_Finalize();
    if (rank == 0) std::puts("good");
    return 0;
}
