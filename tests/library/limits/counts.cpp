// SPDX-License-Identifier: BSD-3-Clause
// Counts at the limit of MPI_Count, and products of count, size and extent beyond it, or beyond the longest message,
// 2^56 - 1 bytes: an error, and no wrap-around.
#include "../check.h"

#include <cstdint>

namespace {

constexpr MPI_Count limit = INT64_MAX;
constexpr MPI_Count too_many = limit / static_cast<MPI_Count>(sizeof(int)) + 1; ///< ints
constexpr MPI_Count largest_message = (MPI_Count{1} << 56) - 1;

int buffer[16], other[16];

int class_of(int code) {
    int error_class;
    MPI_Error_class(code, &error_class);
    return error_class;
}

#define EXPECT(error, call)                                                                                            \
    do {                                                                                                               \
        const int got = class_of(call);                                                                                \
        if (got != (error)) {                                                                                          \
            std::fprintf(stderr, "rank %d, %s:%d: class %d, not %s, from %s\n", world_rank, __FILE__, __LINE__, got,   \
                         #error, #call);                                                                               \
            MPI_Abort(MPI_COMM_WORLD, 3);                                                                              \
        }                                                                                                              \
    } while (0)

/// Bytes that are all the same one: any number of them has one byte of memory.
MPI_Datatype one_byte_again_and_again() {
    MPI_Datatype type;
    MPI_Type_create_resized(MPI_BYTE, 0, 0, &type);
    MPI_Type_commit(&type);
    return type;
}

void test_sends(MPI_Datatype huge, int count_of_huge) {
    const MPI_Comm comm = MPI_COMM_SELF;
    MPI_Request request;
    MPI_Status status;
    EXPECT(MPI_ERR_COUNT, MPI_Send_c(buffer, limit, MPI_INT, 0, 0, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Send_c(buffer, too_many, MPI_INT, 0, 0, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Send(buffer, count_of_huge, huge, 0, 0, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Ssend_c(buffer, too_many, MPI_INT, 0, 0, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Rsend_c(buffer, too_many, MPI_INT, 0, 0, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Bsend_c(buffer, too_many, MPI_INT, 0, 0, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Isend_c(buffer, too_many, MPI_INT, 0, 0, comm, &request));
    EXPECT(MPI_ERR_COUNT, MPI_Issend_c(buffer, too_many, MPI_INT, 0, 0, comm, &request));
    EXPECT(MPI_ERR_COUNT, MPI_Irsend_c(buffer, too_many, MPI_INT, 0, 0, comm, &request));
    EXPECT(MPI_ERR_COUNT, MPI_Ibsend_c(buffer, too_many, MPI_INT, 0, 0, comm, &request));
    EXPECT(MPI_ERR_COUNT, MPI_Send_init_c(buffer, too_many, MPI_INT, 0, 0, comm, &request));
    EXPECT(MPI_ERR_COUNT, MPI_Recv_c(buffer, too_many, MPI_INT, 0, 0, comm, &status));
    EXPECT(MPI_ERR_COUNT, MPI_Recv(buffer, count_of_huge, huge, 0, 0, comm, &status));
    EXPECT(MPI_ERR_COUNT, MPI_Irecv_c(buffer, too_many, MPI_INT, 0, 0, comm, &request));
    EXPECT(MPI_ERR_COUNT, MPI_Recv_init_c(buffer, too_many, MPI_INT, 0, 0, comm, &request));
    EXPECT(MPI_ERR_COUNT, MPI_Sendrecv_c(buffer, 1, MPI_INT, 0, 0, other, too_many, MPI_INT, 0, 0, comm, &status));
    EXPECT(MPI_ERR_COUNT, MPI_Sendrecv_c(buffer, too_many, MPI_INT, 0, 0, other, 1, MPI_INT, 0, 0, comm, &status));
    EXPECT(MPI_ERR_COUNT, MPI_Sendrecv_replace_c(buffer, too_many, MPI_INT, 0, 0, 0, 0, comm, &status));
    EXPECT(MPI_ERR_COUNT, MPI_Send_c(buffer, -1, MPI_INT, 0, 0, comm));
}

/// The largest message there is, which only its receiver cuts.
void test_largest_message(MPI_Comm comm, int from, int to) {
    MPI_Datatype type = one_byte_again_and_again();
    char byte = 'x', received[8] = "";
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT(MPI_ERR_COUNT, MPI_Isend_c(&byte, largest_message + 1, type, to, 3, comm, &request));
    request = MPI_REQUEST_NULL;
    if (world_rank == from) MPI_Isend_c(&byte, largest_message, type, to, 3, comm, &request);
    if (world_rank == to) {
        MPI_Status status;
        MPI_Probe(from, 3, comm, &status);
        MPI_Count large = 0;
        int small = 0;
        MPI_Get_count_c(&status, MPI_BYTE, &large);
        MPI_Get_count(&status, MPI_BYTE, &small);
        CHECK(large == largest_message && small == MPI_UNDEFINED);
        EXPECT(MPI_ERR_TRUNCATE, MPI_Recv(received, sizeof received, MPI_BYTE, from, 3, comm, &status));
        for (char each : received) CHECK(each == 'x');
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&type);
}

void test_copies() {
    MPI_Datatype type = one_byte_again_and_again();
    char byte = 'x', attached[MPI_BSEND_OVERHEAD + 64];
    MPI_Status status;
    // There is no memory for a copy.
    EXPECT(MPI_ERR_NO_MEM, MPI_Sendrecv_replace_c(&byte, largest_message, type, 0, 0, 0, 0, MPI_COMM_SELF, &status));
    MPI_Buffer_attach(attached, sizeof attached);
    EXPECT(MPI_ERR_BUFFER, MPI_Bsend_c(&byte, largest_message, type, 0, 0, MPI_COMM_SELF));
    EXPECT(MPI_ERR_BUFFER, MPI_Bsend_c(&byte, largest_message - MPI_BSEND_OVERHEAD, type, 0, 0, MPI_COMM_SELF));
    void *detached;
    int bytes;
    MPI_Buffer_detach(&detached, &bytes);
    MPI_Type_free(&type);
}

void test_collectives() {
    const MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    EXPECT(MPI_ERR_COUNT, MPI_Bcast_c(buffer, too_many, MPI_INT, 0, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Ibcast_c(buffer, too_many, MPI_INT, 0, comm, &request));
    EXPECT(MPI_ERR_COUNT, MPI_Allreduce_c(buffer, other, too_many, MPI_INT, MPI_SUM, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Reduce_c(buffer, other, too_many, MPI_INT, MPI_SUM, 0, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Scan_c(buffer, other, too_many, MPI_INT, MPI_SUM, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Exscan_c(buffer, other, too_many, MPI_INT, MPI_SUM, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Iallreduce_c(buffer, other, too_many, MPI_INT, MPI_SUM, comm, &request));
    EXPECT(MPI_ERR_COUNT, MPI_Reduce_local_c(buffer, other, too_many, MPI_INT, MPI_SUM));
    EXPECT(MPI_ERR_COUNT, MPI_Allgather_c(buffer, too_many, MPI_INT, other, too_many, MPI_INT, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Alltoall_c(buffer, too_many, MPI_INT, other, too_many, MPI_INT, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Reduce_scatter_block_c(buffer, other, too_many, MPI_INT, MPI_SUM, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Ireduce_scatter_block_c(buffer, other, too_many, MPI_INT, MPI_SUM, comm, &request));
}

/// What one rank has fits, what all have together does not.
void test_sums() {
    const MPI_Comm comm = MPI_COMM_WORLD;
    const auto size = static_cast<std::size_t>(world_size);
    const MPI_Count part = too_many / world_size + 1;
    MPI_Request request;
    std::vector<MPI_Count> parts(size, part), ones(size, 1);
    std::vector<MPI_Aint> begins(size, 0), beyond(size, 0);
    std::vector<MPI_Datatype> types(size, MPI_INT);
    beyond.back() = too_many;
    EXPECT(MPI_ERR_COUNT, MPI_Allgather_c(MPI_IN_PLACE, 0, MPI_INT, other, part, MPI_INT, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Iallgather_c(MPI_IN_PLACE, 0, MPI_INT, other, part, MPI_INT, comm, &request));
    EXPECT(MPI_ERR_COUNT, MPI_Alltoall_c(MPI_IN_PLACE, 0, MPI_INT, other, part, MPI_INT, comm));
    EXPECT(MPI_ERR_COUNT,
           MPI_Allgatherv_c(MPI_IN_PLACE, 0, MPI_INT, other, parts.data(), begins.data(), MPI_INT, comm));
    EXPECT(MPI_ERR_ARG, MPI_Allgatherv_c(MPI_IN_PLACE, 0, MPI_INT, other, ones.data(), beyond.data(), MPI_INT, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Alltoallv_c(buffer, parts.data(), begins.data(), MPI_INT, other, parts.data(),
                                          begins.data(), MPI_INT, comm));
    EXPECT(MPI_ERR_ARG, MPI_Alltoallv_c(buffer, ones.data(), beyond.data(), MPI_INT, other, ones.data(), beyond.data(),
                                        MPI_INT, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Alltoallw_c(buffer, parts.data(), begins.data(), types.data(), other, parts.data(),
                                          begins.data(), types.data(), comm));
    EXPECT(MPI_ERR_COUNT, MPI_Reduce_scatter_c(buffer, other, parts.data(), MPI_INT, MPI_SUM, comm));
    EXPECT(MPI_ERR_COUNT, MPI_Ireduce_scatter_c(buffer, other, parts.data(), MPI_INT, MPI_SUM, comm, &request));
    EXPECT(MPI_ERR_COUNT, MPI_Reduce_scatter_block_c(buffer, other, part, MPI_INT, MPI_SUM, comm));
    EXPECT(MPI_ERR_COUNT,
           MPI_Reduce_scatter_block_init_c(buffer, other, part, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    if (world_rank == 0) {
        EXPECT(MPI_ERR_COUNT, MPI_Igather_c(MPI_IN_PLACE, 0, MPI_INT, other, part, MPI_INT, 0, comm, &request));
        EXPECT(MPI_ERR_COUNT, MPI_Iscatterv_c(buffer, parts.data(), begins.data(), MPI_INT, MPI_IN_PLACE, 0, MPI_INT, 0,
                                              comm, &request));
    }
}

void test_neighbours() {
    MPI_Comm ring;
    const int periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, &periodic, 0, &ring);
    const MPI_Count half = too_many / 2 + 1, halves[2] = {half, half};
    const MPI_Aint begins[2] = {0, 0};
    EXPECT(MPI_ERR_COUNT, MPI_Neighbor_allgather_c(buffer, 1, MPI_INT, other, half, MPI_INT, ring));
    EXPECT(MPI_ERR_COUNT, MPI_Neighbor_alltoall_c(buffer, half, MPI_INT, other, half, MPI_INT, ring));
    EXPECT(MPI_ERR_COUNT,
           MPI_Neighbor_alltoallv_c(buffer, halves, begins, MPI_INT, other, halves, begins, MPI_INT, ring));
    MPI_Comm_free(&ring);
    const int sides[2] = {65536, 65536}, periods[2] = {0, 0};
    EXPECT(MPI_ERR_DIMS, MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periods, 0, &ring));
}

void test_constructors() {
    MPI_Datatype made;
    const MPI_Count half = limit / 2 + 1, one = 1, size = too_many, subsize = 1, start = 0, beyond = too_many;
    const int distribution = MPI_DISTRIBUTE_BLOCK, argument = MPI_DISTRIBUTE_DFLT_DARG, processes = 1;
    const MPI_Datatype type = MPI_INT;
    EXPECT(MPI_ERR_COUNT, MPI_Type_contiguous_c(too_many, MPI_INT, &made));
    EXPECT(MPI_ERR_COUNT, MPI_Type_vector_c(half, 2, 2, MPI_CHAR, &made));
    EXPECT(MPI_ERR_ARG, MPI_Type_vector_c(2, 1, too_many, MPI_INT, &made));
    EXPECT(MPI_ERR_COUNT, MPI_Type_create_hvector_c(3, 1, half, MPI_CHAR, &made));
    EXPECT(MPI_ERR_ARG, MPI_Type_indexed_c(1, &one, &beyond, MPI_INT, &made));
    EXPECT(MPI_ERR_COUNT, MPI_Type_indexed_c(1, &beyond, &start, MPI_INT, &made));
    EXPECT(MPI_ERR_COUNT, MPI_Type_create_hindexed_c(1, &one, &limit, MPI_INT, &made));
    EXPECT(MPI_ERR_ARG, MPI_Type_create_indexed_block_c(1, 1, &beyond, MPI_INT, &made));
    EXPECT(MPI_ERR_COUNT, MPI_Type_create_hindexed_block_c(1, too_many, &start, MPI_INT, &made));
    EXPECT(MPI_ERR_COUNT, MPI_Type_create_struct_c(1, &beyond, &start, &type, &made));
    EXPECT(MPI_ERR_NO_MEM, MPI_Type_create_struct_c(limit, &one, &start, &type, &made));
    EXPECT(MPI_ERR_ARG, MPI_Type_create_resized_c(MPI_INT, 1, limit, &made));
    EXPECT(MPI_ERR_ARG, MPI_Type_create_subarray_c(1, &size, &subsize, &start, MPI_ORDER_C, MPI_INT, &made));
    EXPECT(MPI_ERR_ARG,
           MPI_Type_create_darray_c(1, 0, 1, &size, &distribution, &argument, &processes, MPI_ORDER_C, MPI_INT, &made));
}

void test_sizes(MPI_Datatype huge, int count_of_huge) {
    MPI_Count bytes = 0, position = 0;
    int packed_bytes = 0;
    MPI_Status status{};
    EXPECT(MPI_ERR_COUNT, MPI_Pack_size_c(too_many, MPI_INT, MPI_COMM_SELF, &bytes));
    EXPECT(MPI_ERR_COUNT, MPI_Pack_external_size_c("external32", too_many, MPI_INT, &bytes));
    EXPECT(MPI_ERR_COUNT, MPI_Pack_c(buffer, too_many, MPI_INT, other, sizeof other, &position, MPI_COMM_SELF));
    EXPECT(MPI_ERR_COUNT, MPI_Unpack_c(buffer, sizeof buffer, &position, other, too_many, MPI_INT, MPI_COMM_SELF));
    EXPECT(MPI_ERR_COUNT, MPI_Status_set_elements_c(&status, MPI_INT, too_many));
    EXPECT(MPI_SUCCESS, MPI_Status_set_elements_c(&status, MPI_BYTE, limit));
    EXPECT(MPI_SUCCESS, MPI_Get_elements_c(&status, MPI_BYTE, &bytes));
    CHECK(bytes == limit);
    EXPECT(MPI_ERR_COUNT, MPI_Pack_size(count_of_huge, huge, MPI_COMM_SELF, &packed_bytes));
    EXPECT(MPI_SUCCESS, MPI_Pack_size(1, huge, MPI_COMM_SELF, &packed_bytes));
    CHECK(packed_bytes == MPI_UNDEFINED);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    for (MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Datatype huge;
    MPI_Type_contiguous_c(MPI_Count{1} << 40, MPI_BYTE, &huge);
    MPI_Type_commit(&huge);
    test_sends(huge, 1 << 24);
    test_copies();
    test_largest_message(MPI_COMM_WORLD, 0, 0);
    if (world_size > 1) test_largest_message(MPI_COMM_WORLD, 0, 1);
    test_collectives();
    test_sums();
    test_neighbours();
    test_constructors();
    test_sizes(huge, 1 << 24);
    MPI_Type_free(&huge);
}
