// SPDX-License-Identifier: BSD-3-Clause
#include "window/remote.h"

#include "window/memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace volley {
namespace {

/// Data of one message. A multiple of the sizes of all elements but long double's pair, for which it is cut.
constexpr Count piece_bytes = 32768;
/// So many messages of this rank may be on their way before it waits for room.
constexpr std::size_t most_sent = 32;
/// So many bytes of data may be on their way to this rank before it asks for more.
constexpr Count most_expected = 32 * piece_bytes;

std::uint32_t number_of(const void *handle) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(handle));
}

/// Types that MPI_Type_create_f90_... makes have no number of their own: bytes of that size and kind are the same.
std::uint32_t element_number(Datatype &element) {
    if (reinterpret_cast<std::uintptr_t>(element.handle()) < first_object) return number_of(element.handle());
    const BasicType &basic = element.basic();
    int type_class = MPI_TYPECLASS_REAL;
    if (basic.kind == BasicKind::signed_integer) type_class = MPI_TYPECLASS_INTEGER;
    if (basic.kind == BasicKind::complex) type_class = MPI_TYPECLASS_COMPLEX;
    Datatype *same = nullptr;
    static_cast<void>(find_by_size(type_class, basic.size, same).ok());
    return number_of(same->handle());
}

template <class Handle> Handle handle_of(std::uint32_t number) {
    return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(number));
}

} // namespace

struct RemoteAccess::Message {
    RequestHeader header;
    char data[piece_bytes];
    Count bytes; ///< of data
    Request *request;

    void append(const void *more, Count count) {
        std::memcpy(data + bytes, more, static_cast<std::size_t>(count));
        bytes += count;
    }
};

/// A request of the program whose data are on their way.
class RemoteRequest final : public Request {
  public:
    explicit RemoteRequest(Communicator &of) {
        communicator = &of;
        of.retain();
    }
    int cancel() override {
        return MPI_SUCCESS;
    }
    const char *name() const override {
        return "MPI_Rget";
    }

  private:
    ~RemoteRequest() override {
        Communicator::release(*communicator);
    }
};

struct RemoteAccess::Pending {
    ResultBuffer result;
    Count left; ///< bytes
    Request *request;
};

RemoteAccess::RemoteAccess(Window &window)
    : window_(window), state_(state_of(window)), communicator_(window.communicator()),
      own_(state_.targets[static_cast<std::size_t>(communicator_.rank())]),
      inbound_(std::make_unique<char[]>(sizeof(RequestHeader) + piece_bytes)) {
    receipt_ = make_persistent_receive(Data::bytes(inbound_.get(), sizeof(RequestHeader) + piece_bytes),
                                       {communicator_, MPI_ANY_SOURCE, MPI_ANY_TAG});
    receipt_->start();
    engine.register_hook(*this);
}

RemoteAccess::~RemoteAccess() {
    engine.remove_hook(*this);
    if (receipt_->is_active() && !receipt_->is_complete()) receipt_->cancel();
    receipt_->dispose();
}

void RemoteAccess::close() {
    engine.wait_until([&] {
        retire_sent();
        return sent_.empty();
    });
}

void RemoteAccess::progress() {
    retire_sent();
    // All that have come: nobody wakes this rank again for what it leaves.
    while (receipt_->is_complete()) {
        RequestHeader header;
        std::memcpy(&header, inbound_.get(), sizeof header);
        const int origin = receipt_->completion.source;
        serve(origin, header, inbound_.get() + sizeof header);
        if (header.last != 0 && header.plan != 0) plans_.erase({origin, header.plan});
        receipt_->start();
    }
    std::erase_if(waiting_, [&](const LockRequest &request) { return grant(request); });
}

// As an origin.

RemoteAccess::Message &RemoteAccess::begin(const RequestHeader &header) {
    if (free_.empty()) free_.push_back(std::make_unique<Message>());
    Message &message = *free_.back();
    message.header = header;
    message.bytes = 0;
    return message;
}

