// SPDX-License-Identifier: BSD-3-Clause
/// A program drawn at random: messages of 0 to 300 kB between any two ranks, blocking and not, every kind of wait,
/// collectives among them, and every rank computing for a while of its own in between.
///
///     random_program SEED SECONDS
///
/// All ranks draw the same rounds from the seed. Within a round each goes through the messages in the same order, so
/// that blocking calls cannot wait for each other in a participants. Every byte is checked. The longest call is
/// printed.
#include "../check.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace {

using Random = std::mt19937;

double longest_call = 0;
const char *longest_name = "none";

/// Calls MPI and notes how long that took.
template <class Call> void timed(const char *name, Call &&call) {
    double began = MPI_Wtime();
    call();
    if (double took = MPI_Wtime() - began; took > longest_call) {
        longest_call = took;
        longest_name = name;
    }
}

struct Planned {
    int source, destination, tag;
    std::size_t bytes;
    unsigned send_kind, receive_kind;
};

int pick(Random &random, int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
}

/// Small ones mostly, as programs send them.
std::size_t pick_bytes(Random &random) {
    constexpr std::size_t most[] = {0, 8, 64, 600, 2048, 5000, 20000, 70000, 300000};
    return random() % (1 + most[random() % std::size(most)]);
}

std::vector<Planned> plan_round(Random &random) {
    std::vector<Planned> planned(1 + random() % 40);
    int tag = 0;
    for (Planned &each : planned)
        each = {.source = pick(random, world_size),
                .destination = pick(random, world_size),
                .tag = tag++,
                .bytes = pick_bytes(random),
                .send_kind = static_cast<unsigned>(random() % 4),
                .receive_kind = static_cast<unsigned>(random() % 3)};
    // To itself a rank can only send if it receives by another call meanwhile.
    for (Planned &each : planned)
        if (each.source == each.destination) each.send_kind = each.send_kind % 2 + 2;
    return planned;
}

void compute(Random &own) {
    if (own() % 4 != 0) return;
    double until = MPI_Wtime() + 1e-6 * static_cast<double>(own() % 200);
    while (MPI_Wtime() < until) {}
}

struct Pending {
    std::vector<unsigned char> data;
    MPI_Request request;
    const Planned *planned; ///< of a receive
};

void check_received(const Pending &pending) {
    if (pending.planned)
        CHECK(pending.data == message(pending.planned->source, pending.planned->tag, pending.planned->bytes));
}

