// SPDX-License-Identifier: BSD-3-Clause
// Datatypes and operations that are freed while operations with them are pending: these go on as if they were not
// (MPI 5.0, section 5.1.9).
#include "../check.h"

#include <algorithm>
#include <functional>
#include <string>

namespace {

MPI_Comm world;
constexpr std::size_t strides[] = {10, 50000};

int right() {
    return (world_rank + 1) % world_size;
}
int left() {
    return (world_rank + world_size - 1) % world_size;
}

/// Every second of 2 * `blocks` numbers.
MPI_Datatype every_second(std::size_t blocks) {
    MPI_Datatype type;
    MPI_Type_vector(static_cast<int>(blocks), 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/// Frees it, and has its memory used for others of another layout.
void free_and_reuse(MPI_Datatype &type) {
    MPI_Type_free(&type);
    std::vector<MPI_Datatype> others(20);
    for (std::size_t i = 0; i < others.size(); i++) {
        MPI_Type_vector(static_cast<int>(i + 3), 2, 5, MPI_SHORT, &others[i]);
        MPI_Type_commit(&others[i]);
    }
    for (MPI_Datatype &other : others) MPI_Type_free(&other);
}

/// One round: buffers with gaps of which every second number is sent.
struct Round {
    explicit Round(std::size_t numbers, int parts = 1)
        : blocks(numbers), part(2 * numbers), out(part * static_cast<std::size_t>(parts)),
          in(part * static_cast<std::size_t>(parts), -1) {
        for (std::size_t i = 0; i < out.size(); i++) out[i] = value(world_rank, i % part);
    }
    static int value(int rank, std::size_t i) {
        return rank * 1000003 + static_cast<int>(i);
    }
    /// `in` has what `source` sent, and the gaps are as before.
    void check(const char *what, int source, int at = 0) const {
        const int *got = in.data() + part * static_cast<std::size_t>(at);
        for (std::size_t i = 0; i + 1 < part; i++) {
            int wanted = i % 2 == 0 ? value(source, i) : -1;
            if (got[i] == wanted) continue;
            std::fprintf(stderr, "rank %d: %s: number %zu of %zu is %d instead of %d\n", world_rank, what, i, part,
                         got[i], wanted);
            MPI_Abort(world, 3);
        }
    }

    std::size_t blocks, part;
    std::vector<int> out, in;
};

using Start = std::function<void(Round &, MPI_Datatype, MPI_Datatype, std::vector<MPI_Request> &)>;

/// Sends to the right and receives from the left, with a type for each that is freed before anything is waited for.
void test_messages(const char *what, const Start &start, bool persistent = false) {
    for (std::size_t blocks : strides) {
        Round round(blocks);
        MPI_Datatype send = every_second(blocks), receive = every_second(blocks);
        std::vector<MPI_Request> requests;
        start(round, send, receive, requests);
        free_and_reuse(send);
        free_and_reuse(receive);
        for (int times = 0; times < (persistent ? 2 : 1); times++) {
            if (persistent) std::ranges::fill(round.in, -1);
            if (persistent) MPI_Startall(static_cast<int>(requests.size()), requests.data());
            MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
            round.check(what, left());
        }
        if (persistent)
            for (MPI_Request &request : requests) MPI_Request_free(&request);
        MPI_Barrier(world);
    }
}

using Send = int (*)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

void test_point_to_point() {
    struct Kind {
        const char *name;
        Send send;
        bool persistent;
    };
    for (Kind kind : {Kind{"MPI_Isend", MPI_Isend, false},
                      {"MPI_Issend", MPI_Issend, false},
                      {"MPI_Ibsend", MPI_Ibsend, false},
                      {"MPI_Send_init", MPI_Send_init, true},
                      {"MPI_Ssend_init", MPI_Ssend_init, true},
                      {"MPI_Bsend_init", MPI_Bsend_init, true}})
        for (bool early : {false, true})
            test_messages(
                kind.name,
                [&](Round &round, MPI_Datatype send, MPI_Datatype receive, std::vector<MPI_Request> &requests) {
                    requests.resize(2);
                    auto post = [&] {
                        (kind.persistent ? MPI_Recv_init : MPI_Irecv)(round.in.data(), 1, receive, left(), 1, world,
                                                                      &requests[0]);
                    };
                    if (early) post();
                    kind.send(round.out.data(), 1, send, right(), 1, world, &requests[1]);
                    if (!early) post();
                },
                kind.persistent);
    test_messages("MPI_Isendrecv",
                  [](Round &round, MPI_Datatype send, MPI_Datatype receive, std::vector<MPI_Request> &requests) {
                      requests.resize(1);
                      MPI_Isendrecv(round.out.data(), 1, send, right(), 2, round.in.data(), 1, receive, left(), 2,
                                    world, &requests[0]);
                  });
    test_messages("MPI_Imrecv",
                  [](Round &round, MPI_Datatype send, MPI_Datatype receive, std::vector<MPI_Request> &requests) {
                      requests.resize(2);
                      MPI_Isend(round.out.data(), 1, send, right(), 3, world, &requests[0]);
                      MPI_Message found;
                      MPI_Mprobe(left(), 3, world, &found, MPI_STATUS_IGNORE);
                      MPI_Imrecv(round.in.data(), 1, receive, &found, &requests[1]);
                  });
}

/// `begin` starts or initialises an operation in which each rank gets a part from each, or one from rank 0.
void test_collective(const char *what, bool persistent, bool from_all,
                     const std::function<void(Round &, MPI_Datatype, MPI_Datatype, MPI_Request *)> &begin) {
    for (std::size_t blocks : strides) {
        Round round(blocks, world_size);
        MPI_Datatype send = every_second(blocks), receive = every_second(blocks);
        for (MPI_Datatype *type : {&send, &receive}) {
            MPI_Datatype whole;
            MPI_Type_create_resized(*type, 0, static_cast<MPI_Aint>(round.part * sizeof(int)), &whole);
            MPI_Type_commit(&whole);
            MPI_Type_free(type);
            *type = whole;
        }
        MPI_Request request = MPI_REQUEST_NULL;
        begin(round, send, receive, &request);
        free_and_reuse(send);
        free_and_reuse(receive);
        for (int times = 0; times < (persistent ? 2 : 1); times++) {
            if (persistent) std::ranges::fill(round.in, -1);
            if (persistent) MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int from = 0; from < (from_all ? world_size : 1); from++) round.check(what, from, from);
            MPI_Barrier(world);
        }
        if (persistent) MPI_Request_free(&request);
    }
}

void test_collectives(bool persistent) {
    std::string kind = persistent ? "persistent " : "nonblocking ";
    auto test = [&](const char *name, bool from_all, const auto &begin) {
        test_collective((kind + name).c_str(), persistent, from_all, begin);
    };
    test("allgather", true, [&](Round &round, MPI_Datatype send, MPI_Datatype receive, MPI_Request *request) {
        if (persistent)
            MPI_Allgather_init(round.out.data(), 1, send, round.in.data(), 1, receive, world, MPI_INFO_NULL, request);
        else
            MPI_Iallgather(round.out.data(), 1, send, round.in.data(), 1, receive, world, request);
    });
    test("alltoall", true, [&](Round &round, MPI_Datatype send, MPI_Datatype receive, MPI_Request *request) {
        if (persistent)
            MPI_Alltoall_init(round.out.data(), 1, send, round.in.data(), 1, receive, world, MPI_INFO_NULL, request);
        else
            MPI_Ialltoall(round.out.data(), 1, send, round.in.data(), 1, receive, world, request);
    });
    test("alltoallw", true, [&](Round &round, MPI_Datatype send, MPI_Datatype receive, MPI_Request *request) {
        auto ranks = static_cast<std::size_t>(world_size);
        static std::vector<int> ones, places; // the arrays must stay
        static std::vector<MPI_Datatype> sends, receives;
        ones.assign(ranks, 1);
        places.clear();
        for (std::size_t i = 0; i < ranks; i++) places.push_back(static_cast<int>(i * round.part * sizeof(int)));
        sends.assign(ranks, send);
        receives.assign(ranks, receive);
        if (persistent)
            MPI_Alltoallw_init(round.out.data(), ones.data(), places.data(), sends.data(), round.in.data(), ones.data(),
                               places.data(), receives.data(), world, MPI_INFO_NULL, request);
        else
            MPI_Ialltoallw(round.out.data(), ones.data(), places.data(), sends.data(), round.in.data(), ones.data(),
                           places.data(), receives.data(), world, request);
    });
    test("scatter", false, [&](Round &round, MPI_Datatype send, MPI_Datatype receive, MPI_Request *request) {
        if (persistent)
            MPI_Scatter_init(round.out.data(), 1, send, round.in.data(), 1, receive, 0, world, MPI_INFO_NULL, request);
        else
            MPI_Iscatter(round.out.data(), 1, send, round.in.data(), 1, receive, 0, world, request);
    });
}

void add(void *in, void *inout, int *count, MPI_Datatype *) {
    for (int i = 0; i < 2 * *count; i++) static_cast<int *>(inout)[i] += static_cast<int *>(in)[i];
}

/// A user's operation on pairs; both are freed.
void test_reductions(bool persistent) {
    for (int pairs : {3, 100000}) {
        MPI_Datatype pair;
        MPI_Op operation;
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        MPI_Op_create(add, 1, &operation);
        std::vector<int> out(static_cast<std::size_t>(2 * pairs), world_rank + 1), in(out.size());
        MPI_Request request;
        if (persistent)
            MPI_Allreduce_init(out.data(), in.data(), pairs, pair, operation, world, MPI_INFO_NULL, &request);
        else
            MPI_Iallreduce(out.data(), in.data(), pairs, pair, operation, world, &request);
        MPI_Op_free(&operation);
        free_and_reuse(pair);
        for (int times = 0; times < (persistent ? 2 : 1); times++) {
            if (persistent) MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int sum : in) CHECK(sum == world_size * (world_size + 1) / 2);
        }
        if (persistent) MPI_Request_free(&request);
    }
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    test_point_to_point();
    for (bool persistent : {false, true}) {
        test_collectives(persistent);
        test_reductions(persistent);
    }
    void *buffer;
    int size;
    MPI_Buffer_detach(&buffer, &size);
    return 0;
}
