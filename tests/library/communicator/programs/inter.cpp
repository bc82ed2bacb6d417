// SPDX-License-Identifier: BSD-3-Clause
// Intercommunicators: creating, duplicating, splitting and merging them.
#include "check.h"

namespace {

int size, rank;

/// Ranks below the middle and the others, through `peer`.
MPI_Comm make(MPI_Comm &local, MPI_Comm peer, int tag) {
    int middle = size / 2;
    bool low = rank < middle;
    MPI_Comm_split(MPI_COMM_WORLD, low, 0, &local);
    // The leaders are the last of each group.
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Intercomm_create(local, size_of(local) - 1, peer, low ? size - 1 : middle - 1, tag, &made);
    return made;
}

int remote_size(MPI_Comm communicator) {
    int remote = 0;
    MPI_Comm_remote_size(communicator, &remote);
    return remote;
}

/// Everybody talks with everybody of the other group.
void check_across(MPI_Comm inter) {
    int flag = 0;
    MPI_Comm_test_inter(inter, &flag);
    CHECK(flag);
    int remote = remote_size(inter), own = rank_in(inter);
    std::vector<int> got(static_cast<std::size_t>(remote), -1);
    std::vector<MPI_Request> requests(static_cast<std::size_t>(2 * remote));
    for (int other = 0; other < remote; other++) {
        auto at = static_cast<std::size_t>(other);
        MPI_Irecv(&got[at], 1, MPI_INT, other, 4, inter, &requests[2 * at]);
        MPI_Isend(&own, 1, MPI_INT, other, 4, inter, &requests[2 * at + 1]);
    }
    MPI_Waitall(2 * remote, requests.data(), MPI_STATUSES_IGNORE);
    CHECK(got == counted(remote));
    int sum = -1;
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, inter);
    CHECK(sum == remote * (remote - 1) / 2);
    MPI_Barrier(inter);
}

void test_groups(MPI_Comm inter) {
    MPI_Group local = MPI_GROUP_NULL, remote = MPI_GROUP_NULL, both = MPI_GROUP_NULL;
    MPI_Comm_group(inter, &local);
    MPI_Comm_remote_group(inter, &remote);
    int place = -1, members = 0;
    MPI_Group_rank(local, &place);
    CHECK(place == rank_in(inter));
    MPI_Group_rank(remote, &place);
    CHECK(place == MPI_UNDEFINED);
    MPI_Group_union(local, remote, &both);
    MPI_Group_size(both, &members);
    CHECK(members == size);
    for (MPI_Group *group : {&local, &remote, &both}) MPI_Group_free(group);
}

void test_dup(MPI_Comm inter) {
    MPI_Comm made = MPI_COMM_NULL, again = MPI_COMM_NULL;
    MPI_Comm_dup(inter, &made);
    check_across(made);
    int result = -1;
    MPI_Comm_compare(inter, made, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_compare(inter, MPI_COMM_WORLD, &result);
    CHECK(result == MPI_UNEQUAL);
    MPI_Request requests[2];
    MPI_Comm both[2];
    MPI_Comm_idup(made, &both[0], &requests[0]);
    MPI_Comm_idup(made, &both[1], &requests[1]);
    MPI_Comm_dup(made, &again);
    check_across(again);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check_across(both[0]);
    check_across(both[1]);
    for (MPI_Comm *communicator : {&made, &again, &both[0], &both[1]}) MPI_Comm_free(communicator);
}

void test_merge(MPI_Comm inter) {
    bool low_ranks = rank < size / 2;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Intercomm_merge(inter, !low_ranks, &made); // as in MPI_COMM_WORLD
    CHECK(size_of(made) == size && rank_in(made) == rank);
    check_ring(made);
    MPI_Comm_free(&made);
    MPI_Intercomm_merge(inter, low_ranks, &made); // the other way round
    CHECK(rank_in(made) == (low_ranks ? rank + remote_size(inter) : rank - remote_size(inter)));
    check_ring(made);
    MPI_Comm_free(&made);
    MPI_Intercomm_merge(inter, 1, &made); // any order, but one
    check_ring(made);
    MPI_Comm_free(&made);
}

void test_split(MPI_Comm inter) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_split(inter, rank_in(inter) % 2, -rank, &made);
    int own = size_of(inter), remote = remote_size(inter), odd = rank_in(inter) % 2;
    int remote_part = (remote + 1 - odd) / 2;
    CHECK((made != MPI_COMM_NULL) == (remote_part > 0));
    if (made != MPI_COMM_NULL) {
        CHECK(size_of(made) == (own + 1 - odd) / 2 && remote_size(made) == remote_part);
        CHECK(rank_in(made) == size_of(made) - 1 - rank_in(inter) / 2);
        check_across(made);
        MPI_Comm_free(&made);
    }
}

void test_create(MPI_Comm inter) {
    // The first of one group and all of the other.
    bool low_ranks = rank < size / 2;
    MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
    MPI_Comm_group(inter, &all);
    int first = 0;
    if (low_ranks) MPI_Group_incl(all, 1, &first, &some);
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_create(inter, low_ranks ? some : all, &made);
    CHECK((made != MPI_COMM_NULL) == (!low_ranks || rank_in(inter) == 0));
    if (made != MPI_COMM_NULL) {
        check_across(made);
        MPI_Comm_free(&made);
    }
    MPI_Comm_create(inter, low_ranks ? MPI_GROUP_EMPTY : all, &made);
    CHECK(made == MPI_COMM_NULL);
    MPI_Group_free(&all);
    if (low_ranks) MPI_Group_free(&some);
}

void test_refused(MPI_Comm local) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_set_errhandler(local, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Intercomm_create(local, -1, MPI_COMM_WORLD, 0, 0, &made)) == MPI_ERR_RANK);
    // All of the group learn that the leader has failed.
    CHECK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, size, 0, &made) != MPI_SUCCESS);
    CHECK(made == MPI_COMM_NULL);
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    size = size_of(MPI_COMM_WORLD);
    rank = rank_in(MPI_COMM_WORLD);
    if (size > 1) {
        MPI_Comm local = MPI_COMM_NULL, peer = MPI_COMM_NULL;
        MPI_Comm inter = make(local, MPI_COMM_WORLD, 11);
        check_across(inter);
        test_groups(inter);
        test_dup(inter);
        test_merge(inter);
        test_split(inter);
        test_create(inter);
        test_refused(local);
        MPI_Comm_disconnect(&inter);
        MPI_Comm_free(&local);
        MPI_Comm_dup(MPI_COMM_WORLD, &peer);
        inter = make(local, peer, 11);
        MPI_Comm_free(&peer);
        check_across(inter);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&local);
    }
    MPI_Finalize();
}
