// SPDX-License-Identifier: BSD-3-Clause
#include "file/access.h"

#include "core/error.h"
#include "file/input_output.h"

#include <algorithm>
#include <array>

namespace volley {
namespace {

/// Shorter blocks of memory are collected before they are written, or spread after they were read.
constexpr Count long_block = 4096;
/// What is collected at once. It stays in the second-level cache.
constexpr Count collected_bytes = 512 << 10;
/// A hole that is read costs its copy from the page cache, as much as a call that avoids it: 0.4 us on a machine with
/// 10 GB/s.
constexpr Count short_hole = 4096;

} // namespace

Access::Access(const Passage &passage)
    : file_(passage.file), view_(file_.view), direction_(passage.direction), buffer_(passage.buffer),
      count_(passage.count), datatype_(passage.datatype), memory_{&datatype_.plan(), buffer_, count_} {
    datatype_.retain();
}

Access::~Access() {
    datatype_.release();
}

int Access::check() const {
    if (writes())
        if (int code = file_.check_writable(); code != MPI_SUCCESS) return code;
    if (!writes() && file_.has(MPI_MODE_WRONLY))
        return fail(MPI_ERR_ACCESS, "the file '%s' was opened with MPI_MODE_WRONLY", file_.name.c_str());
    if (bytes_ % view_->etype_bytes() != 0)
        return fail(MPI_ERR_ARG,
                    "the access is to %lld bytes of the file, but must be to a number of etypes, which "
                    "have %lld bytes",
                    static_cast<long long>(bytes_), static_cast<long long>(view_->etype_bytes()));
    if (bytes_ > 0 && view_->shown().tile_bytes() == 0 && writes())
        return fail(MPI_ERR_ARG, "the view of the file '%s' shows nothing, so that %lld bytes have no place there",
                    file_.name.c_str(), static_cast<long long>(bytes_));
    return MPI_SUCCESS;
}

int Access::prepare() {
    const Representation &representation = view_->representation();
    if (int code = representation.file_bytes(datatype_, item_bytes_); code != MPI_SUCCESS) return code;
    Checked bytes = Checked(count_) * item_bytes_;
    if (bytes.overflow()) return too_many_elements("count", count_, datatype_);
    bytes_ = bytes.value();
    if (int code = check(); code != MPI_SUCCESS) return code;
    if (!representation.is_native()) {
        // A program's conversion may be missing for one direction: then the data has its size in memory.
        Count room = std::max(bytes_, count_ * datatype_.size());
        converted_ = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(room));
        memory_ = {&byte_datatype().plan(), converted_.get(), bytes_};
        if (writes())
            if (int code = representation.write(buffer_, count_, datatype_, converted_.get()); code != MPI_SUCCESS)
                return code;
    }
    iovec whole;
    Count covered = 0;
    if (bytes_ > 0 && fill_segments(memory_, 0, bytes_, &whole, 1, covered) == 1 && covered == bytes_)
        block_ = static_cast<char *>(whole.iov_base);
    return MPI_SUCCESS;
}

int Access::place(Count position) {
    Checked end = Checked(position) + bytes_;
    if (position < 0 || end.overflow() || !view_->shown().can_reach(end.value()))
        return fail(MPI_ERR_ARG, "%lld bytes at position %lld of the view do not lie in any file",
                    static_cast<long long>(bytes_), static_cast<long long>(position));
    from_ = position;
    return MPI_SUCCESS;
}

int Access::run() {
    moved_ = 0;
    ended_ = false;
    if (bytes_ == 0 || view_->shown().tile_bytes() == 0) return MPI_SUCCESS;
    RangeLock lock;
    if (file_.atomic) {
        const View &shown = view_->shown();
        Count first = 0, length = 0; // the whole file
        if (view_->is_increasing()) {
            first = shown.offset_of(from_);
            length = shown.offset_of(to() - 1) + 1 - first;
        }
        if (int number = lock.take(file_.descriptor.get(), writes(), first, length); number != 0)
            return file_.error(number, "cannot be locked, which atomic mode needs");
    }
    return transfer();
}

