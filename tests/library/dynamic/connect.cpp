// SPDX-License-Identifier: BSD-3-Clause
/// Two jobs: `accept FILE` opens a port, writes its name to FILE, and accepts; `connect FILE` waits for that name.
/// Several times, with roots other than 0, with all processes and with one of each. What connections took comes back:
/// after each disconnection a rank has as many descriptors as before.
#include "meeting.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

constexpr int rounds = 4;
/// What stays once a rank has been connected: a set of descriptors, a socket to wait at, one for connections by TCP and
/// one for those of this host, and the memory by which other jobs wake it.
constexpr long lasting_descriptors = 5;

void write_name(const std::string &path, const char *name) {
    std::ofstream(path + ".new") << name << '\n';
    std::rename((path + ".new").c_str(), path.c_str());
}

std::string read_name(const std::string &path) {
    std::string name;
    while (!(std::ifstream(path) >> name)) usleep(1000); // the other job has not come so far
    return name;
}

long open_descriptors() {
    return std::ranges::distance(std::filesystem::directory_iterator("/proc/self/fd"));
}

/// The other side ends its connections in its own time.
void wait_for_descriptors(long wanted) {
    for (int flag; open_descriptors() > wanted;)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    const std::string role = argv[1], path = argv[2];
    const bool accepts = role == "accept";
    const int root = world_size - 1;
    char port[MPI_MAX_PORT_NAME] = "";
    if (world_rank == root) {
        if (accepts) {
            MPI_Open_port(MPI_INFO_NULL, port);
            write_name(path, port);
        } else {
            read_name(path).copy(port, sizeof port - 1);
        }
    }
    // All connections within the job are there, if there are any.
    std::vector<int> out(static_cast<std::size_t>(world_size)), in(out.size());
    MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int peer = 0; peer < world_size; peer++)
        MPI_Sendrecv(out.data(), 1, MPI_INT, peer, 0, in.data(), 1, MPI_INT, peer, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    const long descriptors = open_descriptors();
    for (int round = 0; round < rounds; round++) {
        MPI_Comm inter;
        if (accepts)
            MPI_Comm_accept(port, MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter);
        else
            MPI_Comm_connect(port, MPI_INFO_NULL, root, MPI_COMM_WORLD, &inter);
        use(inter, accepts);
        MPI_Comm_disconnect(&inter);
        CHECK(inter == MPI_COMM_NULL);
        wait_for_descriptors(descriptors + lasting_descriptors);
    }
    if (world_rank == root) { // one process of each; they are not disconnected
        MPI_Comm inter;
        if (accepts)
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        else
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
        use(inter, accepts);
        if (accepts) MPI_Close_port(port);
    }
}
