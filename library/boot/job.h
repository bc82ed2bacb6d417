// SPDX-License-Identifier: BSD-3-Clause
/// What a launcher tells a rank, and the head of the memory that all ranks of a host share.
///
/// The launcher makes one *arena* (a memfd) for the ranks of a host, which is mapped at the same address in every rank.
/// In shared mode the launcher maps it once, since the ranks share the address space; in process mode each rank maps
/// it, at the address the launcher names. A rank finds the arena through its environment (names below).
///
/// Everything here is plain data: no vtables, no function pointers, no thread-local storage, since every rank runs its
/// own copy of the library, and tools read it from outside.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace volley {

/// Environment of a rank, set by the launcher.
namespace environment {
inline constexpr const char *arena_file = "VOLLEY_ARENA_FD";         ///< decimal, an inherited descriptor
inline constexpr const char *arena_address = "VOLLEY_ARENA_ADDRESS"; ///< hexadecimal
inline constexpr const char *rank = "VOLLEY_RANK";                   ///< decimal, in the world
inline constexpr const char *ranks = "VOLLEY_RANKS";                 ///< decimal, size of the world
inline constexpr const char *universe_size = "VOLLEY_UNIVERSE_SIZE"; ///< decimal, at least the size of the world
inline constexpr const char *application = "VOLLEY_APPLICATION";     ///< decimal: which program of an MPMD job
inline constexpr const char *listeners = "VOLLEY_LISTENER_FD"; ///< decimal, inherited sockets, "7,8"; several hosts
/// Says, to children of ranks as well, that variables of other launchers are mpiexec's (launch/environment.h).
inline constexpr const char *launched = "VOLLEY_LAUNCHED";
} // namespace environment

inline constexpr std::size_t cache_line = 64;

/// Bytes rounded up to whole cache lines.
constexpr std::uint64_t whole_lines(std::uint64_t bytes) {
    return (bytes + cache_line - 1) / cache_line * cache_line;
}

inline constexpr std::uint64_t arena_magic = 0x59454c4c4f56'12; ///< "VOLLEY", layout 18
inline constexpr std::size_t description_bytes = 64;
inline constexpr std::size_t secret_bytes = 32;

/// What two processes must both know to connect (boot/proof/handshake.h).
using Secret = std::array<unsigned char, secret_bytes>;

/// How a rank's memory can be reached by the others on its host.
enum class Placement : std::uint32_t {
    shared = 1,  ///< in the common address space: its pointers are everybody's
    process = 2, ///< a process of its own: the arena is common, the rest is not
};

/// What carries messages between ranks.
enum class Transport : std::uint32_t {
    shm = 0, ///< memory they share
    tcp = 1, ///< TCP connections; messages of a rank to itself still go through memory
    /// The same, through a relay on each host (launch/hosts/relay.h). In the table of processes (transport/process.h)
    /// this is tcp: it only makes a difference where to connect.
    daemon = 2,
    /// The same connections, whose frames libfabric carries (transport/fabric/fabric.h). In the table of processes
    /// (transport/process.h) this is tcp.
    fabric = 3,
};

/// The stages of a rank's life, as others and the launcher see it. A rank only moves forward.
enum class RankState : std::uint32_t {
    absent = 0,      ///< the launcher has not started it
    started = 1,     ///< its program runs
    initialised = 2, ///< MPI_Init has returned
    finalised = 3,   ///< MPI_Finalize has been entered by all and returned here
    ended = 4,       ///< its process is gone
};

/// How a rank has failed: it ended before MPI_Finalize, in a job that outlives that (mpiexec --enable-recovery).
enum class Failure : std::uint32_t {
    none = 0,
    failed = 1,  ///< a signal ended it, or it ended without MPI_Finalize: MPIX_ERR_PROC_FAILED
    aborted = 2, ///< by MPI_Abort, its own or another's: MPI_ERR_PROC_ABORTED
};

/// What a waiting rank waits for. This determines which fields of its CallStatus mean something.
enum class WaitKind : std::uint32_t {
    unknown = 0,    ///< something else
    receive = 1,    ///< a message from `peer`
    send = 2,       ///< that `peer` receives a message
    step = 3,       ///< a message of a collective operation; `tag` is the operation's number in `context`
    collective = 4, ///< the rest of a collective operation; `tag` as above, `peer` is the root
    /// Other ranks in a collective round (collective/area.h). `tag` is the round's number in `context`, and `peer` the
    /// root of the operation. `world_peer` is the rank that is to publish, or -1: all are to arrive.
    round = 5,
    one_of = 6, ///< one of several requests: CallStatus's alternatives
    window = 7, ///< `peer`'s part in the synchronisation of a window, whose communicator is `context`
};

