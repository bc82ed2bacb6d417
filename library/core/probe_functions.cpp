// SPDX-License-Identifier: BSD-3-Clause
/// Probes, and messages taken by matched probes (MPI 5.0 §3.8).
#include "core/engine.h"
#include "core/error.h"
#include "core/failures.h"
#include "core/functions.h"
#include "core/messages.h"

namespace volley {
namespace {

/// A message taken out of the queues by a matched probe.
struct Message final : Object {
    static constexpr Mark kind = Mark::message;
    explicit Message(Unexpected *taken) : Object(kind), unexpected(taken) {}
    Unexpected *unexpected;
};

Pool<Message> &pool() {
    static auto *made = new Pool<Message>;
    return *made;
}

WaitingFor about(const Address &from) {
    return {.peer = from.peer,
            .tag = from.tag,
            .context = from.communicator.context(from.traffic),
            .kind = WaitKind::receive,
            .peer_process = from.peer >= 0 ? from.communicator.peer_process(from.peer) : -1};
}

/// Whether the message that is probed for may never come, since its sender has failed.
bool is_in_vain(const Address &from) {
    return failures.any() && failures.may_lack_sender(from.communicator, from.peer);
}

/// False if the message may never come.
template <class Ready> bool wait_until(const Address &from, Ready &&ready) {
    bool is_there = false;
    engine.wait_until([&] { return (is_there = ready()) || is_in_vain(from); }, about(from));
    return is_there;
}

/// Takes the first message that matches out of the queues.
bool take(const Address &from, MPI_Message *message, Completion &completion) {
    if (from.peer == MPI_PROC_NULL) {
        completion = no_process;
        *message = MPI_MESSAGE_NO_PROC;
        return true;
    }
    Unexpected *found;
    do found = find_message(from, completion);
    while (found && !messages.reserve(*found)); // false: its sender has just cancelled it
    if (!found) return false;
    found->queues->remove(*found);
    found->communicator = &from.communicator;
    from.communicator.retain();
    *message = reinterpret_cast<MPI_Message>(pool().make(found));
    return true;
}

/// The message a handle names, out of the handle; nullptr with an error if there is none.
Unexpected *open(MPI_Message *handle, int &error) {
    auto *message = object_of<Message>(*handle);
    if (!message) {
        error = *handle == MPI_MESSAGE_NULL
                    ? fail(MPI_ERR_REQUEST, "the message is MPI_MESSAGE_NULL: it was received already, or never probed")
                    : fail(MPI_ERR_REQUEST, "%p is no message that MPI_Mprobe or MPI_Improbe gave",
                           static_cast<void *>(*handle));
        return nullptr;
    }
    Unexpected *unexpected = message->unexpected;
    pool().destroy(message);
    *handle = MPI_MESSAGE_NULL;
    blame(*unexpected->communicator);
    return unexpected;
}

} // namespace

namespace mpi {

int Probe(int source, int tag, Communicator &comm, MPI_Status *status) {
    Address from{comm, source, tag};
    Completion completion;
    if (!wait_until(from, [&] { return source == MPI_PROC_NULL || find_message(from, completion); }))
        return failures.code_of(comm, source);
    set_status(status, source == MPI_PROC_NULL ? no_process : completion);
    return MPI_SUCCESS;
}

int Iprobe(int source, int tag, Communicator &comm, int *flag, MPI_Status *status) {
    Completion completion;
    *flag = probe({comm, source, tag}, completion);
    if (*flag) set_status(status, completion);
    return *flag || !is_in_vain({comm, source, tag}) ? MPI_SUCCESS : failures.code_of(comm, source);
}

int Mprobe(int source, int tag, Communicator &comm, MPI_Message *message, MPI_Status *status) {
    Address from{comm, source, tag};
    Completion completion;
    if (!wait_until(from, [&] { return take(from, message, completion); })) return failures.code_of(comm, source);
    set_status(status, completion);
    return MPI_SUCCESS;
}

int Improbe(int source, int tag, Communicator &comm, int *flag, MPI_Message *message, MPI_Status *status) {
    Address from{comm, source, tag};
    Completion completion;
    *flag = engine.poll([&] { return take(from, message, completion); });
    if (*flag) set_status(status, completion);
    return *flag || !is_in_vain(from) ? MPI_SUCCESS : failures.code_of(comm, source);
}

int Mrecv(void *buf, Count count, Datatype &datatype, MPI_Message *message, MPI_Status *status) {
    if (*message == MPI_MESSAGE_NO_PROC) {
        *message = MPI_MESSAGE_NULL;
        set_status(status, no_process);
        return MPI_SUCCESS;
    }
    int error = MPI_SUCCESS;
    Unexpected *unexpected = open(message, error);
    if (!unexpected) return error;
    Communicator &communicator = *unexpected->communicator;
    Completion completion;
    error = receive_matched({buf, count, &datatype}, *unexpected, completion);
    Communicator::release(communicator);
    set_status(status, completion);
    return error;
}

int Imrecv(void *buf, Count count, Datatype &datatype, MPI_Message *message, MPI_Request *request) {
    if (*message == MPI_MESSAGE_NO_PROC) {
        *message = MPI_MESSAGE_NULL;
        *request = make_complete_request(no_process)->handle();
        return MPI_SUCCESS;
    }
    int error = MPI_SUCCESS;
    Unexpected *unexpected = open(message, error);
    if (!unexpected) return error;
    Communicator &communicator = *unexpected->communicator;
    *request = start_matched_receive({buf, count, &datatype}, *unexpected)->handle();
    Communicator::release(communicator);
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
