// SPDX-License-Identifier: BSD-3-Clause
#include "core/point_to_point.h"

#include "core/engine.h"
#include "core/error.h"
#include "core/failures.h"
#include "core/messages.h"

namespace volley {

namespace {

/// Where the data begins if it is one block of memory; nullptr otherwise.
char *contiguous_begin(const Data &data) {
    const DatatypePlan &plan = data.datatype->plan();
    if (!plan.contiguous()) return nullptr;
    // Without data the address may be anything, even null: any other than null says "one block".
    static char nothing;
    char *begin = static_cast<char *>(const_cast<void *>(data.address)) + plan.displacement;
    return begin ? begin : &nothing;
}

TypedBuffer buffer_of(const Data &data) {
    return {&data.datatype->plan(), const_cast<void *>(data.address), data.count};
}

MessageEnvelope envelope_of(const Address &to) {
    return {.tag = to.tag, .context = to.communicator.context(to.traffic), .source = to.communicator.rank()};
}

WaitingFor about_peer(const Data &data, const Address &peer, WaitKind kind) {
    return {.peer = peer.peer,
            .tag = peer.tag,
            .context = peer.communicator.context(peer.traffic),
            .count = data.count,
            .datatype = reinterpret_cast<std::uintptr_t>(data.datatype->handle()),
            .kind = peer.traffic == Traffic::collective ? WaitKind::step : kind,
            .peer_process = peer.peer >= 0 ? peer.communicator.peer_process(peer.peer) : -1};
}

void fill(Send &send, const Data &data, const Address &to, SendMode mode) {
    send = {.buffer = buffer_of(data),
            .bytes = data.size(),
            .contiguous = contiguous_begin(data),
            .receiver = to.communicator.peer_process(to.peer),
            .envelope = envelope_of(to),
            .mode = mode,
            .waits = false};
}

void fill(Receive &receive, const Data &data, const Address &from) {
    receive = {.source = from.peer,
               .tag = from.tag,
               .buffer = buffer_of(data),
               .capacity = data.size(),
               .contiguous = contiguous_begin(data)};
}

/// Requests keep communicator and datatype alive as long as they may need them.
class MessageRequest : public Request {
  public:
    WaitingFor about() const override {
        return about_peer(data_, {*communicator, peer_, tag_, traffic_}, kind_);
    }

  protected:
    MessageRequest(const Data &data, const Address &peer, bool persistent, WaitKind kind)
        : data_(data), peer_(peer.peer), tag_(peer.tag), traffic_(peer.traffic), kind_(kind) {
        persistent_ = persistent;
        active_ = !persistent;
        data_.datatype->retain();
        communicator = &peer.communicator;
        communicator->retain();
    }
    ~MessageRequest() override {
        data_.datatype->release();
        Communicator::release(*communicator);
    }
    Address address() const {
        return {*communicator, peer_, tag_, traffic_};
    }

    Data data_;
    int peer_;
    int tag_;
    Traffic traffic_;
    WaitKind kind_;
};

class SendRequest final : public MessageRequest {
  public:
    SendRequest(const Data &data, const Address &to, SendMode mode, bool persistent)
        : MessageRequest(data, to, persistent, WaitKind::send), mode_(mode) {}

    int start() override {
        completion = {.source = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG};
        complete_ = false;
        active_ = true;
        if (peer_ == MPI_PROC_NULL) {
            complete();
            return MPI_SUCCESS;
        }
        fill(send_, data_, address(), mode_);
        send_.request = this;
        messages.start(send_);
        return send_.error;
    }
    int cancel() override {
        if (!complete_) messages.cancel(send_);
        return MPI_SUCCESS;
    }
    void attend() override {
        if (!complete_) messages.attend(send_);
    }
    const char *name() const override {
        return persistent_ ? "MPI_Send_init" : "MPI_Isend";
    }

  private:
    void destroy() override;

    SendMode mode_;
    Send send_;
};

class ReceiveRequest final : public MessageRequest {
  public:
    ReceiveRequest(const Data &data, const Address &from, bool persistent)
        : MessageRequest(data, from, persistent, WaitKind::receive) {}

