// SPDX-License-Identifier: BSD-3-Clause
/// Intercommunicators: making them of two groups, and one communicator of both (MPI 5.0, section 7.6).
#include "communicator/intercommunicator.h"

#include "boot/addresses.h"
#include "boot/proof/key_exchange.h"
#include "boot/sockets.h"
#include "collective/area.h"
#include "collective/internal.h"
#include "communicator/bootstrap_messages.h"
#include "communicator/introduction.h"
#include "communicator/new_communicator.h"
#include "core/contexts.h"
#include "core/errhandler.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/hints.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace volley {
namespace {

using Words = std::vector<std::int32_t>;

std::uint64_t join(std::int32_t low, std::int32_t high) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(high)) << 32 | static_cast<std::uint32_t>(low);
}

constexpr std::size_t name_words = 4; ///< two of the job's number, two of the rank

/// Appends how a group is named to other processes.
void add_names(const Group &group, Words &words) {
    for (ProcessIndex process : group.processes()) {
        const ProcessName &name = processes[process].name;
        for (std::uint64_t part : {name.job, static_cast<std::uint64_t>(name.rank)})
            words.insert(words.end(),
                         {static_cast<std::int32_t>(part & 0xffffffffU), static_cast<std::int32_t>(part >> 32)});
    }
}
std::vector<ProcessIndex> processes_named(std::span<const std::int32_t> words) {
    std::vector<ProcessIndex> found;
    found.reserve(words.size() / name_words);
    for (std::size_t word = 0; word + name_words <= words.size(); word += name_words)
        found.push_back(processes.find({.job = join(words[word], words[word + 1]), .rank = words[word + 2]}));
    return found;
}

/// Collective over `comm`: all get the root's.
int broadcast_words(Words &words, int root, Communicator &comm) {
    auto length = static_cast<std::int64_t>(words.size());
    if (int code = broadcast(&length, sizeof length, root, comm); code != MPI_SUCCESS) return code;
    words.resize(static_cast<std::size_t>(length));
    return broadcast(words.data(), length * static_cast<Count>(sizeof words[0]), root, comm);
}

/// Of two groups that make something together, the group whose first process has the lower name draws.
bool comes_first(const Group &group, const Group &other) {
    return processes[group.process(0)].name < processes[other.process(0)].name;
}

/// What a leader learns from the other group's leader: the allocated contexts, and the names of the remote group.
struct LeaderExchange {
    AllocatedContext allocated = {};
    Words remote = {};

    Words words() const {
        Words all = to_words(allocated);
        all.insert(all.end(), remote.begin(), remote.end());
        return all;
    }
    static LeaderExchange of(const Words &words) {
        return {to_allocated(words), {words.begin() + allocated_words, words.end()}};
    }
};

/// The processes of an intercommunicator's remote group; MPI_ERR_... if it cannot be one of `local` and them.
int check_remote(const Group &local, const std::vector<ProcessIndex> &members) {
    for (ProcessIndex member : members) {
        if (member < 0)
            return fail(MPI_ERR_OTHER, "the other group has processes of a job that this one is not connected to");
        if (local.member(member) != MPI_UNDEFINED)
            return fail(MPI_ERR_GROUP,
                        "the process of rank %d in MPI_COMM_WORLD is in both groups: an intercommunicator wants two "
                        "groups without common members",
                        processes.rank_in_job(member));
    }
    return MPI_SUCCESS;
}

int exchange_names(const Group &local, ProcessIndex remote_leader, const BootstrapChannel &channel,
                   LeaderExchange &exchanged) {
    Words names;
    add_names(local, names);
    return channel.exchange(remote_leader, names, exchanged.remote);
}

/// Called in both leaders: the one whose name comes first draws the contexts, once it knows the size of both groups.
int draw_as_leader(const Group &local, ProcessIndex remote_leader, const BootstrapChannel &channel,
                   LeaderExchange &exchanged) {
    if (processes[node.rank].name < processes[remote_leader].name) {
        // What is drawn for processes that are unknown, or in both groups, is given back again.
        std::vector<ProcessIndex> members = processes_named(exchanged.remote);
        std::ranges::replace(members, -1, node.rank);
        Group *remote = Group::make(std::move(members));
        ContextsOfBoth drawn = draw_for_both(local, *remote);
        Group::release(*remote);
        exchanged.allocated = drawn.local;
        if (int code = channel.send(remote_leader, to_words(drawn.remote)); code != MPI_SUCCESS) return code;
    } else {
        Words drawn;
        if (int code = channel.receive(remote_leader, drawn); code != MPI_SUCCESS) return code;
        exchanged.allocated = to_allocated(drawn);
    }
    if (exchanged.allocated.context == 0) return MPI_SUCCESS; // the error is reported in all processes, by settle()
    exchanged.allocated.area = draw_area(local);
    return MPI_SUCCESS;
}

