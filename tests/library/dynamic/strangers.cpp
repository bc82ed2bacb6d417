// SPDX-License-Identifier: BSD-3-Clause
/// Starts two jobs of copies of itself, which know the parents and not each other, and connects them: the parents and
/// the first job make one group, the second job the other (MPI 5.0, section 11.10.4: connections are transitive).
#include "../check.h"

#include <string>

namespace {

constexpr int children = 2;
constexpr int tag = 5;

MPI_Comm start(const char *self, const char *which) {
    const char *arguments[] = {which, nullptr};
    MPI_Comm made;
    MPI_Comm_spawn(self, const_cast<char **>(arguments), children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made,
                   MPI_ERRCODES_IGNORE);
    return made;
}

/// Every member of the one group exchanges a message with every member of the other, and all compute together.
void use(MPI_Comm inter) {
    int rank, size, remote;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &remote);
    for (int other = 0; other < remote; other++) {
        const int mine = 100 * rank + other;
        int theirs = -1;
        MPI_Sendrecv(&mine, 1, MPI_INT, other, 1, &theirs, 1, MPI_INT, other, 1, inter, MPI_STATUS_IGNORE);
        CHECK(theirs == 100 * other + rank);
    }
    MPI_Comm all;
    MPI_Intercomm_merge(inter, 0, &all);
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK(sum == size + remote);
    MPI_Comm_free(&all);
    MPI_Barrier(inter);
}

/// One side of the intercommunicator of `group`, whose `leader` reaches the other one's through `peer`.
void meet(MPI_Comm group, int leader, MPI_Comm peer) {
    MPI_Comm inter;
    MPI_Intercomm_create(group, leader, peer, 0, tag, &inter);
    use(inter);
    MPI_Comm_free(&inter);
}

void meet_with(MPI_Comm first, bool is_parent, MPI_Comm peer) {
    MPI_Comm together;
    MPI_Intercomm_merge(first, is_parent ? 0 : 1, &together);
    meet(together, 0, peer);
    MPI_Comm_free(&together);
}

} // namespace

int main(int argc, char **argv) {
    const Mpi mpi(&argc, &argv);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Comm first = start(argv[0], "first"), second = start(argv[0], "second");
        meet_with(first, true, second);
        MPI_Comm_disconnect(&first);
        MPI_Comm_disconnect(&second);
        return 0;
    }
    if (std::string(argv[1]) == "first")
        meet_with(parent, false, MPI_COMM_NULL);
    else
        meet(MPI_COMM_WORLD, 0, parent);
    MPI_Comm_disconnect(&parent);
    return 0;
}
