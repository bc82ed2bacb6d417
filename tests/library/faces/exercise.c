// SPDX-License-Identifier: BSD-3-Clause
// A program of another MPI: compiled with that MPI's header, linked with its library, and run with a face. It uses what
// the interfaces have differently: handles, constants, statuses, callbacks. Any number of ranks from 2.
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "rank %d, line %d: %s\n", rank, __LINE__, #condition);                                     \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)
#define GOOD(call) CHECK((call) == MPI_SUCCESS)

// A tool's MPI_Barrier: calls that the program makes come here, and go on by PMPI.
static int barriers;
int MPI_Barrier(MPI_Comm comm) {
    ++barriers;
    return PMPI_Barrier(comm);
}

static void messages(void) {
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int sent = rank, received = -1, count = -1;
    MPI_Status status;
    GOOD(MPI_Sendrecv(&sent, 1, MPI_INT, next, 7, &received, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                      &status));
    GOOD(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(received == before && status.MPI_SOURCE == before && status.MPI_TAG == 7 && count == 1);

    memset(&status, 0x55, sizeof status);
    GOOD(MPI_Recv(&received, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status));
    GOOD(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0);
    GOOD(MPI_Send(&sent, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD));
    GOOD(MPI_Recv(&received, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));

    // More requests than the face has room for without allocating.
    enum { many = 40 };
    MPI_Request requests[2 * many + 1];
    MPI_Status statuses[2 * many + 1];
    int out[many], in[many];
    requests[2 * many] = MPI_REQUEST_NULL;
    for (int i = 0; i < many; ++i) {
        out[i] = rank * 1000 + i;
        GOOD(MPI_Irecv(&in[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &requests[i]));
        GOOD(MPI_Isend(&out[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &requests[many + i]));
        CHECK(requests[i] != requests[many + i] && requests[i] != MPI_REQUEST_NULL);
    }
    GOOD(MPI_Waitall(2 * many + 1, requests, statuses));
    for (int i = 0; i < many; ++i)
        CHECK(in[i] == before * 1000 + i && statuses[i].MPI_SOURCE == before && statuses[i].MPI_TAG == i);
    for (int i = 0; i <= 2 * many; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
    int index = 0, flag = 0;
    GOOD(MPI_Waitany(2, requests, &index, &status));
    CHECK(index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);

    // A persistent request keeps its handle.
    GOOD(MPI_Send_init(&sent, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]));
    const MPI_Request persistent = requests[0];
    GOOD(MPI_Startall(1, requests));
    GOOD(MPI_Waitall(1, requests, MPI_STATUSES_IGNORE));
    CHECK(requests[0] == persistent);
    GOOD(MPI_Request_free(&requests[0]));
    CHECK(requests[0] == MPI_REQUEST_NULL);

    MPI_Message message = MPI_MESSAGE_NULL;
    GOOD(MPI_Isend(&sent, 1, MPI_INT, next, 9, MPI_COMM_WORLD, &requests[0]));
    GOOD(MPI_Mprobe(before, 9, MPI_COMM_WORLD, &message, &status));
    CHECK(message != MPI_MESSAGE_NULL);
    GOOD(MPI_Mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    CHECK(message == MPI_MESSAGE_NULL && received == before);
    GOOD(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    GOOD(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);

    // Room for one message, as this interface's constant says.
    char *buffer = malloc(100 + MPI_BSEND_OVERHEAD);
    void *detached = NULL;
    int bytes = 0;
    GOOD(MPI_Buffer_attach(buffer, 100 + MPI_BSEND_OVERHEAD));
    GOOD(MPI_Bsend(out, 25, MPI_INT, next, 11, MPI_COMM_WORLD));
    GOOD(MPI_Recv(in, 25, MPI_INT, before, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    GOOD(MPI_Buffer_detach(&detached, &bytes));
    CHECK(detached == buffer && bytes == 100 + MPI_BSEND_OVERHEAD);
    free(buffer);
}

static MPI_Datatype pair;
static int reductions;

static void add_pairs(void *in, void *inout, int *length, MPI_Datatype *datatype) {
    CHECK(*datatype == pair);
    for (int i = 0; i < 2 * *length; ++i) ((int *)inout)[i] += ((int *)in)[i];
    ++reductions;
}

static void collectives(void) {
    int all = rank, sum = 0;
    GOOD(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    GOOD(MPI_Reduce(&rank, rank == 1 ? &sum : NULL, 1, MPI_INT, MPI_MAX, 1, MPI_COMM_WORLD));
    CHECK(all == size * (size - 1) / 2 && (rank != 1 || sum == size - 1));

    MPI_Op op = MPI_OP_NULL;
    int commutes = 0;
    GOOD(MPI_Type_contiguous(2, MPI_INT, &pair));
    GOOD(MPI_Type_commit(&pair));
    GOOD(MPI_Op_create(add_pairs, 1, &op));
    GOOD(MPI_Op_commutative(op, &commutes));
    int two[2] = {rank, 1}, added[2] = {0, 0};
    GOOD(MPI_Allreduce(two, added, 1, pair, op, MPI_COMM_WORLD));
    CHECK(commutes && added[0] == all && added[1] == size);
    GOOD(MPI_Reduce_local(two, added, 1, pair, op));
    CHECK(reductions > 0 && added[1] == size + 1);
    GOOD(MPI_Op_free(&op));
    GOOD(MPI_Type_free(&pair));
    CHECK(op == MPI_OP_NULL && pair == MPI_DATATYPE_NULL);

    // An array of datatypes, one for each rank, which the program may overwrite while the operation goes on.
    MPI_Datatype *types = malloc((size_t)size * sizeof *types);
    int *ints = malloc(4 * (size_t)size * sizeof *ints), *ones = ints + size, *places = ints + 2 * size,
        *got = ints + 3 * size;
    for (int i = 0; i < size; ++i) {
        types[i] = i % 2 == 0 ? MPI_INT : MPI_UNSIGNED;
        ints[i] = rank;
        ones[i] = 1;
        places[i] = i * (int)sizeof(int);
    }
    MPI_Datatype *own = malloc((size_t)size * sizeof *own);
    for (int i = 0; i < size; ++i) own[i] = rank % 2 == 0 ? MPI_INT : MPI_UNSIGNED;
    MPI_Request request;
    GOOD(MPI_Ialltoallw(ints, ones, places, types, got, ones, places, own, MPI_COMM_WORLD, &request));
    GOOD(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < size; ++i) CHECK(got[i] == i);
    free(own);
    free(ints);
    free(types);
    GOOD(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(barriers == 1);
}

static void datatypes(void) {
    int sizes[2] = {4, 5}, parts[2] = {2, 3}, starts[2] = {1, 1};
    int integers, addresses, datatypes_made, combiner, bytes;
    MPI_Datatype part;
    GOOD(MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE, &part));
    GOOD(MPI_Type_size(part, &bytes));
    GOOD(MPI_Type_get_envelope(part, &integers, &addresses, &datatypes_made, &combiner));
    CHECK(bytes == 48 && combiner == MPI_COMBINER_SUBARRAY && datatypes_made == 1);
    int values[16];
    MPI_Datatype base = MPI_DATATYPE_NULL;
    GOOD(MPI_Type_get_contents(part, integers, 0, 1, values, NULL, &base));
    CHECK(values[0] == 2 && values[integers - 1] == MPI_ORDER_FORTRAN && base == MPI_DOUBLE);
    GOOD(MPI_Type_free(&part));

    int lengths[2] = {1, 2};
    MPI_Aint places[2] = {0, 8}, lower, extent;
    MPI_Datatype members[2] = {MPI_INT, MPI_DOUBLE}, structure;
    GOOD(MPI_Type_create_struct(2, lengths, places, members, &structure));
    GOOD(MPI_Type_get_extent(structure, &lower, &extent));
    CHECK(lower == 0 && extent == 24);
    GOOD(MPI_Type_free(&structure));

    // Every predefined datatype is the one that it is there.
    const struct {
        MPI_Datatype type;
        size_t bytes;
    } known[] = {{MPI_CHAR, 1},
                 {MPI_SHORT, sizeof(short)},
                 {MPI_LONG, sizeof(long)},
                 {MPI_FLOAT, 4},
                 {MPI_LONG_DOUBLE, 16},
                 {MPI_C_DOUBLE_COMPLEX, 16},
                 {MPI_DOUBLE_INT, 12},
                 {MPI_SHORT_INT, 6},
                 {MPI_INT16_T, 2},
                 {MPI_AINT, 8},
                 {MPI_OFFSET, 8},
                 {MPI_WCHAR, sizeof(wchar_t)},
                 {MPI_C_BOOL, 1},
                 {MPI_UNSIGNED_LONG_LONG, 8},
                 {MPI_2INT, 8},
                 {MPI_BYTE, 1},
                 {MPI_INTEGER, 4},
                 {MPI_DOUBLE_COMPLEX, 16}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        GOOD(MPI_Type_size(known[i].type, &bytes));
        CHECK((size_t)bytes == known[i].bytes);
    }
}

static int copies, removals;
static MPI_Comm original;
static int key;

static int copy_attribute(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag) {
    CHECK(comm == original && keyval == key && extra == &copies);
    *(void **)out = (char *)in + 1;
    *flag = 1;
    ++copies;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int keyval, void *value, void *extra) {
    CHECK(comm != MPI_COMM_NULL && keyval == key && value != NULL && extra == &copies);
    ++removals;
    return MPI_SUCCESS;
}

static int errors, error_class_seen;
static int code_to_return = MPI_SUCCESS;
static MPI_Comm error_comm;

static void handle_error(MPI_Comm *comm, int *code, ...) {
    ++errors;
    error_comm = *comm;
    GOOD(MPI_Error_class(*code, &error_class_seen));
    if (code_to_return != MPI_SUCCESS) *code = code_to_return;
}

static void callbacks(void) {
    static char value;
    int flag = 0;
    char *found = NULL;
    MPI_Comm copy;
    GOOD(MPI_Comm_dup(MPI_COMM_WORLD, &original));
    GOOD(MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, &copies));
    GOOD(MPI_Comm_set_attr(original, key, &value));
    GOOD(MPI_Comm_dup(original, &copy));
    GOOD(MPI_Comm_get_attr(copy, key, &found, &flag));
    CHECK(flag && found == &value + 1 && copies == 1 && copy != original);
    GOOD(MPI_Comm_free(&copy));
    CHECK(removals == 1 && copy == MPI_COMM_NULL);
    int second = 0;
    GOOD(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &second, NULL));
    GOOD(MPI_Comm_set_attr(original, second, &flag));
    GOOD(MPI_Comm_dup(original, &copy));
    GOOD(MPI_Comm_get_attr(copy, second, &found, &flag));
    CHECK(flag && (void *)found == (void *)&flag);
    GOOD(MPI_Comm_free(&copy));
    GOOD(MPI_Comm_free_keyval(&second));
    CHECK(second == MPI_KEYVAL_INVALID);

    MPI_Errhandler handler, got;
    GOOD(MPI_Comm_create_errhandler(handle_error, &handler));
    GOOD(MPI_Comm_set_errhandler(original, handler));
    GOOD(MPI_Comm_get_errhandler(original, &got));
    CHECK(got == handler);
    int number = 0, code = MPI_Send(&number, 1, MPI_INT, size, 0, original), text_length = 0;
    char text[MPI_MAX_ERROR_STRING];
    CHECK(code != MPI_SUCCESS && errors == 1 && error_comm == original && error_class_seen == MPI_ERR_RANK);
    GOOD(MPI_Error_string(code, text, &text_length));
    CHECK((size_t)text_length == strlen(text) && strstr(text, "MPI_ERR_RANK") != NULL);
    code_to_return = MPI_ERR_OTHER;
    CHECK(MPI_Send(&number, 1, MPI_INT, size, 0, original) == MPI_ERR_OTHER && error_class_seen == MPI_ERR_RANK);
    code_to_return = MPI_SUCCESS;
    GOOD(MPI_Errhandler_free(&got));
    GOOD(MPI_Errhandler_free(&handler));
    GOOD(MPI_Comm_free(&original));

    GOOD(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    GOOD(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    int added = 0;
    GOOD(MPI_Add_error_class(&added));
    CHECK(added >= MPI_ERR_LASTCODE);
    GOOD(MPI_Error_class(MPI_ERR_TRUNCATE, &error_class_seen));
    CHECK(error_class_seen == MPI_ERR_TRUNCATE);
    const int next = (rank + 1) % size;
    int three[3] = {1, 2, 3};
    MPI_Request request;
    GOOD(MPI_Isend(three, 3, MPI_INT, next, 0, MPI_COMM_WORLD, &request));
    code = MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    GOOD(MPI_Error_class(code, &error_class_seen));
    CHECK(error_class_seen == MPI_ERR_TRUNCATE);
    GOOD(MPI_Wait(&request, MPI_STATUS_IGNORE));
    GOOD(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static int queries, frees;

static int query(void *extra, MPI_Status *status) {
    CHECK(extra == &queries);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = 5;
    GOOD(MPI_Status_set_elements(status, MPI_INT, 3));
    GOOD(MPI_Status_set_cancelled(status, 0));
    ++queries;
    return MPI_SUCCESS;
}

static int release(void *extra) {
    CHECK(extra == &queries);
    ++frees;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete) {
    (void)extra;
    (void)complete;
    return MPI_SUCCESS;
}

static void generalized_requests(void) {
    MPI_Request request;
    MPI_Status status;
    int count = 0;
    GOOD(MPI_Grequest_start(query, release, cancel, &queries, &request));
    GOOD(MPI_Grequest_complete(request));
    GOOD(MPI_Wait(&request, &status));
    GOOD(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(queries == 1 && frees == 1 && status.MPI_TAG == 5 && status.MPI_SOURCE == MPI_UNDEFINED && count == 3);
}

static void communicators(void) {
    MPI_Comm half, line, graph;
    MPI_Group all, odd;
    int result = -1, flag = 0, *value = NULL, topology = 0;
    GOOD(MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &half));
    CHECK((half == MPI_COMM_NULL) == (rank == 0));
    if (half != MPI_COMM_NULL) GOOD(MPI_Comm_free(&half));
    GOOD(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &half));
    GOOD(MPI_Comm_compare(MPI_COMM_WORLD, half, &result));
    CHECK(result == MPI_CONGRUENT);
    GOOD(MPI_Comm_free(&half));
    GOOD(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result));
    CHECK(result == MPI_IDENT);

    GOOD(MPI_Comm_group(MPI_COMM_WORLD, &all));
    const int ranks[2] = {0, MPI_PROC_NULL}, one = 1;
    int translated[2];
    GOOD(MPI_Group_incl(all, 1, &one, &odd));
    GOOD(MPI_Group_translate_ranks(all, 2, ranks, odd, translated));
    CHECK(translated[0] == MPI_UNDEFINED && translated[1] == MPI_PROC_NULL);
    GOOD(MPI_Group_free(&odd));
    GOOD(MPI_Group_free(&all));
    CHECK(all == MPI_GROUP_NULL);

    const int dimensions = size, periods = 0;
    int low, high;
    GOOD(MPI_Cart_create(MPI_COMM_WORLD, 1, &dimensions, &periods, 0, &line));
    GOOD(MPI_Cart_shift(line, 0, 1, &low, &high));
    CHECK(low == (rank == 0 ? MPI_PROC_NULL : rank - 1) && high == (rank == size - 1 ? MPI_PROC_NULL : rank + 1));
    GOOD(MPI_Topo_test(line, &topology));
    CHECK(topology == MPI_CART);
    GOOD(MPI_Comm_free(&line));

    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int in = 0, out = 0, weighted = -1, got = -1, sum = rank;
    GOOD(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                        MPI_INFO_NULL, 0, &graph));
    GOOD(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted));
    GOOD(MPI_Neighbor_allgather(&sum, 1, MPI_INT, &got, 1, MPI_INT, graph));
    CHECK(in == 1 && out == 1 && !weighted && got == before);
    GOOD(MPI_Comm_free(&graph));

    GOOD(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767);
    GOOD(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
    CHECK(!flag || *value == MPI_ANY_SOURCE || *value >= 0);
    GOOD(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
    CHECK(!flag || *value == size);

    // As numbers and back.
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
    GOOD(MPI_Comm_dup(MPI_COMM_SELF, &half));
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(half)) == half);
    GOOD(MPI_Comm_free(&half));

    MPI_Info info;
    char name[MPI_MAX_OBJECT_NAME], host[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    GOOD(MPI_Info_create(&info));
    GOOD(MPI_Info_set(info, "key", "value"));
    GOOD(MPI_Info_get(info, "key", 8, name, &flag));
    CHECK(flag && strcmp(name, "value") == 0);
    GOOD(MPI_Info_free(&info));
    CHECK(info == MPI_INFO_NULL);
    GOOD(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
    GOOD(MPI_Get_processor_name(host, &length));
    CHECK((size_t)length == strlen(host));
}

/// Data as text, converted by the program.
static int text_state;

static int text_extent(MPI_Datatype datatype, MPI_Aint *extent, void *state) {
    CHECK(state == &text_state);
    if (datatype != MPI_INT) return MPI_ERR_TYPE;
    *extent = 8;
    return MPI_SUCCESS;
}

static int to_text(void *memory, MPI_Datatype datatype, int count, void *external, MPI_Offset position, void *state) {
    CHECK(datatype == MPI_INT && state == &text_state);
    for (int i = 0; i < count; i++) {
        char text[16];
        snprintf(text, sizeof text, "%8d", ((int *)memory)[position + i]);
        memcpy((char *)external + 8 * i, text, 8);
    }
    return MPI_SUCCESS;
}

static int from_text(void *memory, MPI_Datatype datatype, int count, void *external, MPI_Offset position, void *state) {
    CHECK(datatype == MPI_INT && state == &text_state);
    for (int i = 0; i < count; i++) {
        char text[9] = {0};
        memcpy(text, (char *)external + 8 * i, 8);
        ((int *)memory)[position + i] = atoi(text);
    }
    return MPI_SUCCESS;
}

static MPI_File failed_file;
static int failed_class;

static void note_file(MPI_File *file, int *code, ...) {
    failed_file = *file;
    MPI_Error_class(*code, &failed_class);
}

static void files(void) {
    MPI_File file = MPI_FILE_NULL, none = MPI_FILE_NULL;
    MPI_Errhandler errhandler;
    MPI_Offset place = -1;
    MPI_Status status;
    MPI_Request request;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, got = 0, count = 0, error_class = 0;
    MPI_Error_class(MPI_File_open(MPI_COMM_WORLD, "missing", MPI_MODE_RDONLY, MPI_INFO_NULL, &none), &error_class);
    CHECK(none == MPI_FILE_NULL && error_class == MPI_ERR_NO_SUCH_FILE);
    MPI_Error_class(MPI_File_open(MPI_COMM_WORLD, "missing", MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_INFO_NULL, &none),
                    &error_class);
    CHECK(error_class == MPI_ERR_AMODE);
    GOOD(MPI_File_open(MPI_COMM_WORLD, "file", mode, MPI_INFO_NULL, &file));
    CHECK(file != MPI_FILE_NULL && MPI_File_f2c(MPI_File_c2f(file)) == file);
    CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    int opened = 0;
    GOOD(MPI_File_get_amode(file, &opened));
    CHECK(opened == mode);
    GOOD(MPI_Register_datarep("text", from_text, to_text, text_extent, &text_state));
    GOOD(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, text_extent, &text_state));
    GOOD(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "text", MPI_INFO_NULL));
    GOOD(MPI_File_iwrite_at_all(file, rank, &rank, 1, MPI_INT, &request));
    GOOD(MPI_Wait(&request, &status));
    GOOD(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(count == 1);
    GOOD(MPI_Barrier(MPI_COMM_WORLD));
    GOOD(MPI_File_read_at(file, (rank + 1) % size, &got, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(got == (rank + 1) % size);
    GOOD(MPI_File_get_size(file, &place));
    CHECK(place == 8 * size);
    GOOD(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    GOOD(MPI_File_write_ordered(file, &rank, 1, MPI_INT, &status));
    GOOD(MPI_File_seek(file, -1, MPI_SEEK_END));
    GOOD(MPI_File_get_position(file, &place));
    CHECK(place == 2 * size - 1);
    GOOD(MPI_File_create_errhandler(note_file, &errhandler));
    GOOD(MPI_File_set_errhandler(file, errhandler));
    CHECK(MPI_File_seek(file, -1, MPI_SEEK_SET) != MPI_SUCCESS);
    CHECK(failed_file == file && failed_class == MPI_ERR_ARG);
    CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    GOOD(MPI_Errhandler_free(&errhandler));
    GOOD(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
}

static MPI_Win failed_window;
static int window_class, deleted_values;

static void handle_window_error(MPI_Win *window, int *code, ...) {
    failed_window = *window;
    MPI_Error_class(*code, &window_class);
}

static int delete_window_attribute(MPI_Win window, int keyval, void *value, void *extra) {
    CHECK(window != MPI_WIN_NULL && keyval != MPI_KEYVAL_INVALID && extra == &deleted_values);
    deleted_values += *(int *)value;
    return MPI_SUCCESS;
}

static void windows(void) {
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int *memory = NULL, *attribute = NULL, flag = 0, keyval = MPI_KEYVAL_INVALID, mine = rank, got = -1, value = 5;
    MPI_Win window;
    GOOD(MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    GOOD(MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, &attribute, &flag));
    CHECK(flag && *attribute == MPI_WIN_FLAVOR_ALLOCATE);
    GOOD(MPI_Win_get_attr(window, MPI_WIN_MODEL, &attribute, &flag));
    CHECK(flag && *attribute == MPI_WIN_UNIFIED);
    memory[0] = memory[1] = 0;
    GOOD(MPI_Win_fence(MPI_MODE_NOPRECEDE, window));
    GOOD(MPI_Put(&mine, 1, MPI_INT, next, 0, 1, MPI_INT, window));
    GOOD(MPI_Put(&mine, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window));
    GOOD(MPI_Accumulate(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, window));
    GOOD(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));
    CHECK(memory[0] == before && (rank != 0 || memory[1] == 5 * size));
    GOOD(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, window));
    GOOD(MPI_Fetch_and_op(NULL, &got, MPI_INT, next, 0, MPI_NO_OP, window));
    GOOD(MPI_Win_unlock(next, window));
    CHECK(got == rank);
    MPI_Errhandler handler;
    GOOD(MPI_Win_create_errhandler(handle_window_error, &handler));
    GOOD(MPI_Win_set_errhandler(window, handler));
    int code_class = MPI_SUCCESS;
    GOOD(MPI_Error_class(MPI_Win_unlock(next, window), &code_class));
    CHECK(failed_window == window && window_class == MPI_ERR_RMA_SYNC && code_class == MPI_ERR_RMA_SYNC);
    GOOD(MPI_Errhandler_free(&handler));
    GOOD(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_window_attribute, &keyval, &deleted_values));
    GOOD(MPI_Win_set_attr(window, keyval, &value));
    GOOD(MPI_Win_free(&window));
    CHECK(window == MPI_WIN_NULL && deleted_values == 5);
    GOOD(MPI_Win_free_keyval(&keyval));
}

int main(int argc, char **argv) {
    int provided = -1, asked = -1;
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    GOOD(MPI_Query_thread(&asked));
    CHECK(provided == MPI_THREAD_MULTIPLE && asked == MPI_THREAD_MULTIPLE && size >= 2);
    CHECK(getenv("OMPI_COMM_WORLD_RANK") && atoi(getenv("OMPI_COMM_WORLD_RANK")) == rank);
    CHECK(getenv("MPI_LOCALRANKID") && atoi(getenv("MPI_LOCALRANKID")) == rank);
    messages();
    collectives();
    datatypes();
    callbacks();
    generalized_requests();
    communicators();
    files();
    windows();
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    GOOD(MPI_Get_library_version(version, &length));
    CHECK(strncmp(version, "Volley", 6) == 0 && (size_t)length == strlen(version));
    GOOD(PMPI_Barrier(MPI_COMM_WORLD));
    MPI_Finalize();
    if (rank == 0) puts("good");
    return 0;
}
