// SPDX-License-Identifier: BSD-3-Clause
/// Communicators of some processes of another one, or of a group (MPI 5.0, section 7.4.2).
#include "collective/internal.h"
#include "communicator/bootstrap_messages.h"
#include "communicator/intercommunicator.h"
#include "communicator/new_communicator.h"
#include "core/contexts.h"
#include "core/errhandler.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/hints.h"
#include "core/info.h"
#include "core/session.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace volley {
namespace {

/// The ranks that members of `group` have in `whole`; MPI_ERR_GROUP if one has none.
int find_ranks(const Group &group, const Group &whole, std::vector<int> &ranks) {
    ranks.clear();
    for (ProcessIndex process : group.processes()) {
        int rank = whole.member(process);
        if (rank == MPI_UNDEFINED)
            return fail(MPI_ERR_GROUP, "group has a process, rank %d in MPI_COMM_WORLD, that is not in comm",
                        processes.rank_in_job(process));
        ranks.push_back(rank);
    }
    return MPI_SUCCESS;
}

/// What a rank says in MPI_Comm_split.
struct Choice {
    std::int32_t color;
    std::int32_t key;
};

/// The ranks of one color, by key and, among equal keys, by rank.
std::vector<int> ranks_of_color(const std::vector<Choice> &choices, int color) {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < choices.size(); rank++)
        if (choices[rank].color == color) ranks.push_back(static_cast<int>(rank));
    std::ranges::stable_sort(ranks, {}, [&](int rank) { return choices[static_cast<std::size_t>(rank)].key; });
    return ranks;
}

/// Those of the other group, which its leader passes on.
int remote_choices(Communicator &inter, const std::vector<Choice> &own, std::vector<Choice> &remote) {
    std::vector<std::int32_t> own_words, remote_words;
    for (const Choice &choice : own) own_words.insert(own_words.end(), {choice.color, choice.key});
    if (int code = swap_with_remote(inter, own_words, remote_words); code != MPI_SUCCESS) return code;
    for (std::size_t word = 0; word + 1 < remote_words.size(); word += 2)
        remote.push_back({remote_words[word], remote_words[word + 1]});
    return MPI_SUCCESS;
}

int split(Communicator &comm, int color, int key, Communicator *&made) {
    Communicator &local = comm.is_inter() ? *comm.local_communicator : comm;
    Choice own{color, key};
    std::vector<Choice> choices(static_cast<std::size_t>(comm.size()));
    if (int code = allgather(&own, sizeof own, choices.data(), local); code != MPI_SUCCESS) return code;
    // A process without a color only counts the operation: it passes a list that does not contain it.
    std::vector<int> members = color == MPI_UNDEFINED ? std::vector<int>{} : ranks_of_color(choices, color);
    if (!comm.is_inter()) return make_subset(comm, members, made);
    std::vector<Choice> others;
    if (int code = remote_choices(comm, choices, others); code != MPI_SUCCESS) return code;
    return make_inter_subset(comm, members, ranks_of_color(others, color), made);
}

/// Whether some processes of the communicator, in either group, do not share memory with this process.
bool is_on_several_nodes(const Communicator &comm) {
    auto is_elsewhere = [](ProcessIndex process) { return processes[process].node != processes[node.rank].node; };
    return std::ranges::any_of(comm.local().processes(), is_elsewhere) ||
           std::ranges::any_of(comm.peer_group().processes(), is_elsewhere);
}

/// The one resource of the hardware by which communicators are split (MPI 5.0, section 7.4.2).
constexpr const char *shared_memory_resource = "mpi_shared_memory";

/// This process's color in a split by a set of processes; `part` is that of its node.
int color_in(const ProcessSet &set, const Communicator &comm, int part) {
    if (set.group == &Group::self()) return comm.rank();
    return set.group == &Group::shared() ? part : 0;
}

/// Which part of a split by `split_type` this process is in; MPI_UNDEFINED for none.
int color_of_type(const Communicator &comm, int split_type, const Info *info, int &color) {
    auto value = [&](const char *key) { return info ? info->find(key) : nullptr; };
    const std::string *resource = value("mpi_hw_resource_type");
    // Each job numbers its nodes for itself; which member is the first of a node is known alike in all jobs.
    const auto &members = comm.local().processes();
    const int own_node = processes[node.rank].node;
    const int part =
        comm.local().has_other_jobs()
            ? static_cast<int>(
                  std::ranges::find(members, own_node, [](ProcessIndex member) { return processes[member].node; }) -
                  members.begin())
            : own_node;
    bool wants_shared_memory = resource && *resource == shared_memory_resource;
    color = MPI_UNDEFINED;
    switch (split_type) {
    case MPI_COMM_TYPE_SHARED:
        color = part;
        return MPI_SUCCESS;
    case MPI_COMM_TYPE_HW_GUIDED: // an unknown resource gives MPI_COMM_NULL
        if (wants_shared_memory) color = part;
        return MPI_SUCCESS;
    case MPI_COMM_TYPE_RESOURCE_GUIDED:
        if (const std::string *name = value("mpi_pset_name"); name && !resource) {
            const ProcessSet *set = find_process_set(*name);
            if (set) color = color_in(*set, comm, part);
        } else if (wants_shared_memory) {
            color = part;
        }
        return MPI_SUCCESS;
    case MPI_COMM_TYPE_HW_UNGUIDED: // parts must be smaller than the whole; no level below the node is distinguished
        if (is_on_several_nodes(comm)) color = part;
        return MPI_SUCCESS;
    case MPI_UNDEFINED:
        return MPI_SUCCESS;
    default:
        return fail(MPI_ERR_ARG, "split_type is %d, which is neither MPI_UNDEFINED nor one of MPI_COMM_TYPE_...",
                    split_type);
    }
}

