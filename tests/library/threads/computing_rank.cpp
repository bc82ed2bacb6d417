// SPDX-License-Identifier: BSD-3-Clause
// computing_rank WHAT FIFO: rank 0 leaves MPI until rank 1 has opened the FIFO, which rank 1 does once it has what it
// waits for. So rank 0 has to take part without calling MPI: in a lock of its window, a message that waits for its
// receiver, or a non-blocking collective operation.
#include "../check.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int large = 4 << 20;

/// Returns when the other rank has opened it, too.
void meet_at(const char *fifo, int how) {
    const int file = open(fifo, how);
    CHECK(file >= 0);
    close(file);
}

struct Ranks {
    int own;
    const char *fifo;

    bool computes() const {
        return own == 0;
    }
    /// Rank 0 leaves MPI for that long.
    void compute() const {
        meet_at(fifo, O_RDONLY);
    }
    void say_done() const {
        meet_at(fifo, O_WRONLY);
    }
};

void lock_a_window(const Ranks &ranks) {
    int *memory = nullptr;
    MPI_Win window;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    *memory = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (ranks.computes()) {
        ranks.compute();
    } else {
        for (int round = 1; round <= 100; round++) {
            int got = -1;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Put(&round, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
            MPI_Win_flush(0, window);
            MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
            MPI_Win_unlock(0, window);
            CHECK(got == round);
        }
        ranks.say_done();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, ranks.own, 0, window);
    CHECK(!ranks.computes() || *memory == 100);
    MPI_Win_unlock(ranks.own, window);
    MPI_Win_free(&window);
}

void send_what_waits_for_its_receiver(const Ranks &ranks) {
    std::vector<char> data(large, static_cast<char>(1 + ranks.own));
    MPI_Barrier(MPI_COMM_WORLD);
    if (ranks.computes()) {
        MPI_Request request;
        MPI_Isend(data.data(), large, MPI_CHAR, 1, 7, MPI_COMM_WORLD, &request);
        ranks.compute();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(data.data(), large, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(data.front() == 1 && data.back() == 1);
        ranks.say_done();
    }
}

void reduce(const Ranks &ranks) {
    std::vector<int> own(100'000, 1 + ranks.own), sum(own.size());
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iallreduce(own.data(), sum.data(), static_cast<int>(own.size()), MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (ranks.computes()) ranks.compute();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum.front() == 3 && sum.back() == 3);
    if (!ranks.computes()) ranks.say_done();
}

} // namespace

int main(int, char **arguments) {
    int level = -1;
    MPI_Init(nullptr, nullptr);
    MPI_Query_thread(&level);
    CHECK(level == MPI_THREAD_SINGLE); // the thread is no affair of the program
    Ranks ranks{.own = 0, .fifo = arguments[2]};
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.own);
    const std::string what = arguments[1];
    if (what == "window") lock_a_window(ranks);
    if (what == "message") send_what_waits_for_its_receiver(ranks);
    if (what == "reduction") reduce(ranks);
    MPI_Finalize();
    if (ranks.own == 0) std::puts("good");
    return 0;
}
