// SPDX-License-Identifier: BSD-3-Clause
// A thread waits inside of MPI, entered when it was the only one. Then others start sessions of their own, in which
// they exchange messages, while it still waits; and call what may be called at any time.
//
//     late_session [unasked]   sessions ask for levels, the later ones for MPI_THREAD_MULTIPLE; or none asks for any
#include "check.h"

#include <mpi.h>

#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int later_sessions = 3;
constexpr int rounds = 300;
bool asks = true;

MPI_Session begin(const char *level) {
    MPI_Info info;
    MPI_Info_create(&info);
    if (asks) MPI_Info_set(info, "thread_level", level);
    MPI_Session session;
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
    return session;
}

MPI_Comm communicator_of(MPI_Session session, const std::string &name) {
    MPI_Group group;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm made;
    MPI_Comm_create_from_group(group, name.c_str(), MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    MPI_Group_free(&group);
    return made;
}

/// Messages small and large to the next rank and from the one before.
void exchange(MPI_Comm communicator, int number) {
    int rank, size;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    for (int round = 0; round < rounds; round++) {
        const int count = round % 10 == 0 ? 30000 : 10;
        std::vector<int> out(static_cast<std::size_t>(count), rank * 1000 + number), in(out.size());
        MPI_Request requests[2];
        MPI_Irecv(in.data(), count, MPI_INT, (rank + size - 1) % size, round, communicator, &requests[0]);
        MPI_Isend(out.data(), count, MPI_INT, (rank + 1) % size, round, communicator, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int value : in) CHECK(value == (rank + size - 1) % size * 1000 + number);
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_free(&info);
    }
}

void later_session(int number) {
    MPI_Session session = begin("MPI_THREAD_MULTIPLE");
    MPI_Comm communicator = communicator_of(session, "later " + std::to_string(number));
    exchange(communicator, number);
    MPI_Comm_free(&communicator);
    MPI_Session_finalize(&session);
}

} // namespace

int main(int argc, char **) {
    asks = argc == 1;
    MPI_Session session = begin("MPI_THREAD_FUNNELED");
    MPI_Comm communicator = communicator_of(session, "first");
    int rank, size;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    // Some messages wait unmatched, and this thread waits for all of them and one more, which a later thread sends.
    std::thread others([&] {
        std::vector<std::thread> threads;
        for (int number = 0; number < later_sessions; number++) threads.emplace_back(later_session, number);
        for (std::thread &thread : threads) thread.join();
        // Its own communicator: the waiting thread has the first one to itself.
        MPI_Session last = begin("MPI_THREAD_MULTIPLE");
        MPI_Comm all = communicator_of(last, "last");
        MPI_Barrier(all);
        MPI_Comm_free(&all);
        MPI_Session_finalize(&last);
    });
    for (int round = 0; round < 3 * rounds; round++) {
        int received = -1;
        MPI_Request request;
        MPI_Isend(&round, 1, MPI_INT, (rank + 1) % size, 0, communicator, &request);
        MPI_Recv(&received, 1, MPI_INT, (rank + size - 1) % size, 0, communicator, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(received == round);
    }
    // The others end while rank 0 sleeps here; nobody sends to it before.
    if (rank == 0 && size > 1) {
        int from_last = 0;
        MPI_Recv(&from_last, 1, MPI_INT, size - 1, 1, communicator, MPI_STATUS_IGNORE);
        CHECK(from_last == 17);
        others.join();
    } else {
        others.join();
        const int answer = 17;
        if (rank == size - 1 && size > 1) MPI_Send(&answer, 1, MPI_INT, 0, 1, communicator);
    }
    MPI_Barrier(communicator);
    MPI_Comm_free(&communicator);
    MPI_Session_finalize(&session);
    if (rank == 0) std::puts("good");
}
