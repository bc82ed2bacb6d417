// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends take the buffer of the communicator, else that of the session it derives from, else the process's
// (MPI 5.0, section 3.6).
#include "check.h"

namespace {

constexpr int bytes = 1000;

MPI_Group group_of(MPI_Session session) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    return group;
}

MPI_Comm communicator_of(MPI_Group group) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_create_from_group(group, "of a session", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
    return made;
}

/// What sending a message without a receiver gives; it is received then.
int send_class(MPI_Comm communicator) {
    static char out[bytes], in[bytes];
    int code = MPI_Bsend(out, bytes, MPI_BYTE, 0, 1, communicator);
    if (code == MPI_SUCCESS) MPI_Recv(in, bytes, MPI_BYTE, 0, 1, communicator, MPI_STATUS_IGNORE);
    return class_of(code);
}

} // namespace

int main() {
    static char large[2 * bytes + MPI_BSEND_OVERHEAD], small[MPI_BSEND_OVERHEAD + 1];
    MPI_Session session = MPI_SESSION_NULL, other = MPI_SESSION_NULL;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other);
    MPI_Group group = group_of(session), other_group = group_of(other), again, same;
    MPI_Group_union(group, MPI_GROUP_EMPTY, &again);
    MPI_Comm first = communicator_of(group), foreign = communicator_of(other_group);
    MPI_Comm of_union = communicator_of(again), copy, part, grid;
    MPI_Comm_dup(first, &copy);
    MPI_Comm_split(first, 0, 0, &part);
    int one = 1;
    MPI_Cart_create(part, 1, &one, &one, 0, &grid);
    MPI_Comm_group(grid, &same);
    MPI_Comm of_group = communicator_of(same);
    std::vector<MPI_Comm> derived = {first, copy, part, grid, of_union, of_group};
    for (MPI_Comm communicator : derived) CHECK(send_class(communicator) == MPI_ERR_BUFFER);

    MPI_Session_attach_buffer(session, large, sizeof large);
    for (MPI_Comm communicator : derived) CHECK(send_class(communicator) == MPI_SUCCESS);
    CHECK(send_class(foreign) == MPI_ERR_BUFFER);

    // The nearest one counts, even where it is too small.
    MPI_Comm_attach_buffer(copy, small, sizeof small);
    CHECK(send_class(copy) == MPI_ERR_BUFFER);
    CHECK(send_class(first) == MPI_SUCCESS);
    void *detached = nullptr;
    int size = 0;
    MPI_Session_detach_buffer(session, &detached, &size);
    CHECK(detached == large && size == sizeof large);
    MPI_Buffer_attach(large, sizeof large);
    CHECK(send_class(first) == MPI_SUCCESS && send_class(foreign) == MPI_SUCCESS);
    MPI_Session_attach_buffer(session, small, sizeof small);
    MPI_Comm_detach_buffer(copy, &detached, &size);
    CHECK(send_class(copy) == MPI_ERR_BUFFER && send_class(foreign) == MPI_SUCCESS);
    MPI_Session_detach_buffer(session, &detached, &size);
    MPI_Buffer_detach(&detached, &size);

    for (MPI_Group *made : {&group, &other_group, &again, &same}) MPI_Group_free(made);
    derived.push_back(foreign);
    for (MPI_Comm communicator : derived) MPI_Comm_free(&communicator);
    MPI_Session_finalize(&other);
    MPI_Session_finalize(&session);
    return 0;
}
