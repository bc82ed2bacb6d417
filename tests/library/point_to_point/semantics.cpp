// SPDX-License-Identifier: BSD-3-Clause
/// What the standard promises of single calls: wildcards, order, truncation, cancelling, synchronous sends, exchanges,
/// persistent and generalized requests, derived datatypes.
#include "../check.h"

#include <cstring>

namespace {

const MPI_Comm world = MPI_COMM_WORLD;

int right() {
    return (world_rank + 1) % world_size;
}

int left() {
    return (world_rank + world_size - 1) % world_size;
}

void no_process() {
    MPI_Status status;
    CHECK(MPI_Send(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, world) == MPI_SUCCESS);
    CHECK(MPI_Recv(nullptr, 0, MPI_INT, MPI_PROC_NULL, 0, world, &status) == MPI_SUCCESS);
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && count == 0);
}

/// Messages are received in the order of the receives that match, whatever order they arrived in.
void tags_choose() {
    int values[3] = {1, 2, 3}, got = 0;
    MPI_Request requests[3];
    for (int i = 0; i < 3; i++) MPI_Isend(&values[i], 1, MPI_INT, right(), 10 + i, world, &requests[i]);
    for (int i = 2; i >= 0; i--) {
        MPI_Recv(&got, 1, MPI_INT, left(), 10 + i, world, MPI_STATUS_IGNORE);
        CHECK(got == i + 1);
    }
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

/// Of two posted receives that fit, the first one is served, wildcards or not.
void posted_in_order() {
    int first = 0, second = 0, third = 0, values[3] = {7, 8, 9};
    MPI_Request requests[3];
    MPI_Irecv(&first, 1, MPI_INT, MPI_ANY_SOURCE, 20, world, &requests[0]);
    MPI_Irecv(&second, 1, MPI_INT, left(), MPI_ANY_TAG, world, &requests[1]);
    MPI_Irecv(&third, 1, MPI_INT, left(), 20, world, &requests[2]);
    MPI_Barrier(world);
    for (int &value : values) MPI_Send(&value, 1, MPI_INT, right(), 20, world);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK(first == 7 && second == 8 && third == 9);
}

void truncation(int bytes) {
    MPI_Errhandler before;
    MPI_Comm_get_errhandler(world, &before);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    std::vector<char> large(static_cast<std::size_t>(bytes), 'x'), small(static_cast<std::size_t>(bytes), 'y');
    MPI_Request request;
    MPI_Isend(large.data(), bytes, MPI_CHAR, right(), 30, world, &request);
    MPI_Status status;
    int code = MPI_Recv(small.data(), bytes - 1, MPI_CHAR, left(), 30, world, &status);
    int error_class;
    MPI_Error_class(code, &error_class);
    CHECK(error_class == MPI_ERR_TRUNCATE);
    CHECK(small[static_cast<std::size_t>(bytes - 1)] == 'y');
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    CHECK(std::strstr(text, std::to_string(bytes).c_str()) != nullptr);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(world, before);
    MPI_Errhandler_free(&before);
}

void cancelled_receive() {
    int value = 5, flag;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_INT, left(), 40, world, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag && value == 5);
}

