// SPDX-License-Identifier: BSD-3-Clause
#include "boot/arena.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <new>

#include "boot/error.h"
#include "boot/revocation.h"
#include "boot/settings.h"

namespace volley {
namespace {

constexpr std::uint64_t mebi = 1 << 20;
constexpr std::uint64_t page = 4096;

/// Addresses to try. The first lies below where Linux puts position-independent programs (0x5555...) and
/// far from its other mappings (0x7f...), and inside what AddressSanitizer, ThreadSanitizer and
/// MemorySanitizer leave to the program on x86-64, so that it is free in every kind of rank.
constexpr std::uint64_t addresses[] = {0x5500'0000'0000, 0x2000'0000'0000, 0x1000'0000'0000, 0x20'0000'0000};

/// One entry of the table of revoked contexts for so many bytes of the arena: there are fewer contexts
/// (core/contexts.cpp).
constexpr std::uint64_t revoked_part = 4096;

std::uint64_t limit(decltype(RLIMIT_AS) resource) {
    rlimit value = {};
    return getrlimit(resource, &value) == 0 ? value.rlim_cur : RLIM_INFINITY;
}

/// Where a process's memory is limited, the arena must leave most of it to the program.
std::uint64_t arena_bytes(std::uint64_t wanted) {
    const std::uint64_t allowed = std::min<std::uint64_t>(limit(RLIMIT_AS) / 4, limit(RLIMIT_FSIZE));
    const std::uint64_t bytes = std::min(wanted, allowed) / page * page;
    if (bytes < least_arena_bytes)
        throw Error("the limits on memory (ulimit -v) or file size (ulimit -f) leave " + std::to_string(bytes / mebi) +
                    " MiB for the memory ranks share, which needs " + std::to_string(least_arena_bytes / mebi) +
                    ": raise them");
    return bytes;
}

void *map(int file, std::uint64_t bytes) {
    for (const std::uint64_t address : addresses)
        if (void *got = map_arena(file, address, bytes)) return got;
    throw system_error("cannot map the memory ranks share, " + std::to_string(bytes / mebi) + " MiB");
}

} // namespace

std::string new_job_name() {
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    return "volley-" + std::to_string(getpid()) + "-" + std::to_string(now.tv_sec) + "." + std::to_string(now.tv_nsec);
}

/// Short readings and interruptions happen before the system has gathered enough at its start.
std::string draw_secret() {
    std::string secret(secret_bytes, '\0');
    for (std::size_t drawn = 0; drawn < secret_bytes;) {
        const ssize_t got = getrandom(secret.data() + drawn, secret_bytes - drawn, 0);
        if (got < 0 && errno != EINTR) throw system_error("cannot draw random numbers (getrandom)");
        if (got > 0) drawn += static_cast<std::size_t>(got);
    }
    return secret;
}

JobLayout JobLayout::one_host(int ranks) {
    JobLayout layout;
    const Settings settings = read_settings();
    for (int rank = 0; rank < ranks; ++rank) layout.node_of.push_back(settings.node_of(rank));
    return layout;
}

ArenaHead *map_arena(int file, std::uint64_t address, std::uint64_t bytes) {
    void *wanted = reinterpret_cast<void *>(address);
    void *got = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, file, 0);
    if (got == wanted) {
        // The kernel would otherwise write all of the arena into a core file, and allocate its missing pages for that.
        madvise(got, bytes, MADV_DONTDUMP);
        return static_cast<ArenaHead *>(got);
    }
    if (got != MAP_FAILED) munmap(got, bytes); // kernels before 4.17 take the address as a hint
    return nullptr;
}

Arena::Arena(const JobLayout &layout) {
    const std::string name = layout.name.empty() ? new_job_name() : layout.name;
    const Settings settings = read_settings();
    const std::uint64_t bytes = arena_bytes(settings.most_arena_bytes());
    file_ = Descriptor(memfd_create(name.c_str(), 0));
    if (!file_) throw system_error("cannot make the memory ranks share (memfd_create)");
    if (ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0)
        throw system_error("cannot give the memory ranks share its size, " + std::to_string(bytes / mebi) + " MiB");
    head_ = new (map(file_.get(), bytes)) ArenaHead{};
    head_->address = address();
    head_->bytes = bytes;
    head_->cpus = settings.usable_cpus();
    head_->cores = settings.allowed_cores();
    head_->transport = settings.carrier();
    (layout.secret.empty() ? draw_secret() : layout.secret).copy(reinterpret_cast<char *>(head_->secret), secret_bytes);
    name.copy(head_->job, description_bytes - 1);
    head_->records = page;
    make_records(layout);
    head_->revoked = whole_lines(head_->node_records + head_->nodes * sizeof(NodeRecord));
    head_->revocable =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(1U << context_index_bits, bytes / revoked_part));
    const std::uint64_t end = head_->revoked + head_->revocable * sizeof(RevokedGeneration);
    head_->memory = (end + page - 1) / page * page;
    head_->magic.store(arena_magic, std::memory_order_release);
}

void Arena::make_records(const JobLayout &layout) {
    const std::vector<std::int32_t> &node_of = layout.node_of;
    head_->ranks = static_cast<std::uint32_t>(node_of.size());
    head_->node = layout.own;
    head_->nodes = static_cast<std::uint32_t>(std::ranges::max(node_of)) + 1;
    head_->ranks_here =
        layout.own < 0 ? head_->ranks : static_cast<std::uint32_t>(std::ranges::count(node_of, layout.own));
    head_->node_records = whole_lines(head_->records + head_->ranks * sizeof(RankRecord));
    for (std::uint32_t number = 0; number < head_->nodes; ++number) new (&node(static_cast<int>(number))) NodeRecord{};
    for (int rank = 0; rank < ranks(); ++rank) {
        new (&record(rank)) RankRecord{};
        record(rank).node = node_of[static_cast<std::size_t>(rank)];
        node(record(rank).node).ranks++;
    }
}

Arena::~Arena() {
    munmap(head_, head_->bytes);
}

} // namespace volley
