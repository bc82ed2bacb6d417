// SPDX-License-Identifier: BSD-3-Clause
#include "boot/join.h"

#include "boot/arena.h"
#include "boot/cpus.h"
#include "boot/error.h"
#include "boot/foreign/join.h"
#include "boot/foreign/launcher.h"
#include "boot/settings.h"
#include "boot/text.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace volley {
namespace {

/// The number in a variable; nothing if it is not set or not a number.
std::optional<std::int64_t> number_in(const char *variable, int base = 10) {
    const char *text = std::getenv(variable);
    if (!text) return std::nullopt;
    if (base == 16 && std::strncmp(text, "0x", 2) == 0) text += 2;
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(text, text + std::strlen(text), value, base);
    if (error != std::errc() || *end != '\0') return std::nullopt;
    return value;
}

void check_magic(const ArenaHead *arena) {
    if (arena->magic != arena_magic)
        throw Error("this program and its launcher use different versions of Volley: start it with the mpiexec that "
                    "belongs to its libmpi_abi.so.1");
}

/// Whether this process has the launcher's mappings, the arena among them. The process that the launcher placed has
/// them, and so have its children, which inherit them. A program that one of these has exec'd has none.
bool has_mappings(const RankRecord &record) {
    return record.placement == Placement::shared && record.placed_at == getauxval(AT_RANDOM);
}

/// Whether this process is in the address space where the launcher placed its rank, with its neighbours. A child (of
/// fork) has a copy of that address space, where its neighbours neither write nor read.
bool is_in_place(const RankRecord &record) {
    return has_mappings(record) && record.process == getpid();
}

/// Removes the launcher's variables, since children of this process are not ranks of the job.
void forget_environment() {
    for (const char *name : {environment::arena_file, environment::arena_address, environment::rank, environment::ranks,
                             environment::universe_size, environment::application, environment::listeners})
        unsetenv(name);
}

std::vector<Descriptor> inherited_listeners() {
    const char *text = std::getenv(environment::listeners);
    std::vector<Descriptor> listeners;
    if (!text) return listeners;
    for (const std::string &number : fields_of(text, ',')) {
        listeners.emplace_back(std::atoi(number.c_str()));
        fcntl(listeners.back().get(), F_SETFD, FD_CLOEXEC);
    }
    return listeners;
}

std::optional<JobPlace> join_mpiexec() {
    auto file = number_in(environment::arena_file);
    auto address = number_in(environment::arena_address, 16);
    auto rank = number_in(environment::rank);
    if (!file || !address || !rank) return std::nullopt;
    int descriptor = static_cast<int>(*file);
    if (fcntl(descriptor, F_GETFD) < 0) return std::nullopt; // a rank's child: the job is not its own
    JobPlace place;
    // Reading a record in memory needs the arena, but only the record tells whether the arena is mapped here: so read
    // the record from the file.
    ArenaHead head_copy;
    std::memset(static_cast<void *>(&head_copy), 0, sizeof head_copy);
    if (pread(descriptor, static_cast<void *>(&head_copy), sizeof head_copy, 0) != sizeof head_copy)
        throw system_error("cannot read the memory the ranks share");
    check_magic(&head_copy);
    RankRecord record;
    off_t at = static_cast<off_t>(head_copy.records + *rank * sizeof(RankRecord));
    if (pread(descriptor, static_cast<void *>(&record), sizeof record, at) != sizeof record)
        throw system_error("cannot read the memory the ranks share");
    place.arena = has_mappings(record) ? reinterpret_cast<ArenaHead *>(*address) : map_as_others(descriptor, *address);
    close(descriptor);
    place.rank = static_cast<int>(*rank);
    place.ranks = static_cast<int>(place.arena->ranks);
    place.universe_size = static_cast<int>(number_in(environment::universe_size).value_or(0));
    place.application = static_cast<int>(number_in(environment::application).value_or(0));
    place.listeners = inherited_listeners();
    forget_environment();
    return place;
}

ForeignLauncher *launcher = nullptr; ///< if one has started this process; as long as the process

std::optional<JobPlace> join_by_launcher() {
    if (!launcher) launcher = find_foreign_launcher().release();
    return launcher ? std::optional(join_foreign(*launcher)) : std::nullopt;
}

/// Other launchers tell the size of their job by these variables. Running N worlds of one instead is the classic silent
/// error.
void refuse_foreign_launcher() {
    struct Foreign {
        const char *size;
        const char *launcher;
        bool also_ours = false; ///< mpiexec sets it as well
    };
    const bool launched = std::getenv(environment::launched) != nullptr;
    static constexpr Foreign known[] = {
        {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun", true},
        {"PMI_SIZE", "a launcher that speaks PMI", true},
        {"MPI_LOCALNRANKS", "a launcher of the MPICH family", true},
        {"MV2_COMM_WORLD_SIZE", "MVAPICH's launcher"},
        {"SLURM_STEP_NUM_TASKS", "Slurm's srun"},
        {"PALS_NRANKS", "Cray's launcher"},
        {"LAMWORLD", "LAM's mpirun"},
    };
    for (const Foreign &foreign : known)
        if (number_in(foreign.size).value_or(1) > 1 && !(launched && foreign.also_ours))
            throw Error(std::string(foreign.launcher) + " has started this process as one of " +
                        std::getenv(foreign.size) +
                        ", but gives Volley no way to find the others: start the program with Volley's mpiexec, or "
                        "with srun --mpi=pmi2 or --mpi=pmix");
}

JobPlace alone() {
    auto *arena = new Arena(JobLayout::one_host(1)); // as long as the process
    arena->record(0).placement = Placement::process;
    arena->record(0).state = RankState::started;
    return {.arena = arena->head()};
}

/// Takes a rank's place, which only one process can do: the program that mpiexec started, or one that this program, for
/// example a shell script, has started.
void take_place(RankRecord &record, int rank) {
    std::int32_t nobody = 0;
    std::int32_t own = getpid();
    if (!record.program.compare_exchange_strong(nobody, own) && nobody != own)
        throw Error("the place of rank " + std::to_string(rank) + " is taken by process " + std::to_string(nobody) +
                    ": mpiexec's program has started several MPI programs");
    if (!is_in_place(record)) {
        record.placement = Placement::process;
        record.space = 0;
    }
    // Where Yama restricts who may read whose memory, neighbours may read this process only if it says so.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

/// Waits, at most for a second, until what has been written to a pipe or socket has been read there. A launcher that is
/// asked to end the job kills what forwards output, perhaps before that has read why the job ends.
void wait_until_read(int descriptor) {
    struct stat about = {};
    if (fstat(descriptor, &about) != 0 || !(S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode))) return;
    constexpr timespec between_looks{.tv_sec = 0, .tv_nsec = 1'000'000}; // nobody tells that a pipe has been emptied
    const unsigned long unread = S_ISFIFO(about.st_mode) ? FIONREAD : SIOCOUTQ;
    int bytes = 0;
    for (int looks = 0; looks < 1000 && ioctl(descriptor, unread, &bytes) == 0 && bytes > 0; looks++)
        nanosleep(&between_looks, nullptr);
}

} // namespace

ArenaHead *map_as_others(int file, std::uint64_t address) {
    const off_t bytes = lseek(file, 0, SEEK_END);
    if (bytes <= 0) throw system_error("cannot ask for the size of the memory the ranks share");
    ArenaHead *arena = map_arena(file, address, static_cast<std::uint64_t>(bytes));
    if (!arena) throw system_error("cannot map the memory the ranks share at the address it has in the others");
    return arena;
}

JobPlace join_job() {
    std::optional<JobPlace> place = join_mpiexec();
    if (!place) place = join_by_launcher();
    if (!place) {
        refuse_foreign_launcher();
        place = alone();
    }
    take_place(rank_records(place->arena)[place->rank], place->rank);
    return std::move(*place);
}

void leave_job() {
    if (launcher) launcher->finalize();
}

void abort_through_launcher(int code) {
    if (!launcher) return;
    wait_until_read(STDERR_FILENO);
    launcher->abort(code);
}

} // namespace volley