/// Gives `made` what was allocated for it; releases it on an error.
int settle_or_release(Communicator *&made, const AllocatedContext &allocated) {
    int code = settle(*made, allocated);
    if (code != MPI_SUCCESS) Communicator::release(*std::exchange(made, nullptr));
    return code;
}

/// Called in every process of both groups: gives back what was allocated for an intercommunicator that is not made.
void renounce(const Group &local, const std::vector<ProcessIndex> &remote, const AllocatedContext &allocated) {
    if (allocated.context == 0) return;
    const int local_here = processes.count_on_node(local.processes(), node.number());
    const int here = local_here + processes.count_on_node(remote, node.number());
    leave_context(context_number(allocated.context, here), here);
    leave_context(context_number(allocated.local_context, local_here), local_here);
    if (allocated.area != 0) leave_area(*arena_pointer<CollectiveArea>(allocated.area));
}

/// Called in every process, once its leader has passed on what it has learnt.
int make_intercommunicator(Group &local, const LeaderExchange &exchanged, Communicator *&made) {
    std::vector<ProcessIndex> members = processes_named(exchanged.remote);
    if (int code = check_remote(local, members); code != MPI_SUCCESS) {
        renounce(local, members, exchanged.allocated);
        return code;
    }
    Group *remote = Group::make(std::move(members));
    made = Communicator::make_unsettled(local, remote);
    Group::release(*remote);
    return settle_or_release(made, exchanged.allocated);
}

/// The leaders of two groups, with what they talk by.
struct Leaders {
    ProcessIndex other;
    BootstrapChannel channel;
};

/// What the leader of MPI_Intercomm_create does first.
int find_leaders(const Communicator &local_comm, MPI_Comm peer_handle, int remote_leader, int tag,
                 std::optional<Leaders> &leaders) {
    Communicator *peer = Communicator::from_handle(peer_handle);
    if (!peer || peer->freed)
        return fail(MPI_ERR_COMM, "peer_comm is %s, but must be a communicator at the local leader",
                    peer_handle == MPI_COMM_NULL ? "MPI_COMM_NULL" : "no live communicator");
    if (remote_leader < 0 || remote_leader >= peer->peers())
        return fail(MPI_ERR_RANK, "remote_leader is %d, but the ranks in peer_comm are 0 to %d", remote_leader,
                    peer->peers() - 1);
    ProcessIndex other = peer->peer_process(remote_leader);
    if (local_comm.local().member(other) != MPI_UNDEFINED)
        return fail(MPI_ERR_RANK, "remote_leader is %d, a process of local_comm: it must be one of the other group",
                    remote_leader);
    leaders.emplace(other, BootstrapChannel(*peer, "intercomm " + std::to_string(tag)));
    return MPI_SUCCESS;
}

bool are_of_several_jobs(const Group &local, const Words &remote) {
    const std::uint64_t job = processes[local.process(0)].name.job;
    const auto is_other = [&](ProcessIndex process) { return processes[process].name.job != job; };
    if (std::ranges::any_of(local.processes(), is_other)) return true;
    for (std::size_t word = 0; word + name_words <= remote.size(); word += name_words)
        if (join(remote[word], remote[word + 1]) != job) return true;
    return false;
}

/// An address by which processes of other jobs are reached: if possible one that other hosts reach as well.
NetworkAddress address_near_others() {
    NetworkAddress near = loopback_address();
    for (ProcessIndex process = processes.ranks(); process < processes.size(); process++) {
        const NetworkAddress &address = processes.contact(process).address;
        if (address.family != 0 && own_address_beside(address)) near = address;
    }
    return near;
}

template <class Data> Words words_of(const Data *data, std::size_t bytes) {
    Words words((bytes + sizeof words[0] - 1) / sizeof words[0]);
    if (bytes > 0) std::memcpy(words.data(), data, bytes);
    return words;
}