int Access::transfer() {
    file_.written |= writes();
    if (!writes() && is_worth_sieving()) return sieve();
    const DatatypePlan &plan = *memory_.plan;
    if (block_ != nullptr || plan.size / std::max<Count>(plan.blocks, 1) >= long_block)
        return transfer_pieces(memory_, from_, to(), 0);
    return transfer_through_buffer();
}

int Access::transfer_through_buffer() {
    auto buffer = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(std::min(bytes_, collected_bytes)));
    for (Count done = 0; done < bytes_ && !ended_; done += collected_bytes) {
        Count end = std::min(bytes_, done + collected_bytes);
        if (writes()) pack(memory_, done, end, buffer.get());
        TypedBuffer collected{&byte_datatype().plan(), buffer.get(), end - done};
        int code = transfer_pieces(collected, from_ + done, from_ + end, 0);
        if (!writes()) unpack(memory_, done, std::min(end, moved_), buffer.get());
        if (code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

/// Positions [from, to) of the view, the first of which is byte `memory_from` of the memory.
int Access::transfer_pieces(const TypedBuffer &memory, Count from, Count to, Count memory_from) {
    int code = MPI_SUCCESS;
    Count at = memory_from;
    view_->shown().for_each_piece(from, to, [&](Count offset, Count bytes) {
        for (Count done = 0; done < bytes;) {
            std::array<iovec, 64> pieces;
            Count wanted = 0, got = 0;
            int count = fill_segments(memory, at, at + bytes - done, pieces.data(), pieces.size(), wanted);
            int number = writes() ? write_pieces_at(file_.descriptor.get(), pieces.data(), count, offset + done, got)
                                  : read_pieces_at(file_.descriptor.get(), pieces.data(), count, offset + done, got);
            moved_ += got;
            if (number != 0) code = file_.error(number, writes() ? "cannot be written" : "cannot be read");
            ended_ = got < wanted;
            if (number != 0 || ended_) return false;
            done += got;
            at += got;
        }
        return true;
    });
    return code;
}

bool Access::is_worth_sieving() const {
    const View &shown = view_->shown();
    if (file_.hints.sieve_reads == Choice::disable || !view_->is_increasing()) return false;
    Count pieces = shown.count_pieces(from_, to());
    if (pieces <= 1) return false;
    if (file_.hints.sieve_reads == Choice::enable) return true;
    Count holes = shown.offset_of(to() - 1) + 1 - shown.offset_of(from_) - bytes_;
    return holes / pieces <= short_hole && bytes_ / pieces <= short_hole;
}

/// Reads pieces and the holes between them, and keeps the pieces.
int Access::sieve() {
    const View &shown = view_->shown();
    const Count room = file_.hints.sieve_bytes;
    auto buffer = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(room));
    std::unique_ptr<char[]> kept;
    if (block_ == nullptr) kept = std::make_unique_for_overwrite<char[]>(static_cast<std::size_t>(room));
    for (Count begin = from_; begin < to() && !ended_;) {
        Count offset = shown.offset_of(begin);
        Count end = std::min(to(), shown.position_at(offset + std::min(room, INT64_MAX - offset)));
        Count wanted = shown.offset_of(end - 1) + 1 - offset, got = 0;
        int number = read_at(file_.descriptor.get(), buffer.get(), wanted, offset, got);
        ended_ = got < wanted;
        if (ended_) end = std::min(end, shown.position_at(offset + got));
        Count done = begin - from_;
        View::Part part = shown.in_memory(begin, end, buffer.get(), offset);
        pack(part.buffer, part.from, part.to, block_ != nullptr ? block_ + done : kept.get());
        if (block_ == nullptr) unpack(memory_, done, done + end - begin, kept.get());
        moved_ += end - begin;
        if (number != 0) return file_.error(number, "cannot be read");
        begin = end;
    }
    return MPI_SUCCESS;
}

int Access::finish(Count &bytes) {
    bytes = moved_;
    if (view_->representation().is_native()) return MPI_SUCCESS;
    Count items = item_bytes_ > 0 ? moved_ / item_bytes_ : 0;
    bytes = items * datatype_.size();
    if (writes()) return MPI_SUCCESS;
    return view_->representation().read(converted_.get(), buffer_, items, datatype_);
}

} // namespace volley
