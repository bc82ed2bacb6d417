// SPDX-License-Identifier: BSD-3-Clause
#include "file/aggregation.h"

#include "collective/algorithms.h"
#include "collective/plans.h"
#include "core/error.h"
#include "file/input_output.h"
#include "transport/process.h"

#include <algorithm>
#include <map>
#include <utility>

namespace volley {
namespace {

/// Domains begin at pages, so that no two aggregators write the same one.
constexpr Count page_bytes = 4096;

} // namespace

char *Aggregation::Buffer::take(Count bytes) {
    if (bytes > room_) memory_ = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(bytes));
    room_ = std::max(room_, bytes);
    filled_ = true;
    return memory_.get();
}

Aggregation::Aggregation(Schedule &schedule, Access &access, std::vector<Announcement> told)
    : schedule_(schedule), access_(access), told_(std::move(told)) {
    whole_ = {INT64_MAX, 0};
    Count file_bytes = 0;
    for (const Announcement &one : told_) file_bytes = std::max(file_bytes, one.file_bytes);
    for (const Announcement &one : told_) {
        if (one.first >= one.last) continue;
        whole_ = {std::min(whole_.first, one.first), std::max(whole_.last, one.last)};
    }
    // Nothing is read beyond the end of the file, which is where all agree that it was.
    if (!access_.writes()) whole_.last = std::min(whole_.last, file_bytes);
    whole_.first = std::min(whole_.first, whole_.last) / page_bytes * page_bytes;
    choose_aggregators();
    towards_.resize(aggregators_.size());
    for (int i = 0; i < std::ssize(aggregators_); ++i) {
        rounds_ = std::max(rounds_, (domain(i).bytes() + access_.file().hints.buffer_bytes - 1) /
                                        access_.file().hints.buffer_bytes);
        Party &party = towards_[static_cast<std::size_t>(i)];
        party.next = told_[static_cast<std::size_t>(schedule_.communicator->rank())].from;
        Range mine = domain(i);
        const Announcement &own = told_[static_cast<std::size_t>(schedule_.communicator->rank())];
        if (overlap(mine, own)) party.next = std::max(own.from, access_.view().shown().position_at(mine.first));
    }
}

/// The first rank of each node, then the second of each, and so on, until there are enough.
void Aggregation::choose_aggregators() {
    const Communicator &communicator = *schedule_.communicator;
    std::map<int, int> ranks_of_node;
    std::vector<std::pair<int, int>> order; // place on the node, rank
    for (int rank = 0; rank < communicator.size(); ++rank)
        order.emplace_back(ranks_of_node[processes[communicator.peer_process(rank)].node]++, rank);
    std::ranges::sort(order);
    int wanted = access_.file().hints.aggregators;
    if (wanted == 0) wanted = static_cast<int>(ranks_of_node.size());
    Count pages = (whole_.bytes() + page_bytes - 1) / page_bytes;
    wanted = static_cast<int>(std::clamp<Count>(pages, 1, std::min(wanted, communicator.size())));
    for (int i = 0; i < wanted; ++i) {
        if (order[static_cast<std::size_t>(i)].second == communicator.rank()) own_number_ = i;
        aggregators_.push_back(order[static_cast<std::size_t>(i)].second);
    }
}

Aggregation::Range Aggregation::domain(int aggregator) const {
    auto number = static_cast<Count>(aggregators_.size());
    Count pages = (whole_.bytes() + page_bytes - 1) / page_bytes;
    Count each = (pages + number - 1) / number * page_bytes;
    return {std::min(whole_.first + aggregator * each, whole_.last),
            std::min(whole_.first + (aggregator + 1) * each, whole_.last)};
}

Aggregation::Range Aggregation::window(int aggregator, Count round) const {
    Range all = domain(aggregator);
    Count bytes = access_.file().hints.buffer_bytes;
    return {std::min(all.first + round * bytes, all.last), std::min(all.first + (round + 1) * bytes, all.last)};
}

View Aggregation::view_of(int rank) const {
    const Party &party = parties_[static_cast<std::size_t>(rank)];
    if (!party.plan) return access_.view().shown();
    return {told_[static_cast<std::size_t>(rank)].displacement,
            *reinterpret_cast<const DatatypePlan *>(party.plan.get())};
}

void Aggregation::advance(Party &party, const View &view, const Announcement &told, const Range &window) const {
    party.positions = {};
    if (window.is_empty() || !overlap(window, told)) return;
    Count end = std::min(told.to, view.position_at(window.last));
    party.positions = {party.next, end};
    party.next = std::max(party.next, end);
}