/// Leaders tell each other how their groups are reached, and agree on a secret.
int exchange_descriptions(const Leaders &leaders, const Descriptions &own, Descriptions &others, Secret &secret) {
    const KeyExchange keys;
    Words key, described;
    const Descriptions told = can_be_reached(own) ? own : Descriptions{};
    if (int code = leaders.channel.exchange(leaders.other, words_of(keys.public_key().data(), sizeof(PublicKey)), key))
        return code;
    if (int code = leaders.channel.exchange(leaders.other,
                                            words_of(told.data(), static_cast<std::size_t>(bytes_of(told))), described))
        return code;
    if (told.empty() || described.empty())
        return fail(MPI_ERR_OTHER, "the groups cannot be connected: a process has no room for a socket");
    PublicKey other_key;
    others.resize(described.size() * sizeof described[0] / sizeof others[0]);
    std::memcpy(static_cast<void *>(others.data()), described.data(), static_cast<std::size_t>(bytes_of(others)));
    if (key.size() * sizeof key[0] != sizeof other_key) return fail(MPI_ERR_OTHER, "the other leader's key is none");
    std::memcpy(other_key.data(), key.data(), sizeof other_key);
    const bool accepts = processes[node.rank].name < processes[leaders.other].name;
    if (!keys.agree(other_key, accepts, secret)) return fail(MPI_ERR_OTHER, "the other leader's key is none");
    return MPI_SUCCESS;
}

/// Collective over `comm`: its members and those of the other leader's group get to know each other, since connections
/// between jobs are for all that these are connected to (MPI 5.0, section 11.10.4). `known` keeps them known.
int introduce_groups(Communicator &comm, int leader, const std::optional<Leaders> &leaders, Group *&known) {
    struct {
        NetworkAddress near;
        std::int64_t others = 0;
        Secret secret = {};
    } told{.near = leaders ? address_near_others() : NetworkAddress{}};
    if (int code = broadcast(&told.near, sizeof told.near, leader, comm); code != MPI_SUCCESS) return code;
    Descriptions own, others;
    if (int code = describe_group(comm, told.near, own); code != MPI_SUCCESS) return code;
    int code = leaders ? exchange_descriptions(*leaders, own, others, told.secret) : MPI_SUCCESS;
    if (code = share_code(code, leader, comm); code != MPI_SUCCESS) return code;
    told.others = static_cast<std::int64_t>(others.size());
    if (code = broadcast(&told, sizeof told, leader, comm); code != MPI_SUCCESS) return code;
    others.resize(static_cast<std::size_t>(told.others));
    if (code = broadcast(others.data(), bytes_of(others), leader, comm); code != MPI_SUCCESS) return code;
    known = introduce(others, told.secret);
    if (code = barrier(comm); code != MPI_SUCCESS) return code;
    Words ready;
    return leaders ? leaders->channel.exchange(leaders->other, {}, ready) : MPI_SUCCESS;
}

/// What the leader of MPI_Intercomm_create tells its group first.
enum class Opening : std::uint32_t { failure, contexts, introduction };

/// Collective over `comm`: all get what the leader has learnt.
int take_from_leader(Communicator &comm, int leader, LeaderExchange &exchanged) {
    Words words = comm.rank() == leader ? exchanged.words() : Words{};
    if (int code = broadcast_words(words, leader, comm); code != MPI_SUCCESS) return code;
    exchanged = LeaderExchange::of(words);
    return MPI_SUCCESS;
}

} // namespace

ContextAllocation::RemoteRoot bridge_between_leaders(Communicator &inter) {
    bool draws = comes_first(inter.local(), *inter.remote());
    return {inter, 0, next_collective_tag(inter), draws};
}