/// Sends the message that was begun last.
void RemoteAccess::send(int rank, Message &message) {
    const Count bytes = static_cast<Count>(sizeof message.header) + message.bytes;
    std::unique_ptr<Message> sent = std::move(free_.back());
    free_.pop_back();
    sent->request = start_send(Data::bytes(&sent->header, bytes), {communicator_, rank, 0});
    sent_.push_back(std::move(sent));
    static_assert(offsetof(Message, data) == sizeof(RequestHeader));
}

void RemoteAccess::retire_sent() {
    for (std::size_t i = 0; i < sent_.size();) {
        if (!sent_[i]->request->is_complete()) {
            i++;
            continue;
        }
        sent_[i]->request->dispose();
        free_.push_back(std::move(sent_[i]));
        sent_[i] = std::move(sent_.back());
        sent_.pop_back();
    }
}

void RemoteAccess::wait_for_room() {
    const auto has_room = [&] {
        retire_sent();
        return sent_.size() < most_sent && expected_ < most_expected;
    };
    if (!wait_for_ranks(window_, has_room)) give_up(window_);
}

/// The header of requests for some data of a target, which has been told their plan.
RequestHeader RemoteAccess::describe(int rank, RequestKind kind, const TypedBuffer &data) {
    state_.targets[static_cast<std::size_t>(rank)].dirty = true;
    RequestHeader header{};
    header.kind = kind;
    header.address = reinterpret_cast<std::uint64_t>(data.address);
    header.count = data.count;
    if (data.plan->contiguous()) {
        header.address += static_cast<std::uint64_t>(data.plan->displacement);
        header.count *= data.plan->size;
        return header;
    }
    header.plan = ++last_plan_;
    const auto *plan = reinterpret_cast<const char *>(data.plan);
    RequestHeader part{};
    part.kind = RequestKind::plan;
    part.plan = header.plan;
    part.count = data.plan->bytes;
    for (part.from = 0; part.from < part.count; part.from = part.to) {
        part.to = std::min(part.from + piece_bytes, part.count);
        wait_for_room();
        Message &message = begin(part);
        message.append(plan + part.from, part.to - part.from);
        send(rank, message);
    }
    return header;
}

/// Notes that so many bytes will come for a buffer. Returns the number they will come with.
std::uint64_t RemoteAccess::expect(const ResultBuffer &result, Count bytes, Request **request) {
    result.datatype->retain();
    Request *made = request != nullptr ? *request = new RemoteRequest(communicator_) : nullptr;
    pending_.emplace(++last_number_, Pending{result, bytes, made});
    return last_number_;
}

/// Calls `send_piece` for one piece of the data after the other, in which the header says where it lies.
template <class SendPiece>
void RemoteAccess::in_pieces(RequestHeader &header, Count bytes, Count step, SendPiece &&send_piece) {
    for (header.from = 0; header.from < bytes; header.from = header.to) {
        header.to = std::min(header.from + step, bytes);
        header.last = header.to == bytes;
        wait_for_room();
        send_piece();
    }
}

void RemoteAccess::put(int rank, const TypedBuffer &data, const TypedBuffer &source, Count bytes) {
    RequestHeader header = describe(rank, RequestKind::put, data);
    in_pieces(header, bytes, piece_bytes, [&] {
        Message &message = begin(header);
        pack(source, header.from, header.to, message.data);
        message.bytes = header.to - header.from;
        send(rank, message);
    });
}

void RemoteAccess::get(int rank, const TypedBuffer &data, const ResultBuffer &result, Count bytes, Request **request) {
    RequestHeader header = describe(rank, RequestKind::get, data);
    header.number = expect(result, bytes, request);
    in_pieces(header, bytes, piece_bytes, [&] {
        expected_ += header.to - header.from;
        send(rank, begin(header));
    });
}

