// SPDX-License-Identifier: BSD-3-Clause
#include "file/shared_pointer.h"

#include "boot/descriptor.h"
#include "core/error.h"
#include "file/errors.h"
#include "file/input_output.h"
#include "transport/memory.h"
#include "transport/node.h"

#include <fcntl.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdio>

namespace volley {
namespace {

/// Of what draw() returns: it numbers a hidden file, and is no place in the arena.
constexpr std::uint64_t hidden_bit = std::uint64_t{1} << 63;

constexpr std::size_t arena_bytes = sizeof(std::atomic<std::int64_t>);

bool on_one_node(const Communicator &communicator) {
    return communicator.members_here() == communicator.size();
}

/// "folder/.name.shared-0123456789abcdef"
std::string hidden_name(const std::string &file, std::uint64_t number) {
    std::array<char, 32> suffix{};
    std::snprintf(suffix.data(), suffix.size(), ".shared-%016llx", static_cast<unsigned long long>(number));
    auto slash = file.rfind('/');
    std::string folder = slash == std::string::npos ? "" : file.substr(0, slash + 1);
    return folder + "." + file.substr(folder.size()) + suffix.data();
}

} // namespace

std::uint64_t SharedPointer::draw(const Communicator &communicator) {
    if (on_one_node(communicator)) {
        // An arena that is used up is no failure: there is the other way.
        if (void *place = arena_allocate(arena_bytes)) return arena_offset(place);
    }
    std::uint64_t number = 0;
    while (getrandom(&number, sizeof number, 0) < 0 && errno == EINTR) {}
    return number | hidden_bit;
}

void SharedPointer::open(std::uint64_t drawn, const std::string &file) {
    if ((drawn & hidden_bit) == 0)
        in_arena_ = arena_pointer<std::atomic<std::int64_t>>(drawn);
    else
        hidden_ = hidden_name(file, drawn);
}

void SharedPointer::close(bool first_rank) {
    if (!first_rank) return;
    if (in_arena_ != nullptr) arena_release(in_arena_, arena_bytes);
    if (!hidden_.empty()) unlink(hidden_.c_str()); // it is there only if the pointer was used
}

template <class Change> int SharedPointer::in_file(Change &&change) {
    constexpr const char *doing = "cannot keep the shared file pointer";
    Descriptor descriptor(::open(hidden_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!descriptor) return file_error(errno, hidden_, doing);
    RangeLock lock;
    if (int number = lock.take(descriptor.get(), true, 0, 0); number != 0) return file_error(number, hidden_, doing);
    Count position = 0, moved = 0;
    if (int number = read_at(descriptor.get(), &position, sizeof position, 0, moved); number != 0)
        return file_error(number, hidden_, doing);
    if (!change(position)) return MPI_SUCCESS;
    if (int number = write_at(descriptor.get(), &position, sizeof position, 0, moved); number != 0)
        return file_error(number, hidden_, doing);
    return MPI_SUCCESS;
}

int SharedPointer::advance(Count bytes, Count &before) {
    if (in_arena_ != nullptr) {
        before = in_arena_->fetch_add(bytes, std::memory_order_acq_rel);
        return MPI_SUCCESS;
    }
    return in_file([&](Count &position) {
        before = position;
        position += bytes;
        return bytes != 0;
    });
}

int SharedPointer::set(Count position) {
    if (in_arena_ != nullptr) {
        in_arena_->store(position, std::memory_order_release);
        return MPI_SUCCESS;
    }
    return in_file([&](Count &kept) {
        bool changes = kept != position;
        kept = position;
        return changes;
    });
}

} // namespace volley
