// SPDX-License-Identifier: BSD-3-Clause
// Sessions without MPI_Init, one after the other. Rank 0 ends at once, the others half a second later.
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank_in_session(const char *tag) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm all;
    int rank, sum = 0, one = 1, ranks;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &ranks);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    if (sum != ranks) MPI_Abort(all, 3);
    MPI_Comm_free(&all);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    return rank;
}

int main(void) {
    rank_in_session("first");
    const int rank = rank_in_session("second");
    if (rank != 0) {
        usleep(500000);
        printf("rank %d ends well\n", rank);
    }
    return 0;
}