void RemoteAccess::accumulate(int rank, const Accumulation &accumulation, const ResultBuffer *result, Count bytes,
                              Request **request) {
    const RequestKind kind = result != nullptr ? RequestKind::get_accumulate : RequestKind::accumulate;
    RequestHeader header = describe(rank, kind, accumulation.target);
    header.operation = number_of(accumulation.operation.handle());
    header.element = element_number(accumulation.basic);
    if (result != nullptr) header.number = expect(*result, bytes, request);
    const Count size = accumulation.basic.size();
    in_pieces(header, bytes, piece_bytes / size * size, [&] {
        if (result != nullptr) expected_ += header.to - header.from;
        Message &message = begin(header);
        if (accumulation.operand.plan != nullptr) {
            pack(accumulation.operand, header.from, header.to, message.data);
            message.bytes = header.to - header.from;
        }
        send(rank, message);
    });
}

void RemoteAccess::compare_and_swap(int rank, char *address, Datatype &element, const void *compare, const void *value,
                                    const ResultBuffer &result) {
    RequestHeader header = describe(rank, RequestKind::compare_and_swap, {&element.plan(), address, 1});
    header.element = element_number(element);
    header.to = element.size();
    header.number = expect(result, element.size(), nullptr);
    wait_for_room();
    expected_ += element.size();
    Message &message = begin(header);
    message.append(compare, element.size());
    message.append(value, element.size());
    send(rank, message);
}

void RemoteAccess::notify(int rank, RequestKind kind) {
    RequestHeader header{};
    header.kind = kind;
    send(rank, begin(header));
}

void RemoteAccess::ask(int rank, RequestKind kind) {
    answers_++;
    notify(rank, kind);
    state_.targets[static_cast<std::size_t>(rank)].dirty = false;
}

void RemoteAccess::wait_for_answers(int rank) {
    if (!wait_for_ranks(window_, [&] { return answers_ == 0; }, about_target(window_, rank))) give_up(window_);
}

void RemoteAccess::flush(int rank) {
    if (!state_.targets[static_cast<std::size_t>(rank)].dirty) return;
    ask(rank, RequestKind::flush);
    wait_for_answers(rank);
}

void RemoteAccess::flush_all() {
    int last = -1;
    for (int rank = 0; rank < communicator_.size(); rank++) {
        if (!state_.targets[static_cast<std::size_t>(rank)].dirty) continue;
        ask(rank, RequestKind::flush);
        last = rank;
    }
    if (last >= 0) wait_for_answers(last);
}

void RemoteAccess::take_data(const RequestHeader &header, const char *data) {
    auto found = pending_.find(header.number);
    Pending &pending = found->second;
    const ResultBuffer &result = pending.result;
    unpack({&result.datatype->plan(), const_cast<void *>(result.address), result.count}, header.from, header.to, data);
    expected_ -= header.to - header.from;
    pending.left -= header.to - header.from;
    if (pending.left > 0) return;
    result.datatype->release();
    Request *request = pending.request;
    pending_.erase(found);
    if (request != nullptr) request->complete();
}

// As a target.

void RemoteAccess::serve(int origin, const RequestHeader &header, const char *data) {
    switch (header.kind) {
    case RequestKind::plan:
        return serve_plan(origin, header, data);
    case RequestKind::put:
        return unpack(target_data(origin, header), header.from, header.to, data);
    case RequestKind::get: {
        Message &answer = begin_answer(header, header.to - header.from);
        pack(target_data(origin, header), header.from, header.to, answer.data);
        return send(origin, answer);
    }
    case RequestKind::accumulate:
    case RequestKind::get_accumulate:
        return serve_accumulate(origin, header, data);
    case RequestKind::compare_and_swap:
        return serve_compare_and_swap(origin, header, data);
    case RequestKind::flush:
        return notify(origin, RequestKind::done);
    case RequestKind::lock_shared:
    case RequestKind::lock_exclusive:
        return serve_lock(origin, header.kind == RequestKind::lock_exclusive);
    case RequestKind::unlock_shared:
    case RequestKind::unlock_exclusive:
        return serve_unlock(origin, header.kind == RequestKind::unlock_exclusive);
    case RequestKind::post:
        state_.own->entry(origin).posted.fetch_add(1, std::memory_order_release);
        return;
    case RequestKind::complete:
        state_.own->entry(origin).completed.fetch_add(1, std::memory_order_release);
        return;
    case RequestKind::data:
        return take_data(header, data);
    case RequestKind::done:
        answers_--;
        return;
    }
}

