// SPDX-License-Identifier: BSD-3-Clause
/// Communicators: what they are, duplicating and freeing them (MPI 5.0, sections 7.4 and 7.6).
#include "core/functions.h"
#include "collective/internal.h"
#include "communicator/context_allocation.h"
#include "communicator/intercommunicator.h"
#include "communicator/new_communicator.h"
#include "core/attribute.h"
#include "core/errhandler.h"
#include "core/error.h"
#include "core/hints.h"

#include <algorithm>
#include <numeric>

namespace volley {
namespace {

int compare_groups(const Group &one, const Group &other) {
    if (one.processes() == other.processes()) return MPI_CONGRUENT;
    bool same_members = one.size() == other.size() && std::ranges::all_of(one.processes(), [&](std::int32_t member) {
                            return other.member(member) != MPI_UNDEFINED;
                        });
    return same_members ? MPI_SIMILAR : MPI_UNEQUAL;
}

/// A handle of one of its groups, for the user. A group that was made without regard to sessions (of the colors of a
/// split, say) cannot say which one it derives from: a copy does.
int give_group(const Communicator &communicator, Group &group, MPI_Group *handle) {
    if (group.session() == communicator.session) {
        group.retain();
        *handle = group.handle();
    } else {
        *handle = Group::make(group.processes(), communicator.session)->handle();
    }
    return MPI_SUCCESS;
}

/// Begins to agree on a communicator with the same groups as `original`.
ContextAllocation *begin_duplicate(Communicator &original, Communicator &made) {
    Communicator &carrier = original.is_inter() ? *original.local_communicator : original;
    std::vector<int> members(static_cast<std::size_t>(original.size()));
    std::iota(members.begin(), members.end(), 0);
    ContextAllocation::Participants participants{carrier, std::move(members), original.rank(),
                                                 next_collective_tag(carrier)};
    if (!original.is_inter()) return new ContextAllocation(made, std::move(participants), std::nullopt);
    return new ContextAllocation(made, std::move(participants), bridge_between_leaders(original));
}

/// The new communicator with what it takes from the original now, even if it cannot be used yet. `code` is what
/// a callback that copies attributes returned: the agreement takes place nevertheless, as all others wait for it.
Communicator *make_duplicate(Communicator &original, Info *info, int &code) {
    Communicator *made = Communicator::make_unsettled(original.local(), original.remote());
    replace_errhandler(made->errhandler, *original.errhandler);
    made->session = original.session;
    if (original.topology) made->topology = std::make_unique<Topology>(*original.topology);
    set_hints(*made, info);
    code = copy_attributes(original, *made);
    return made;
}

int duplicate(Communicator &original, Info *info, MPI_Comm *new_handle) {
    *new_handle = MPI_COMM_NULL;
    int code = MPI_SUCCESS;
    Communicator *made = make_duplicate(original, info, code);
    ContextAllocation *agreement = begin_duplicate(original, *made);
    wait_for(*agreement);
    if (code == MPI_SUCCESS) code = agreement->finish();
    agreement->dispose();
    if (code != MPI_SUCCESS) {
        Communicator::release(*made);
        return code;
    }
    *new_handle = made->handle();
    return MPI_SUCCESS;
}

int begin_duplicate(Communicator &original, Info *info, MPI_Comm *new_handle, MPI_Request *request) {
    *new_handle = MPI_COMM_NULL;
    *request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    Communicator *made = make_duplicate(original, info, code);
    ContextAllocation *agreement = begin_duplicate(original, *made);
    if (code != MPI_SUCCESS) {
        agreement->abandon();
        Communicator::release(*made);
        return code;
    }
    *new_handle = made->handle();
    *request = agreement->handle();
    return MPI_SUCCESS;
}

int free_communicator(MPI_Comm *handle, const char *function) {
    Communicator *communicator = Communicator::from_handle(*handle);
    if (!communicator || communicator->freed)
        return fail(MPI_ERR_COMM, "comm is %s, not a communicator that can be freed",
                    *handle == MPI_COMM_NULL ? "MPI_COMM_NULL" : "no live communicator");
    blame(*communicator);
    if (communicator->is_predefined())
        return fail(MPI_ERR_COMM, "comm is %s, which %s cannot free", std::string(communicator->name()).c_str(),
                    function);
    if (int code = delete_attributes(*communicator); code != MPI_SUCCESS) return code;
    communicator->freed = true;
    *handle = MPI_COMM_NULL;
    forget_blame();
    Communicator::release(*communicator);
    return MPI_SUCCESS;
}

} // namespace

namespace mpi {

int Comm_size(Communicator &comm, int *size) {
    *size = comm.size();
    return MPI_SUCCESS;
}

int Comm_rank(Communicator &comm, int *rank) {
    *rank = comm.rank();
    return MPI_SUCCESS;
}

int Comm_remote_size(Communicator &comm, int *size) {
    *size = comm.remote()->size();
    return MPI_SUCCESS;
}

int Comm_test_inter(Communicator &comm, int *flag) {
    *flag = comm.is_inter();
    return MPI_SUCCESS;
}

int Comm_group(Communicator &comm, MPI_Group *group) {
    return give_group(comm, comm.local(), group);
}

int Comm_remote_group(Communicator &comm, MPI_Group *group) {
    return give_group(comm, *comm.remote(), group);
}

int Comm_compare(Communicator &comm1, Communicator &comm2, int *result) {
    if (&comm1 == &comm2) {
        *result = MPI_IDENT;
    } else if (comm1.is_inter() != comm2.is_inter()) {
        *result = MPI_UNEQUAL;
    } else {
        *result = compare_groups(comm1.local(), comm2.local());
        // From congruent through similar to unequal the constants grow.
        static_assert(MPI_CONGRUENT < MPI_SIMILAR && MPI_SIMILAR < MPI_UNEQUAL);
        if (comm1.is_inter()) *result = std::max(*result, compare_groups(*comm1.remote(), *comm2.remote()));
    }
    return MPI_SUCCESS;
}

// Hints are not taken over from the original (MPI 5.0, section 7.4.2; since MPI 4.0).

int Comm_dup(Communicator &comm, MPI_Comm *newcomm) {
    return duplicate(comm, nullptr, newcomm);
}

int Comm_dup_with_info(Communicator &comm, Info *info, MPI_Comm *newcomm) {
    return duplicate(comm, info, newcomm);
}

int Comm_idup(Communicator &comm, MPI_Comm *newcomm, MPI_Request *request) {
    return begin_duplicate(comm, nullptr, newcomm, request);
}

int Comm_idup_with_info(Communicator &comm, Info *info, MPI_Comm *newcomm, MPI_Request *request) {
    return begin_duplicate(comm, info, newcomm, request);
}

int Comm_free(MPI_Comm *comm) {
    return free_communicator(comm, "MPI_Comm_free");
}

int Comm_disconnect(MPI_Comm *comm) {
    Communicator *communicator = Communicator::from_handle(*comm);
    bool ends = communicator && !communicator->freed && !communicator->is_predefined();
    // After the barrier a rank knows that all others have ended their communication.
    if (ends)
        if (int code = meet(*communicator); code != MPI_SUCCESS) return code;
    return free_communicator(comm, "MPI_Comm_disconnect");
}

} // namespace mpi
} // namespace volley
