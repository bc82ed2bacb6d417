// SPDX-License-Identifier: BSD-3-Clause
// Process sets that the user has named: "even", of the even ranks, and "odd" of the others. Four ranks.
#include "../../check.h"

#include <cstring>
#include <string>

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    const std::string own = world_rank % 2 == 0 ? "even" : "odd", other = world_rank % 2 == 0 ? "odd" : "even";
    int count = 0, length = 0;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
    CHECK(count == 4); // a process sees the sets that it is in
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 3, &length, nullptr);
    std::string name(static_cast<std::size_t>(length), '?');
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 3, &length, name.data());
    CHECK(std::strcmp(name.c_str(), own.c_str()) == 0);

    MPI_Group group;
    CHECK(MPI_Group_from_session_pset(session, own.c_str(), &group) == MPI_SUCCESS);
    MPI_Comm half, part;
    MPI_Comm_create_from_group(group, "half", MPI_INFO_NULL, MPI_ERRORS_RETURN, &half);
    int rank = -1, size = 0, sum = 0;
    MPI_Comm_rank(half, &rank);
    MPI_Comm_size(half, &size);
    CHECK(rank == world_rank / 2 && size == world_size / 2);
    MPI_Allreduce(&world_rank, &sum, 1, MPI_INT, MPI_SUM, half);
    CHECK(sum == (world_rank % 2 == 0 ? 0 + 2 : 1 + 3));
    MPI_Group_free(&group);
    CHECK(MPI_Group_from_session_pset(session, other.c_str(), &group) != MPI_SUCCESS);

    // Who is in the set that all have named gets a communicator.
    MPI_Info hint;
    MPI_Info_create(&hint);
    MPI_Info_set(hint, "mpi_pset_name", "even");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, hint, &part);
    CHECK((part == MPI_COMM_NULL) == (world_rank % 2 == 1));
    MPI_Info_free(&hint);
    if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
    MPI_Comm_free(&half);
    MPI_Session_finalize(&session);
}
