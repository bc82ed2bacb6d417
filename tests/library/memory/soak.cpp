// SPDX-License-Identifier: BSD-3-Clause
// soak DUPLICATES OTHERS: what is made again and again, and given back, leaves no memory behind.
#include "footprint.h"

#include <algorithm>
#include <string>

namespace {

void use(MPI_Comm communicator) {
    int one = 1, all = 0, size = 0;
    MPI_Comm_size(communicator, &size);
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, communicator);
    CHECK(all == size);
}

void duplicate() {
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_free(&made);
}

void duplicate_and_use() {
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    use(made);
    MPI_Comm_free(&made);
}

/// Many at a time, and freed in another order.
void duplicate_many() {
    std::vector<MPI_Comm> made(20);
    std::vector<MPI_Request> requests(made.size());
    for (std::size_t i = 0; i < made.size(); i++) MPI_Comm_idup(MPI_COMM_WORLD, &made[i], &requests[i]);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    for (std::size_t i = 0; i < made.size(); i++) MPI_Comm_free(&made[i * 7 % made.size()]);
}

/// Of random sizes; all ranks draw the same numbers.
void split() {
    static std::mt19937 random(1);
    int parts = 1 + static_cast<int>(random() % static_cast<unsigned>(world_size));
    int color = static_cast<int>((static_cast<unsigned>(world_rank) * 2654435761U ^ random()) >> 8) % parts;
    MPI_Comm made;
    MPI_Comm_split(MPI_COMM_WORLD, color, world_rank, &made);
    use(made);
    MPI_Comm_free(&made);
}

void make_of_group() {
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int ranges[1][3] = {{0, world_size - 1, 1 + (world_size > 2)}};
    MPI_Group_range_incl(world, 1, ranges, &group);
    MPI_Comm made;
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &made);
    if (made != MPI_COMM_NULL) {
        use(made);
        MPI_Comm_free(&made);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

/// Two sides, one communicator of both, and a duplicate.
void make_intercommunicator() {
    if (world_size < 2) return;
    int side = world_rank % 2;
    MPI_Comm half, inter, merged, duplicate;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 5, &inter);
    MPI_Intercomm_merge(inter, side, &merged);
    MPI_Comm_dup(inter, &duplicate);
    use(merged);
    for (MPI_Comm *each : {&half, &inter, &merged, &duplicate}) MPI_Comm_free(each);
}

void open_session() {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm made;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "soak", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
    use(made);
    MPI_Comm_free(&made);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
}

/// Requests that nobody waits for, of sizes that go all ways, and between processes some that must go through blocks.
void send_and_forget() {
    static std::vector<int> out(400000), in(400000);
    static MPI_Datatype every_other;
    if (every_other == MPI_Datatype{}) {
        MPI_Type_vector(100000, 1, 2, MPI_INT, &every_other);
        MPI_Type_commit(&every_other);
    }
    int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    for (int count : {10, 3000, 60000, 400000}) {
        MPI_Request sent;
        MPI_Isend(out.data(), count, MPI_INT, right, 1, MPI_COMM_WORLD, &sent);
        MPI_Request_free(&sent);
        MPI_Recv(in.data(), count, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Request sent;
    MPI_Isend(out.data(), 1, every_other, right, 2, MPI_COMM_WORLD, &sent);
    MPI_Request_free(&sent);
    MPI_Recv(in.data(), 100000, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// Messages that are never received: they go with their communicator.
void leave_behind() {
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Send(&world_rank, 1, MPI_INT, (world_rank + 1) % world_size, 1, made);
    MPI_Comm_free(&made);
}

} // namespace

int main(int count, char **arguments) {
    Mpi mpi(&count, &arguments);
    int duplicates = std::atoi(arguments[1]), others = std::atoi(arguments[2]);
    // Some are ahead of others, at times further than before; less than 200 bytes for each duplicate, whose area has
    // more than 20,000.
    constexpr long long some_blocks = 16 << 20;
    expect_flat("MPI_Comm_dup", 3000, duplicates, some_blocks, duplicate);
    expect_flat("MPI_Comm_dup and use", 3000, others, some_blocks, duplicate_and_use);
    expect_flat("MPI_Comm_idup", 200, others / 20, some_blocks, duplicate_many);
    expect_flat("MPI_Comm_split", 3000, others, some_blocks, split);
    expect_flat("MPI_Comm_create_group", 3000, others, some_blocks, make_of_group);
    expect_flat("MPI_Intercomm_create", 1000, others / 4, some_blocks, make_intercommunicator);
    expect_flat("MPI_Session_init", 1000, others / 4, some_blocks, open_session);
    expect_flat("MPI_Isend", 200, others / 10, 64LL << 20, send_and_forget);
    if (count > 3) expect_flat("left behind", 3000, others, some_blocks, leave_behind);
    return 0;
}
