// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Send, MPI_Recv and relatives (MPI 5.0 §3.2 to §3.10), except buffered sends (buffered.cpp) and probes.
#include "core/engine.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/point_to_point.h"
#include "layout/copy.h"

#include <cstdlib>
#include <memory>

namespace volley {
namespace {

int give(Request *request, MPI_Request *handle) {
    *handle = request->handle();
    return MPI_SUCCESS;
}

/// The same for a send. If the send was refused at once, the call returns the error: the program may wait for an answer
/// before it waits for the send.
int give_send(Request *made, MPI_Request *request) {
    if (int code = made->completion.error; code != MPI_SUCCESS) [[unlikely]] {
        made->dispose();
        *request = MPI_REQUEST_NULL;
        return code;
    }
    return give(made, request);
}

/// A copy of a message, for the _replace functions: their send needs a buffer other than that of the receive.
class PackedCopy {
  public:
    PackedCopy(const void *buffer, Count count, Datatype &datatype)
        : bytes_(count * datatype.size()), memory_(std::malloc(static_cast<std::size_t>(bytes_) + 1)) {
        if (memory_) pack({&datatype.plan(), const_cast<void *>(buffer), count}, 0, bytes_, memory_.get());
    }
    bool exists() const {
        return memory_ != nullptr;
    }
    int no_room() const {
        return fail(MPI_ERR_NO_MEM, "no memory for a copy of the message of %lld bytes",
                    static_cast<long long>(bytes_));
    }
    Data data() const {
        return Data::bytes(memory_.get(), bytes_);
    }

  private:
    struct Free {
        void operator()(void *memory) const {
            std::free(memory);
        }
    };
    Count bytes_;
    std::unique_ptr<void, Free> memory_;
};

/// Where the message is not sent, its receiver may not send the other one.
void give_up_if_refused(Request &receiving, const Request &sending) {
    if (sending.completion.error != MPI_SUCCESS) receiving.cancel();
}

/// The result of both: that of the receive, unless the send failed.
Completion outcome_of(const Request &receiving, const Request &sending) {
    Completion completion = receiving.completion;
    if (sending.completion.error != MPI_SUCCESS) completion.error = sending.completion.error;
    return completion;
}

/// A receive and a send as one request, whose status is that of the receive.
class ExchangeRequest final : public Request, public ProgressHook {
  public:
    ExchangeRequest(Request *receive, Request *send, std::unique_ptr<PackedCopy> copy)
        : receive_(receive), send_(send), copy_(std::move(copy)) {
        communicator = receive->communicator;
        give_up_if_refused(*receive, *send);
        progress();
        if (!is_complete()) engine.register_hook(*this);
    }
    void progress() override {
        if (!receive_->is_complete() || !send_->is_complete()) return;
        engine.remove_hook(*this);
        completion = outcome_of(*receive_, *send_);
        receive_->dispose();
        send_->dispose();
        complete();
    }
    void attend() override {
        if (!is_complete()) send_->attend();
    }
    WaitingFor about() const override {
        return is_complete() ? WaitingFor{} : receive_->about();
    }
    const char *name() const override {
        return "MPI_Isendrecv";
    }

