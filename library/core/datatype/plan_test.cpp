// SPDX-License-Identifier: BSD-3-Clause
/// What plans are normalised to. That they copy the right bytes is copy_test's business.
#include "typemap_model.h"

namespace volley {
namespace {

constexpr CountForm classic = CountForm::classic;

PlanNode root(const Held &type) {
    EXPECT_TRUE(type->commit().ok());
    return type->plan().node(type->plan().root);
}

Datatype &real = predefined(MPI_DOUBLE);

TEST(Plan, BlocksMerge) {
    EXPECT_EQ(root(made(make_vector, classic, 5, 4, 4, real)).kind, NodeKind::block);
    const int lengths[] = {2, 3, 1}, places[] = {1, 3, 6};
    Held merged = made(make_indexed, 3, CountArray(lengths), CountArray(places), real);
    EXPECT_EQ(root(merged).kind, NodeKind::block);
    EXPECT_EQ(root(merged).size, 48);
    EXPECT_EQ(merged->plan().displacement, 8);
    const Count zero_eight[] = {0, 8};
    const int ones[] = {1, 1};
    Datatype *types[] = {&real, &predefined(MPI_INT)};
    EXPECT_EQ(root(made(make_struct, 2, CountArray(ones), zero_eight, types)).kind, NodeKind::block);
}

TEST(Plan, RegularListsBecomeVectors) {
    const int places[] = {0, 3, 6, 9};
    const PlanNode node = root(made(make_indexed_block, 4, 2, CountArray(places), real));
    EXPECT_EQ(node.kind, NodeKind::vector);
    EXPECT_EQ(node.block, 16);
    EXPECT_EQ(node.stride, 24);
    const int irregular[] = {0, 3, 7, 10};
    EXPECT_EQ(root(made(make_indexed_block, 4, 2, CountArray(irregular), real)).kind, NodeKind::index);
}

TEST(Plan, VectorsContinueEachOther) {
    Held few = made(make_vector, classic, 4, 1, 2, real);
    Held whole = made(make_resized, classic, 0, 64, *few);
    const PlanNode node = root(made(make_contiguous, classic, 10, *whole));
    EXPECT_EQ(node.kind, NodeKind::vector);
    EXPECT_EQ(node.count, 40);
}

TEST(Plan, SubarrayOfThreeDimensionsIsALoopOfAVector) {
    const int sizes[] = {8, 8, 8}, subsizes[] = {4, 4, 4}, starts[] = {1, 1, 1};
    Held cube = made(make_subarray, 3, CountArray(sizes), CountArray(subsizes), CountArray(starts), MPI_ORDER_C, real);
    const PlanNode outer = root(cube);
    ASSERT_EQ(outer.kind, NodeKind::loop);
    const PlanNode &inner = cube->plan().node(outer.child);
    EXPECT_EQ(inner.kind, NodeKind::vector);
    EXPECT_EQ(inner.block, 32);
    EXPECT_EQ(cube->plan().nodes, 2);
}

TEST(Plan, SharedPartsAreWrittenOnce) {
    // Every level holds two of the one before: 2^40 blocks in a tree of forty types.
    const int irregular[] = {0, 3, 7, 9, 20, 31, 55, 56, 80, 99, 120, 135, 150, 177, 190, 200, 221, 250};
    Held type = made(make_indexed_block, 18, 1, CountArray(irregular), real);
    for (int i = 0; i < 40; ++i) {
        const int ones[] = {1, 1, 1};
        const Count places[] = {0, type->extent() + 8, 2 * type->extent() + 24};
        Datatype *types[] = {type.get(), type.get(), &real};
        type = made(make_struct, 3, CountArray(ones), places, types);
    }
    ASSERT_TRUE(type->commit().ok());
    EXPECT_LT(type->plan().bytes, 20000);
}

} // namespace
} // namespace volley