    int start() override {
        completion = {};
        complete_ = false;
        active_ = true;
        if (peer_ == MPI_PROC_NULL) {
            completion = no_process;
            complete();
            return MPI_SUCCESS;
        }
        fill(receive_, data_, address());
        receive_.request = this;
        messages.start(receive_, communicator->queues(traffic_));
        return MPI_SUCCESS;
    }
    int cancel() override {
        if (!complete_) messages.cancel(receive_, communicator->queues(traffic_));
        return MPI_SUCCESS;
    }
    /// A receive of a message that Mprobe took out of the queues.
    void serve(Unexpected &message) {
        fill(receive_, data_, address());
        receive_.request = this;
        messages.serve(receive_, message);
    }
    bool is_interrupted() const override {
        return receive_.posted && peer_ == MPI_ANY_SOURCE && failures.may_lack_sender(*communicator, peer_);
    }
    const char *name() const override {
        return persistent_ ? "MPI_Recv_init" : "MPI_Irecv";
    }

  private:
    void destroy() override;

    Receive receive_;
};

class CompleteRequest final : public Request {
  public:
    explicit CompleteRequest(const Completion &result) {
        completion = result;
        complete_ = true;
    }
    int cancel() override {
        return MPI_SUCCESS;
    }
    const char *name() const override {
        return "a call without work";
    }
};

/// Outlive static destructors: requests may be freed by them.
template <class Type> Pool<Type> &pool() {
    static auto *made = new Pool<Type>;
    return *made;
}

void SendRequest::destroy() {
    pool<SendRequest>().destroy(this);
}

void ReceiveRequest::destroy() {
    pool<ReceiveRequest>().destroy(this);
}

} // namespace

Data Data::bytes(const void *address, Count bytes) {
    static Datatype *byte = Datatype::from_handle(MPI_BYTE);
    return {address, bytes, byte};
}

int send(const Data &data, const Address &to, SendMode mode) {
    if (to.peer == MPI_PROC_NULL) return MPI_SUCCESS;
    char *contiguous = contiguous_begin(data);
    if (contiguous && mode != SendMode::synchronous &&
        messages.send_at_once(contiguous, data.size(), to.communicator.peer_process(to.peer), envelope_of(to)))
        [[likely]]
        return MPI_SUCCESS;
    Send send;
    fill(send, data, to, mode);
    send.waits = true;
    messages.start(send);
    engine.wait_until(
        [&] {
            messages.attend(send);
            return send.done;
        },
        about_peer(data, to, WaitKind::send));
    return send.error;
}

int receive(const Data &data, const Address &from, Completion *completion) {
    if (from.peer == MPI_PROC_NULL) {
        if (completion) *completion = no_process;
        return MPI_SUCCESS;
    }
    Receive receive;
    fill(receive, data, from);
    messages.start(receive, from.communicator.queues(from.traffic));
    engine.wait_until([&] { return receive.done; }, about_peer(data, from, WaitKind::receive));
    if (completion) *completion = receive.completion;
    return receive.completion.error;
}

Request *start_send(const Data &data, const Address &to, SendMode mode) {
    auto *request = pool<SendRequest>().make(data, to, mode, false);
    request->start();
    return request;
}

Request *start_receive(const Data &data, const Address &from) {
    auto *request = pool<ReceiveRequest>().make(data, from, false);
    request->start();
    return request;
}

Request *start_matched_receive(const Data &data, Unexpected &message) {
    Address from{*message.communicator, message.source, message.tag};
    auto *request = pool<ReceiveRequest>().make(data, from, false);
    request->serve(message);
    return request;
}

int receive_matched(const Data &data, Unexpected &message, Completion &completion) {
    Address from{*message.communicator, message.source, message.tag};
    Receive receive;
    fill(receive, data, from);
    messages.serve(receive, message);
    engine.wait_until([&] { return receive.done; }, about_peer(data, from, WaitKind::receive));
    completion = receive.completion;
    return completion.error;
}

Request *make_persistent_send(const Data &data, const Address &to, SendMode mode) {
    return pool<SendRequest>().make(data, to, mode, true);
}

Request *make_persistent_receive(const Data &data, const Address &from) {
    return pool<ReceiveRequest>().make(data, from, true);
}

Request *make_complete_request(const Completion &completion) {
    return new CompleteRequest(completion);
}

Unexpected *find_message(const Address &from, Completion &completion) {
    Unexpected *message = messages.find(from.communicator.queues(from.traffic), from.peer, from.tag);
    if (message) completion = {.source = message->source, .tag = message->tag, .bytes = message->bytes};
    return message;
}

bool probe(const Address &from, Completion &completion) {
    if (from.peer == MPI_PROC_NULL) {
        completion = no_process;
        return true;
    }
    return engine.poll([&] { return find_message(from, completion) != nullptr; });
}

} // namespace volley
