// SPDX-License-Identifier: BSD-3-Clause
/// What it costs to find the message a receive wants, and the receive a message is for, among few and among many.
/// Nothing has data; in reverse means that what came last is asked for first.
///
///     mpicxx -std=c++20 -O2 matching.cpp -o matching && mpiexec -n 2 ./matching [ENTRIES [TAGS]]
///
/// Any MPI will do. Without arguments there are 100,000 entries of 1,000 tags; a library that walks along its queues
/// takes minutes.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

int rank, entries = 100000, tags = 1000;
constexpr int ready_tag = 32766; // MPI promises tags up to 32767

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void send_empty(int to, int tag) {
    MPI_Send(nullptr, 0, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

void receive_empty(int from, int tag) {
    MPI_Recv(nullptr, 0, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

struct Case {
    int entries, tags;
    int source;   ///< or MPI_ANY_SOURCE
    bool any_tag; ///< MPI_ANY_TAG
    bool reverse;
};

int tag_of(const Case &which, int entry) {
    return static_cast<int>(static_cast<long>(entry) * which.tags / which.entries);
}

/// The entry that is asked for as the `number`th.
int entry_of(const Case &which, int number) {
    return which.reverse ? which.entries - 1 - number : number;
}

/// Messages come before their receives: how long these take.
double unexpected(const Case &which) {
    if (rank == 1) {
        for (int entry = 0; entry < which.entries; entry++) send_empty(0, tag_of(which, entry));
        send_empty(0, ready_tag);
        MPI_Barrier(MPI_COMM_WORLD);
        return 0;
    }
    receive_empty(1, ready_tag); // the last: all others have come
    double start = now();
    for (int number = 0; number < which.entries; number++)
        receive_empty(which.source, which.any_tag ? MPI_ANY_TAG : tag_of(which, entry_of(which, number)));
    double seconds = now() - start;
    MPI_Barrier(MPI_COMM_WORLD);
    return seconds;
}

/// Receives come before their messages: from when these may be sent until the last is there.
double posted(const Case &which) {
    if (rank == 1) {
        receive_empty(0, ready_tag);
        for (int number = 0; number < which.entries; number++) send_empty(0, tag_of(which, entry_of(which, number)));
        MPI_Barrier(MPI_COMM_WORLD);
        return 0;
    }
    std::vector<MPI_Request> requests(static_cast<std::size_t>(which.entries));
    for (int entry = 0; entry < which.entries; entry++)
        MPI_Irecv(nullptr, 0, MPI_BYTE, which.source, which.any_tag ? MPI_ANY_TAG : tag_of(which, entry),
                  MPI_COMM_WORLD, &requests[static_cast<std::size_t>(entry)]);
    double start = now();
    send_empty(1, ready_tag);
    MPI_Waitall(which.entries, requests.data(), MPI_STATUSES_IGNORE);
    double seconds = now() - start;
    MPI_Barrier(MPI_COMM_WORLD);
    return seconds;
}

/// The fastest of some attempts.
double shortest(double (*run)(const Case &), const Case &which) {
    double best = 1e9;
    for (int attempt = 0; attempt < 3000; attempt++) {
        double seconds = run(which);
        if (seconds < best) best = seconds;
    }
    return best;
}

void show(const char *queue, const char *how, double seconds) {
    if (rank != 0) return;
    std::printf("%-10s  %-34s  %10.3f\n", queue, how, seconds);
    std::fflush(stdout);
}

void show_short(int length) {
    char text[64];
    std::snprintf(text, sizeof text, "%2d in reverse, ns each", length);
    Case few{.entries = length, .tags = length, .source = 1, .any_tag = false, .reverse = true};
    show("unexpected", text, shortest(unexpected, few) / length * 1e9);
    show("posted", text, shortest(posted, few) / length * 1e9);
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 1) entries = std::atoi(argv[1]);
    if (argc > 2) tags = std::atoi(argv[2]);
    if (ranks != 2 || entries < 1 || tags < 1 || tags >= ready_tag) {
        if (rank == 0) std::fprintf(stderr, "matching: mpiexec -n 2 ./matching [ENTRIES [TAGS]]\n");
        MPI_Finalize();
        return 2;
    }
    if (rank == 0) std::printf("%d entries, %d tags: seconds; and few entries: ns for each\n", entries, tags);
    for (int length : {1, 2, 4, 8, 16, 32, 64}) show_short(length);
    show("unexpected", "in order", unexpected({entries, tags, 1, false, false}));
    show("unexpected", "in reverse", unexpected({entries, tags, 1, false, true}));
    show("unexpected", "in reverse, any source", unexpected({entries, tags, MPI_ANY_SOURCE, false, true}));
    show("unexpected", "any tag", unexpected({entries, tags, 1, true, true}));
    show("posted", "in order", posted({entries, tags, 1, false, false}));
    show("posted", "in reverse", posted({entries, tags, 1, false, true}));
    show("posted", "in reverse, any source", posted({entries, tags, MPI_ANY_SOURCE, false, true}));
    show("posted", "any tag", posted({entries, tags, 1, true, true}));
    MPI_Finalize();
    return 0;
}