/// A cancelled send is received by nobody; the one after it is.
void cancelled_send() {
    int flag;
    MPI_Request request;
    MPI_Status status;
    std::vector<int> first(20000, 1), second(20000, 2), got(20000, 0);
    MPI_Barrier(world);
    MPI_Issend(first.data(), 20000, MPI_INT, right(), 50, world, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Barrier(world); // no neighbour receives before all have cancelled
    MPI_Issend(second.data(), 20000, MPI_INT, right(), 50, world, &request);
    MPI_Recv(got.data(), 20000, MPI_INT, left(), 50, world, MPI_STATUS_IGNORE);
    CHECK(got[0] == 2 && got[19999] == 2);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// A synchronous send is not complete before its receive has begun.
/// A message that a matched probe has taken cannot be taken back any more.
void cancelled_after_matched_probe(int bytes) {
    if (world_size < 2 || world_rank > 1) return;
    auto data = message(0, bytes, static_cast<std::size_t>(bytes));
    if (world_rank == 0) {
        MPI_Request request;
        MPI_Status status;
        int cancelled;
        MPI_Issend(data.data(), bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        MPI_Recv(nullptr, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Cancel(&request);
        MPI_Send(nullptr, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        CHECK(!cancelled);
    } else {
        MPI_Message matched;
        std::vector<unsigned char> received(data.size());
        MPI_Mprobe(0, 1, MPI_COMM_WORLD, &matched, MPI_STATUS_IGNORE);
        MPI_Send(nullptr, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        MPI_Recv(nullptr, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Mrecv(received.data(), bytes, MPI_BYTE, &matched, MPI_STATUS_IGNORE);
        CHECK(received == data);
    }
}

void synchronous() {
    int value = world_rank, got = -1, flag = 0;
    MPI_Request request;
    MPI_Issend(&value, 1, MPI_INT, right(), 60, world, &request);
    for (int i = 0; i < 50; i++) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
    }
    MPI_Barrier(world);
    MPI_Recv(&got, 1, MPI_INT, left(), 60, world, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == left());
}

/// Blocking sends of all to all neighbours at once: the library must not wait for receives that come later.
void head_to_head(int bytes) {
    std::vector<unsigned char> out = message(world_rank, bytes, static_cast<std::size_t>(bytes)), in(out.size());
    MPI_Sendrecv(out.data(), bytes, MPI_BYTE, right(), 70, in.data(), bytes, MPI_BYTE, left(), 70, world,
                 MPI_STATUS_IGNORE);
    CHECK(in == message(left(), bytes, in.size()));
    MPI_Sendrecv_replace(out.data(), bytes, MPI_BYTE, right(), 71, left(), 71, world, MPI_STATUS_IGNORE);
    CHECK(out == in);
    MPI_Request request;
    MPI_Isendrecv_replace(out.data(), bytes, MPI_BYTE, left(), 72, right(), 72, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(out == message(world_rank, bytes, out.size()));
}

void persistent() {
    int out = 0, in = -1;
    MPI_Request requests[2];
    MPI_Recv_init(&in, 1, MPI_INT, left(), 80, world, &requests[0]);
    MPI_Ssend_init(&out, 1, MPI_INT, right(), 80, world, &requests[1]);
    for (int round = 0; round < 10; round++) {
        out = world_rank * 100 + round;
        MPI_Startall(2, requests);
        MPI_Status statuses[2];
        MPI_Waitall(2, requests, statuses);
        CHECK(in == left() * 100 + round && statuses[0].MPI_SOURCE == left());
    }
    for (MPI_Request &request : requests) MPI_Request_free(&request);
    CHECK(requests[0] == MPI_REQUEST_NULL);
}

/// Every other element there, a different layout here; small and large.
void derived(int count) {
    MPI_Datatype every_other, pairs;
    MPI_Type_vector(count, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Type_vector(count / 2, 2, 3, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    auto elements = static_cast<std::size_t>(count);
    std::vector<int> out(2 * elements), in(3 * elements, -1);
    for (std::size_t i = 0; i < out.size(); i++) out[i] = world_rank * 1000000 + static_cast<int>(i);
    MPI_Request request;
    MPI_Isend(out.data(), 1, every_other, right(), 90, world, &request);
    MPI_Status status;
    MPI_Recv(in.data(), 1, pairs, left(), 90, world, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int got;
    MPI_Get_elements(&status, pairs, &got);
    CHECK(got == count);
    for (std::size_t i = 0; i < elements; i++)
        CHECK(in[i / 2 * 3 + i % 2] == left() * 1000000 + static_cast<int>(2 * i));
    CHECK(in[2] == -1);
    MPI_Type_free(&every_other);
    MPI_Type_free(&pairs);
}

/// One block or every other element at either side of a send that waits, and so may help to copy.
void blocks_and_gaps(int count) {
    for (int out_stride : {1, 2}) {
        for (int in_stride : {1, 2}) {
            MPI_Datatype sent, received;
            MPI_Type_vector(count, 1, out_stride, MPI_INT, &sent);
            MPI_Type_commit(&sent);
            MPI_Type_vector(count, 1, in_stride, MPI_INT, &received);
            MPI_Type_commit(&received);
            std::vector<int> out(static_cast<std::size_t>(count * out_stride)), in(2 * out.size(), -1);
            for (std::size_t i = 0; i < out.size(); i++) out[i] = world_rank * 1000000 + static_cast<int>(i);
            MPI_Request request;
            MPI_Irecv(in.data(), 1, received, left(), 95, world, &request);
            MPI_Send(out.data(), 1, sent, right(), 95, world);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            for (int i = 0; i < count; i++)
                CHECK(in[static_cast<std::size_t>(i * in_stride)] == left() * 1000000 + i * out_stride);
            CHECK(in_stride == 1 || in[1] == -1);
            MPI_Type_free(&sent);
            MPI_Type_free(&received);
        }
    }
}

/// A request that is freed completes by itself; the datatype may be freed while it is in use.
void freed_while_active() {
    MPI_Datatype strided;
    MPI_Type_vector(3000, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    static std::vector<int> out(6000, 4);
    std::vector<int> in(6000, 0);
    MPI_Request request, receiving;
    MPI_Isend(out.data(), 1, strided, right(), 100, world, &request);
    MPI_Irecv(in.data(), 1, strided, left(), 100, world, &receiving);
    MPI_Type_free(&strided);
    MPI_Request_free(&request);
    MPI_Wait(&receiving, MPI_STATUS_IGNORE);
    CHECK(in[5998] == 4 && in[5999] == 0);
    MPI_Barrier(world);
}

void waiting_for_some() {
    int values[4] = {0, 1, 2, 3}, got[4], indices[4], outcount, done = 0;
    MPI_Request receives[4], sends[4];
    for (int i = 0; i < 4; i++) MPI_Irecv(&got[i], 1, MPI_INT, left(), 110 + i, world, &receives[i]);
    for (int i = 3; i >= 0; i--) MPI_Isend(&values[i], 1, MPI_INT, right(), 110 + i, world, &sends[i]);
    int index;
    MPI_Waitany(4, receives, &index, MPI_STATUS_IGNORE);
    CHECK(index >= 0 && index < 4 && got[index] == index);
    for (done = 1; done < 4; done += outcount) {
        MPI_Waitsome(4, receives, &outcount, indices, MPI_STATUSES_IGNORE);
        CHECK(outcount >= 1);
    }
    MPI_Waitsome(4, receives, &outcount, indices, MPI_STATUSES_IGNORE);
    CHECK(outcount == MPI_UNDEFINED);
    MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++) CHECK(got[i] == i);
}

int queried, freed;

int query(void *extra, MPI_Status *status) {
    queried++;
    MPI_Status_set_elements(status, MPI_INT, *static_cast<int *>(extra));
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    return MPI_SUCCESS;
}

int release(void *) {
    freed++;
    return MPI_SUCCESS;
}

int cancel(void *, int) {
    return MPI_SUCCESS;
}

void generalized() {
    int elements = 17, flag, count;
    MPI_Request request;
    MPI_Grequest_start(query, release, cancel, &elements, &request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    MPI_Grequest_complete(request);
    MPI_Status status;
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(queried == 1 && freed == 1 && count == 17 && status.MPI_SOURCE == 3 && request == MPI_REQUEST_NULL);
}

void buffered_limit() {
    // The receiver to the right may be as many messages behind as there are ranks round the ring to it.
    std::vector<char> room(static_cast<std::size_t>(world_size) * (100 + MPI_BSEND_OVERHEAD));
    MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
    char out[100] = "buffered", in[100] = "";
    for (int i = 0; i < 20; i++) {
        MPI_Bsend(out, 100, MPI_CHAR, right(), 120, world);
        MPI_Recv(in, 100, MPI_CHAR, left(), 120, world, MPI_STATUS_IGNORE);
        CHECK(std::strcmp(in, "buffered") == 0);
    }
    void *address;
    int size;
    MPI_Buffer_detach(&address, &size);
    CHECK(address == room.data() && size == static_cast<int>(room.size()));
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    no_process();
    tags_choose();
    posted_in_order();
    for (int bytes : {8, 1000, 5000, 100000}) truncation(bytes);
    cancelled_receive();
    cancelled_send();
    for (int bytes : {1, 100000}) cancelled_after_matched_probe(bytes);
    synchronous();
    for (int bytes : {0, 1, 100, 4096, 5000, 100000, 2000000}) head_to_head(bytes);
    persistent();
    for (int count : {2, 10, 1000, 100000}) derived(count);
    for (int count : {10, 1000, 3000, 10000, 100000}) blocks_and_gaps(count);
    freed_while_active();
    waiting_for_some();
    generalized();
    buffered_limit();
}
