// SPDX-License-Identifier: BSD-3-Clause
/// A job that another has started knows the same universe as that one.
#include "meeting.h"

namespace {

int universe_size() {
    int *value, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
    return flag ? *value : -1;
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm other;
    MPI_Comm_get_parent(&other);
    const bool starts = other == MPI_COMM_NULL;
    if (starts)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    const int here = universe_size();
    int there = -1;
    MPI_Allreduce(&here, &there, 1, MPI_INT, MPI_MAX, other);
    CHECK(here == there);
    MPI_Comm_disconnect(&other);
    MPI_Finalize();
    if (starts) std::puts("good");
}
