// SPDX-License-Identifier: BSD-3-Clause
// Messages and requests by functions that programs call seldom: ready and synchronous modes, matched probes that do not
// wait, counts of type MPI_Count, buffers of communicators and sessions, looking at requests, and statuses.
#include "../../check.h"

#include <array>

namespace {

const MPI_Comm world = MPI_COMM_WORLD;
constexpr int tag = 5, elements = 4;
using Data = std::array<int, elements>;

int left() {
    return (world_rank + world_size - 1) % world_size;
}
int right() {
    return (world_rank + 1) % world_size;
}
Data data_of(int rank) {
    return {rank, rank + 10, rank + 20, rank + 30};
}

void check_received(const Data &received, const MPI_Status &status) {
    int count = 0;
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(received == data_of(left()) && count == elements && status.MPI_SOURCE == left() && status.MPI_TAG == tag);
}

/// Receives from the left what `send` has sent to the right.
template <class Send> void receive_what(Send &&send) {
    Data received = {};
    MPI_Request receiving;
    MPI_Status status;
    MPI_Irecv(received.data(), elements, MPI_INT, left(), tag, world, &receiving);
    MPI_Barrier(world); // a ready send must find its receive
    send();
    MPI_Wait(&receiving, &status);
    check_received(received, status);
}

template <class Init> void send_persistently(Init &&init) {
    const Data sent = data_of(world_rank);
    MPI_Request request;
    init(sent.data(), &request);
    for (int i = 0; i < 2; i++)
        receive_what([&] {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        });
    MPI_Request_free(&request);
}

void modes() {
    const Data sent = data_of(world_rank);
    const int *s = sent.data();
    receive_what([s] { MPI_Rsend(s, elements, MPI_INT, right(), tag, world); });
    receive_what([s] {
        MPI_Request request;
        MPI_Irsend(s, elements, MPI_INT, right(), tag, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    });
    const auto to_right = [](auto function) {
        return [function](const int *buffer, MPI_Request *q) {
            function(buffer, elements, MPI_INT, right(), tag, world, q);
        };
    };
    send_persistently(to_right(MPI_Rsend_init));
    send_persistently(to_right(MPI_Rsend_init_c));
    send_persistently(to_right(MPI_Ssend_init_c));
    std::array<char, 4096> space;
    void *detached = nullptr;
    MPI_Count bytes = 0;
    MPI_Buffer_attach_c(space.data(), static_cast<MPI_Count>(space.size()));
    send_persistently(to_right(MPI_Bsend_init));
    send_persistently(to_right(MPI_Bsend_init_c));
    MPI_Buffer_detach_c(&detached, &bytes);
    CHECK(detached == space.data() && bytes == static_cast<MPI_Count>(space.size()));
}

/// A buffered send, whose buffer is then flushed by both functions and taken back.
template <class Flush, class Iflush> void flush_buffer(Flush &&flush, Iflush &&iflush, MPI_Comm comm) {
    const Data sent = data_of(world_rank);
    for (int turn = 0; turn < 2; turn++) {
        Data received = {};
        MPI_Request request;
        MPI_Bsend(sent.data(), elements, MPI_INT, right(), tag, comm);
        MPI_Recv(received.data(), elements, MPI_INT, left(), tag, comm, MPI_STATUS_IGNORE);
        CHECK(received == data_of(left()));
        if (turn == 0) {
            flush();
        } else {
            iflush(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

void buffers() {
    std::array<char, 2048> space;
    const auto size = static_cast<MPI_Count>(space.size());
    void *detached = nullptr;
    MPI_Count bytes = 0;
    MPI_Buffer_attach_c(space.data(), size);
    flush_buffer(MPI_Buffer_flush, MPI_Buffer_iflush, world);
    MPI_Buffer_detach_c(&detached, &bytes);
    CHECK(detached == space.data() && bytes == size);

    MPI_Comm comm;
    MPI_Comm_dup(world, &comm);
    MPI_Comm_attach_buffer_c(comm, space.data(), size);
    flush_buffer([&] { MPI_Comm_flush_buffer(comm); }, [&](MPI_Request *q) { MPI_Comm_iflush_buffer(comm, q); }, comm);
    detached = nullptr;
    MPI_Comm_detach_buffer_c(comm, &detached, &bytes);
    CHECK(detached == space.data() && bytes == size);
    MPI_Comm_free(&comm);

    MPI_Session session;
    MPI_Group group;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "buffers", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Session_attach_buffer_c(session, space.data(), size);
    flush_buffer([&] { MPI_Session_flush_buffer(session); },
                 [&](MPI_Request *q) { MPI_Session_iflush_buffer(session, q); }, comm);
    detached = nullptr;
    MPI_Session_detach_buffer_c(session, &detached, &bytes);
    CHECK(detached == space.data() && bytes == size);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
}

/// The message that Improbe has matched, when it has come.
MPI_Message matched(MPI_Status &status) {
    MPI_Message message;
    for (int flag = 0; !flag;) {
        MPI_Improbe(left(), tag, world, &flag, &message, &status);
        CHECK(flag || message == MPI_MESSAGE_NULL || message != MPI_MESSAGE_NO_PROC);
    }
    return message;
}

void matched_probes() {
    const Data sent = data_of(world_rank);
    MPI_Request requests[2];
    for (MPI_Request &each : requests) MPI_Isend(sent.data(), elements, MPI_INT, right(), tag, world, &each);
    MPI_Status status;
    Data received = {};
    MPI_Message message = matched(status);
    MPI_Mrecv_c(received.data(), elements, MPI_INT, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL);
    check_received(received, status);
    message = matched(status);
    MPI_Request receiving;
    received = {};
    MPI_Imrecv_c(received.data(), elements, MPI_INT, &message, &receiving);
    MPI_Wait(&receiving, &status);
    check_received(received, status);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

void sendrecv() {
    const Data sent = data_of(world_rank);
    Data received = {};
    MPI_Request request;
    MPI_Status status;
    MPI_Isendrecv_c(sent.data(), elements, MPI_INT, right(), tag, received.data(), elements, MPI_INT, left(), tag,
                    world, &request);
    MPI_Wait(&request, &status);
    check_received(received, status);
    Data replaced = sent;
    MPI_Isendrecv_replace_c(replaced.data(), elements, MPI_INT, right(), tag, left(), tag, world, &request);
    MPI_Wait(&request, &status);
    check_received(replaced, status);
}

/// Looking at requests leaves them as they are; the Test functions then complete them.
void looking() {
    const Data sent = data_of(world_rank);
    std::array<Data, 2> received = {};
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[3], status;
    int flag = 1, index = 0, count = 0, indices[3];
    MPI_Irecv(received[0].data(), elements, MPI_INT, left(), tag, world, &requests[0]);
    MPI_Irecv(received[1].data(), elements, MPI_INT, left(), tag, world, &requests[1]);
    const MPI_Request pending = requests[0];
    MPI_Request_get_status(requests[0], &flag, &status);
    CHECK(!flag);
    MPI_Request_get_status_all(2, requests, &flag, statuses);
    CHECK(!flag);
    MPI_Request_get_status_any(2, requests, &index, &flag, &status);
    CHECK(!flag);
    MPI_Request_get_status_some(2, requests, &count, indices, statuses);
    CHECK(count == 0);
    MPI_Testany(2, requests, &index, &flag, &status);
    CHECK(!flag && index == MPI_UNDEFINED);
    MPI_Testsome(2, requests, &count, indices, statuses);
    CHECK(count == 0);
    MPI_Barrier(world);
    for (int i = 0; i < 2; i++) MPI_Send(sent.data(), elements, MPI_INT, right(), tag, world);
    for (flag = 0; !flag;) MPI_Request_get_status_all(3, requests, &flag, statuses);
    CHECK(requests[0] == pending && statuses[0].MPI_SOURCE == left() && statuses[1].MPI_TAG == tag);
    MPI_Request_get_status(requests[0], &flag, &status);
    CHECK(flag && status.MPI_SOURCE == left());
    MPI_Request_get_status_any(3, requests, &index, &flag, &status);
    CHECK(flag && (index == 0 || index == 1) && status.MPI_TAG == tag);
    MPI_Request_get_status_some(3, requests, &count, indices, statuses);
    CHECK(count == 2 && indices[0] + indices[1] == 1 && requests[0] == pending);
    MPI_Testany(3, requests, &index, &flag, &status);
    CHECK(flag && requests[index] == MPI_REQUEST_NULL && status.MPI_SOURCE == left());
    MPI_Testsome(3, requests, &count, indices, statuses);
    CHECK(count == 1 && indices[0] == 1 - index && requests[indices[0]] == MPI_REQUEST_NULL);
    CHECK(received[0] == data_of(left()) && received[1] == received[0]);
    MPI_Testsome(3, requests, &count, indices, statuses);
    CHECK(count == MPI_UNDEFINED);
}

void statuses() {
    MPI_Status status = {};
    int source = 0, found_tag = 0, error = 0;
    MPI_Count count = 0;
    MPI_Status_set_source(&status, 3);
    MPI_Status_set_tag(&status, 7);
    MPI_Status_set_error(&status, MPI_ERR_TRUNCATE);
    MPI_Status_set_elements_x(&status, MPI_INT, 12);
    MPI_Status_get_source(&status, &source);
    MPI_Status_get_tag(&status, &found_tag);
    MPI_Status_get_error(&status, &error);
    MPI_Get_elements_x(&status, MPI_INT, &count);
    CHECK(source == 3 && found_tag == 7 && error == MPI_ERR_TRUNCATE && count == 12);
    CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 7 && status.MPI_ERROR == MPI_ERR_TRUNCATE);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    for (const auto test : {modes, buffers, matched_probes, sendrecv, looking, statuses}) test();
}
