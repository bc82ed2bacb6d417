// SPDX-License-Identifier: BSD-3-Clause
/// Many collective operations under way at once on one communicator and on its duplicate, between other messages.
#include "collective.h"

#include <array>
#include <memory>

struct Operation {
    std::vector<int> in, out;
    std::function<void()> verify;
};

static MPI_Comm comms[2];

static int value(int rank, int number, int i) {
    return rank * 1009 + number * 31 + i;
}

static std::unique_ptr<Operation> start(int number, MPI_Request *request) {
    auto operation = std::make_unique<Operation>();
    int count = any_count() / 4 + 1, root = draw(0, world_size - 1), kind = draw(0, 6), size = world_size;
    MPI_Comm comm = comms[draw(0, 1)];
    auto length = static_cast<std::size_t>(count * size);
    std::vector<int> &in = operation->in, &out = operation->out;
    in.resize(length);
    out.assign(length, untouched);
    for (std::size_t i = 0; i < length; ++i) in[i] = value(world_rank, number, static_cast<int>(i));
    auto look = [&out, number](int elements, auto wanted) {
        for (int i = 0; i < elements; ++i)
            expect(out[static_cast<std::size_t>(i)], wanted(i), "operation " + std::to_string(number), i);
    };
    auto sum = [=](int from, int to, int i) {
        int result = 0;
        for (int k = from; k < to; ++k) result += value(k, number, i);
        return result;
    };
    switch (kind) {
    case 0:
        if (world_rank == root) out = in;
        MPI_Ibcast(out.data(), count, MPI_INT, root, comm, request);
        operation->verify = [=] { look(count, [=](int i) { return value(root, number, i); }); };
        break;
    case 1:
        MPI_Iallreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm, request);
        operation->verify = [=] { look(count, [=](int i) { return sum(0, size, i); }); };
        break;
    case 2:
        MPI_Ialltoall(in.data(), count, MPI_INT, out.data(), count, MPI_INT, comm, request);
        operation->verify = [=] {
            look(count * size, [=](int i) { return value(i / count, number, world_rank * count + i % count); });
        };
        break;
    case 3:
        MPI_Iallgather(in.data(), count, MPI_INT, out.data(), count, MPI_INT, comm, request);
        operation->verify = [=] { look(count * size, [=](int i) { return value(i / count, number, i % count); }); };
        break;
    case 4:
        MPI_Iscan(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm, request);
        operation->verify = [=] { look(count, [=](int i) { return sum(0, world_rank + 1, i); }); };
        break;
    case 5:
        MPI_Ibarrier(comm, request);
        operation->verify = [] {};
        break;
    default:
        MPI_Igather(in.data(), count, MPI_INT, out.data(), count, MPI_INT, root, comm, request);
        operation->verify = [=] {
            if (world_rank == root) look(count * size, [=](int i) { return value(i / count, number, i % count); });
        };
        break;
    }
    return operation;
}

/// Requests of other kinds in between, waited for in orders that differ by rank.
static void round_of(int number) {
    constexpr int most = 12;
    std::array<MPI_Request, most + 2> requests;
    std::vector<std::unique_ptr<Operation>> operations;
    int count = draw(2, most), token = world_rank, got = -1;
    int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size;
    MPI_Irecv(&got, 1, MPI_INT, previous, 3, comms[0], &requests[0]);
    for (int i = 0; i < count; ++i)
        operations.push_back(start(number * most + i, &requests[static_cast<std::size_t>(i + 1)]));
    MPI_Isend(&token, 1, MPI_INT, next, 3, comms[0], &requests[static_cast<std::size_t>(count + 1)]);
    // A blocking one overtakes those under way.
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[1]);
    expect(sum, world_size, "MPI_Allreduce among others", 0);
    if (world_rank % 2 == 0) {
        MPI_Waitall(count + 2, requests.data(), MPI_STATUSES_IGNORE);
    } else {
        for (int left = count + 2; left > 0; --left) {
            int index;
            MPI_Waitany(count + 2, requests.data(), &index, MPI_STATUS_IGNORE);
        }
    }
    expect(got, previous, "the message in between", 0);
    for (auto &operation : operations) operation->verify();
}

/// Persistent operations started in different orders, several times.
static void persistent() {
    constexpr std::size_t number = 3;
    std::array<MPI_Request, number> requests;
    std::array<int, number> in{}, out{};
    MPI_Comm comm = comms[0];
    MPI_Allreduce_init(&in[0], &out[0], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Bcast_init(&out[1], 1, MPI_INT, world_size - 1, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Scan_init(&in[2], &out[2], 1, MPI_INT, MPI_MAX, comm, MPI_INFO_NULL, &requests[2]);
    for (int turn = 0; turn < 20; ++turn) {
        in = {world_rank + turn, 0, world_rank * turn};
        out = {-1, world_rank + turn, -1};
        for (std::size_t i = 0; i < number; ++i)
            MPI_Start(&requests[(i + static_cast<std::size_t>(world_rank)) % number]);
        MPI_Waitall(static_cast<int>(number), requests.data(), MPI_STATUSES_IGNORE);
        expect(out[0], world_size * (world_size - 1) / 2 + world_size * turn, "persistent MPI_Allreduce", turn);
        expect(out[1], world_size - 1 + turn, "persistent MPI_Bcast", turn);
        expect(out[2], world_rank * turn, "persistent MPI_Scan", turn);
    }
    for (MPI_Request &request : requests) MPI_Request_free(&request);
}

/// Handles may be freed while an operation is under way.
static void freed_early() {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Datatype type;
    MPI_Type_vector(10, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    std::vector<int> data(20, world_rank);
    MPI_Request request;
    MPI_Ibcast(data.data(), 1, type, 0, comm, &request);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 19; ++i)
        expect(data[static_cast<std::size_t>(i)], i % 2 == 0 ? 0 : world_rank, "a broadcast with freed handles", i);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    for (int number = 0; number < 30; ++number) round_of(number);
    persistent();
    freed_early();
    MPI_Comm_free(&comms[1]);
    end();
}