RemoteAccess::Message &RemoteAccess::begin_answer(const RequestHeader &request, Count bytes) {
    RequestHeader header{};
    header.kind = RequestKind::data;
    header.number = request.number;
    header.from = request.from;
    header.to = request.to;
    Message &answer = begin(header);
    answer.bytes = bytes;
    return answer;
}

TypedBuffer RemoteAccess::target_data(int origin, const RequestHeader &header) {
    auto *address = reinterpret_cast<void *>(header.address);
    if (header.plan == 0) return {&byte_datatype().plan(), address, header.count};
    const auto *plan = plans_.at({origin, header.plan}).data();
    return {reinterpret_cast<const DatatypePlan *>(plan), address, header.count};
}

void RemoteAccess::serve_plan(int origin, const RequestHeader &header, const char *data) {
    std::vector<std::uint64_t> &plan = plans_[{origin, header.plan}];
    if (header.from == 0) plan.resize((static_cast<std::size_t>(header.count) + 7) / 8);
    std::memcpy(reinterpret_cast<char *>(plan.data()) + header.from, data,
                static_cast<std::size_t>(header.to - header.from));
}

void RemoteAccess::serve_accumulate(int origin, const RequestHeader &header, const char *data) {
    Accumulation accumulation{*Operation::from_handle(handle_of<MPI_Op>(header.operation)),
                              *Datatype::from_handle(handle_of<MPI_Datatype>(header.element)),
                              target_data(origin, header)};
    // Positions count from the beginning of all the data, of which the message has a part.
    if (accumulation.operation.number() != Operation::no_op_number)
        accumulation.operand = {&byte_datatype().plan(), const_cast<char *>(data) - header.from, header.to};
    if (header.kind == RequestKind::accumulate) {
        static_cast<void>(volley::accumulate(state_, own_, accumulation, header.from, header.to));
        return;
    }
    Message &answer = begin_answer(header, header.to - header.from);
    accumulation.result = {&byte_datatype().plan(), answer.data - header.from, header.to};
    static_cast<void>(
        volley::accumulate(state_, own_, accumulation, header.from, header.to)); // its own memory: cannot fail
    send(origin, answer);
}

void RemoteAccess::serve_compare_and_swap(int origin, const RequestHeader &header, const char *data) {
    Datatype &element = *Datatype::from_handle(handle_of<MPI_Datatype>(header.element));
    Message &answer = begin_answer(header, element.size());
    static_cast<void>(volley::compare_and_swap(state_, own_, reinterpret_cast<char *>(header.address), element, data,
                                               data + element.size(), answer.data));
    send(origin, answer);
}

/// Takes a ticket for the origin, as it would by memory.
void RemoteAccess::serve_lock(int origin, bool exclusive) {
    const LockRequest request{origin, state_.own->lock.take_ticket(), exclusive};
    state_.own->entry(origin).waits.store(1, std::memory_order_relaxed);
    state_.own->lock.waiting.fetch_add(1, std::memory_order_seq_cst);
    if (!grant(request)) waiting_.push_back(request);
}

/// Tells the origin that it has the lock, if it has. This rank is woken in its place (wake_waiters).
bool RemoteAccess::grant(const LockRequest &request) {
    PassiveLock &lock = state_.own->lock;
    if (!lock.admits(request.ticket, request.exclusive)) return false;
    state_.own->entry(request.origin).waits.store(0, std::memory_order_relaxed);
    lock.waiting.fetch_sub(1, std::memory_order_relaxed);
    if (!request.exclusive) {
        lock.enter_shared(request.ticket);
        wake_waiters(state_, communicator_.rank());
    }
    notify(request.origin, RequestKind::done);
    return true;
}

void RemoteAccess::serve_unlock(int origin, bool exclusive) {
    if (exclusive)
        state_.own->lock.leave_exclusive();
    else
        state_.own->lock.leave_shared();
    wake_waiters(state_, communicator_.rank());
    notify(origin, RequestKind::done);
}

} // namespace volley
