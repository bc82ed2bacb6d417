// SPDX-License-Identifier: BSD-3-Clause
/// What tests of intercommunicators between jobs have in common: traffic that shows whether one works.
#pragma once

#include "../check.h"

/// Messages of three lengths between all pairs of both groups; `low` is the same in a whole group, and differs.
inline void exchange_messages(MPI_Comm inter, bool low) {
    int own, remote;
    MPI_Comm_rank(inter, &own);
    MPI_Comm_remote_size(inter, &remote);
    for (std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{300'000}}) {
        for (int peer = 0; peer < remote; peer++) {
            std::vector<unsigned char> out = message(own, low ? 1 : 2, bytes), in(bytes);
            MPI_Status status;
            MPI_Sendrecv(out.data(), static_cast<int>(bytes), MPI_BYTE, peer, 7, in.data(), static_cast<int>(bytes),
                         MPI_BYTE, peer, 7, inter, &status);
            CHECK(status.MPI_SOURCE == peer);
            CHECK(in == message(peer, low ? 2 : 1, bytes));
        }
    }
}

/// Collectives over both groups.
inline void use_together(MPI_Comm inter, bool low) {
    int rank, size, remote;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
    MPI_Barrier(inter);
    int one = low ? 1 : 1000, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == remote * (low ? 1000 : 1));
    int value = low && rank == 0 ? 42 : 0;
    int root = low ? (rank == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    MPI_Bcast(&value, 1, MPI_INT, root, inter);
    CHECK(value == (low && rank != 0 ? 0 : 42));
    std::vector<int> all(static_cast<std::size_t>(remote));
    MPI_Allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, inter);
    for (int i = 0; i < remote; i++) CHECK(all[static_cast<std::size_t>(i)] == i);
}

/// Communicators that only some of the processes of both jobs make: of every second, and of both halves.
inline void make_of_some(MPI_Comm comm) {
    int rank, size, members, sum = 0, one = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Group group, some;
    MPI_Comm_group(comm, &group);
    MPI_Comm made;
    for (int step : {1, 2}) {
        int range[1][3] = {{size - 1, (size - 1) % step, -step}}; // the last comes first
        MPI_Group_range_incl(group, 1, range, &some);
        if (rank % step == (size - 1) % step) {
            MPI_Comm_create_group(comm, some, 5, &made);
            MPI_Comm_size(made, &members);
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
            CHECK(sum == members && members == (size + step - 1) / step);
            MPI_Comm_free(&made);
        }
        MPI_Group_free(&some);
    }
    MPI_Group_free(&group);
    // Every second process of the whole is one side, whatever its job.
    MPI_Comm side;
    MPI_Comm_split(comm, rank % 2, rank, &side);
    MPI_Intercomm_create(side, 0, comm, 1 - rank % 2, 5, &made);
    int others;
    MPI_Comm_remote_size(made, &others);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
    MPI_Comm_size(side, &members);
    CHECK(sum == others && others + members == size);
    MPI_Comm_free(&made);
    MPI_Comm_free(&side);
}

/// All processes of an intracommunicator that goes over both jobs.
inline void use_one_group(MPI_Comm comm) {
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int count : {1, 1000, 100'000}) {
        std::vector<int> in(static_cast<std::size_t>(count), rank + 1), out(in.size());
        MPI_Allreduce(in.data(), out.data(), count, MPI_INT, MPI_SUM, comm);
        for (int value : out) CHECK(value == size * (size + 1) / 2);
        MPI_Bcast(in.data(), count, MPI_INT, size - 1, comm);
        for (int value : in) CHECK(value == size);
    }
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, got = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, next, 3, &got, 1, MPI_INT, previous, 3, comm, MPI_STATUS_IGNORE);
    CHECK(got == previous);
    MPI_Comm split, duplicate;
    MPI_Comm_dup(comm, &duplicate);
    MPI_Comm_split(duplicate, rank % 2, rank, &split);
    int members, sum = 0, one = 1;
    MPI_Comm_size(split, &members);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, split);
    CHECK(sum == members);
    MPI_Comm_free(&split);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &split);
    MPI_Comm_size(split, &members);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, split);
    CHECK(sum == members && members < size);
    MPI_Comm_free(&split);
    make_of_some(duplicate);
    // What is not offered between jobs says so.
    MPI_Group group;
    MPI_Comm_group(comm, &group);
    int error_class, code = MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &split);
    MPI_Error_class(code, &error_class);
    CHECK(error_class == MPI_ERR_UNSUPPORTED_OPERATION);
    MPI_Group_free(&group);
    MPI_Comm_free(&duplicate);
}

/// Everything that an intercommunicator is for, in both groups.
inline void use(MPI_Comm inter, bool low) {
    int is_inter;
    MPI_Comm_test_inter(inter, &is_inter);
    CHECK(is_inter);
    exchange_messages(inter, low);
    use_together(inter, low);
    MPI_Comm duplicate, merged;
    MPI_Comm_dup(inter, &duplicate);
    use_together(duplicate, low);
    MPI_Intercomm_merge(duplicate, low ? 0 : 1, &merged);
    int rank, own;
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_rank(inter, &own);
    if (low) CHECK(rank == own);
    use_one_group(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&duplicate);
}