/// The communicator of a group of which only the members call; the first member draws.
int make_of_group(Group &group, const BootstrapChannel &channel, Communicator *&made) {
    std::vector<std::int32_t> words;
    if (group.rank() == 0) {
        AllocatedContext drawn;
        drawn.context = draw_shared_context(group);
        if (drawn.context != 0) drawn.area = draw_area(group);
        words = to_words(drawn);
    }
    if (int code = channel.broadcast(group.processes(), 0, group.rank(), words); code != MPI_SUCCESS) return code;
    made = Communicator::make_unsettled(group, nullptr);
    int code = settle(*made, to_allocated(words));
    if (code != MPI_SUCCESS) Communicator::release(*std::exchange(made, nullptr));
    return code;
}

} // namespace

namespace mpi {

int Comm_create(Communicator &comm, Group &group, MPI_Comm *newcomm) {
    *newcomm = MPI_COMM_NULL;
    std::vector<int> members;
    if (int code = find_ranks(group, comm.local(), members); code != MPI_SUCCESS) return code;
    Communicator *made = nullptr;
    if (!comm.is_inter()) {
        if (int code = make_subset(comm, members, made); code != MPI_SUCCESS) return code;
    } else {
        std::vector<std::int32_t> remote;
        if (int code = swap_with_remote(comm, members, remote); code != MPI_SUCCESS) return code;
        if (int code = make_inter_subset(comm, members, remote, made); code != MPI_SUCCESS) return code;
    }
    *newcomm = hand_out(comm, made);
    return MPI_SUCCESS;
}

int Comm_create_group(Communicator &comm, Group &group, int tag, MPI_Comm *newcomm) {
    *newcomm = MPI_COMM_NULL;
    std::vector<int> members;
    if (int code = find_ranks(group, comm.local(), members); code != MPI_SUCCESS) return code;
    if (group.rank() == MPI_UNDEFINED) return MPI_SUCCESS;
    const BootstrapChannel channel(comm, "group " + std::to_string(tag));
    Communicator *made = nullptr;
    if (int code = make_of_group(group, channel, made); code != MPI_SUCCESS) return code;
    *newcomm = hand_out(comm, made);
    return MPI_SUCCESS;
}

int Comm_create_from_group(Group &group, const char *stringtag, Info *info, Errhandler &errhandler, MPI_Comm *newcomm) {
    *newcomm = MPI_COMM_NULL;
    if (group.size() == 0) return MPI_SUCCESS;
    if (group.rank() == MPI_UNDEFINED)
        return fail(MPI_ERR_GROUP, "group does not contain the calling process, which it must");
    if (std::strlen(stringtag) >= MPI_MAX_STRINGTAG_LEN)
        return fail(MPI_ERR_ARG, "stringtag has %zu characters, of which there may be %d", std::strlen(stringtag),
                    MPI_MAX_STRINGTAG_LEN - 1);
    if (int code = check_one_job(group.processes()); code != MPI_SUCCESS) return code;
    const BootstrapChannel channel(std::string("from group ") + stringtag);
    Communicator *made = nullptr;
    if (int code = make_of_group(group, channel, made); code != MPI_SUCCESS) return code;
    set_hints(*made, info);
    replace_errhandler(made->errhandler, errhandler);
    made->session = group.session();
    *newcomm = made->handle();
    return MPI_SUCCESS;
}

int Comm_split(Communicator &comm, int color, int key, MPI_Comm *newcomm) {
    *newcomm = MPI_COMM_NULL;
    if (color < 0 && color != MPI_UNDEFINED)
        return fail(MPI_ERR_ARG, "color is %d, but must be 0 or more, or MPI_UNDEFINED", color);
    Communicator *made = nullptr;
    if (int code = split(comm, color, key, made); code != MPI_SUCCESS) return code;
    *newcomm = hand_out(comm, made);
    return MPI_SUCCESS;
}

int Comm_split_type(Communicator &comm, int split_type, int key, Info *info, MPI_Comm *newcomm) {
    *newcomm = MPI_COMM_NULL;
    int color = MPI_UNDEFINED;
    if (int code = color_of_type(comm, split_type, info, color); code != MPI_SUCCESS) return code;
    Communicator *made = nullptr;
    if (int code = split(comm, color, key, made); code != MPI_SUCCESS) return code;
    *newcomm = hand_out(comm, made, info);
    // The caller learns by which resource the split was made.
    if (made && info && split_type == MPI_COMM_TYPE_HW_UNGUIDED)
        info->set("mpi_hw_resource_type", shared_memory_resource);
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
