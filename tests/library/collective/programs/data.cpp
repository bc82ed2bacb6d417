// SPDX-License-Identifier: BSD-3-Clause
/// Broadcast, gather, scatter, allgather and alltoall with random counts, layouts, roots and forms.
#include "collective.h"

static MPI_Comm comm;
static int rank, size, trial;

static int value(int from, int to, int i) {
    return from * 1000003 + to * 10007 + i * 7 + trial;
}

static void fill(Buffer &buffer, int from, int to, int offset, int elements) {
    for (int i = 0; i < 2 * elements; ++i) buffer.at(2 * offset + i) = value(from, to, i);
}

static void look(Buffer &buffer, int from, int to, int offset, int elements, const std::string &where) {
    for (int i = 0; i < 2 * elements; ++i) expect(buffer.at(2 * offset + i), value(from, to, i), where, i);
}

/// Counts of all ranks, and where their blocks lie in a buffer: with gaps, and not always in order.
struct Each {
    std::vector<int> counts, displacements;
    int total = 0;

    explicit Each(int most) {
        int next = draw(0, 2);
        bool backwards = draw(0, 1) == 1;
        for (int i = 0; i < size; ++i) counts.push_back(draw(0, 4) == 0 ? 0 : draw(0, most));
        displacements.resize(counts.size());
        for (int i = 0; i < size; ++i) {
            auto at = static_cast<std::size_t>(backwards ? size - 1 - i : i);
            displacements[at] = next;
            next += counts[at] + draw(0, 3);
        }
        total = next;
    }
    int count(int i) const {
        return counts[static_cast<std::size_t>(i)];
    }
    int place(int i) const {
        return displacements[static_cast<std::size_t>(i)];
    }
};

/// The layout this rank has, drawn for all.
static const Layout &own_layout() {
    const Layout *own = nullptr;
    for (int i = 0; i < size; ++i) {
        const Layout &drawn = any_layout();
        if (i == rank) own = &drawn;
    }
    return *own;
}

static std::string describe(const char *function, Form form, int root, int count) {
    return std::string(function) + " (" + name_of(form) + ", root " + std::to_string(root) + ", count " +
           std::to_string(count) + ", trial " + std::to_string(trial) + ")";
}

static void test_barrier() {
    perform(
        any_form(), [] {}, [] { MPI_Barrier(comm); }, [](MPI_Request *q) { MPI_Ibarrier(comm, q); },
        [](MPI_Request *q) { MPI_Barrier_init(comm, MPI_INFO_NULL, q); }, [] {});
}

static void test_broadcast() {
    int root = draw(0, size - 1), count = any_count();
    Form form = any_form();
    Buffer buffer(own_layout(), count);
    MPI_Datatype type = buffer.layout().type;
    perform(
        form,
        [&] {
            buffer.clear();
            if (rank == root) fill(buffer, root, 0, 0, count);
        },
        [&] { MPI_Bcast(buffer.data(), count, type, root, comm); },
        [&](MPI_Request *q) { MPI_Ibcast(buffer.data(), count, type, root, comm, q); },
        [&](MPI_Request *q) { MPI_Bcast_init(buffer.data(), count, type, root, comm, MPI_INFO_NULL, q); },
        [&] { look(buffer, root, 0, 0, count, describe("MPI_Bcast", form, root, count)); });
}

static void test_gather() {
    int root = draw(0, size - 1), count = any_count();
    Form form = any_form();
    bool in_place = draw(0, 2) == 0;
    Buffer sent(own_layout(), count), received(own_layout(), count * size);
    MPI_Datatype from = sent.layout().type, to = received.layout().type;
    const void *own = in_place && rank == root ? MPI_IN_PLACE : sent.data();
    perform(
        form,
        [&] {
            fill(sent, rank, root, 0, count);
            received.clear();
            if (rank == root && in_place) fill(received, root, root, root * count, count);
        },
        [&] { MPI_Gather(own, count, from, received.data(), count, to, root, comm); },
        [&](MPI_Request *q) { MPI_Igather(own, count, from, received.data(), count, to, root, comm, q); },
        [&](MPI_Request *q) {
            MPI_Gather_init(own, count, from, received.data(), count, to, root, comm, MPI_INFO_NULL, q);
        },
        [&] {
            for (int i = 0; i < size && rank == root; ++i)
                look(received, i, root, i * count, count, describe("MPI_Gather", form, root, count));
        });
}

