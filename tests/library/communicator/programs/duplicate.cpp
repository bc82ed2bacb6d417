// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_dup, MPI_Comm_idup, comparing, freeing.
#include "check.h"

#include <string>

namespace {

int copies = 0, deletions = 0;

int copy_attribute(MPI_Comm, int, void *, void *value, void *copied, int *flag) {
    copies++;
    *static_cast<void **>(copied) = static_cast<char *>(value) + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

int delete_attribute(MPI_Comm, int, void *, void *) {
    deletions++;
    return MPI_SUCCESS;
}

int refuse_copy(MPI_Comm, int, void *, void *, void *, int *) {
    return MPI_ERR_OTHER;
}

char places[16];

int compare(MPI_Comm one, MPI_Comm other) {
    int result = -1;
    MPI_Comm_compare(one, other, &result);
    return result;
}

void test_dup() {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    CHECK(made != MPI_COMM_NULL && made != MPI_COMM_WORLD);
    CHECK(compare(made, MPI_COMM_WORLD) == MPI_CONGRUENT);
    CHECK(compare(made, made) == MPI_IDENT);
    CHECK(compare(made, MPI_COMM_SELF) == (size_of(made) == 1 ? MPI_CONGRUENT : MPI_UNEQUAL));
    check_ring(made);
    MPI_Comm_free(&made);
    CHECK(made == MPI_COMM_NULL);
}

// Messages in one communicator are not seen in another one with the same processes.
void test_contexts_are_apart() {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    int rank = rank_in(made), first = 1, second = 2, got = 0, flag = 0;
    MPI_Request requests[2];
    MPI_Isend(&first, 1, MPI_INT, rank, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Iprobe(rank, 3, made, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Isend(&second, 1, MPI_INT, rank, 3, made, &requests[1]);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, made, MPI_STATUS_IGNORE);
    CHECK(got == 2);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&made);
}

void test_attributes() {
    int keyval = MPI_KEYVAL_INVALID, flag = 0;
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &keyval, nullptr);
    MPI_Comm original = MPI_COMM_NULL, made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &original);
    MPI_Comm_set_attr(original, keyval, places);
    MPI_Comm_dup(original, &made);
    void *value = nullptr;
    MPI_Comm_get_attr(made, keyval, static_cast<void *>(&value), &flag);
    CHECK(flag && value == places + 1 && copies == 1);
    MPI_Comm_free(&made);
    CHECK(deletions == 1);

    // MPI_Comm_idup copies attributes as they are when it is called.
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_idup(original, &made, &request);
    MPI_Comm_set_attr(original, keyval, places + 8);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_get_attr(made, keyval, static_cast<void *>(&value), &flag);
    CHECK(flag && value == places + 1);
    MPI_Comm_free(&made);

    // Communicators that are made otherwise have no attributes.
    MPI_Comm_split(original, 0, 0, &made);
    MPI_Comm_get_attr(made, keyval, static_cast<void *>(&value), &flag);
    CHECK(!flag);
    MPI_Comm_free(&made);
    MPI_Comm_free(&original);
    MPI_Comm_free_keyval(&keyval);
}

void test_callback_that_refuses() {
    int keyval = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
    MPI_Comm original = MPI_COMM_NULL, made = MPI_COMM_SELF;
    MPI_Comm_dup(MPI_COMM_WORLD, &original);
    MPI_Comm_set_errhandler(original, MPI_ERRORS_RETURN);
    MPI_Comm_set_attr(original, keyval, places);
    CHECK(MPI_Comm_dup(original, &made) != MPI_SUCCESS);
    CHECK(made == MPI_COMM_NULL);
    MPI_Comm_delete_attr(original, keyval);
    CHECK(MPI_Comm_dup(original, &made) == MPI_SUCCESS);
    check_ring(made);
    MPI_Comm_free(&made);
    MPI_Comm_free(&original);
    MPI_Comm_free_keyval(&keyval);
}

void test_many_idups_at_once() {
    constexpr int count = 20;
    MPI_Comm made[count];
    MPI_Request requests[count];
    for (int i = 0; i < count; i++) MPI_Comm_idup(MPI_COMM_WORLD, &made[i], &requests[i]);
    // Meanwhile other collectives run, and messages are exchanged.
    check_ring(MPI_COMM_WORLD);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    for (MPI_Comm &communicator : made) check_ring(communicator);
    for (MPI_Comm &communicator : made) MPI_Comm_free(&communicator);
}

// The request keeps what it needs: its parent may be freed before it is complete.
void test_idup_outlives_parent() {
    MPI_Comm parent = MPI_COMM_NULL, made = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_idup(parent, &made, &request);
    MPI_Comm_free(&parent);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_ring(made);
    MPI_Comm_free(&made);
}

void test_free_with_pending_receive() {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    int size = size_of(made), rank = rank_in(made), got = -1;
    MPI_Request requests[2];
    MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 5, made, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 5, made, &requests[1]);
    MPI_Comm_free(&made);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(got == (rank + size - 1) % size);
}

void test_error_handler_and_hints() {
    MPI_Comm first = MPI_COMM_NULL, second = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_set_errhandler(first, MPI_ERRORS_RETURN);
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(first, info, &second);
    MPI_Info_free(&info);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(second, &handler);
    CHECK(handler == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);

    char value[MPI_MAX_INFO_VAL] = "";
    int flag = 0, length = sizeof value;
    MPI_Comm_get_info(second, &info);
    MPI_Info_get_string(info, "mpi_assert_no_any_tag", &length, value, &flag);
    CHECK(flag && std::string(value) == "true");
    MPI_Info_free(&info);
    MPI_Comm third = MPI_COMM_NULL;
    MPI_Comm_dup(second, &third);
    MPI_Comm_get_info(third, &info);
    MPI_Info_get_string(info, "mpi_assert_no_any_tag", &length, value, &flag);
    CHECK(!flag || std::string(value) == "false"); // hints are not inherited
    MPI_Info_free(&info);
    for (MPI_Comm *communicator : {&first, &second, &third}) MPI_Comm_free(communicator);
}

void test_refused() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm communicator = MPI_COMM_WORLD;
    CHECK(class_of(MPI_Comm_free(&communicator)) == MPI_ERR_COMM);
    communicator = MPI_COMM_SELF;
    CHECK(class_of(MPI_Comm_disconnect(&communicator)) == MPI_ERR_COMM);
    communicator = MPI_COMM_NULL;
    CHECK(class_of(MPI_Comm_free(&communicator)) == MPI_ERR_COMM);
    int size = 0;
    CHECK(class_of(MPI_Comm_remote_size(MPI_COMM_WORLD, &size)) == MPI_ERR_COMM);
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
    MPI_Comm stale = communicator;
    MPI_Comm_disconnect(&communicator);
    CHECK(communicator == MPI_COMM_NULL);
    CHECK(class_of(MPI_Comm_size(stale, &size)) == MPI_ERR_COMM);
    MPI_Comm parent = MPI_COMM_WORLD;
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    test_dup();
    test_contexts_are_apart();
    test_attributes();
    test_callback_that_refuses();
    test_many_idups_at_once();
    test_idup_outlives_parent();
    test_free_with_pending_receive();
    test_error_handler_and_hints();
    test_refused();
    MPI_Finalize();
}
