// SPDX-License-Identifier: BSD-3-Clause
// Messages of more bytes than an int counts, in little memory: a buffer is the same megabyte mapped again and again.
#include "../check.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace {

constexpr std::size_t piece = 1 << 20, pieces = 2049;
constexpr MPI_Count bytes = (MPI_Count{1} << 31) + 4099;

/// Written piece by piece it holds what was written last.
class Buffer {
  public:
    Buffer() {
        const int file = memfd_create("buffer", 0);
        CHECK(file >= 0 && ftruncate(file, piece) == 0);
        void *reserved = mmap(nullptr, piece * pieces, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(reserved != MAP_FAILED);
        begin = static_cast<unsigned char *>(reserved);
        for (std::size_t i = 0; i < pieces; i++)
            CHECK(mmap(begin + i * piece, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) !=
                  MAP_FAILED);
        close(file);
    }
    Buffer(const Buffer &) = delete;
    ~Buffer() {
        munmap(begin, piece * pieces);
    }
    void fill(int number) {
        for (std::size_t i = 0; i < piece; i++) begin[i] = expected_byte(number, 1, i);
    }
    bool holds(int number) const {
        for (std::size_t i = 0; i < piece; i++)
            if (begin[i] != expected_byte(number, 1, i)) return false;
        return true;
    }

    unsigned char *begin;
};

void test_message(Buffer &buffer) {
    if (world_rank == 0) {
        buffer.fill(1);
        MPI_Send_c(buffer.begin, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (world_rank == 1) {
        MPI_Status status;
        MPI_Recv_c(buffer.begin, bytes + 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Count count;
        int small;
        MPI_Get_count_c(&status, MPI_BYTE, &count);
        MPI_Get_count(&status, MPI_BYTE, &small);
        CHECK(count == bytes && small == MPI_UNDEFINED && buffer.holds(1));
    }
}

/// With a datatype: gaps on one side.
void test_typed_message(Buffer &buffer) {
    if (world_rank == 0) {
        buffer.fill(2);
        MPI_Datatype again; // the same kilobyte, so often that it is as much
        MPI_Type_create_hvector_c(bytes / 1024, 1024, 0, MPI_BYTE, &again);
        MPI_Type_commit(&again);
        MPI_Send(buffer.begin, 1, again, 1, 0, MPI_COMM_WORLD);
        MPI_Type_free(&again);
    } else if (world_rank == 1) {
        MPI_Status status;
        MPI_Recv_c(buffer.begin, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status);
        MPI_Count count;
        MPI_Get_count_c(&status, MPI_BYTE, &count);
        CHECK(count == bytes / 1024 * 1024);
        for (std::size_t i = 0; i < piece; i++) CHECK(buffer.begin[i] == expected_byte(2, 1, i % 1024));
    }
}

void test_broadcast(Buffer &buffer) {
    if (world_rank == 0) buffer.fill(3);
    MPI_Bcast_c(buffer.begin, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    CHECK(buffer.holds(3));
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    Buffer buffer;
    test_message(buffer);
    test_typed_message(buffer);
    test_broadcast(buffer);
}