int swap_with_remote(Communicator &inter, const Words &own, Words &remote) {
    int tag = next_collective_tag(inter);
    Communicator &local = *inter.local_communicator;
    std::int64_t length = 0;
    Address leader{inter, 0, tag, Traffic::collective};
    auto own_length = static_cast<std::int64_t>(own.size());
    if (inter.rank() == 0) {
        Request *sent_length = start_send(Data::bytes(&own_length, sizeof own_length), leader);
        Request *sent = start_send(Data::bytes(own.data(), static_cast<Count>(own.size() * sizeof own[0])), leader);
        auto end = [](Request *request) {
            wait_for(*request);
            int failure = request->finish();
            request->dispose();
            return failure;
        };
        // A leader that cannot send does not wait for an answer.
        int refused =
            sent_length->completion.error != MPI_SUCCESS ? sent_length->completion.error : sent->completion.error;
        if (refused != MPI_SUCCESS) {
            for (Request *request : {sent_length, sent}) {
                (void)request->cancel();
                (void)end(request);
            }
            return refused;
        }
        if (int code = receive(Data::bytes(&length, sizeof length), leader); code != MPI_SUCCESS) return code;
        remote.resize(static_cast<std::size_t>(length));
        int code = receive(Data::bytes(remote.data(), length * static_cast<Count>(sizeof remote[0])), leader);
        for (Request *request : {sent_length, sent})
            if (int failure = end(request); failure != MPI_SUCCESS) code = failure;
        if (code != MPI_SUCCESS) return code;
    }
    return broadcast_words(remote, 0, local);
}

int make_inter_subset(Communicator &inter, const std::vector<int> &local, const std::vector<int> &remote,
                      Communicator *&made) {
    made = nullptr;
    int tag = next_collective_tag(inter);
    int local_tag = next_collective_tag(*inter.local_communicator);
    auto own = std::ranges::find(local, inter.rank());
    if (own == local.end() || remote.empty()) return MPI_SUCCESS;
    auto group_of = [](const std::vector<int> &ranks, const Group &whole) {
        std::vector<ProcessIndex> members;
        members.reserve(ranks.size());
        for (int rank : ranks) members.push_back(whole.process(rank));
        return Group::make(std::move(members));
    };
    Group *local_group = group_of(local, inter.local());
    Group *remote_group = group_of(remote, *inter.remote());
    bool draws = comes_first(*local_group, *remote_group);
    made = Communicator::make_unsettled(*local_group, remote_group);
    Group::release(*local_group);
    Group::release(*remote_group);
    int code =
        allocate_context(*made, {*inter.local_communicator, local, static_cast<int>(own - local.begin()), local_tag},
                         ContextAllocation::RemoteRoot{inter, remote.front(), tag, draws});
    if (code != MPI_SUCCESS) Communicator::release(*std::exchange(made, nullptr));
    return code;
}

int meet(Communicator &communicator) {
    if (!communicator.is_inter()) return barrier(communicator);
    if (int code = barrier(*communicator.local_communicator); code != MPI_SUCCESS) return code;
    Words nothing;
    return swap_with_remote(communicator, {}, nothing);
}

