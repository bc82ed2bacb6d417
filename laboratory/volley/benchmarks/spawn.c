/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Spawning"
summary = "MPI_Comm_spawn of 1, 2 and 4 processes, a barrier with them, and MPI_Comm_disconnect."
source = "MPI 5.0, section 11.8"
pattern = "start"
ranks = [1]
sizes = "0"
operation = "rank 0"
traffic = "none"
variants = ["1", "2", "4"]
neighbours = false
ranked = false
quick = false
minimum_repetitions = 5
maximum_repetitions = 20
*/
#include "volley_test.h"

/* A variant is the number of processes spawned. They run this program and see that they have a parent. */
static char program[4096];

static void children_part(MPI_Comm parent) {
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
}

static void spawn(int wanted) {
    MPI_Comm children;
    MPI_Comm_spawn(program, MPI_ARGV_NULL, wanted, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    MPI_Barrier(children);
    MPI_Comm_disconnect(&children);
    volley.activity++;
}

static uint64_t check(const struct volley_point *point) {
    int wanted = atoi(point->variant), remote = 0;
    MPI_Comm children;
    if (wanted < 1) volley_die("a variant is a number of processes, not \"%s\"", point->variant);
    MPI_Comm_spawn(program, MPI_ARGV_NULL, wanted, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    MPI_Comm_remote_size(children, &remote);
    children_part(children);
    return remote != wanted;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    for (uint64_t i = 0; i < repetitions; i++) {
        uint64_t start = volley_now();
        spawn(atoi(point->variant));
        volley_record(start, volley_now());
    }
}

int main(int argc, char **argv) {
    if (argc < 2) { /* without a folder: one of the spawned */
        MPI_Comm parent;
        MPI_Init(&argc, &argv);
        MPI_Comm_get_parent(&parent);
        if (parent == MPI_COMM_NULL) volley_die("usage: mpiexec -n 1 %s FOLDER (with launch.txt in it)", argv[0]);
        children_part(parent);
        MPI_Finalize();
        return 0;
    }
    if (!realpath(argv[0], program)) volley_die("cannot find this program, %s: %s", argv[0], strerror(errno));
    return volley_main(argc, argv, check, measure);
}
