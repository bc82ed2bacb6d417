// SPDX-License-Identifier: BSD-3-Clause
/// What many sends under way cost: rank 0 begins N of them, rank 1 receives them in the order of the tags or in
/// reverse. Seconds for all; they ought to grow as N does.
///
///     mpicxx -std=c++20 -O2 outstanding.cpp -o outstanding && mpiexec -n 2 ./outstanding
#include <mpi.h>

#include <cstdio>
#include <vector>

namespace {

using StartSend = int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

double run(StartSend start_send, int messages, int bytes, bool reversed) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::vector<char> data(static_cast<std::size_t>(bytes));
    std::vector<MPI_Request> requests(static_cast<std::size_t>(messages));
    MPI_Barrier(MPI_COMM_WORLD);
    const double began = MPI_Wtime();
    for (int i = 0; i < messages; i++) {
        MPI_Request *request = &requests[static_cast<std::size_t>(i)];
        if (rank == 0)
            start_send(data.data(), bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, request);
        else
            MPI_Irecv(data.data(), bytes, MPI_BYTE, 0, reversed ? messages - 1 - i : i, MPI_COMM_WORLD, request);
    }
    MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - began;
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int messages : {1000, 5000, 20000}) {
        for (bool reversed : {false, true}) {
            const double synchronous = run(MPI_Issend, messages, 8, reversed);
            const double large = run(MPI_Isend, messages, 70000, reversed);
            if (rank == 0)
                std::printf("%6d sends, received %s: MPI_Issend of 8 bytes %.4f s, MPI_Isend of 70,000 bytes %.4f s\n",
                            messages, reversed ? "in reverse" : "in order  ", synchronous, large);
        }
    }
    MPI_Finalize();
}
