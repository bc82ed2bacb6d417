// SPDX-License-Identifier: BSD-3-Clause
// hello [ENDING]: says where each rank runs, and ends in that way: abort, signal, wait, early (before MPI_Init), read
// (standard input), receive (rank 0 waits for a message that never comes, the others outside MPI).
#include "../check.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

int main(int count, char **arguments) {
    const std::string ending = count > 1 ? arguments[1] : "";
    const char *own = std::getenv("VOLLEY_RANK");
    if (ending == "early" && own != nullptr && std::string(own) == "1") return 3;
    MPI_Init(nullptr, nullptr);
    int rank = 0, ranks = 0, length = 0;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_processor_name(name, &length);
    std::printf("rank %d of %d on %s\n", rank, ranks, name);
    std::fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    const bool last = rank == ranks - 1;
    if (ending == "abort" && last) MPI_Abort(MPI_COMM_WORLD, 7);
    if (ending == "signal" && last) std::raise(SIGSEGV);
    if (ending == "receive" && rank == 0) MPI_Recv(name, 1, MPI_CHAR, ranks - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (ending == "receive" || ending == "wait" || ending == "abort" || ending == "signal")
        while (true) pause();
    if (ending == "read" && rank == 0) {
        std::size_t all = 0, got = 0;
        std::vector<char> bytes(1000);
        while ((got = std::fread(bytes.data(), 1, bytes.size(), stdin)) > 0) all += got;
        std::printf("read %zu bytes\n", all);
    }
    MPI_Comm on_node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &on_node);
    int neighbours = 0, all = 0;
    MPI_Comm_size(on_node, &neighbours);
    const int leads = rank == 0 ? neighbours : 0;
    MPI_Allreduce(&leads, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all >= 1);
    if (rank == 0) std::printf("%d ranks share the memory of rank 0\n", all);
    MPI_Comm_free(&on_node);
    MPI_Finalize();
    return 0;
}