static void test_scatter() {
    int root = draw(0, size - 1), count = any_count();
    Form form = any_form();
    bool in_place = draw(0, 2) == 0;
    Buffer sent(own_layout(), count * size), received(own_layout(), count);
    MPI_Datatype from = sent.layout().type, to = received.layout().type;
    bool here = in_place && rank == root;
    void *own = here ? MPI_IN_PLACE : received.data();
    perform(
        form,
        [&] {
            for (int i = 0; i < size; ++i) fill(sent, root, i, i * count, count);
            received.clear();
        },
        [&] { MPI_Scatter(sent.data(), count, from, own, count, to, root, comm); },
        [&](MPI_Request *q) { MPI_Iscatter(sent.data(), count, from, own, count, to, root, comm, q); },
        [&](MPI_Request *q) {
            MPI_Scatter_init(sent.data(), count, from, own, count, to, root, comm, MPI_INFO_NULL, q);
        },
        [&] {
            if (!here) look(received, root, rank, 0, count, describe("MPI_Scatter", form, root, count));
        });
}

static void test_gatherv() {
    int root = draw(0, size - 1);
    Form form = any_form();
    Each each(any_count());
    bool in_place = draw(0, 2) == 0;
    Buffer sent(own_layout(), each.count(rank)), received(own_layout(), each.total);
    MPI_Datatype from = sent.layout().type, to = received.layout().type;
    const void *own = in_place && rank == root ? MPI_IN_PLACE : sent.data();
    int count = each.count(rank);
    const int *counts = each.counts.data(), *places = each.displacements.data();
    perform(
        form,
        [&] {
            fill(sent, rank, root, 0, count);
            received.clear();
            if (rank == root && in_place) fill(received, root, root, each.place(root), count);
        },
        [&] { MPI_Gatherv(own, count, from, received.data(), counts, places, to, root, comm); },
        [&](MPI_Request *q) { MPI_Igatherv(own, count, from, received.data(), counts, places, to, root, comm, q); },
        [&](MPI_Request *q) {
            MPI_Gatherv_init(own, count, from, received.data(), counts, places, to, root, comm, MPI_INFO_NULL, q);
        },
        [&] {
            for (int i = 0; i < size && rank == root; ++i)
                look(received, i, root, each.place(i), each.count(i), describe("MPI_Gatherv", form, root, count));
        });
}

static void test_scatterv() {
    int root = draw(0, size - 1);
    Form form = any_form();
    Each each(any_count());
    bool in_place = draw(0, 2) == 0;
    Buffer sent(own_layout(), each.total), received(own_layout(), each.count(rank));
    MPI_Datatype from = sent.layout().type, to = received.layout().type;
    bool here = in_place && rank == root;
    void *own = here ? MPI_IN_PLACE : received.data();
    int count = each.count(rank);
    const int *counts = each.counts.data(), *places = each.displacements.data();
    perform(
        form,
        [&] {
            for (int i = 0; i < size; ++i) fill(sent, root, i, each.place(i), each.count(i));
            received.clear();
        },
        [&] { MPI_Scatterv(sent.data(), counts, places, from, own, count, to, root, comm); },
        [&](MPI_Request *q) { MPI_Iscatterv(sent.data(), counts, places, from, own, count, to, root, comm, q); },
        [&](MPI_Request *q) {
            MPI_Scatterv_init(sent.data(), counts, places, from, own, count, to, root, comm, MPI_INFO_NULL, q);
        },
        [&] {
            if (!here) look(received, root, rank, 0, count, describe("MPI_Scatterv", form, root, count));
        });
}