namespace mpi {

int Intercomm_create(Communicator &local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                     MPI_Comm *newintercomm) {
    *newintercomm = MPI_COMM_NULL;
    if (local_leader < 0 || local_leader >= local_comm.size())
        return fail(MPI_ERR_RANK, "local_leader is %d, but the ranks in local_comm are 0 to %d", local_leader,
                    local_comm.size() - 1);
    const bool leads = local_comm.rank() == local_leader;
    LeaderExchange exchanged;
    std::optional<Leaders> leaders;
    int code = MPI_SUCCESS;
    if (leads) code = find_leaders(local_comm, peer_comm, remote_leader, tag, leaders);
    if (leaders) code = exchange_names(local_comm.local(), leaders->other, leaders->channel, exchanged);
    // The rest of the group waits for the leader in any case. If some may not know each other, they are introduced
    // first.
    Opening opening = leads && code == MPI_SUCCESS && are_of_several_jobs(local_comm.local(), exchanged.remote)
                          ? Opening::introduction
                          : Opening::contexts;
    if (leads && code == MPI_SUCCESS && opening == Opening::contexts)
        code = draw_as_leader(local_comm.local(), leaders->other, leaders->channel, exchanged);
    if (leads && code != MPI_SUCCESS) opening = Opening::failure;
    Group *known = nullptr;
    if (int failure = broadcast(&opening, sizeof opening, local_leader, local_comm); failure != MPI_SUCCESS)
        return failure;
    if (opening == Opening::introduction) {
        code = introduce_groups(local_comm, local_leader, leaders, known);
        if (leads && code == MPI_SUCCESS)
            code = draw_as_leader(local_comm.local(), leaders->other, leaders->channel, exchanged);
        code = share_code(code, local_leader, local_comm);
    }
    if (opening == Opening::failure && !leads)
        code = fail(MPI_ERR_OTHER, "the local leader, rank %d of local_comm, could not reach the other group",
                    local_leader);
    if (code == MPI_SUCCESS) code = take_from_leader(local_comm, local_leader, exchanged);
    Communicator *made = nullptr;
    if (code == MPI_SUCCESS) code = make_intercommunicator(local_comm.local(), exchanged, made);
    if (known != nullptr) Group::release(*known);
    if (code == MPI_SUCCESS) *newintercomm = hand_out(local_comm, made);
    return code;
}

int Intercomm_create_from_groups(Group &local_group, int local_leader, MPI_Group remote_group, int remote_leader,
                                 const char *stringtag, Info *info, Errhandler &errhandler, MPI_Comm *newintercomm) {
    *newintercomm = MPI_COMM_NULL;
    if (local_group.rank() == MPI_UNDEFINED)
        return fail(MPI_ERR_GROUP, "local_group does not contain the calling process");
    if (local_leader < 0 || local_leader >= local_group.size())
        return fail(MPI_ERR_RANK, "local_leader is %d, but the ranks in local_group are 0 to %d", local_leader,
                    local_group.size() - 1);
    if (int code = check_one_job(local_group.processes()); code != MPI_SUCCESS) return code;
    LeaderExchange exchanged;
    Words words;
    if (local_group.rank() == local_leader) {
        const Group *remote = Group::from_handle(remote_group);
        if (!remote || remote_leader < 0 || remote_leader >= remote->size())
            return fail(remote ? MPI_ERR_RANK : MPI_ERR_GROUP,
                        "remote_leader is %d in a remote_group of %d processes: it must be one of its ranks",
                        remote_leader, remote ? remote->size() : 0);
        const ProcessIndex other = remote->process(remote_leader);
        if (int code = check_one_job({other}); code != MPI_SUCCESS) return code;
        const BootstrapChannel leaders(std::string("intercomm of groups ") + stringtag);
        if (int code = exchange_names(local_group, other, leaders, exchanged); code != MPI_SUCCESS) return code;
        if (int code = draw_as_leader(local_group, other, leaders, exchanged); code != MPI_SUCCESS) return code;
        words = exchanged.words();
    }
    const BootstrapChannel side(std::string("one side of an intercomm of groups ") + stringtag);
    if (int code = side.broadcast(local_group.processes(), local_leader, local_group.rank(), words);
        code != MPI_SUCCESS)
        return code;
    Communicator *made = nullptr;
    if (int code = make_intercommunicator(local_group, LeaderExchange::of(words), made); code != MPI_SUCCESS)
        return code;
    set_hints(*made, info);
    replace_errhandler(made->errhandler, errhandler);
    made->session = local_group.session();
    *newintercomm = made->handle();
    return MPI_SUCCESS;
}

int Intercomm_merge(Communicator &intercomm, int high, MPI_Comm *newintracomm) {
    *newintracomm = MPI_COMM_NULL;
    bool draws = comes_first(intercomm.local(), *intercomm.remote());
    std::vector<ProcessIndex> all = intercomm.local().processes();
    all.insert(all.end(), intercomm.remote()->processes().begin(), intercomm.remote()->processes().end());
    AllocatedContext allocated;
    if (draws && intercomm.rank() == 0) {
        Group *both = Group::make(all);
        allocated.context = draw_shared_context(*both);
        if (allocated.context != 0) allocated.area = draw_area(*both);
        Group::release(*both);
    }
    // Both leaders say which group shall come last; if they agree, the one that draws is first.
    Words own = to_words(allocated), remote;
    own.push_back(high != 0);
    if (int code = swap_with_remote(intercomm, own, remote); code != MPI_SUCCESS) return code;
    if (int code =
            broadcast(own.data(), static_cast<Count>(own.size() * sizeof own[0]), 0, *intercomm.local_communicator);
        code != MPI_SUCCESS)
        return code;
    bool first = own[allocated_words] != remote[allocated_words] ? own[allocated_words] == 0 : draws;
    if (!first) std::ranges::rotate(all, all.begin() + intercomm.size());
    Group *both = Group::make(std::move(all));
    Communicator *made = Communicator::make_unsettled(*both, nullptr);
    Group::release(*both);
    if (int code = settle_or_release(made, to_allocated(draws ? own : remote)); code != MPI_SUCCESS) return code;
    *newintracomm = hand_out(intercomm, made);
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
