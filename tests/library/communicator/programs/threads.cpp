// SPDX-License-Identifier: BSD-3-Clause
// Threads of all processes make communicators at the same time: each pair of threads has a communicator, a tag or a
// name of its own, as the standard wants it.
#include "check.h"

#include <string>
#include <thread>

namespace {

constexpr int thread_count = 4;

void make_communicators(MPI_Comm own, int number) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    std::string name = "thread " + std::to_string(number);
    for (int i = 0; i < 50; i++) {
        MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL, third = MPI_COMM_NULL;
        MPI_Comm_dup(own, &first);
        MPI_Comm_create_group(MPI_COMM_WORLD, group, number, &second);
        MPI_Comm_create_from_group(group, name.c_str(), MPI_INFO_NULL, MPI_ERRORS_RETURN, &third);
        check_ring(first);
        check_ring(second);
        check_ring(third);
        for (MPI_Comm *made : {&first, &second, &third}) MPI_Comm_free(made);
    }
    MPI_Group_free(&group);
}

} // namespace

int main(int argc, char **argv) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm own[thread_count];
    for (MPI_Comm &communicator : own) MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    std::thread threads[thread_count];
    for (int i = 0; i < thread_count; i++) threads[i] = std::thread(make_communicators, own[i], i);
    for (std::thread &thread : threads) thread.join();
    for (MPI_Comm &communicator : own) MPI_Comm_free(&communicator);
    MPI_Finalize();
}