/// One of several requests any of which would end a wait; fields as in CallStatus.
struct Alternative {
    std::atomic<WaitKind> kind;
    std::atomic<std::int32_t> peer, world_peer, tag;
    std::atomic<std::uint32_t> context;
};
inline constexpr std::size_t most_alternatives = 8; ///< that are listed one by one

/// What a rank is doing, for mpitask and for the message when a job ends badly. Written by its rank with
/// relaxed stores around each blocking call, read by anyone; a torn reading is possible and harmless.
struct CallStatus {
    std::atomic<std::uint32_t> function;  ///< index into the table of functions, 0: not inside MPI
    std::atomic<WaitKind> kind;           ///< of the wait, if since_ns is not 0
    std::atomic<std::int32_t> peer;       ///< rank in the communicator, or MPI_ANY_SOURCE
    std::atomic<std::int32_t> world_peer; ///< the same rank in the job, or -1
    std::atomic<std::int32_t> tag;
    std::atomic<std::uint32_t> context; ///< communicator's context number
    std::atomic<std::int64_t> count;
    std::atomic<std::uintptr_t> datatype; ///< handle
    std::atomic<std::uint64_t> since_ns;  ///< CLOCK_MONOTONIC when the call began to wait; 0: not waiting
    // Of the collective operation the rank is in, or waits for; its count and datatype are those above.
    std::atomic<std::uint32_t> collective; ///< context number
    std::atomic<std::int32_t> root;        ///< or MPI_ANY_SOURCE: it has none
    std::atomic<std::uint32_t> requests;   ///< of a wait for one of them; the first are told in `alternatives`
    Alternative alternatives[most_alternatives];
};

/// One per rank, in the arena, each on cache lines of its own.
struct alignas(cache_line) RankRecord {
    std::atomic<RankState> state;
    Placement placement;
    std::int32_t process;                ///< process id, set by the launcher
    std::int32_t application;            ///< which program of an MPMD job
    std::int32_t node;                   ///< ranks of equal number share memory
    std::int32_t exit_status;            ///< as waitpid gives it, once state is ended
    std::atomic<std::uint32_t> sleeping; ///< 1 while it waits on `wake` (see wait/)
    /// The address space it was placed in. Ranks with the same number, not 0, share one (there are several if the ranks
    /// need more mappings than the kernel allows one to have). 0: placement is process.
    std::uint32_t space;
    /// Process id of the program that called MPI_Init. It differs from `process` if that is, for example, a shell
    /// script that started the program.
    std::atomic<std::int32_t> program;
    /// Address of the random bytes it was started with, to be compared with getauxval(AT_RANDOM): a rank of
    /// placement shared that finds another value has exec'd another program, and is a process now; so is a child of
    /// it, which finds the same value but is not `process`.
    std::uint64_t placed_at;
    /// Where its program and its dynamic linker lie (what is added to the addresses in the files), set by the
    /// launcher for debuggers; 0: not known, and /proc tells.
    std::uint64_t program_base, interpreter_base;
    std::atomic<std::uint64_t> status_page; ///< offset of its StatusPage (boot/status_page.h); 0: none yet
    std::atomic<std::uint64_t> connections; ///< offset of its first ConnectionPage; 0: none yet
    /// Counts waits that no other rank ended though their condition was met, until the rank looked by itself
    /// (wait/sleep.h).
    std::atomic<std::uint32_t> lost_wake_ups;
    std::atomic<std::uint32_t> wake_up_socket; ///< name of it (wait/descriptors.h); 0: it sleeps on `wake` alone
    std::atomic<std::uint32_t> tcp_port;       ///< where it takes connections (transport/tcp/); 0: none yet, or never
    std::atomic<std::uint32_t> relay_socket;   ///< where its relay connects to it, if there is one; 0: none yet
    /// Stored by the launcher once the process is gone, or its host; then it raises ArenaHead::incidents and wakes all
    /// ranks. This is told of ranks of other hosts, too.
    std::atomic<Failure> failure;
    std::atomic<std::uint32_t> to_abort;   ///< 1 + the rank that has aborted this one by MPI_Abort; 0: none
    std::atomic<std::uint32_t> finalising; ///< 1: it has entered MPI_Finalize; only where ranks may fail
    alignas(cache_line) std::atomic<std::uint32_t> wake; ///< futex word: changed to wake the rank
    alignas(cache_line) CallStatus call_status;
};

/// A network address, as a socket address has it without the port.
struct NetworkAddress {
    std::uint16_t family;    ///< AF_INET, AF_INET6; 0: none
    std::uint16_t unused;    ///< 0
    std::uint32_t scope;     ///< of an IPv6 address that is valid on one link only, on the host that uses it
    unsigned char bytes[16]; ///< in network order; 4 of them for IPv4
};

