// SPDX-License-Identifier: BSD-3-Clause
/// Partitioned communication: what arrives, when, in which partitions, and what is refused.
#include "../check.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace {

const MPI_Comm world = MPI_COMM_WORLD;

int right() {
    return (world_rank + 1) % world_size;
}

int left() {
    return (world_rank + world_size - 1) % world_size;
}

int class_of(int code) {
    int error_class;
    MPI_Error_class(code, &error_class);
    return error_class;
}

/// So many threads mark the partitions, each those of its own.
void mark(MPI_Request &request, int partitions, int threads) {
    std::vector<std::thread> all;
    for (int thread = 0; thread < threads; thread++)
        all.emplace_back([=, &request] {
            for (int partition = thread; partition < partitions; partition += threads)
                CHECK(MPI_Pready(partition, request) == MPI_SUCCESS);
        });
    for (std::thread &thread : all) thread.join();
}

/// A message goes around the ring, several times, with different numbers of partitions on the two sides.
void ring(int sent, int received, int bytes, int threads) {
    const auto all = static_cast<std::size_t>(sent) * static_cast<std::size_t>(bytes);
    CHECK(all % static_cast<std::size_t>(received) == 0);
    std::vector<unsigned char> out(all), in(all);
    MPI_Request requests[2];
    MPI_Precv_init(in.data(), received, static_cast<MPI_Count>(all) / received, MPI_BYTE, left(), 3, world,
                   MPI_INFO_NULL, &requests[0]);
    MPI_Psend_init(out.data(), sent, bytes, MPI_BYTE, right(), 3, world, MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 4; round++) {
        std::ranges::copy(message(world_rank, round, all), out.begin());
        std::fill(in.begin(), in.end(), static_cast<unsigned char>(0));
        MPI_Startall(2, requests);
        mark(requests[1], sent, threads);
        for (int partition = received; partition-- > 0;) {
            int flag = 0;
            while (!flag) MPI_Parrived(requests[0], partition, &flag);
            const std::size_t size = all / static_cast<std::size_t>(received);
            const std::size_t begin = static_cast<std::size_t>(partition) * size;
            CHECK(std::memcmp(&in[begin], &message(left(), round, all)[begin], size) == 0);
        }
        MPI_Status statuses[2];
        MPI_Waitall(2, requests, statuses);
        MPI_Count count;
        MPI_Get_count_c(&statuses[0], MPI_BYTE, &count);
        CHECK(count == static_cast<MPI_Count>(all) && statuses[0].MPI_SOURCE == left() && statuses[0].MPI_TAG == 3);
        CHECK(in == message(left(), round, all));
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
}

/// A partition arrives when it is marked, not before, and without those that are not.
void one_by_one() {
    int out[4] = {10, 11, 12, 13}, in[4] = {}, flag;
    MPI_Request receive, send;
    MPI_Psend_init_c(out, 4, 1, MPI_INT, right(), 0, world, MPI_INFO_NULL, &send);
    MPI_Precv_init_c(in, 2, 2, MPI_INT, left(), 0, world, MPI_INFO_NULL, &receive);
    MPI_Parrived(receive, 1, &flag);
    CHECK(flag); // not started
    MPI_Start(&receive);
    MPI_Start(&send);
    MPI_Pready_range(2, 2, send);
    MPI_Barrier(world);
    for (int look = 0; look < 100; look++) {
        MPI_Parrived(receive, 1, &flag);
        CHECK(!flag);
    }
    MPI_Barrier(world);
    MPI_Pready_range(3, 3, send);
    do {
        MPI_Parrived(receive, 1, &flag);
    } while (!flag);
    CHECK(in[2] == 12 && in[3] == 13);
    MPI_Parrived(receive, 0, &flag);
    CHECK(!flag);
    MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Barrier(world);
    const int list[2] = {1, 0};
    MPI_Pready_list(2, list, send);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    CHECK(in[0] == 10 && in[1] == 11);
    MPI_Request_free(&receive);
    MPI_Request_free(&send);
    MPI_Parrived(MPI_REQUEST_NULL, 0, &flag);
    CHECK(flag);
}

/// Channels of the same tag belong together in the order in which they were made, and other messages and probes with
/// that tag do not meet them.
void matching() {
    int out[3] = {1, 2, 3}, in[3] = {}, plain = 4, got = 0, flag;
    MPI_Request sends[3], receives[3], other;
    for (int i = 0; i < 3; i++) MPI_Psend_init(&out[i], 1, 1, MPI_INT, right(), 5, world, MPI_INFO_NULL, &sends[i]);
    MPI_Barrier(world);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &other);
    for (int i = 0; i < 3; i++) MPI_Precv_init(&in[i], 1, 1, MPI_INT, left(), 5, world, MPI_INFO_NULL, &receives[i]);
    // Started and marked the other way round.
    for (int i = 3; i-- > 0;) {
        MPI_Start(&sends[i]);
        MPI_Pready(0, sends[i]);
    }
    MPI_Startall(3, receives);
    MPI_Waitall(3, receives, MPI_STATUSES_IGNORE);
    MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
    CHECK(in[0] == 1 && in[1] == 2 && in[2] == 3 && got == 0);
    MPI_Barrier(world);
    MPI_Send(&plain, 1, MPI_INT, right(), 5, world);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    CHECK(got == 4);
    for (int i = 0; i < 3; i++) {
        MPI_Request_free(&sends[i]);
        MPI_Request_free(&receives[i]);
    }
}

