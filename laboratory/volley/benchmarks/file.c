/* SPDX-License-Identifier: BSD-3-Clause */
/* volley-test
title = "Files"
summary = "All ranks write or read one file, each its own part or blocks in turn; bytes per rank, into the page cache."
source = "MPI 5.0, chapter 14; IOR's segmented and strided patterns; checkpoints of simulations"
pattern = "files"
ranks = [4]
sizes = "4Ki..16Mi"
operation = "slowest rank"
traffic = "every rank"
variants = ["write_at", "read_at", "write_at_all", "read_at_all", "strided_write_all", "strided_read_all", "checkpoint"]
neighbours = false
quick = false
maximum_repetitions = 100
*/
#include "volley_test.h"

/* "write_at", "read_at", "write_at_all", "read_at_all": rank r's part is the r-th. "strided": blocks of BLOCK bytes in
 * turn, seen through a view, by one collective call. "checkpoint": opening, a view, one collective write and closing;
 * the file is new each time. The file is in the launch's own folder; nothing is synchronised to the disk. */
enum { BLOCK = 1024 };

static struct {
    char path[4096];
    MPI_File handle;
    MPI_Datatype blocks; /* this rank's blocks of a strided file, at the size under way */
} file = {"", MPI_FILE_NULL, MPI_DATATYPE_NULL};

static int has(const struct volley_point *point, const char *word) {
    return strstr(point->variant, word) != NULL;
}

static void require(int code, const char *what) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS) return;
    MPI_Error_string(code, text, &length);
    volley_die("%s of %s fails: %s (all ranks must see the folder)", what, file.path, text);
}

static void open_file(void) {
    require(MPI_File_open(MPI_COMM_WORLD, file.path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file.handle),
            "MPI_File_open");
}

/* This rank's blocks, one of each BLOCK * ranks bytes. */
static void set_view(const struct volley_point *point) {
    char representation[] = "native"; /* MPI-2 did not say const */
    if (!has(point, "strided") && !has(point, "checkpoint")) return;
    require(MPI_File_set_view(file.handle, (MPI_Offset)volley.rank * BLOCK, MPI_BYTE, file.blocks, representation,
                              MPI_INFO_NULL),
            "MPI_File_set_view");
}

static void make_blocks(size_t bytes) {
    if (bytes % BLOCK) volley_die("a size of whole blocks of %d bytes expected, not %zu", BLOCK, bytes);
    if (file.blocks != MPI_DATATYPE_NULL) MPI_Type_free(&file.blocks);
    MPI_Type_vector((int)(bytes / BLOCK), BLOCK, BLOCK * volley.ranks, MPI_BYTE, &file.blocks);
    MPI_Type_commit(&file.blocks);
}

/* One transfer of this rank's bytes, `point`'s way. */
static void transfer(const struct volley_point *point, void *buffer, int reads) {
    MPI_Offset at = has(point, "strided") || has(point, "checkpoint") ? 0 : (MPI_Offset)point->size * volley.rank;
    int bytes = (int)point->size, together = has(point, "_all") || has(point, "checkpoint"), code;
    MPI_Status status;
    if (reads && together)
        code = MPI_File_read_at_all(file.handle, at, buffer, bytes, MPI_BYTE, &status);
    else if (reads)
        code = MPI_File_read_at(file.handle, at, buffer, bytes, MPI_BYTE, &status);
    else if (together)
        code = MPI_File_write_at_all(file.handle, at, buffer, bytes, MPI_BYTE, &status);
    else
        code = MPI_File_write_at(file.handle, at, buffer, bytes, MPI_BYTE, &status);
    require(code, reads ? "reading" : "writing");
}

static void remove_file(void) {
    volley_synchronise();
    if (volley.rank == 0) unlink(file.path);
    volley_synchronise();
}

static void close_file(const struct volley_point *point) {
    (void)point;
    if (file.handle != MPI_FILE_NULL) require(MPI_File_close(&file.handle), "MPI_File_close");
    remove_file();
}

/* Writes this way and, after closing, reads again by plain calls of the C library what each rank's neighbour wrote. */
static uint64_t check(const struct volley_point *point) {
    size_t bytes = point->size;
    int neighbour = (volley.rank + 1) % volley.ranks;
    void *buffer = volley_buffer(0, bytes);
    unsigned char *seen = volley_buffer(1, bytes);
    snprintf(file.path, sizeof file.path, "%s/file", volley.folder);
    volley.end_of_point = close_file;
    make_blocks(bytes);
    remove_file();
    volley_fill(buffer, bytes, volley.rank, bytes);
    open_file();
    set_view(point);
    transfer(point, buffer, 0);
    require(MPI_File_close(&file.handle), "MPI_File_close");
    volley_synchronise();
    int descriptor = open(file.path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) volley_die("cannot read %s: %s", file.path, strerror(errno));
    int strided = has(point, "strided") || has(point, "checkpoint");
    size_t step = strided ? BLOCK : bytes;
    memset(seen, 0, bytes);
    for (size_t done = 0; done < bytes; done += step) {
        size_t at = strided ? done * (size_t)volley.ranks + (size_t)neighbour * BLOCK : bytes * (size_t)neighbour;
        if (pread(descriptor, seen + done, step, (off_t)at) != (ssize_t)step) break;
    }
    close(descriptor);
    uint64_t wrong = volley_wrong(seen, bytes, neighbour, bytes);
    open_file();
    set_view(point);
    volley_poison(seen, bytes, volley.rank, bytes);
    transfer(point, seen, 1);
    wrong += volley_wrong(seen, bytes, volley.rank, bytes);
    if (has(point, "checkpoint")) require(MPI_File_close(&file.handle), "MPI_File_close");
    return wrong;
}

static void measure(const struct volley_point *point, uint64_t repetitions) {
    int reads = has(point, "read"), checkpoint = has(point, "checkpoint");
    void *buffer = volley_buffer(0, point->size);
    for (uint64_t i = 0; i < repetitions; i++) {
        if (!reads) volley_renew(0);
        if (checkpoint) remove_file();
        volley_align();
        uint64_t start = volley_now();
        if (checkpoint) {
            open_file();
            set_view(point);
        }
        transfer(point, buffer, reads);
        if (checkpoint) require(MPI_File_close(&file.handle), "MPI_File_close");
        volley_record(start, volley_now());
    }
}

VOLLEY_TEST(check, measure)