int Aggregation::begin(std::function<int(int)> done) {
    done_ = std::move(done);
    exchange_plans();
    schedule_.end_round();
    schedule_.call([this] { return begin_round(0); });
    return MPI_SUCCESS;
}

void Aggregation::exchange_plans() {
    const Communicator &communicator = *schedule_.communicator;
    const auto &own = told_[static_cast<std::size_t>(communicator.rank())];
    const DatatypePlan &plan = access_.view().shown().plan();
    for (int i = 0; i < std::ssize(aggregators_); ++i) {
        int rank = aggregators_[static_cast<std::size_t>(i)];
        if (rank != communicator.rank() && overlap(domain(i), own))
            schedule_.send(bytes_at(&plan, own.plan_bytes), rank);
    }
    if (!is_aggregator()) return;
    buffer_.take(std::min(access_.file().hints.buffer_bytes, domain(own_number_).bytes()));
    parties_.resize(static_cast<std::size_t>(communicator.size()));
    for (int rank = 0; rank < communicator.size(); ++rank) {
        const Announcement &told = told_[static_cast<std::size_t>(rank)];
        if (rank == communicator.rank() || !overlap(domain(own_number_), told)) continue;
        Party &party = parties_[static_cast<std::size_t>(rank)];
        schedule_.receive(bytes_at(party.plan.take(told.plan_bytes), told.plan_bytes), rank);
    }
}

int Aggregation::begin_round(Count round) {
    if (round == rounds_) return agree_on_outcome();
    const Communicator &communicator = *schedule_.communicator;
    const Announcement &own = told_[static_cast<std::size_t>(communicator.rank())];
    for (int i = 0; i < std::ssize(aggregators_); ++i)
        advance(towards_[static_cast<std::size_t>(i)], access_.view().shown(), own, window(i, round));
    if (is_aggregator()) {
        Range mine = window(own_number_, round);
        for (int rank = 0; rank < communicator.size(); ++rank) {
            Party &party = parties_[static_cast<std::size_t>(rank)];
            const Announcement &told = told_[static_cast<std::size_t>(rank)];
            party.positions = {};
            if (!overlap(domain(own_number_), told)) continue;
            const View view = view_of(rank);
            if (round == 0) party.next = std::max(told.from, view.position_at(mine.first));
            advance(party, view, told, mine);
        }
    }
    if (access_.writes()) {
        send_to_aggregators();
        if (is_aggregator()) receive_data();
    } else {
        receive_from_aggregators();
        if (is_aggregator()) {
            read_window(window(own_number_, round));
            send_data(window(own_number_, round));
        }
    }
    schedule_.end_round();
    schedule_.call([this, round] { return end_round(round); });
    return MPI_SUCCESS;
}

int Aggregation::end_round(Count round) {
    if (access_.writes() && is_aggregator()) write_window(window(own_number_, round));
    if (!access_.writes()) keep_received();
    return begin_round(round + 1);
}

void Aggregation::send_to_aggregators() {
    for (std::size_t i = 0; i < aggregators_.size(); ++i) {
        Party &party = towards_[i];
        if (static_cast<int>(i) == own_number_ || party.positions.is_empty()) continue;
        Count begin = party.positions.first - access_.from(), end = party.positions.last - access_.from();
        char *data = access_.block_at(begin);
        if (data == nullptr) {
            data = party.data.take(end - begin);
            pack(access_.memory(), begin, end, data);
        }
        schedule_.send(bytes_at(data, end - begin), aggregators_[i]);
    }
}

void Aggregation::receive_from_aggregators() {
    for (std::size_t i = 0; i < aggregators_.size(); ++i) {
        Party &party = towards_[i];
        if (static_cast<int>(i) == own_number_ || party.positions.is_empty()) continue;
        char *data = access_.block_at(party.positions.first - access_.from());
        if (data == nullptr) data = party.data.take(party.positions.bytes());
        schedule_.receive(bytes_at(data, party.positions.bytes()), aggregators_[i]);
    }
}

void Aggregation::receive_data() {
    for (int rank = 0; rank < schedule_.communicator->size(); ++rank) {
        Party &party = parties_[static_cast<std::size_t>(rank)];
        if (!party.plan || party.positions.is_empty()) continue;
        schedule_.receive(bytes_at(party.data.take(party.positions.bytes()), party.positions.bytes()), rank);
    }
}

/// What was received from aggregators goes to its places in memory.
void Aggregation::keep_received() {
    for (Party &party : towards_) {
        if (!party.data || party.positions.is_empty()) continue;
        unpack(access_.memory(), party.positions.first - access_.from(), party.positions.last - access_.from(),
               party.data.get());
        party.data.empty();
    }
}