inline constexpr std::size_t host_name_bytes = 256;
inline constexpr std::size_t most_addresses = 4; ///< of a host, at which its ranks take connections

/// One per node of the job, in the arena.
struct alignas(cache_line) NodeRecord {
    char host[host_name_bytes]; ///< as the user has named it; empty if all ranks are on one host
    /// Where its ranks take TCP connections, in the order in which ranks of the arena's host try them
    /// (boot/addresses.h). Family 0: no more; none at all if all ranks are on one host.
    NetworkAddress addresses[most_addresses];
    std::uint32_t ranks; ///< of the job, that are on this node
    /// 1 + the one of `addresses` by which this node was reached last from the arena's; 0: none yet.
    std::atomic<std::uint32_t> preferred_address;
    /// Where its relay takes connections, at the same addresses; 0: ranks connect to each other. Written before ranks
    /// start.
    std::atomic<std::uint32_t> relay_port;
    std::atomic<std::uint32_t> relay_socket; ///< where ranks of that host reach it, too; 0 on all other hosts
    /// Offset of the NodeShared (transport/node_shared.h) of a node whose ranks have this arena; 0 until the first of
    /// them has made it.
    alignas(cache_line) std::atomic<std::uint64_t> shared;
};

/// The first page of the arena.
struct alignas(cache_line) ArenaHead {
    std::atomic<std::uint64_t> magic; ///< arena_magic once all that follows is there; 0 before
    std::uint64_t address;            ///< where it is mapped in every rank
    std::uint64_t bytes;              ///< size of the mapping; touched as needed
    std::uint32_t ranks;              ///< of the whole world
    std::uint32_t cpus;               ///< that the job may use on this host (affinity and quota)
    std::uint32_t cores;              ///< that they belong to (affinity alone): hardware threads counted once
    std::uint32_t nodes;              ///< of the job
    std::int32_t node;                ///< whose arena this is; -1: all ranks are on this host
    std::uint32_t ranks_here;         ///< that have this arena: those of this host
    char job[description_bytes];      ///< unique name of the job
    std::uint64_t records;            ///< offset of RankRecord[ranks]; those of other hosts say only where the rank is
    std::uint64_t node_records;       ///< offset of NodeRecord[nodes]
    /// Offset of the first page of the memory that the ranks use (arena/allocator.h), up to the end. It is zero at
    /// first.
    std::uint64_t memory;
    Transport transport; ///< between ranks of one node
    /// Drawn at random: what members of the job prove to each other to know. The first eight bytes are the job's
    /// number, which anybody may know; the other 24 make the secret.
    unsigned char secret[secret_bytes];
    /// The build id of the library that the ranks have loaded (boot/build_id.h), stored by the first of them; 0: no
    /// rank has come yet.
    std::atomic<std::uint64_t> library;
    /// 1 + a number for what VOLLEY_COLLECTIVES and VOLLEY_CHECK ask for, alike in all ranks; stored by the first of
    /// them, 0: no rank has come yet.
    std::atomic<std::uint64_t> collectives, checking;
    /// 0, or 1 + the rank whose end is ending the job; set once, by the launcher or MPI_Abort.
    alignas(cache_line) std::atomic<std::uint32_t> ending;
    std::atomic<std::int32_t> abort_code; ///< of MPI_Abort
    /// Ranks that have failed, and revocations of communicators, so far: whoever raises it wakes all ranks that it
    /// concerns. It stays 0 unless `recovery` is set.
    std::atomic<std::uint32_t> incidents;
    std::uint32_t recovery; ///< 1: the job outlives ranks that fail; set by the launcher before the first rank starts
    /// Where ranks ask their node daemon for help with recovery (boot/recovery_request.h); 0: all ranks are on this
    /// host, or there is none.
    std::atomic<std::uint32_t> launcher_socket;
    /// Where tools ask what the ranks of other hosts do (boot/look_request.h); 0: nowhere.
    std::atomic<std::uint32_t> look_socket;
    std::uint32_t revocable; ///< entries of the table of revoked contexts (boot/revocation.h)
    std::uint64_t revoked;   ///< its offset
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(RankRecord) % cache_line == 0 && sizeof(NodeRecord) % cache_line == 0);

/// Distinguishes the job from all others, on any host.
inline std::uint64_t job_number(const ArenaHead &arena) {
    std::uint64_t number = 0;
    std::memcpy(&number, arena.secret, sizeof number);
    return number;
}

inline RankRecord *rank_records(ArenaHead *arena) {
    return reinterpret_cast<RankRecord *>(reinterpret_cast<char *>(arena) + arena->records);
}

inline NodeRecord *node_records(ArenaHead *arena) {
    return reinterpret_cast<NodeRecord *>(reinterpret_cast<char *>(arena) + arena->node_records);
}

} // namespace volley