  private:
    Request *receive_, *send_;
    std::unique_ptr<PackedCopy> copy_;
};

int exchange(const Data &outgoing, const Address &to, const Data &incoming, const Address &from, MPI_Status *status) {
    Request *receiving = start_receive(incoming, from);
    // The call must not wait for the send alone: the peer may do the same, and wait for this rank to receive.
    Request *sending = start_send(outgoing, to);
    give_up_if_refused(*receiving, *sending);
    engine.wait_until(
        [&] {
            sending->attend();
            return receiving->is_complete() && sending->is_complete();
        },
        receiving->about());
    Completion completion = outcome_of(*receiving, *sending);
    sending->dispose();
    receiving->dispose();
    set_status(status, completion);
    return completion.error;
}

} // namespace

namespace mpi {

int Send(const void *buf, Count count, Datatype &datatype, int dest, int tag, Communicator &comm) {
    return send({buf, count, &datatype}, {comm, dest, tag});
}

int Ssend(const void *buf, Count count, Datatype &datatype, int dest, int tag, Communicator &comm) {
    return send({buf, count, &datatype}, {comm, dest, tag}, SendMode::synchronous);
}

int Rsend(const void *buf, Count count, Datatype &datatype, int dest, int tag, Communicator &comm) {
    return send({buf, count, &datatype}, {comm, dest, tag}, SendMode::ready);
}

int Recv(void *buf, Count count, Datatype &datatype, int source, int tag, Communicator &comm, MPI_Status *status) {
    Completion completion;
    int error = receive({buf, count, &datatype}, {comm, source, tag}, &completion);
    set_status(status, completion);
    return error;
}

int Isend(const void *buf, Count count, Datatype &datatype, int dest, int tag, Communicator &comm,
          MPI_Request *request) {
    return give_send(start_send({buf, count, &datatype}, {comm, dest, tag}), request);
}

int Issend(const void *buf, Count count, Datatype &datatype, int dest, int tag, Communicator &comm,
           MPI_Request *request) {
    return give_send(start_send({buf, count, &datatype}, {comm, dest, tag}, SendMode::synchronous), request);
}

int Irsend(const void *buf, Count count, Datatype &datatype, int dest, int tag, Communicator &comm,
           MPI_Request *request) {
    return give_send(start_send({buf, count, &datatype}, {comm, dest, tag}, SendMode::ready), request);
}

int Irecv(void *buf, Count count, Datatype &datatype, int source, int tag, Communicator &comm, MPI_Request *request) {
    return give(start_receive({buf, count, &datatype}, {comm, source, tag}), request);
}

int Send_init(const void *buf, Count count, Datatype &datatype, int dest, int tag, Communicator &comm,
              MPI_Request *request) {
    return give(make_persistent_send({buf, count, &datatype}, {comm, dest, tag}, SendMode::standard), request);
}

int Ssend_init(const void *buf, Count count, Datatype &datatype, int dest, int tag, Communicator &comm,
               MPI_Request *request) {
    return give(make_persistent_send({buf, count, &datatype}, {comm, dest, tag}, SendMode::synchronous), request);
}

int Rsend_init(const void *buf, Count count, Datatype &datatype, int dest, int tag, Communicator &comm,
               MPI_Request *request) {
    return give(make_persistent_send({buf, count, &datatype}, {comm, dest, tag}, SendMode::ready), request);
}

int Recv_init(void *buf, Count count, Datatype &datatype, int source, int tag, Communicator &comm,
              MPI_Request *request) {
    return give(make_persistent_receive({buf, count, &datatype}, {comm, source, tag}), request);
}

int Sendrecv(const void *sendbuf, Count sendcount, Datatype &sendtype, int dest, int sendtag, void *recvbuf,
             Count recvcount, Datatype &recvtype, int source, int recvtag, Communicator &comm, MPI_Status *status) {
    return exchange({sendbuf, sendcount, &sendtype}, {comm, dest, sendtag}, {recvbuf, recvcount, &recvtype},
                    {comm, source, recvtag}, status);
}

int Sendrecv_replace(void *buf, Count count, Datatype &datatype, int dest, int sendtag, int source, int recvtag,
                     Communicator &comm, MPI_Status *status) {
    PackedCopy copy(buf, count, datatype);
    if (!copy.exists()) return copy.no_room();
    return exchange(copy.data(), {comm, dest, sendtag}, {buf, count, &datatype}, {comm, source, recvtag}, status);
}

int Isendrecv(const void *sendbuf, Count sendcount, Datatype &sendtype, int dest, int sendtag, void *recvbuf,
              Count recvcount, Datatype &recvtype, int source, int recvtag, Communicator &comm, MPI_Request *request) {
    Request *receiving = start_receive({recvbuf, recvcount, &recvtype}, {comm, source, recvtag});
    Request *sending = start_send({sendbuf, sendcount, &sendtype}, {comm, dest, sendtag});
    return give(new ExchangeRequest(receiving, sending, nullptr), request);
}

int Isendrecv_replace(void *buf, Count count, Datatype &datatype, int dest, int sendtag, int source, int recvtag,
                      Communicator &comm, MPI_Request *request) {
    auto copy = std::make_unique<PackedCopy>(buf, count, datatype);
    if (!copy->exists()) return copy->no_room();
    Request *receiving = start_receive({buf, count, &datatype}, {comm, source, recvtag});
    Request *sending = start_send(copy->data(), {comm, dest, sendtag});
    return give(new ExchangeRequest(receiving, sending, std::move(copy)), request);
}

} // namespace mpi
} // namespace volley