/// Partitions end within elements of a datatype with gaps.
void gaps() {
    MPI_Datatype every_second;
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_second);
    MPI_Type_create_resized(every_second, 0, 6 * sizeof(int), &every_second);
    MPI_Type_commit(&every_second);
    int out[12], in[24];
    for (int i = 0; i < 12; i++) out[i] = 100 * world_rank + i;
    MPI_Request requests[2];
    for (int partitions : {1, 2, 3, 4, 6, 12}) {
        std::memset(in, -1, sizeof in);
        MPI_Psend_init(out, partitions, 12 / partitions, MPI_INT, right(), 6, world, MPI_INFO_NULL, &requests[0]);
        MPI_Precv_init(in, 2, 2, every_second, left(), 6, world, MPI_INFO_NULL, &requests[1]);
        MPI_Startall(2, requests);
        MPI_Pready_range(0, partitions - 1, requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 12; i++) CHECK(in[2 * i] == 100 * left() + i && in[2 * i + 1] == -1);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
    MPI_Type_free(&every_second);
}

void no_process() {
    int value = 0, flag;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Psend_init(&value, 1, 1, MPI_INT, MPI_PROC_NULL, 0, world, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(&value, 1, 1, MPI_INT, MPI_PROC_NULL, 0, world, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready(0, requests[0]);
    MPI_Parrived(requests[1], 0, &flag);
    CHECK(flag);
    MPI_Waitall(2, requests, statuses);
    CHECK(statuses[1].MPI_SOURCE == MPI_PROC_NULL);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

void errors() {
    MPI_Comm comm;
    MPI_Comm_dup(world, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int out[3] = {}, in[2] = {}, flag;
    MPI_Request send, receive;
    CHECK(class_of(MPI_Psend_init(out, -1, 1, MPI_INT, right(), 0, comm, MPI_INFO_NULL, &send)) == MPI_ERR_COUNT);
    CHECK(class_of(MPI_Precv_init(in, 1, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_INFO_NULL, &receive)) ==
          MPI_ERR_RANK);
    CHECK(class_of(MPI_Precv_init(in, 1, 1, MPI_INT, left(), MPI_ANY_TAG, comm, MPI_INFO_NULL, &receive)) ==
          MPI_ERR_TAG);
    CHECK(class_of(MPI_Pready(0, MPI_REQUEST_NULL)) == MPI_ERR_REQUEST);
    MPI_Psend_init(out, 3, 1, MPI_INT, right(), 0, comm, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, 2, 1, MPI_INT, left(), 0, comm, MPI_INFO_NULL, &receive);
    CHECK(class_of(MPI_Pready(0, send)) == MPI_ERR_REQUEST); // not started
    MPI_Start(&send);
    MPI_Start(&receive);
    CHECK(class_of(MPI_Pready(3, send)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Pready_range(-1, 0, send)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Pready(0, receive)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Parrived(send, 0, &flag)) == MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Parrived(receive, 2, &flag)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Cancel(&receive)) == MPI_ERR_REQUEST);
    MPI_Pready_range(0, 2, send);
    CHECK(class_of(MPI_Pready(1, send)) == MPI_ERR_ARG); // again
    CHECK(class_of(MPI_Wait(&receive, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&comm);
}

/// Each receiver waits in MPI_Wait, asleep before long, for a sender that is late.
void late_sender() {
    int out[2] = {1, 2}, in[2] = {};
    MPI_Request send, receive;
    if (world_rank % 2 == 0 && right() != world_rank) {
        MPI_Psend_init(out, 2, 1, MPI_INT, right(), 8, world, MPI_INFO_NULL, &send);
        MPI_Start(&send);
        for (int partition : {1, 0}) {
            const double until = MPI_Wtime() + 0.02;
            while (MPI_Wtime() < until) {}
            MPI_Pready(partition, send);
        }
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Request_free(&send);
    }
    if (left() % 2 == 0 && left() != world_rank) {
        MPI_Precv_init(in, 2, 1, MPI_INT, left(), 8, world, MPI_INFO_NULL, &receive);
        MPI_Start(&receive);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        CHECK(in[0] == 1 && in[1] == 2);
        MPI_Request_free(&receive);
    }
}

} // namespace

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(world, &world_rank);
    MPI_Comm_size(world, &world_size);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    for (int bytes : {0, 8, 1000, 50000, 300000})
        for (int sent : {1, 3, 16}) {
            ring(sent, sent, bytes, 2);
            if (bytes % 6 == 0 || sent == 16) ring(sent, sent == 16 ? 4 : 2 * sent, bytes, 2);
        }
    one_by_one();
    matching();
    gaps();
    no_process();
    errors();
    late_sender();
    MPI_Barrier(world);
    if (world_rank == 0) std::puts("good");
    MPI_Finalize();
}
