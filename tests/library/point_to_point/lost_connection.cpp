// SPDX-License-Identifier: BSD-3-Clause
/// By TCP only: while rank 0 waits for the data of a message, rank 1 is killed ("kill"), or loses all its connections
/// ("shut"). Either ends the job.
#include <mpi.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <cstring>
#include <vector>

namespace {

void shut_connections() {
    for (int descriptor = 3; descriptor < 1024; descriptor++) {
        sockaddr_in address{};
        socklen_t bytes = sizeof address;
        if (getpeername(descriptor, reinterpret_cast<sockaddr *>(&address), &bytes) == 0 &&
            address.sin_family == AF_INET)
            shutdown(descriptor, SHUT_RDWR);
    }
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<char> buffer(1 << 20);
    int count = static_cast<int>(buffer.size());
    if (rank == 0) {
        MPI_Recv(buffer.data(), count, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(buffer.data(), count, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(buffer.data(), count, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
        if (argc > 1 && std::strcmp(argv[1], "kill") == 0) std::raise(SIGKILL);
        shut_connections();
        MPI_Send(buffer.data(), count, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
