// SPDX-License-Identifier: BSD-3-Clause
/// Messages between a job and one that it has started: `messages memory|tcp PROCESSES`. All kinds of them, and whether
/// they have gone through memory or by TCP, as the first argument says.
#include "../check.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>

namespace {

MPI_Comm inter; ///< between parents and children
bool is_parent;
int remote;

/// What TCP has carried since this was made.
class TcpCounters {
  public:
    TcpCounters() {
        CHECK(MPI_T_pvar_session_create(&session_) == MPI_SUCCESS);
        find("volley_tcp_connections", MPI_T_PVAR_CLASS_LEVEL, connections_);
        find("volley_tcp_bytes_sent", MPI_T_PVAR_CLASS_COUNTER, sent_);
        CHECK(MPI_T_pvar_start(session_, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    }
    void expect(bool by_memory) const {
        if (by_memory)
            CHECK(value_of(connections_) == 0 && value_of(sent_) == 0);
        else
            CHECK(value_of(connections_) > 0 && value_of(sent_) > 0);
    }

  private:
    void find(const char *name, int var_class, MPI_T_pvar_handle &handle) {
        int index = -1, count = 0;
        CHECK(MPI_T_pvar_get_index(name, var_class, &index) == MPI_SUCCESS);
        CHECK(MPI_T_pvar_handle_alloc(session_, index, nullptr, &handle, &count) == MPI_SUCCESS);
    }
    unsigned long long value_of(MPI_T_pvar_handle handle) const {
        unsigned long long value = 0;
        CHECK(MPI_T_pvar_read(session_, handle, &value) == MPI_SUCCESS);
        return value;
    }

    MPI_T_pvar_session session_;
    MPI_T_pvar_handle connections_, sent_;
};

int length(std::size_t bytes) {
    return static_cast<int>(bytes);
}

/// What a process of one side sends to one of the other.
std::vector<unsigned char> data_of(bool of_parent, int rank, std::size_t bytes) {
    return message(rank + (of_parent ? 0 : 50), static_cast<int>(bytes % 1000), bytes);
}

/// One way and then the other, the receive posted before or after.
void all_lengths(int peer) {
    for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{40}, std::size_t{1000}, std::size_t{16384},
                              std::size_t{16385}, std::size_t{65536}, std::size_t{65537}, std::size_t{300'000},
                              std::size_t{1} << 20, (std::size_t{8} << 20) + 3}) {
        const auto out = data_of(is_parent, world_rank, bytes), expected = data_of(!is_parent, peer, bytes);
        std::vector<unsigned char> in(bytes);
        for (bool is_early : {true, false}) {
            MPI_Request request;
            if (is_early) MPI_Irecv(in.data(), length(bytes), MPI_BYTE, peer, 1, inter, &request);
            MPI_Request send;
            MPI_Isend(out.data(), length(bytes), MPI_BYTE, peer, 1, inter, &send);
            if (!is_early) {
                MPI_Status status;
                MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &status);
                int count;
                MPI_Get_count(&status, MPI_BYTE, &count);
                CHECK(status.MPI_SOURCE == peer && count == length(bytes));
                MPI_Irecv(in.data(), length(bytes), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &request);
            }
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
            CHECK(in == expected);
            std::ranges::fill(in, 0);
        }
    }
}

/// Every second number goes, and comes into every third place.
void scattered(int peer) {
    constexpr int most = 300'000;
    for (int numbers : {10, 5000, most}) {
        MPI_Datatype every_second, every_third;
        MPI_Type_vector(numbers, 1, 2, MPI_INT, &every_second);
        MPI_Type_vector(numbers, 1, 3, MPI_INT, &every_third);
        MPI_Type_commit(&every_second);
        MPI_Type_commit(&every_third);
        std::vector<int> out(static_cast<std::size_t>(2 * numbers)), in(static_cast<std::size_t>(3 * numbers), -1);
        for (std::size_t i = 0; i < out.size(); i++) out[i] = static_cast<int>(i);
        MPI_Sendrecv(out.data(), 1, every_second, peer, 2, in.data(), 1, every_third, peer, 2, inter,
                     MPI_STATUS_IGNORE);
        for (int i = 0; i < numbers; i++) CHECK(in[static_cast<std::size_t>(3 * i)] == 2 * i);
        CHECK(in[1] == -1);
        MPI_Type_free(&every_second);
        MPI_Type_free(&every_third);
    }
}

/// More than anything holds on the way, to receivers that come late; in order, whatever the length.
void floods(int peer) {
    constexpr int messages = 3000;
    constexpr std::size_t longest = 70'000;
    std::vector<MPI_Request> requests(messages);
    std::vector<unsigned char> out(longest, 1), in(longest);
    for (int i = 0; i < messages; i++) {
        const int bytes = i % 50 == 0 ? length(longest) : i % 7 == 0 ? 5000 : 4 + i % 40;
        MPI_Isend(out.data(), bytes, MPI_BYTE, peer, 10 + i, inter, &requests[static_cast<std::size_t>(i)]);
    }
    if (is_parent) usleep(200'000);
    for (int i = 0; i < messages; i++) {
        MPI_Status status;
        MPI_Recv(in.data(), length(longest), MPI_BYTE, peer, MPI_ANY_TAG, inter, &status);
        CHECK(status.MPI_TAG == 10 + i);
        if (!is_parent && i % 1000 == 0) usleep(50'000);
    }
    MPI_Waitall(messages, requests.data(), MPI_STATUSES_IGNORE);
    std::vector<std::vector<unsigned char>> large(24, std::vector<unsigned char>(1 << 20));
    requests.resize(2 * large.size());
    const auto data = data_of(is_parent, world_rank, 1 << 20), expected = data_of(!is_parent, peer, 1 << 20);
    for (std::size_t i = 0; i < large.size(); i++) {
        MPI_Isend(data.data(), 1 << 20, MPI_BYTE, peer, 5, inter, &requests[i]);
        MPI_Irecv(large[i].data(), 1 << 20, MPI_BYTE, peer, 5, inter, &requests[large.size() + i]);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (const auto &one : large) CHECK(one == expected);
}

/// The receiver sleeps when a message comes, and the sender of a long one when there is room again.
void sleepers(int peer) {
    std::vector<unsigned char> data(4 << 20);
    for (std::size_t bytes : {std::size_t{8}, data.size()}) {
        for (bool parent_sends : {true, false}) {
            if (is_parent == parent_sends) {
                usleep(150'000);
                MPI_Send(data.data(), length(bytes), MPI_BYTE, peer, 3, inter);
                MPI_Send(data.data(), 1, MPI_BYTE, peer, 3, inter);
            } else {
                MPI_Recv(data.data(), length(bytes), MPI_BYTE, peer, 3, inter, MPI_STATUS_IGNORE);
                usleep(150'000);
                MPI_Recv(data.data(), 1, MPI_BYTE, peer, 3, inter, MPI_STATUS_IGNORE);
            }
        }
    }
}

/// Sends that complete only when they are received, and one that is taken back.
void synchronous(int peer) {
    int out = world_rank, in = -1, flag = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Issend(&out, 1, MPI_INT, peer, 4, inter, &request);
    MPI_Barrier(inter);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Barrier(inter);
    MPI_Message probed;
    MPI_Mprobe(peer, 4, inter, &probed, &status);
    MPI_Mrecv(&in, 1, MPI_INT, &probed, MPI_STATUS_IGNORE);
    CHECK(in == peer);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Issend(&out, 1, MPI_INT, peer, 6, inter, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Barrier(inter);
    MPI_Iprobe(peer, 6, inter, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
}

/// From whom a message comes is known when it has come.
void from_anybody() {
    std::vector<int> out(static_cast<std::size_t>(remote), world_rank), seen(out.size());
    std::vector<MPI_Request> requests(out.size());
    for (std::size_t peer = 0; peer < out.size(); peer++)
        MPI_Isend(&out[peer], 1, MPI_INT, static_cast<int>(peer), 8, inter, &requests[peer]);
    for (int i = 0; i < remote; i++) {
        int in = -1;
        MPI_Status status;
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 8, inter, &status);
        CHECK(in == status.MPI_SOURCE);
        seen[static_cast<std::size_t>(in)]++;
    }
    CHECK(std::ranges::count(seen, 1) == remote);
    MPI_Waitall(remote, requests.data(), MPI_STATUSES_IGNORE);
}

/// Several threads of both ends, each with its own messages; some of them sleep.
void threads(int peer) {
    std::vector<std::thread> started;
    for (int number = 0; number < 3; number++)
        started.emplace_back([=] {
            for (int round = 0; round < 300; round++) {
                int out = 1000 * number + round, in = -1;
                if (round % 100 == 50 * number && is_parent) usleep(20'000);
                MPI_Sendrecv(&out, 1, MPI_INT, peer, 20 + number, &in, 1, MPI_INT, peer, 20 + number, inter,
                             MPI_STATUS_IGNORE);
                CHECK(in == out);
            }
        });
    for (std::thread &one : started) one.join();
}

} // namespace

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    const TcpCounters counters;
    MPI_Comm_get_parent(&inter);
    is_parent = inter == MPI_COMM_NULL;
    if (is_parent)
        MPI_Comm_spawn(argv[0], argv + 1, std::atoi(argv[2]), MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
    MPI_Comm_remote_size(inter, &remote);
    from_anybody();
    if (world_rank < std::min(world_size, remote)) { // each with one of the other side
        all_lengths(world_rank);
        scattered(world_rank);
        floods(world_rank);
        sleepers(world_rank);
    }
    if (world_size == remote) {
        synchronous(world_rank);
        threads(world_rank);
    }
    MPI_Barrier(inter); // what has been sent has arrived
    counters.expect(std::string(argv[1]) == "memory");
    MPI_Comm_disconnect(&inter);
    if (is_parent) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (world_rank == 0) std::puts("good");
    }
    MPI_T_finalize();
    MPI_Finalize();
}