/// Reads from the first byte that somebody wants to the last.
void Aggregation::read_window(const Range &window) {
    Range wanted{window.last, window.first};
    for (int rank = 0; rank < schedule_.communicator->size(); ++rank) {
        const Range &positions = parties_[static_cast<std::size_t>(rank)].positions;
        if (positions.is_empty()) continue;
        const View view = view_of(rank);
        wanted.first = std::min(wanted.first, view.offset_of(positions.first));
        wanted.last = std::max(wanted.last, view.offset_of(positions.last - 1) + 1);
    }
    if (wanted.is_empty()) return;
    Count got = 0;
    char *place = buffer_.get() + (wanted.first - window.first);
    int number = read_at(access_.file().descriptor.get(), place, wanted.bytes(), wanted.first, got);
    if (number != 0 && code_ == MPI_SUCCESS) code_ = access_.file().error(number, "cannot be read");
    // The file has become shorter meanwhile, or cannot be read: there is nothing to be told of its bytes.
    std::fill(place + got, place + wanted.bytes(), '\0');
}

void Aggregation::send_data(const Range &window) {
    for (int rank = 0; rank < schedule_.communicator->size(); ++rank) {
        Party &party = parties_[static_cast<std::size_t>(rank)];
        if (party.positions.is_empty()) continue;
        View::Part part =
            view_of(rank).in_memory(party.positions.first, party.positions.last, buffer_.get(), window.first);
        const bool own = rank == schedule_.communicator->rank();
        char *data = own ? access_.block_at(party.positions.first - access_.from()) : nullptr;
        if (data == nullptr) data = party.data.take(party.positions.bytes());
        pack(part.buffer, part.from, part.to, data);
        if (!own)
            schedule_.send(bytes_at(data, party.positions.bytes()), rank);
        else if (party.data)
            unpack(access_.memory(), party.positions.first - access_.from(), party.positions.last - access_.from(),
                   data);
    }
}

void Aggregation::write_window(const Range &window) {
    access_.file().written = true;
    coverage_.clear(window.bytes());
    for (int rank = 0; rank < schedule_.communicator->size(); ++rank) {
        Party &party = parties_[static_cast<std::size_t>(rank)];
        if (party.positions.is_empty()) continue;
        const View view = view_of(rank);
        const char *data = party.data.get();
        if (rank == schedule_.communicator->rank()) {
            Count begin = party.positions.first - access_.from();
            data = access_.block_at(begin);
            if (data == nullptr) {
                data = party.data.take(party.positions.bytes());
                pack(access_.memory(), begin, begin + party.positions.bytes(), party.data.get());
            }
        }
        View::Part part = view.in_memory(party.positions.first, party.positions.last, buffer_.get(), window.first);
        unpack(part.buffer, part.from, part.to, data);
        view.for_each_piece(party.positions.first, party.positions.last, [&](Count offset, Count bytes) {
            coverage_.mark(offset - window.first, bytes);
            return true;
        });
    }
    coverage_.for_each_run([&](Count from, Count bytes) {
        Count done = 0;
        int number = write_at(access_.file().descriptor.get(), buffer_.get() + from, bytes, window.first + from, done);
        if (number != 0 && code_ == MPI_SUCCESS) code_ = access_.file().error(number, "cannot be written");
        return number == 0;
    });
}

/// All learn whether an aggregator has failed: it did so with the data of others.
int Aggregation::agree_on_outcome() {
    const View &shown = access_.view().shown();
    if (access_.bytes() > 0)
        access_.set_moved(access_.writes()
                              ? access_.bytes()
                              : std::clamp<Count>(shown.position_at(whole_.last) - access_.from(), 0, access_.bytes()));
    classes_.resize(told_.size());
    own_class_ = code_ == MPI_SUCCESS ? MPI_SUCCESS : error_class_of(code_);
    Passed all{classes_.data(), sizeof own_class_, MPI_BYTE};
    if (int code = plan_allgather(schedule_, {&own_class_, sizeof own_class_, MPI_BYTE}, all); code != MPI_SUCCESS)
        return code;
    schedule_.end_round();
    schedule_.call([this] {
        for (std::size_t rank = 0; rank < classes_.size() && code_ == MPI_SUCCESS; ++rank)
            if (classes_[rank] != MPI_SUCCESS)
                code_ = fail(static_cast<int>(classes_[rank]),
                             "rank %zu, which accesses the file '%s' for others, has failed", rank,
                             access_.file().name.c_str());
        if (code_ != MPI_SUCCESS) access_.set_moved(0);
        return done_(code_);
    });
    return MPI_SUCCESS;
}

} // namespace volley
