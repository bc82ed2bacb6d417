// SPDX-License-Identifier: BSD-3-Clause
#include "dynamic/connect.h"

#include "boot/build_id.h"
#include "boot/error.h"
#include "boot/proof/key_exchange.h"
#include "boot/sockets.h"
#include "collective/arguments.h"
#include "collective/internal.h"
#include "collective/selection.h"
#include "communicator/context_allocation.h"
#include "communicator/introduction.h"
#include "core/contexts.h"
#include "core/error.h"
#include "dynamic/port.h"
#include "transport/tcp/tcp.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace volley {
namespace {

/// All processes of an intercommunicator must take the same steps in a collective operation.
struct Agreement {
    std::uint64_t version = 3; ///< of all that is said here
    std::uint64_t library = build_id();
    std::uint64_t algorithms = selection_number();
    std::uint64_t checking = node.settings.checking ? 1 : 0;

    bool operator==(const Agreement &) const = default;
};

struct Offer {
    Agreement agreement;
    std::int64_t members = 0; ///< 0: this group cannot be connected
    SharedContext context = 0;
    PublicKey key = {};
};

/// More than any job has.
constexpr std::int64_t most_members = 1 << 20;

/// What the root tells its group.
struct Plan {
    std::int64_t others = 0;
    AllocatedContext allocated;
    Secret secret = {};
};

int refuse(const char *reason) {
    return fail(MPI_ERR_PORT, "the processes cannot be connected: %s", reason);
}

int gone() {
    return refuse("the other side has gone");
}

/// Says to the other root what this group is, and learns what the other one is.
int exchange(Meeting &meeting, const Communicator &comm, const Descriptions &own, Plan &plan, Descriptions &others) {
    Link &link = meeting.link;
    Offer offer, answer;
    const KeyExchange keys;
    offer.key = keys.public_key();
    const bool is_able = can_be_reached(own);
    const auto say = [&] {
        offer.members = is_able ? comm.size() : 0;
        return link.write(&offer, sizeof offer) &&
               link.write(own.data(), is_able ? static_cast<std::size_t>(bytes_of(own)) : 0);
    };
    const auto hear = [&] {
        if (!link.read(&answer, sizeof answer) || answer.members < 0 || answer.members > most_members) return false;
        others.resize(static_cast<std::size_t>(answer.members));
        return link.read(others.data(), static_cast<std::size_t>(bytes_of(others)));
    };
    const auto draw = [&] {
        const std::uint64_t job = processes[node.rank].name.job;
        const bool several = comm.local().has_other_jobs() ||
                             std::ranges::any_of(others, [&](auto &other) { return other.name.job != job; });
        offer.context = draw_shared_context(comm.size() + static_cast<int>(others.size()), several);
    };
    if (meeting.accepts) {
        if (!hear()) return gone();
        draw();
        if (!say()) return gone();
    } else if (!say() || !hear()) {
        return gone();
    }
    if (!is_able) return refuse("a process of this side has no room for a socket");
    if (answer.members == 0) return refuse("a process of the other side has no room for a socket");
    if (answer.agreement.library != offer.agreement.library)
        return refuse("they have loaded different builds of libmpi_abi.so.1");
    if (answer.agreement != offer.agreement)
        return refuse("they have different values of VOLLEY_COLLECTIVES or VOLLEY_CHECK");
    for (const ProcessDescription &other : others)
        if (std::ranges::find(own, other.name, &ProcessDescription::name) != own.end())
            return fail(MPI_ERR_GROUP, "rank %d of a job is in both groups that are to be connected", other.name.rank);
    const Offer &drawn = meeting.accepts ? offer : answer;
    plan.others = answer.members;
    if (!keys.agree(answer.key, meeting.accepts, plan.secret)) return refuse("the other side's key is none");
    plan.allocated = {drawn.context, draw_shared_context(comm.local()), draw_area(comm.local())};
    return plan.allocated.context == 0 || plan.allocated.local_context == 0 ? no_context() : MPI_SUCCESS;
}

/// Each root says that its group knows the other.
int say_ready(Link &link) {
    char byte = 1;
    return link.write(&byte, 1) && link.read(&byte, 1) ? MPI_SUCCESS : gone();
}

} // namespace

int check_root(int root, const Communicator &comm) {
    Arguments arguments;
    arguments.root(root, comm);
    return arguments.code();
}

int connect_groups(Communicator &comm, int root, const std::function<int(Meeting &)> &meet, Communicator *&made) {
    made = nullptr;
    const bool is_root = comm.rank() == root;
    Meeting meeting;
    int code = MPI_SUCCESS;
    try {
        tcp.open({});
        if (is_root) code = meet(meeting);
    } catch (const Error &error) {
        code = fail(MPI_ERR_OTHER, "%s", error.what());
    }
    if (code = share_code(code, root, comm); code != MPI_SUCCESS) return code;
    NetworkAddress address = is_root ? meeting.link.own_address() : NetworkAddress{};
    if (code = broadcast(&address, sizeof address, root, comm); code != MPI_SUCCESS) return code;
    Descriptions own, others;
    if (code = describe_group(comm, address, own); code != MPI_SUCCESS) return code;
    Plan plan;
    if (is_root) code = exchange(meeting, comm, own, plan, others);
    if (code = share_code(code, root, comm); code != MPI_SUCCESS) return code;
    if (code = broadcast(&plan, sizeof plan, root, comm); code != MPI_SUCCESS) return code;
    others.resize(static_cast<std::size_t>(plan.others));
    if (code = broadcast(others.data(), bytes_of(others), root, comm); code != MPI_SUCCESS) return code;
    Group *remote = introduce(others, plan.secret);
    code = barrier(comm);
    if (is_root && code == MPI_SUCCESS) code = say_ready(meeting.link);
    code = share_code(code, root, comm);
    if (code == MPI_SUCCESS) {
        made = Communicator::make_unsettled(comm.local(), remote);
        code = settle(*made, plan.allocated);
        if (code != MPI_SUCCESS) Communicator::release(*std::exchange(made, nullptr));
    }
    Group::release(*remote);
    return code;
}

} // namespace volley