static void test_allgather() {
    int count = any_count();
    Form form = any_form();
    bool in_place = draw(0, 2) == 0;
    Buffer sent(own_layout(), count), received(own_layout(), count * size);
    MPI_Datatype from = sent.layout().type, to = received.layout().type;
    const void *own = in_place ? MPI_IN_PLACE : sent.data();
    perform(
        form,
        [&] {
            fill(sent, rank, 0, 0, count);
            received.clear();
            if (in_place) fill(received, rank, 0, rank * count, count);
        },
        [&] { MPI_Allgather(own, count, from, received.data(), count, to, comm); },
        [&](MPI_Request *q) { MPI_Iallgather(own, count, from, received.data(), count, to, comm, q); },
        [&](MPI_Request *q) {
            MPI_Allgather_init(own, count, from, received.data(), count, to, comm, MPI_INFO_NULL, q);
        },
        [&] {
            for (int i = 0; i < size; ++i)
                look(received, i, 0, i * count, count, describe("MPI_Allgather", form, -1, count));
        });
}

static void test_allgatherv() {
    Form form = any_form();
    Each each(any_count());
    bool in_place = draw(0, 2) == 0;
    int count = each.count(rank);
    Buffer sent(own_layout(), count), received(own_layout(), each.total);
    MPI_Datatype from = sent.layout().type, to = received.layout().type;
    const void *own = in_place ? MPI_IN_PLACE : sent.data();
    const int *counts = each.counts.data(), *places = each.displacements.data();
    perform(
        form,
        [&] {
            fill(sent, rank, 0, 0, count);
            received.clear();
            if (in_place) fill(received, rank, 0, each.place(rank), count);
        },
        [&] { MPI_Allgatherv(own, count, from, received.data(), counts, places, to, comm); },
        [&](MPI_Request *q) { MPI_Iallgatherv(own, count, from, received.data(), counts, places, to, comm, q); },
        [&](MPI_Request *q) {
            MPI_Allgatherv_init(own, count, from, received.data(), counts, places, to, comm, MPI_INFO_NULL, q);
        },
        [&] {
            for (int i = 0; i < size; ++i)
                look(received, i, 0, each.place(i), each.count(i), describe("MPI_Allgatherv", form, -1, count));
        });
}

static void test_alltoall() {
    int count = any_count() / (draw(0, 1) == 0 ? 1 : 8);
    Form form = any_form();
    bool in_place = draw(0, 2) == 0;
    Buffer sent(own_layout(), count * size), received(own_layout(), count * size);
    MPI_Datatype from = sent.layout().type, to = received.layout().type;
    const void *own = in_place ? MPI_IN_PLACE : sent.data();
    perform(
        form,
        [&] {
            received.clear();
            for (int i = 0; i < size; ++i) fill(in_place ? received : sent, rank, i, i * count, count);
        },
        [&] { MPI_Alltoall(own, count, from, received.data(), count, to, comm); },
        [&](MPI_Request *q) { MPI_Ialltoall(own, count, from, received.data(), count, to, comm, q); },
        [&](MPI_Request *q) {
            MPI_Alltoall_init(own, count, from, received.data(), count, to, comm, MPI_INFO_NULL, q);
        },
        [&] {
            for (int i = 0; i < size; ++i)
                look(received, i, rank, i * count, count, describe("MPI_Alltoall", form, -1, count));
        });
}

/// What rank i sends rank j, for all of them; symmetric where it is to be in place.
struct Matrix {
    std::vector<int> counts;
    std::vector<int> send_counts, send_places, receive_counts, receive_places;
    int sent = 0, received = 0;

    Matrix(int most, bool symmetric) : counts(static_cast<std::size_t>(size * size)) {
        for (int i = 0; i < size; ++i)
            for (int j = 0; j < size; ++j)
                at(i, j) = symmetric && j < i ? at(j, i) : draw(0, 4) == 0 ? 0 : draw(0, most);
        int gap = draw(0, 2);
        for (int i = 0; i < size; ++i) {
            send_places.push_back(sent);
            send_counts.push_back(at(rank, i));
            sent += at(rank, i) + gap;
            receive_places.push_back(received);
            receive_counts.push_back(at(i, rank));
            received += at(i, rank) + gap;
        }
    }
    int &at(int i, int j) {
        return counts[static_cast<std::size_t>(i * size + j)];
    }
};

