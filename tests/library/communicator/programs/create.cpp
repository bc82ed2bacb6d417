// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_split, split_type, create, create_group.
#include "check.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

int size, rank;

MPI_Group group_of(const std::vector<int> &ranks) {
    MPI_Group world = MPI_GROUP_NULL, made = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &made);
    MPI_Group_free(&world);
    return made;
}

void test_split() {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made); // odd and even, in reverse order
    int members = (size + 1 - rank % 2) / 2;
    CHECK(size_of(made) == members);
    CHECK(rank_in(made) == members - 1 - rank / 2);
    check_ring(made);
    MPI_Comm nested = MPI_COMM_NULL;
    MPI_Comm_split(made, rank_in(made) == 0 ? MPI_UNDEFINED : 5, 0, &nested); // equal keys: order of ranks
    CHECK((nested == MPI_COMM_NULL) == (rank_in(made) == 0));
    if (nested != MPI_COMM_NULL) {
        CHECK(rank_in(nested) == rank_in(made) - 1);
        check_ring(nested);
        MPI_Comm_free(&nested);
    }
    MPI_Comm_free(&made);
}

/// The ranks [first, end) that are on this rank's node, as VOLLEY_NODES says.
struct Neighbours {
    int first = 0, end = size;

    Neighbours() {
        const char *at = std::getenv("VOLLEY_NODES");
        for (int number = 0; at != nullptr && *at != '\0'; first += number) {
            number = std::atoi(at);
            end = std::min(size, first + number);
            if (rank < end) break;
            if (const char *comma = std::strchr(at, ',')) at = comma + 1;
        }
    }
    int size_of_node() const {
        return end - first;
    }
};

void test_split_type() {
    MPI_Comm made = MPI_COMM_NULL;
    const Neighbours node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &made);
    CHECK(size_of(made) == node.size_of_node() && rank_in(made) == node.end - 1 - rank);
    check_ring(made);
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split_type(made, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &part);
    CHECK(part == MPI_COMM_NULL); // below the node no level is told apart
    MPI_Comm_free(&made);
    MPI_Info resource = MPI_INFO_NULL;
    MPI_Info_create(&resource);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, 0, resource, &made);
    CHECK((made == MPI_COMM_NULL) == (node.size_of_node() == size));
    char kind[MPI_MAX_INFO_VAL + 1];
    int length = sizeof kind, is_set = 0;
    MPI_Info_get_string(resource, "mpi_hw_resource_type", &length, kind, &is_set);
    CHECK((is_set != 0) == (made != MPI_COMM_NULL) && (!is_set || std::strcmp(kind, "mpi_shared_memory") == 0));
    MPI_Info_free(&resource);
    if (made != MPI_COMM_NULL) {
        CHECK(size_of(made) == node.size_of_node());
        check_ring(made);
        MPI_Comm_free(&made);
    }
    MPI_Comm_split_type(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    CHECK((made == MPI_COMM_NULL) == (rank == 0));
    if (made != MPI_COMM_NULL) MPI_Comm_free(&made);

    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &made);
    CHECK(size_of(made) == node.size_of_node());
    MPI_Comm_free(&made);
    MPI_Info_set(info, "mpi_hw_resource_type", "no such thing");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &made);
    CHECK(made == MPI_COMM_NULL);
    MPI_Info_free(&info);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_pset_name", "mpi://SELF");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &made);
    CHECK(size_of(made) == 1);
    MPI_Comm_free(&made);
    MPI_Info_free(&info);
}

void test_create() {
    // All take part: the upper and the lower half make a communicator each, in reverse order; a middle one has none.
    std::vector<int> ranks = counted(size);
    int half = size / 2;
    bool low = rank < half, high = rank >= size - half;
    std::vector<int> members = low    ? std::vector<int>(ranks.begin(), ranks.begin() + half)
                               : high ? std::vector<int>(ranks.end() - half, ranks.end())
                                      : std::vector<int>();
    std::ranges::reverse(members);
    MPI_Group group = group_of(members);
    MPI_Comm made = MPI_COMM_SELF;
    MPI_Comm_create(MPI_COMM_WORLD, group, &made);
    CHECK((made != MPI_COMM_NULL) == (low || high));
    if (made != MPI_COMM_NULL) {
        CHECK(rank_in(made) == members[0] - rank);
        check_ring(made);
        MPI_Comm_free(&made);
    }
    MPI_Group_free(&group);
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &made);
    CHECK(made == MPI_COMM_NULL);
}

// Only members call; several times with the same tag, and for groups that overlap.
void test_create_group() {
    for (int round = 0; round < 5; round++) {
        for (int without = 0; without < size; without++) {
            std::vector<int> members = counted(size);
            members.erase(members.begin() + without);
            std::ranges::rotate(members,
                                members.begin() + (members.empty() ? 0 : round % static_cast<int>(members.size())));
            if (without == rank) continue;
            MPI_Group group = group_of(members);
            MPI_Comm made = MPI_COMM_NULL;
            MPI_Comm_create_group(MPI_COMM_WORLD, group, 9, &made);
            CHECK(size_of(made) == size - 1);
            CHECK(members[static_cast<std::size_t>(rank_in(made))] == rank);
            check_ring(made);
            MPI_Comm_free(&made);
            MPI_Group_free(&group);
        }
    }
}

void test_many() {
    for (int i = 0; i < 2000; i++) {
        MPI_Comm made = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        if (i % 100 == 0) check_ring(made);
        MPI_Comm_free(&made);
    }
    std::vector<MPI_Comm> kept(200);
    for (MPI_Comm &made : kept) MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &made);
    for (MPI_Comm &made : kept) check_ring(made);
    for (MPI_Comm &made : kept) MPI_Comm_free(&made);
}

void test_refused() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm made = MPI_COMM_SELF, alone = MPI_COMM_NULL;
    CHECK(class_of(MPI_Comm_split(MPI_COMM_WORLD, -3, 0, &made)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &made)) == MPI_ERR_ARG);
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
    MPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
    if (size > 1) {
        MPI_Group others = group_of({(rank + 1) % size});
        CHECK(class_of(MPI_Comm_create(alone, others, &made)) == MPI_ERR_GROUP);
        MPI_Group_free(&others);
    }
    check_ring(alone);
    MPI_Comm_free(&alone);
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    size = size_of(MPI_COMM_WORLD);
    rank = rank_in(MPI_COMM_WORLD);
    test_split();
    test_split_type();
    test_create();
    test_create_group();
    test_many();
    test_refused();
    MPI_Finalize();
}
