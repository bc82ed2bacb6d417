// SPDX-License-Identifier: BSD-3-Clause
#include "core/partitioned.h"

#include "core/error.h"

#include <algorithm>
#include <limits>

namespace volley {
namespace {

/// Tags of so many partitions that follow each other. They are used again after 2^31 partitions, when the channels that
/// had them are gone but for the strangest of programs.
std::int32_t draw_tags(int partitions) {
    static std::int32_t next = 0;
    if (next > std::numeric_limits<std::int32_t>::max() - partitions) next = 0;
    std::int32_t first = next;
    next += partitions;
    return first;
}

/// Where the element begins. MPI_BOTTOM is the null pointer, to which C++ does not let one add.
void *element(const Data &data, Count number) {
    auto address = reinterpret_cast<std::uintptr_t>(data.address);
    return reinterpret_cast<void *>(address + static_cast<std::uintptr_t>(number * data.datatype->extent()));
}

/// Gives up a request, complete or not, that nobody waits for any more.
void give_up(Request *request) {
    if (request) request->abandon();
}

} // namespace

PartitionedRequest::PartitionedRequest(const PartitionedArguments &arguments)
    : partition_(arguments.partition), partitions_(arguments.partitions), peer_(arguments.peer), tag_(arguments.tag) {
    persistent_ = true;
    active_ = false;
    partition_.datatype->retain();
    communicator = &arguments.communicator;
    communicator->retain();
    communicator->open_queues(Traffic::partitioned_setup);
    communicator->open_queues(Traffic::partitioned);
}

PartitionedRequest::~PartitionedRequest() {
    if (hooked_) engine.remove_hook(*this);
    partition_.datatype->release();
    Communicator::release(*communicator);
}

int PartitionedRequest::start() {
    completion = {};
    complete_ = false;
    active_ = true;
    if (peer_ == MPI_PROC_NULL) {
        finish_with(no_process);
        return MPI_SUCCESS;
    }
    hooked_ = true;
    engine.register_hook(*this);
    return begin();
}

void PartitionedRequest::finish_with(const Completion &result) {
    if (hooked_) engine.remove_hook(*this);
    hooked_ = false;
    completion = result;
    complete();
}

int PartitionedRequest::check(int partition) const {
    if (partition >= 0 && partition < partitions_) return MPI_SUCCESS;
    return fail(MPI_ERR_ARG, "partition %d does not exist: the request of %s has %d, from 0", partition, name(),
                partitions_);
}

WaitingFor PartitionedRequest::about(WaitKind kind) const {
    return {.peer = peer_,
            .tag = tag_,
            .context = communicator->context(Traffic::program),
            .count = partition_.count * partitions_,
            .datatype = reinterpret_cast<std::uintptr_t>(partition_.datatype->handle()),
            .kind = kind,
            .peer_process = peer_ >= 0 ? communicator->peer_process(peer_) : -1};
}

PartitionedSend::PartitionedSend(const PartitionedArguments &arguments) : PartitionedRequest(arguments) {
    if (peer_ == MPI_PROC_NULL) return;
    setup_ =
        std::make_unique<PartitionedSetup>(PartitionedSetup{partition_.size(), partitions_, draw_tags(partitions_)});
    sends_.reserve(static_cast<std::size_t>(partitions_));
    for (int number = 0; number < partitions_; number++) {
        Data data{element(partition_, number * partition_.count), partition_.count, partition_.datatype};
        Address to = address(Traffic::partitioned, setup_->first_tag + number);
        sends_.push_back(make_persistent_send(data, to, SendMode::standard));
    }
    sending_setup_ = start_send(Data::bytes(setup_.get(), sizeof *setup_), address(Traffic::partitioned_setup, tag_));
}

PartitionedSend::~PartitionedSend() {
    for (Request *send : sends_) give_up(send);
    // A receiver that comes late may still read the setup.
    if (sending_setup_ && !sending_setup_->is_complete()) (void)setup_.release();
    give_up(sending_setup_);
}

int PartitionedSend::begin() {
    ready_.assign(static_cast<std::size_t>(partitions_), false);
    ready_count_ = complete_count_ = 0;
    error_ = sending_setup_->completion.error;
    return error_;
}

int PartitionedSend::ready(int partition) {
    if (int code = check(partition)) return code;
    if (peer_ == MPI_PROC_NULL) return MPI_SUCCESS;
    auto number = static_cast<std::size_t>(partition);
    if (ready_[number])
        return fail(MPI_ERR_ARG, "partition %d is marked as ready a second time since the request was started",
                    partition);
    ready_[number] = true;
    ready_count_++;
    int code = sends_[number]->start();
    if (code && !error_) error_ = code;
    return code;
}

void PartitionedSend::progress() {
    if (ready_count_ < partitions_) return;
    while (complete_count_ < partitions_) {
        Request &send = *sends_[static_cast<std::size_t>(complete_count_)];
        if (!send.is_complete()) return;
        if (!error_) error_ = send.completion.error;
        send.deactivate();
        complete_count_++;
    }
    finish_with({.error = error_});
}

PartitionedReceive::PartitionedReceive(const PartitionedArguments &arguments) : PartitionedRequest(arguments) {
    if (peer_ == MPI_PROC_NULL) return;
    receiving_setup_ = start_receive(Data::bytes(&setup_, sizeof setup_), address(Traffic::partitioned_setup, tag_));
}

PartitionedReceive::~PartitionedReceive() {
    for (Piece &piece : pieces_) give_up(piece.receive);
    if (!receiving_setup_) return;
    if (!receiving_setup_->is_complete()) receiving_setup_->cancel();
    give_up(receiving_setup_);
}

int PartitionedReceive::begin() {
    posted_ = false;
    complete_count_ = 0;
    progress();
    return MPI_SUCCESS;
}

/// Where the bytes [from, to) of the sender's data belong: in the buffer if it has such a place, else `packed`.
Data PartitionedReceive::place_of(Count from, Count to, std::string &packed) const {
    from = std::min(from, capacity());
    to = std::min(to, capacity());
    const DatatypePlan &plan = partition_.datatype->plan();
    if (plan.contiguous()) {
        auto begin = reinterpret_cast<std::uintptr_t>(partition_.address);
        return Data::bytes(reinterpret_cast<void *>(begin + static_cast<std::uintptr_t>(plan.displacement + from)),
                           to - from);
    }
    const Count size = plan.size;
    if (from % size == 0 && to % size == 0)
        return {element(partition_, from / size), (to - from) / size, partition_.datatype};
    packed.resize(static_cast<std::size_t>(to - from));
    return Data::bytes(packed.data(), to - from);
}

void PartitionedReceive::make_pieces() {
    pieces_.resize(static_cast<std::size_t>(setup_.partitions)); // in which `packed` does not move any more
    for (int number = 0; number < setup_.partitions; number++) {
        Piece &piece = pieces_[static_cast<std::size_t>(number)];
        Data place = place_of(number * setup_.bytes, (number + 1) * setup_.bytes, piece.packed);
        piece.receive = make_persistent_receive(place, address(Traffic::partitioned, setup_.first_tag + number));
    }
}

void PartitionedReceive::unpack_piece(std::size_t number) {
    const Piece &piece = pieces_[number];
    if (piece.packed.empty()) return;
    TypedBuffer buffer{&partition_.datatype->plan(), const_cast<void *>(partition_.address),
                       partition_.count * partitions_};
    const Count from = static_cast<Count>(number) * setup_.bytes;
    unpack(buffer, from, from + piece.receive->completion.bytes, piece.packed.data());
}

void PartitionedReceive::progress() {
    if (receiving_setup_) {
        if (!receiving_setup_->is_complete()) return;
        receiving_setup_->dispose();
        receiving_setup_ = nullptr;
        make_pieces();
    }
    if (!posted_) {
        for (Piece &piece : pieces_) (void)piece.receive->start();
        posted_ = true;
    }
    // In their order, so that a look at many that have not arrived is a look at one.
    while (complete_count_ < pieces_.size()) {
        if (!pieces_[complete_count_].receive->is_complete()) return;
        unpack_piece(complete_count_++);
    }
    Completion result{.source = peer_, .tag = tag_};
    for (Piece &piece : pieces_) {
        const Completion &part = piece.receive->completion;
        result.bytes += part.bytes;
        if (result.error == MPI_SUCCESS) result.error = part.error;
        piece.receive->deactivate();
    }
    finish_with(result);
}

bool PartitionedReceive::has_arrived(int partition) const {
    if (is_complete()) return true;
    if (!posted_) return false;
    Count first = partition, last = partition; // of the sender's; empty ones belong together by number
    if (setup_.bytes > 0) {
        const Count from = partition_.size() * partition, to = from + partition_.size();
        first = from / setup_.bytes;
        last = std::max(first, (to - 1) / setup_.bytes);
    }
    for (Count number = first; number <= last && number < setup_.partitions; number++) {
        const Piece &piece = pieces_[static_cast<std::size_t>(number)];
        // What has been received elsewhere is there once it is unpacked.
        bool arrived =
            piece.packed.empty() ? piece.receive->is_complete() : static_cast<std::size_t>(number) < complete_count_;
        if (!arrived) return false;
    }
    return true;
}

} // namespace volley
