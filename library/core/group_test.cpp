// SPDX-License-Identifier: BSD-3-Clause
#include "core/group.h"

#include "core/test_job.h"

#include <vector>

namespace volley {
namespace {

class GroupTest : public TestJob {
  protected:
    static MPI_Group world() {
        MPI_Group group;
        MPI_Comm_group(MPI_COMM_WORLD, &group);
        return group;
    }

    static MPI_Group of(std::vector<int> ranks) {
        MPI_Group all = world(), group;
        MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &group);
        MPI_Group_free(&all);
        return group;
    }

    static std::vector<std::int32_t> members(MPI_Group group) {
        return Group::from_handle(group)->processes();
    }

    static int compare(MPI_Group one, MPI_Group other) {
        int result;
        MPI_Group_compare(one, other, &result);
        return result;
    }
};

using Members = std::vector<std::int32_t>;

TEST_F(GroupTest, RanksAndMembers) {
    MPI_Group group = of({5, 2, 7});
    int size, own;
    MPI_Group_size(group, &size);
    MPI_Group_rank(group, &own);
    EXPECT_EQ(size, 3);
    EXPECT_EQ(own, 1);
    const Group &object = *Group::from_handle(group);
    EXPECT_EQ(object.member(7), 2);
    EXPECT_EQ(object.member(0), MPI_UNDEFINED);
    MPI_Group_free(&group);
    EXPECT_EQ(group, MPI_GROUP_NULL);
    group = of({0, 1});
    MPI_Group_rank(group, &own);
    EXPECT_EQ(own, MPI_UNDEFINED);
    EXPECT_EQ(Group::from_handle(group)->member(1), 1);
    MPI_Group_free(&group);
}

TEST_F(GroupTest, EmptyGroupsAreTheConstant) {
    MPI_Group group = of({});
    EXPECT_EQ(group, MPI_GROUP_EMPTY);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(MPI_Group_free(&group), MPI_SUCCESS);
        group = MPI_GROUP_EMPTY;
    }
    MPI_Group all = world();
    MPI_Group_difference(all, all, &group);
    EXPECT_EQ(group, MPI_GROUP_EMPTY);
    int size;
    MPI_Group_size(group, &size);
    EXPECT_EQ(size, 0);
    MPI_Group_free(&all);
}

TEST_F(GroupTest, FreedHandlesAreTold) {
    MPI_Group group = of({1}), copy = group;
    MPI_Group_free(&group);
    int size;
    EXPECT_EQ(class_of(MPI_Group_size(copy, &size)), MPI_ERR_GROUP);
    EXPECT_EQ(class_of(MPI_Group_size(MPI_GROUP_NULL, &size)), MPI_ERR_GROUP);
    EXPECT_EQ(class_of(MPI_Group_free(&copy)), MPI_ERR_GROUP);
}

TEST_F(GroupTest, Comparison) {
    MPI_Group one = of({1, 2, 3}), same = of({1, 2, 3}), other_order = of({3, 2, 1}), other = of({1, 2, 4});
    EXPECT_EQ(compare(one, one), MPI_IDENT);
    EXPECT_EQ(compare(one, same), MPI_IDENT);
    EXPECT_EQ(compare(one, other_order), MPI_SIMILAR);
    EXPECT_EQ(compare(one, other), MPI_UNEQUAL);
    EXPECT_EQ(compare(one, MPI_GROUP_EMPTY), MPI_UNEQUAL);
    for (MPI_Group *group : {&one, &same, &other_order, &other}) MPI_Group_free(group);
}

TEST_F(GroupTest, SetOperationsKeepTheOrderOfTheFirst) {
    MPI_Group one = of({6, 1, 3}), other = of({3, 5, 6}), result;
    MPI_Group_union(one, other, &result);
    EXPECT_EQ(members(result), (Members{6, 1, 3, 5}));
    MPI_Group_free(&result);
    MPI_Group_intersection(one, other, &result);
    EXPECT_EQ(members(result), (Members{6, 3}));
    MPI_Group_free(&result);
    MPI_Group_difference(one, other, &result);
    EXPECT_EQ(members(result), (Members{1}));
    MPI_Group_free(&result);
    MPI_Group_free(&one);
    MPI_Group_free(&other);
}

TEST_F(GroupTest, ExclusionAndRanges) {
    MPI_Group all = world(), result;
    int some[] = {0, 7, 3};
    MPI_Group_excl(all, 3, some, &result);
    EXPECT_EQ(members(result), (Members{1, 2, 4, 5, 6}));
    MPI_Group_free(&result);
    int ranges[][3] = {{6, 1, -2}, {0, 1, 5}, {7, 7, 1}};
    MPI_Group_range_incl(all, 3, ranges, &result);
    EXPECT_EQ(members(result), (Members{6, 4, 2, 0, 7}));
    MPI_Group_free(&result);
    MPI_Group_range_excl(all, 3, ranges, &result);
    EXPECT_EQ(members(result), (Members{1, 3, 5}));
    MPI_Group_free(&result);
    MPI_Group_free(&all);
}

TEST_F(GroupTest, WrongRanksAreTold) {
    MPI_Group all = world(), result;
    int beyond[] = {0, ranks}, twice[] = {1, 1}, no_stride[][3] = {{0, 1, 0}}, far[][3] = {{0, 2147483647, 1}};
    EXPECT_EQ(class_of(MPI_Group_incl(all, 2, beyond, &result)), MPI_ERR_RANK);
    EXPECT_EQ(class_of(MPI_Group_excl(all, 2, twice, &result)), MPI_ERR_RANK);
    EXPECT_EQ(class_of(MPI_Group_range_incl(all, 1, no_stride, &result)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Group_range_incl(all, 1, far, &result)), MPI_ERR_RANK);
    EXPECT_EQ(class_of(MPI_Group_incl(all, -1, beyond, &result)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Group_incl(all, 1, nullptr, &result)), MPI_ERR_ARG);
    MPI_Group_free(&all);
}

TEST_F(GroupTest, Translation) {
    MPI_Group one = of({6, 1, 3}), other = of({3, 6});
    int from[] = {0, 1, 2, MPI_PROC_NULL}, to[4];
    ASSERT_EQ(MPI_Group_translate_ranks(one, 4, from, other, to), MPI_SUCCESS);
    EXPECT_EQ((std::vector<int>{to, to + 4}), (std::vector<int>{1, MPI_UNDEFINED, 0, MPI_PROC_NULL}));
    from[0] = 3;
    EXPECT_EQ(class_of(MPI_Group_translate_ranks(one, 4, from, other, to)), MPI_ERR_RANK);
    MPI_Group_free(&one);
    MPI_Group_free(&other);
}

} // namespace
} // namespace volley
