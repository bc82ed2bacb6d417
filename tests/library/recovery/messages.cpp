// SPDX-License-Identifier: BSD-3-Clause
/// Three ranks, of which rank 1 fails while rank 0 communicates with it. The argument says how.
#include "recovery.h"

namespace {

constexpr int large = 4 << 20;
constexpr int victim = 1;

std::vector<char> buffer(large);
int value = 0;

bool has_failed(int code) {
    return class_of(code) == MPIX_ERR_PROC_FAILED;
}

/// What rank 0 does; the victim dies when it has taken the message by which it is let go.
struct Case {
    const char *name;
    void (*survivor)();
    void (*before_death)();
    void (*helper)(); ///< rank 2
};

void nothing() {}

void let_go() {
    MPI_Send(&value, 1, MPI_INT, victim, 1, MPI_COMM_WORLD);
}
void wait_to_die() {
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void receive() {
    CHECK(has_failed(MPI_Recv(&value, 1, MPI_INT, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)));
    CHECK(has_failed(MPI_Recv(&value, 1, MPI_INT, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE))); // known by now
}

void receive_late() {
    let_go();
    receive();
}

void send_large() {
    let_go();
    CHECK(has_failed(MPI_Ssend(buffer.data(), large, MPI_CHAR, victim, 0, MPI_COMM_WORLD)));
    CHECK(has_failed(MPI_Send(&value, 1, MPI_INT, victim, 0, MPI_COMM_WORLD)));
}

void send_many() {
    let_go();
    while (MPI_Send(buffer.data(), 256, MPI_CHAR, victim, 0, MPI_COMM_WORLD) == MPI_SUCCESS) {}
    CHECK(has_failed(MPI_Send(&value, 1, MPI_INT, victim, 0, MPI_COMM_WORLD)));
}

void requests() {
    MPI_Request request[4];
    int from_helper = 0;
    MPI_Irecv(&value, 1, MPI_INT, victim, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Issend(buffer.data(), large, MPI_CHAR, victim, 0, MPI_COMM_WORLD, &request[1]);
    MPI_Irecv(&from_helper, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &request[2]);
    MPI_Issend(&value, 1, MPI_INT, victim, 0, MPI_COMM_WORLD, &request[3]);
    let_go();
    MPI_Status status[4];
    CHECK(class_of(MPI_Waitall(4, request, status)) == MPI_ERR_IN_STATUS);
    CHECK(has_failed(status[0].MPI_ERROR) && has_failed(status[1].MPI_ERROR) && has_failed(status[3].MPI_ERROR));
    CHECK(status[2].MPI_ERROR == MPI_SUCCESS && from_helper == 5);
    for (MPI_Request each : request) CHECK(each == MPI_REQUEST_NULL);
}
void send_five() {
    value = 5;
    MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
}

/// What a process has sent in full can be received though it has failed. By TCP a first message makes the connection:
/// what follows has left the process when the send returns.
void sent_before() {
    MPI_Recv(&value, 1, MPI_INT, victim, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    let_go();
    while (failed_members(MPI_COMM_WORLD) == 0) {}
    for (int number = 0; number < 3; number++) {
        CHECK(MPI_Recv(&value, 1, MPI_INT, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(value == number);
    }
    CHECK(MPI_Recv(buffer.data(), 2000, MPI_CHAR, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(buffer[1999] == 7);
    CHECK(has_failed(MPI_Recv(&value, 1, MPI_INT, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)));
}
void send_and_die() {
    MPI_Send(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    for (int number = 0; number < 3; number++) MPI_Send(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    buffer.assign(large, 7);
    MPI_Send(buffer.data(), 2000, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    wait_to_die();
}

/// A receive from any source goes on; a wait for it fails until the failure is acknowledged.
void any_source() {
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
    let_go();
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED_PENDING);
    CHECK(request != MPI_REQUEST_NULL);
    int flag = 1, index = 0;
    CHECK(class_of(MPI_Test(&request, &flag, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED_PENDING && !flag);
    CHECK(class_of(MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE)) == MPIX_ERR_PROC_FAILED_PENDING);
    MPI_Status status;
    CHECK(class_of(MPI_Waitall(1, &request, &status)) == MPI_ERR_IN_STATUS);
    CHECK(class_of(status.MPI_ERROR) == MPIX_ERR_PROC_FAILED_PENDING && request != MPI_REQUEST_NULL);
    int other = 0;
    CHECK(has_failed(MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)));
    int acknowledged = 0;
    CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, 1, &acknowledged) == MPI_SUCCESS && acknowledged == 1);
    MPI_Group failed;
    const int first = 0;
    int size = 0, rank = 0;
    MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed);
    MPI_Group_size(failed, &size);
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_translate_ranks(failed, 1, &first, world, &rank);
    CHECK(size == 1 && rank == victim);
    MPI_Group_free(&failed);
    MPI_Group_free(&world);
    MPI_Send(&value, 1, MPI_INT, 2, 2, MPI_COMM_WORLD); // from here on the helper may send
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && value == 5);
}
void send_five_when_asked() {
    MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    send_five();
}

void probe() {
    let_go();
    MPI_Status status;
    CHECK(has_failed(MPI_Probe(victim, 0, MPI_COMM_WORLD, &status)));
    int flag = 0;
    CHECK(has_failed(MPI_Iprobe(victim, 0, MPI_COMM_WORLD, &flag, &status)));
    MPI_Message message;
    CHECK(has_failed(MPI_Mprobe(victim, 0, MPI_COMM_WORLD, &message, &status)));
}

/// The receive of a large message has begun, or begins, when its sender dies.
void large_from_dying() {
    MPI_Status status;
    const int code = MPI_Recv(buffer.data(), large, MPI_CHAR, victim, 0, MPI_COMM_WORLD, &status);
    CHECK(code == MPI_SUCCESS || has_failed(code));
}
void send_large_and_die() {
    MPI_Request request;
    die_in(300);
    for (;;) {
        MPI_Isend(buffer.data(), large, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

void persistent() {
    MPI_Request request;
    MPI_Recv_init(&value, 1, MPI_INT, victim, 0, MPI_COMM_WORLD, &request);
    let_go();
    for (int round = 0; round < 3; round++) {
        MPI_Start(&request);
        CHECK(has_failed(MPI_Wait(&request, MPI_STATUS_IGNORE)));
    }
    MPI_Request_free(&request);
}

const Case cases[] = {
    {"receive", receive, nothing, nothing},
    {"receive late", receive_late, wait_to_die, nothing},
    {"send large", send_large, wait_to_die, nothing},
    {"send many", send_many, wait_to_die, nothing},
    {"requests", requests, wait_to_die, send_five},
    {"sent before", sent_before, send_and_die, nothing},
    {"any source", any_source, wait_to_die, send_five_when_asked},
    {"probe", probe, wait_to_die, nothing},
    {"large from dying", large_from_dying, send_large_and_die, nothing},
    {"persistent", persistent, wait_to_die, nothing},
};

} // namespace

int main(int argc, char **argv) {
    if (std::string(argv[1]) == "list") {
        for (const Case &each : cases) std::puts(each.name);
        return 0;
    }
    start(&argc, &argv);
    for (const Case &each : cases) {
        if (std::string(argv[1]) != each.name) continue;
        if (world_rank == 0) each.survivor();
        if (world_rank == victim) each.before_death();
        if (world_rank == victim) die();
        if (world_rank == 2) each.helper();
    }
    // The living still reach each other on the same communicator.
    if (world_rank == 0) {
        MPI_Send(&world_rank, 1, MPI_INT, 2, 9, MPI_COMM_WORLD);
        std::puts("good");
    } else {
        CHECK(MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    MPI_Finalize();
}
