// SPDX-License-Identifier: BSD-3-Clause
#include "window/memory.h"

#include "core/datatype/datatype.h"
#include "transport/node.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

namespace volley {
namespace {

enum class Way { read, write };

/// A range of packed bytes, as pieces of memory some at a time.
class Pieces {
  public:
    Pieces(const TypedBuffer &buffer, Count from, Count to) : buffer_(buffer), at_(from), to_(to) {}

    bool is_empty() const {
        return at_ == to_;
    }
    /// Fills the list from the place where the last call that used something has ended. The bytes in it.
    Count fill() {
        count_ = fill_segments(buffer_, at_, to_, list_.data(), static_cast<int>(list_.size()), covered_);
        return covered_;
    }
    /// Shortens the list to so many bytes.
    void cut(Count bytes) {
        Count before = 0;
        for (int i = 0; i < count_; i++) {
            const auto length = static_cast<Count>(list_[static_cast<std::size_t>(i)].iov_len);
            if (before + length >= bytes) {
                list_[static_cast<std::size_t>(i)].iov_len = static_cast<std::size_t>(bytes - before);
                count_ = i + 1;
                return;
            }
            before += length;
        }
    }
    void advance(Count bytes) {
        at_ += bytes;
    }
    const iovec *list() const {
        return list_.data();
    }
    unsigned long count() const {
        return static_cast<unsigned long>(count_);
    }

  private:
    TypedBuffer buffer_;
    Count at_, to_, covered_ = 0;
    std::array<iovec, 64> list_;
    int count_ = 0;
};

pid_t program_of(ProcessIndex process) {
    return processes[process].record->program.load(std::memory_order_relaxed);
}

/// Lets the kernel copy as many bytes as both have.
int copy_by_kernel(const WindowTarget &target, Pieces remote, Pieces local, Way way) {
    const pid_t pid = program_of(target.process);
    while (!remote.is_empty()) {
        const Count bytes = std::min(remote.fill(), local.fill());
        remote.cut(bytes);
        local.cut(bytes);
        const ssize_t moved =
            way == Way::read ? process_vm_readv(pid, local.list(), local.count(), remote.list(), remote.count(), 0)
                             : process_vm_writev(pid, local.list(), local.count(), remote.list(), remote.count(), 0);
        if (moved < 0 && errno == EINTR) continue;
        if (moved <= 0)
            return fail(MPI_ERR_RMA_RANGE, "the kernel cannot %s %lld bytes at %p of rank %d of MPI_COMM_WORLD: %s",
                        way == Way::read ? "read" : "write", static_cast<long long>(bytes), remote.list()[0].iov_base,
                        processes.rank_in_job(target.process), std::strerror(errno));
        remote.advance(moved);
        local.advance(moved);
    }
    return MPI_SUCCESS;
}

TypedBuffer packed_buffer(const void *packed, Count bytes) {
    return {&byte_datatype().plan(), const_cast<void *>(packed), bytes};
}

} // namespace

int copy_to_target(const WindowTarget &target, const TypedBuffer &data, const TypedBuffer &source, Count bytes) {
    if (target.access == Access::kernel)
        return copy_by_kernel(target, {data, 0, bytes}, {source, 0, bytes}, Way::write);
    copy_between(source, data, 0, bytes);
    return MPI_SUCCESS;
}

int copy_from_target(const WindowTarget &target, const TypedBuffer &data, const TypedBuffer &destination, Count bytes) {
    if (target.access == Access::kernel)
        return copy_by_kernel(target, {data, 0, bytes}, {destination, 0, bytes}, Way::read);
    copy_between(data, destination, 0, bytes);
    return MPI_SUCCESS;
}

int write_packed(const WindowTarget &target, const TypedBuffer &data, Count from, Count to, const void *packed) {
    if (target.access == Access::kernel)
        return copy_by_kernel(target, {data, from, to}, {packed_buffer(packed, to - from), 0, to - from}, Way::write);
    unpack(data, from, to, packed);
    return MPI_SUCCESS;
}

int read_packed(const WindowTarget &target, const TypedBuffer &data, Count from, Count to, void *packed) {
    if (target.access == Access::kernel)
        return copy_by_kernel(target, {data, from, to}, {packed_buffer(packed, to - from), 0, to - from}, Way::read);
    pack(data, from, to, packed);
    return MPI_SUCCESS;
}

bool kernel_reaches(ProcessIndex process) {
    enum class Answer : std::uint8_t { unknown, yes, no };
    static std::vector<Answer> answers;
    if (answers.size() <= static_cast<std::size_t>(process)) answers.resize(static_cast<std::size_t>(processes.size()));
    Answer &answer = answers[static_cast<std::size_t>(process)];
    if (answer == Answer::unknown) {
        // The arena is mapped at the same address there; its first word never changes.
        std::uint64_t word = 0;
        iovec local{&word, sizeof word}, remote{&node.arena->magic, sizeof word};
        const bool reads = process_vm_readv(program_of(process), &local, 1, &remote, 1, 0) == sizeof word;
        answer = reads ? Answer::yes : Answer::no;
    }
    return answer == Answer::yes;
}

} // namespace volley
