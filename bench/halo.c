// SPDX-License-Identifier: BSD-3-Clause
/// Heat spreading over a plate (Jacobi's iteration, five points), with rows of the plate on each rank, whose edges go
/// to the neighbours' memory by MPI_Put, under any MPI. Ghost rows are a window; a round is closed by MPI_Win_fence, by
/// post-start-complete-wait, or, to compare, replaced by messages.
///
///     mpicc -O2 halo.c -o halo && mpiexec -n 4 ./halo [columns [rows per rank [rounds]]]
///
/// Each way must end with the same heat, to the last bit, as the plate computed by each rank alone. Lines: us per
/// round, the fastest of some attempts and the middle one.
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { attempts = 7 };
typedef enum { fence, post_start, messages, ways } Way;
static const char *const names[ways] = {"fence", "post-start", "messages"};

static int rank, size, columns = 512, rows = 16, rounds = 500;
static int above, below; /* neighbours; MPI_PROC_NULL at the ends */
static MPI_Win window;
static MPI_Group neighbours;
/* Two plates of rows + 2 rows each, one after the other, ghost rows first and last: rounds read one and write the
 * other. */
static double *plates;

static double *row_of(double *plate, int row) {
    return plate + (size_t)row * (size_t)columns;
}

static size_t plate_elements(int plate_rows) {
    return (size_t)(plate_rows + 2) * (size_t)columns;
}

/// Heat in the middle of the upper edge, and a pattern inside.
static double initial(int global_row, int column) {
    if (global_row < 0) return column > columns / 4 && column < 3 * columns / 4 ? 100.0 : 0.0;
    return (global_row * 31 + column * 17) % 11;
}

static void fill(double *plate, int first_row, int plate_rows, int all_rows) {
    for (int row = 0; row < plate_rows + 2; row++)
        for (int column = 0; column < columns; column++) {
            const int global = first_row + row - 1;
            row_of(plate, row)[column] = global >= all_rows ? 0.0 : initial(global, column);
        }
}

static void compute(double *from, double *to, int plate_rows) {
    for (int row = 1; row <= plate_rows; row++) {
        const double *up = row_of(from, row - 1), *here = row_of(from, row), *down = row_of(from, row + 1);
        double *out = row_of(to, row);
        out[0] = here[0];
        out[columns - 1] = here[columns - 1];
        for (int column = 1; column < columns - 1; column++)
            out[column] = 0.25 * (up[column] + down[column] + here[column - 1] + here[column + 1]);
    }
}

/// This rank's first row goes to the last ghost row above, its last row to the first ghost row below.
static void put_edges(double *plate) {
    const MPI_Aint start = plate - plates;
    if (above != MPI_PROC_NULL)
        MPI_Put(row_of(plate, 1), columns, MPI_DOUBLE, above, start + (MPI_Aint)(rows + 1) * columns, columns,
                MPI_DOUBLE, window);
    if (below != MPI_PROC_NULL)
        MPI_Put(row_of(plate, rows), columns, MPI_DOUBLE, below, start, columns, MPI_DOUBLE, window);
}

static void exchange(Way way, double *plate) {
    if (way == messages) {
        MPI_Sendrecv(row_of(plate, 1), columns, MPI_DOUBLE, above, 1, row_of(plate, rows + 1), columns, MPI_DOUBLE,
                     below, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(row_of(plate, rows), columns, MPI_DOUBLE, below, 2, row_of(plate, 0), columns, MPI_DOUBLE, above,
                     2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (way == fence) {
        put_edges(plate);
        MPI_Win_fence(0, window);
    } else {
        MPI_Win_post(neighbours, 0, window);
        MPI_Win_start(neighbours, 0, window);
        put_edges(plate);
        MPI_Win_complete(window);
        MPI_Win_wait(window);
    }
}

/// All rounds; the plate with the result.
static double *spread(Way way, double *seconds) {
    double *from = plates, *to = plates + plate_elements(rows);
    fill(from, rank * rows, rows, rows * size);
    fill(to, rank * rows, rows, rows * size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (way == fence) MPI_Win_fence(0, window);
    const double begun = MPI_Wtime();
    for (int round = 0; round < rounds; round++) {
        exchange(way, from);
        compute(from, to, rows);
        double *const other = from;
        from = to;
        to = other;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    *seconds = MPI_Wtime() - begun;
    if (way == fence) MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    return from;
}

/// The same without neighbours: this rank's rows of the plate that it has computed as a whole.
static double *spread_alone(double **memory) {
    const int all = rows * size;
    *memory = malloc(2 * plate_elements(all) * sizeof(double));
    if (*memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    double *from = *memory, *to = *memory + plate_elements(all);
    fill(from, 0, all, all);
    fill(to, 0, all, all);
    for (int round = 0; round < rounds; round++) {
        compute(from, to, all);
        double *const other = from;
        from = to;
        to = other;
    }
    return row_of(from, rank * rows);
}

static int by_number(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(Way way, double *expected) {
    double seconds[attempts];
    for (int i = 0; i < attempts; i++) {
        double *result = spread(way, &seconds[i]);
        if (memcmp(row_of(result, 1), row_of(expected, 1), (size_t)rows * (size_t)columns * sizeof(double)) != 0) {
            fprintf(stderr, "halo: rank %d: %s: the heat is not that of the whole plate\n", rank, names[way]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    qsort(seconds, attempts, sizeof *seconds, by_number);
    if (rank == 0)
        printf("%-10s %9.2f %9.2f us a round\n", names[way], 1e6 * seconds[0] / rounds,
               1e6 * seconds[attempts / 2] / rounds);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) columns = atoi(argv[1]);
    if (argc > 2) rows = atoi(argv[2]);
    if (argc > 3) rounds = atoi(argv[3]);
    if (columns < 3 || rows < 1 || rounds < 1) {
        if (rank == 0) fprintf(stderr, "halo: at least 3 columns, a row and a round expected\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    below = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    MPI_Win_allocate((MPI_Aint)(2 * plate_elements(rows) * sizeof(double)), sizeof(double), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &plates, &window);
    MPI_Group world;
    int others[2], count = 0;
    if (above != MPI_PROC_NULL) others[count++] = above;
    if (below != MPI_PROC_NULL) others[count++] = below;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, others, &neighbours);
    double *memory = NULL, *expected = spread_alone(&memory);
    for (Way way = fence; way < ways; way++) measure(way, expected);
    free(memory);
    MPI_Group_free(&neighbours);
    MPI_Group_free(&world);
    MPI_Win_free(&window);
    if (rank == 0) puts("good");
    MPI_Finalize();
    return 0;
}
