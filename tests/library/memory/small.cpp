// SPDX-License-Identifier: BSD-3-Clause
// Where the memory that ranks share is small: messages that do not fit in go in pieces, also many at a time and both
// ways, and small ones go on meanwhile; communicators without end fail, and can be made again once some are freed.
#include "../check.h"

#include <array>

namespace {

constexpr int elements = 8 << 20; ///< of 4 bytes, every other one

int value(int source, int number, int element) {
    return source * 1000003 + number * 7919 + element;
}

std::vector<int> filled(int number) {
    std::vector<int> data(2 * elements);
    for (int i = 0; i < elements; i++) data[2 * static_cast<std::size_t>(i)] = value(world_rank, number, i);
    return data;
}

bool is_from(const std::vector<int> &data, int source, int number, int count) {
    for (int i = 0; i < count; i++)
        if (data[2 * static_cast<std::size_t>(i)] != value(source, number, i)) return false;
    return true;
}

MPI_Datatype every_other(int count) {
    MPI_Datatype made;
    MPI_Type_vector(count, 1, 2, MPI_INT, &made);
    MPI_Type_commit(&made);
    return made;
}

void exchange_large(int left, int right) {
    MPI_Datatype all = every_other(elements);
    std::vector<int> out = filled(0), in(out.size());
    MPI_Sendrecv(out.data(), 1, all, right, 0, in.data(), 1, all, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(is_from(in, left, 0, elements));
    // Into fewer elements than are sent.
    MPI_Datatype half = every_other(elements / 2);
    std::vector<int> cut(out.size());
    MPI_Request sent;
    MPI_Issend(out.data(), 1, all, right, 1, MPI_COMM_WORLD, &sent);
    MPI_Status status;
    CHECK(MPI_Recv(cut.data(), 1, half, left, 1, MPI_COMM_WORLD, &status) != MPI_SUCCESS);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    CHECK(is_from(cut, left, 0, elements / 2) && cut[elements] == 0);
    MPI_Type_free(&half);
    MPI_Type_free(&all);
}

/// More at a time than there is memory for any of them; received last first.
void exchange_many(int left, int right) {
    constexpr int count = 200000;
    MPI_Datatype type = every_other(count);
    std::array<std::vector<int>, 40> out, in;
    std::array<MPI_Request, 40> sent;
    for (int i = 0; i < 40; i++) {
        auto number = static_cast<std::size_t>(i);
        out[number].resize(2 * count);
        in[number].resize(2 * count);
        for (int k = 0; k < count; k++) out[number][2 * static_cast<std::size_t>(k)] = value(world_rank, i, k);
        MPI_Isend(out[number].data(), 1, type, right, i, MPI_COMM_WORLD, &sent[number]);
    }
    int small = -1;
    MPI_Sendrecv(&world_rank, 1, MPI_INT, right, 99, &small, 1, MPI_INT, left, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(small == left);
    for (int i = 40; i-- > 0;) {
        auto number = static_cast<std::size_t>(i);
        MPI_Recv(in[number].data(), 1, type, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(is_from(in[number], left, i, count));
    }
    MPI_Waitall(40, sent.data(), MPI_STATUSES_IGNORE);
    MPI_Type_free(&type);
}

void make_too_many() {
    std::vector<MPI_Comm> made;
    int code = MPI_SUCCESS;
    for (int i = 0; i < 100000 && code == MPI_SUCCESS; i++) {
        MPI_Comm next;
        code = MPI_Comm_dup(MPI_COMM_WORLD, &next);
        if (code == MPI_SUCCESS) made.push_back(next);
    }
    int error_class = 0;
    MPI_Error_class(code, &error_class);
    CHECK(error_class == MPI_ERR_NO_MEM && made.size() > 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    for (MPI_Comm &each : made) MPI_Comm_free(&each);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 1000; i++) {
        MPI_Comm next;
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &next) == MPI_SUCCESS);
        MPI_Barrier(next);
        MPI_Comm_free(&next);
    }
}

} // namespace

int main(int count, char **arguments) {
    Mpi mpi(&count, &arguments);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int round = 0; round < 3; round++) {
        exchange_large(left, right);
        exchange_many(left, right);
    }
    make_too_many();
    exchange_many(left, right);
    return 0;
}