void begin(const Planned &planned, std::vector<Pending> &all, std::vector<MPI_Request> &requests) {
    const int bytes = static_cast<int>(planned.bytes);
    if (planned.source == world_rank) {
        auto data = message(world_rank, planned.tag, planned.bytes);
        MPI_Request request = MPI_REQUEST_NULL;
        switch (planned.send_kind) {
        case 0:
            timed("MPI_Send",
                  [&] { MPI_Send(data.data(), bytes, MPI_BYTE, planned.destination, planned.tag, MPI_COMM_WORLD); });
            break;
        case 1:
            timed("MPI_Ssend",
                  [&] { MPI_Ssend(data.data(), bytes, MPI_BYTE, planned.destination, planned.tag, MPI_COMM_WORLD); });
            break;
        case 2:
            MPI_Isend(data.data(), bytes, MPI_BYTE, planned.destination, planned.tag, MPI_COMM_WORLD, &request);
            break;
        default:
            MPI_Issend(data.data(), bytes, MPI_BYTE, planned.destination, planned.tag, MPI_COMM_WORLD, &request);
        }
        if (request != MPI_REQUEST_NULL) {
            all.push_back({std::move(data), request, nullptr});
            requests.push_back(request);
        }
    }
    if (planned.destination != world_rank) return;
    Pending pending{std::vector<unsigned char>(planned.bytes), MPI_REQUEST_NULL, &planned};
    if (planned.receive_kind == 0 && planned.source != world_rank) {
        timed("MPI_Recv", [&] {
            MPI_Recv(pending.data.data(), bytes, MPI_BYTE, planned.source, planned.tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        });
        check_received(pending);
        return;
    }
    MPI_Irecv(pending.data.data(), bytes, MPI_BYTE, planned.source, planned.tag, MPI_COMM_WORLD, &pending.request);
    requests.push_back(pending.request);
    all.push_back(std::move(pending));
}

void finish(int kind, std::vector<MPI_Request> &requests, Random &own) {
    const int count = static_cast<int>(requests.size());
    int done = 0;
    std::vector<int> indices(requests.size());
    switch (kind) {
    case 0:
        timed("MPI_Waitall", [&] { MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE); });
        break;
    case 1:
        for (int index = 0; index != MPI_UNDEFINED;) {
            timed("MPI_Waitany", [&] { MPI_Waitany(count, requests.data(), &index, MPI_STATUS_IGNORE); });
            compute(own);
        }
        break;
    case 2:
        while (done != MPI_UNDEFINED) {
            timed("MPI_Waitsome",
                  [&] { MPI_Waitsome(count, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE); });
            compute(own);
        }
        break;
    case 3:
        for (MPI_Request &request : requests) timed("MPI_Wait", [&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
        break;
    default:
        for (; !done; compute(own)) MPI_Testall(count, requests.data(), &done, MPI_STATUSES_IGNORE);
    }
}

void collective(int kind, int count, Random &own) {
    std::vector<std::int64_t> mine(static_cast<std::size_t>(count), world_rank), all(mine.size());
    const std::int64_t sum = std::int64_t{world_size} * (world_size - 1) / 2;
    MPI_Request request = MPI_REQUEST_NULL;
    switch (kind) {
    case 0:
        MPI_Iallreduce(mine.data(), all.data(), count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, &request);
        compute(own);
        timed("MPI_Wait of MPI_Iallreduce", [&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
        CHECK(all == std::vector<std::int64_t>(all.size(), sum));
        break;
    case 1:
        timed("MPI_Allreduce",
              [&] { MPI_Allreduce(mine.data(), all.data(), count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD); });
        CHECK(all == std::vector<std::int64_t>(all.size(), sum));
        break;
    case 2:
        timed("MPI_Barrier", [] { MPI_Barrier(MPI_COMM_WORLD); });
        break;
    case 3:
        timed("MPI_Bcast", [&] { MPI_Bcast(mine.data(), count, MPI_INT64_T, count % world_size, MPI_COMM_WORLD); });
        CHECK(mine == std::vector<std::int64_t>(mine.size(), count % world_size));
        break;
    default:
        break;
    }
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    const auto seed = static_cast<unsigned>(std::stoul(argv[1]));
    Random common(seed), own(seed * 31 + static_cast<unsigned>(world_rank));
    double until = MPI_Wtime() + std::stod(argv[2]);
    int rounds = 0;
    for (int goes_on = 1; goes_on; rounds++) {
        const std::vector<Planned> planned = plan_round(common);
        const int wait_kind = pick(common, 5), collective_kind = pick(common, 6);
        const int count = pick(common, 3000);
        std::vector<Pending> all;
        std::vector<MPI_Request> requests;
        all.reserve(2 * planned.size());
        for (const Planned &each : planned) {
            begin(each, all, requests);
            compute(own);
        }
        collective(collective_kind, count, own);
        finish(wait_kind, requests, own);
        std::ranges::for_each(all, check_received);
        if (rounds % 16 == 0) {
            goes_on = MPI_Wtime() < until;
            MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    struct {
        double seconds;
        int rank;
    } mine{longest_call, world_rank}, longest;
    MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    char name[64] = {};
    std::snprintf(name, sizeof name, "%s", longest_name);
    MPI_Bcast(name, sizeof name, MPI_CHAR, longest.rank, MPI_COMM_WORLD);
    if (world_rank == 0)
        std::printf("seed %u, %d rounds, the longest call %.1f ms: %s on rank %d\n", seed, rounds,
                    longest.seconds * 1e3, name, longest.rank);
}