static void test_alltoallv() {
    Form form = any_form();
    bool in_place = draw(0, 2) == 0;
    Matrix matrix(any_count() / 4, in_place);
    Buffer sent(own_layout(), matrix.sent), received(own_layout(), matrix.received);
    MPI_Datatype from = sent.layout().type, to = received.layout().type;
    const void *own = in_place ? MPI_IN_PLACE : sent.data();
    auto *sc = matrix.send_counts.data(), *sp = matrix.send_places.data();
    auto *rc = matrix.receive_counts.data(), *rp = matrix.receive_places.data();
    perform(
        form,
        [&] {
            received.clear();
            for (int i = 0; i < size; ++i)
                fill(in_place ? received : sent, rank, i, (in_place ? rp : sp)[i], matrix.at(rank, i));
        },
        [&] { MPI_Alltoallv(own, sc, sp, from, received.data(), rc, rp, to, comm); },
        [&](MPI_Request *q) { MPI_Ialltoallv(own, sc, sp, from, received.data(), rc, rp, to, comm, q); },
        [&](MPI_Request *q) {
            MPI_Alltoallv_init(own, sc, sp, from, received.data(), rc, rp, to, comm, MPI_INFO_NULL, q);
        },
        [&] {
            for (int i = 0; i < size; ++i)
                look(received, i, rank, rp[i], rc[i], describe("MPI_Alltoallv", form, -1, rc[i]));
        });
}

static void test_alltoallw() {
    Form form = any_form();
    bool in_place = draw(0, 2) == 0;
    Matrix matrix(any_count() / 4, in_place);
    // Every block in a layout of its own, in a buffer of its own, found by its address.
    std::vector<Buffer> sent, received;
    std::vector<MPI_Datatype> send_types, receive_types;
    std::vector<MPI_Count> sc, rc;
    std::vector<MPI_Aint> sp, rp;
    for (int i = 0; i < size; ++i) {
        sent.emplace_back(own_layout(), matrix.at(rank, i));
        received.emplace_back(own_layout(), matrix.at(i, rank));
    }
    for (int i = 0; i < size; ++i) {
        auto at = static_cast<std::size_t>(i);
        MPI_Aint place;
        MPI_Get_address(sent[at].data(), &place);
        sp.push_back(place);
        MPI_Get_address(received[at].data(), &place);
        rp.push_back(place);
        sc.push_back(matrix.at(rank, i));
        rc.push_back(matrix.at(i, rank));
        send_types.push_back(sent[at].layout().type);
        receive_types.push_back(received[at].layout().type);
    }
    const void *own = in_place ? MPI_IN_PLACE : MPI_BOTTOM;
    auto st = send_types.data(), rt = receive_types.data();
    perform(
        form,
        [&] {
            for (int i = 0; i < size; ++i) {
                auto at = static_cast<std::size_t>(i);
                received[at].clear();
                fill(in_place ? received[at] : sent[at], rank, i, 0, matrix.at(rank, i));
            }
        },
        [&] { MPI_Alltoallw_c(own, sc.data(), sp.data(), st, MPI_BOTTOM, rc.data(), rp.data(), rt, comm); },
        [&](MPI_Request *q) {
            MPI_Ialltoallw_c(own, sc.data(), sp.data(), st, MPI_BOTTOM, rc.data(), rp.data(), rt, comm, q);
        },
        [&](MPI_Request *q) {
            MPI_Alltoallw_init_c(own, sc.data(), sp.data(), st, MPI_BOTTOM, rc.data(), rp.data(), rt, comm,
                                 MPI_INFO_NULL, q);
        },
        [&] {
            for (int i = 0; i < size; ++i)
                look(received[static_cast<std::size_t>(i)], i, rank, 0, matrix.at(i, rank),
                     describe("MPI_Alltoallw", form, -1, matrix.at(i, rank)));
        });
}

static void test_all(int trials) {
    void (*const tests[])() = {test_barrier,  test_broadcast, test_gather,    test_scatter,
                               test_gatherv,  test_scatterv,  test_allgather, test_allgatherv,
                               test_alltoall, test_alltoallv, test_alltoallw};
    for (trial = 0; trial < trials; ++trial)
        for (auto test : tests) test();
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    comm = MPI_COMM_WORLD;
    rank = world_rank;
    size = world_size;
    test_all(20);
    // Ranks in another order.
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm);
    MPI_Comm_rank(comm, &rank);
    test_all(5);
    MPI_Comm_free(&comm);
    comm = MPI_COMM_SELF;
    rank = 0;
    size = 1;
    test_all(5);
    end();
}
