// SPDX-License-Identifier: BSD-3-Clause
#include "layout/copy.h"
#include "typemap_model.h"

#include <climits>

namespace volley {
namespace {

constexpr CountForm classic = CountForm::classic;
constexpr CountForm large = CountForm::large;

Datatype &integer = predefined(MPI_INT);
Datatype &real = predefined(MPI_DOUBLE);

struct Bounds {
    Count size, lb, extent, true_lb, true_extent;
    bool operator==(const Bounds &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Bounds &b) {
    return out << "size " << b.size << " lb " << b.lb << " extent " << b.extent << " true lb " << b.true_lb
               << " true extent " << b.true_extent;
}

Bounds bounds(const Held &type) {
    return {type->size(), type->lb(), type->extent(), type->true_lb(), type->true_extent()};
}

/// The standard's own: {(double, 0), (char, 8)}, extent 16.
Held double_char(Count first = 0) {
    const int lengths[] = {1, 1};
    const Count displacements[] = {first, first + 8};
    Datatype *types[] = {&real, &predefined(MPI_CHAR)};
    return made(make_struct, 2, CountArray(lengths), displacements, types);
}

TEST(Construct, StandardsExamples) {
    EXPECT_EQ(bounds(double_char()), (Bounds{9, 0, 16, 0, 9}));
    Held old = double_char();
    EXPECT_EQ(bounds(made(make_contiguous, classic, 3, *old)), (Bounds{27, 0, 48, 0, 41}));
    // MPI_TYPE_VECTOR(2, 3, 4, oldtype): entries up to 104 + 1, rounded to 8
    EXPECT_EQ(bounds(made(make_vector, classic, 2, 3, 4, *old)), (Bounds{54, 0, 112, 0, 105}));
    // MPI_TYPE_VECTOR(3, 1, -2, oldtype): from -64 to 9
    EXPECT_EQ(bounds(made(make_vector, classic, 3, 1, -2, *old)), (Bounds{27, -64, 80, -64, 73}));
    // MPI_TYPE_INDEXED(2, (3, 1), (4, 0), oldtype)
    const int lengths[] = {3, 1}, displacements[] = {4, 0};
    EXPECT_EQ(bounds(made(make_indexed, 2, CountArray(lengths), CountArray(displacements), *old)),
              (Bounds{36, 0, 112, 0, 105}));
    // MPI_TYPE_CREATE_STRUCT(3, (2, 1, 3), (0, 16, 26), (MPI_FLOAT, type1, MPI_CHAR))
    const int counts[] = {2, 1, 3};
    const Count places[] = {0, 16, 26};
    Datatype *types[] = {&predefined(MPI_FLOAT), old.get(), &predefined(MPI_CHAR)};
    EXPECT_EQ(bounds(made(make_struct, 3, CountArray(counts), places, types)), (Bounds{20, 0, 32, 0, 29}));
    // Resized to (lb -3, extent 9), then two of it: markers at -3 and 15
    Held resized = made(make_resized, classic, -3, 9, integer);
    EXPECT_EQ(bounds(resized), (Bounds{4, -3, 9, 0, 4}));
    EXPECT_EQ(bounds(made(make_contiguous, classic, 2, *resized)), (Bounds{8, -3, 18, 0, 13}));
}

TEST(Construct, NegativeDisplacements) {
    EXPECT_EQ(bounds(double_char(-24)), (Bounds{9, -24, 16, -24, 9}));
    const int lengths[] = {2, 1};
    const Count displacements[] = {-8, 32};
    Datatype *types[] = {&integer, &predefined(MPI_SHORT)};
    EXPECT_EQ(bounds(made(make_struct, 2, CountArray(lengths), displacements, types)), (Bounds{10, -8, 44, -8, 42}));
}

TEST(Construct, MarkersAreSticky) {
    Held resized = made(make_resized, classic, 0, 100, integer);
    const int lengths[] = {1, 1};
    const Count displacements[] = {0, 500};
    Datatype *types[] = {resized.get(), &real};
    // Once a part has markers only they count: the double at 500 lies outside.
    EXPECT_EQ(bounds(made(make_struct, 2, CountArray(lengths), displacements, types)), (Bounds{12, 0, 100, 0, 508}));
    EXPECT_EQ(bounds(made(make_vector, classic, 3, 1, 2, *resized)), (Bounds{12, 0, 500, 0, 404}));
    EXPECT_EQ(bounds(made(make_resized, classic, 5, -10, integer)), (Bounds{4, 5, -10, 0, 4}));
}

TEST(Construct, NothingIsATypeToo) {
    const Bounds nothing{0, 0, 0, 0, 0};
    EXPECT_EQ(bounds(made(make_contiguous, classic, 0, integer)), nothing);
    EXPECT_EQ(bounds(made(make_vector, classic, 0, 5, 7, integer)), nothing);
    EXPECT_EQ(bounds(made(make_vector, classic, 5, 0, 7, integer)), nothing);
    EXPECT_EQ(bounds(made(make_struct, 0, CountArray(static_cast<int *>(nullptr)), nullptr, nullptr)), nothing);
    const int zero[] = {0};
    const Count far[] = {1000};
    EXPECT_EQ(bounds(made(make_hindexed, 1, CountArray(zero), far, integer)), nothing);
    Held empty = made(make_contiguous, classic, 0, integer);
    Held wide = made(make_resized, classic, 0, 64, *empty);
    EXPECT_EQ(bounds(made(make_contiguous, classic, 3, *wide)), (Bounds{0, 0, 192, 0, 0}));
    ASSERT_TRUE(wide->commit().ok());
    pack({&wide->plan(), nullptr, 1000}, 0, 0, nullptr);
    EXPECT_TRUE(wide->is_contiguous());
}

TEST(Construct, CommitAndContiguity) {
    Held five = made(make_contiguous, classic, 5, integer);
    EXPECT_FALSE(five->is_committed());
    ASSERT_TRUE(five->commit().ok());
    ASSERT_TRUE(five->commit().ok());
    EXPECT_TRUE(five->is_contiguous());
    Held gap = made(make_vector, classic, 5, 2, 3, integer);
    ASSERT_TRUE(gap->commit().ok());
    EXPECT_FALSE(gap->is_contiguous());
    Held dense = made(make_vector, classic, 5, 3, 3, integer);
    ASSERT_TRUE(dense->commit().ok());
    EXPECT_TRUE(dense->is_contiguous());
    EXPECT_TRUE(real.is_contiguous());
    EXPECT_FALSE(predefined(MPI_DOUBLE_INT).is_contiguous());
    EXPECT_TRUE(predefined(MPI_2INT).is_contiguous());
}

TEST(Construct, DupIsCommittedAsItsOriginal) {
    Held original = made(make_vector, classic, 3, 1, 2, integer);
    Held before = made(make_dup, *original);
    EXPECT_FALSE(before->is_committed());
    ASSERT_TRUE(original->commit().ok());
    Held after = made(make_dup, *original);
    EXPECT_TRUE(after->is_committed());
    original = Held();
    int numbers[5] = {1, 2, 3, 4, 5}, packed[3];
    pack({&after->plan(), numbers, 1}, 0, 12, packed);
    EXPECT_EQ(packed[2], 5);
    EXPECT_TRUE(made(make_dup, integer)->is_committed());
}

// --- distributed arrays ---

struct Distribution {
    std::vector<int> sizes, distributions, arguments, processes;
};

TEST(Construct, DarraysOfAllRanksCoverTheArrayOnce) {
    const int none = MPI_DISTRIBUTE_NONE, block = MPI_DISTRIBUTE_BLOCK, cyclic = MPI_DISTRIBUTE_CYCLIC;
    const int standard = MPI_DISTRIBUTE_DFLT_DARG;
    const Distribution all[] = {
        {{10}, {block}, {standard}, {3}},
        {{10}, {block}, {7}, {3}},
        {{10}, {cyclic}, {standard}, {4}},
        {{17}, {cyclic}, {3}, {4}},
        {{3}, {cyclic}, {5}, {4}},
        {{8, 9}, {block, cyclic}, {standard, 2}, {2, 3}},
        {{8, 9}, {none, cyclic}, {standard, standard}, {1, 3}},
        {{5, 7, 6}, {cyclic, block, cyclic}, {2, standard, 4}, {2, 2, 2}},
        {{4, 5, 6}, {none, none, block}, {standard, standard, standard}, {1, 1, 4}},
    };
    for (const Distribution &d : all) {
        for (int order : {MPI_ORDER_C, MPI_ORDER_FORTRAN}) {
            Count total = 1;
            int ranks = 1;
            for (std::size_t i = 0; i < d.sizes.size(); ++i) {
                total *= d.sizes[i];
                ranks *= d.processes[i];
            }
            std::vector<int> array(static_cast<std::size_t>(total));
            for (std::size_t i = 0; i < array.size(); ++i) array[i] = static_cast<int>(i);
            std::vector<int> owner(array.size(), -1);
            for (int rank = 0; rank < ranks; ++rank) {
                Held type = made(make_darray, ranks, rank, static_cast<int>(d.sizes.size()), CountArray(d.sizes.data()),
                                 d.distributions.data(), d.arguments.data(), d.processes.data(), order, integer);
                ASSERT_EQ(type->lb(), 0);
                ASSERT_EQ(type->extent(), total * 4);
                ASSERT_TRUE(type->commit().ok());
                std::vector<int> mine(static_cast<std::size_t>(type->size()) / 4);
                pack({&type->plan(), array.data(), 1}, 0, type->size(), mine.data());
                EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
                for (int element : mine) {
                    // Whose it is, by the definition of the distributions.
                    int rest = element, expected = 0;
                    std::vector<int> indices(d.sizes.size());
                    for (std::size_t step = 0; step < d.sizes.size(); ++step) {
                        std::size_t i = order == MPI_ORDER_FORTRAN ? step : d.sizes.size() - 1 - step;
                        indices[i] = rest % d.sizes[i];
                        rest /= d.sizes[i];
                    }
                    for (std::size_t i = 0; i < d.sizes.size(); ++i) {
                        int length = d.arguments[i];
                        if (length == standard)
                            length =
                                d.distributions[i] == cyclic ? 1 : (d.sizes[i] + d.processes[i] - 1) / d.processes[i];
                        expected = expected * d.processes[i] + indices[i] / length % d.processes[i];
                    }
                    EXPECT_EQ(expected, rank);
                    EXPECT_EQ(std::exchange(owner[static_cast<std::size_t>(element)], rank), -1);
                }
            }
            EXPECT_EQ(std::count(owner.begin(), owner.end(), -1), 0);
        }
    }
}

TEST(Construct, SubarraysTileTheArray) {
    std::vector<int> array(6 * 8 * 4);
    for (std::size_t i = 0; i < array.size(); ++i) array[i] = static_cast<int>(i);
    std::vector<int> seen(array.size());
    const Count sizes[] = {6, 8, 4}, subsizes[] = {3, 2, 4};
    for (Count i = 0; i < 6; i += 3)
        for (Count j = 0; j < 8; j += 2) {
            const Count starts[] = {i, j, 0};
            Held type = made(make_subarray, 3, CountArray(sizes), CountArray(subsizes), CountArray(starts), MPI_ORDER_C,
                             integer);
            EXPECT_EQ(type->extent(), 6 * 8 * 4 * 4);
            ASSERT_TRUE(type->commit().ok());
            int mine[3 * 2 * 4];
            pack({&type->plan(), array.data(), 1}, 0, sizeof mine, mine);
            EXPECT_EQ(mine[0], i * 32 + j * 4);
            for (int element : mine) ++seen[static_cast<std::size_t>(element)];
        }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), std::ssize(seen));
}

// --- envelopes and contents ---

struct Contents {
    int combiner = 0;
    std::vector<int> integers;
    std::vector<MPI_Aint> addresses;
    std::vector<Count> counts;
    std::vector<MPI_Datatype> types;
    bool operator==(const Contents &) const = default;
};

Contents contents(Datatype &type) {
    const Envelope &e = type.envelope();
    Contents c;
    c.combiner = e.combiner;
    c.integers.resize(static_cast<std::size_t>(e.integers));
    c.addresses.resize(static_cast<std::size_t>(e.addresses));
    c.counts.resize(static_cast<std::size_t>(e.large_counts));
    c.types.resize(static_cast<std::size_t>(e.datatypes));
    Outcome outcome = type.contents(large, e.integers, e.addresses, e.large_counts, e.datatypes, c.integers.data(),
                                    c.addresses.data(), c.counts.data(), c.types.data());
    EXPECT_TRUE(outcome.ok()) << outcome.message;
    for (MPI_Datatype handle : c.types) Datatype::from_handle(handle)->release();
    return c;
}

using List = std::vector<MPI_Datatype>;

TEST(Contents, ClassicForm) {
    const int lengths[] = {1, 2}, places[] = {3, 4};
    const Count bytes[] = {50, 60};
    Datatype *types[] = {&integer, &real};
    const List one = {MPI_INT};
    EXPECT_EQ(contents(*made(make_contiguous, classic, 3, integer)),
              (Contents{MPI_COMBINER_CONTIGUOUS, {3}, {}, {}, one}));
    EXPECT_EQ(contents(*made(make_vector, classic, 3, 2, 5, integer)),
              (Contents{MPI_COMBINER_VECTOR, {3, 2, 5}, {}, {}, one}));
    EXPECT_EQ(contents(*made(make_hvector, classic, 3, 2, 50, integer)),
              (Contents{MPI_COMBINER_HVECTOR, {3, 2}, {50}, {}, one}));
    EXPECT_EQ(contents(*made(make_indexed, 2, CountArray(lengths), CountArray(places), integer)),
              (Contents{MPI_COMBINER_INDEXED, {2, 1, 2, 3, 4}, {}, {}, one}));
    EXPECT_EQ(contents(*made(make_hindexed, 2, CountArray(lengths), bytes, integer)),
              (Contents{MPI_COMBINER_HINDEXED, {2, 1, 2}, {50, 60}, {}, one}));
    EXPECT_EQ(contents(*made(make_indexed_block, 2, 7, CountArray(places), integer)),
              (Contents{MPI_COMBINER_INDEXED_BLOCK, {2, 7, 3, 4}, {}, {}, one}));
    EXPECT_EQ(contents(*made(make_hindexed_block, classic, 2, 7, bytes, integer)),
              (Contents{MPI_COMBINER_HINDEXED_BLOCK, {2, 7}, {50, 60}, {}, one}));
    EXPECT_EQ(contents(*made(make_struct, 2, CountArray(lengths), bytes, types)),
              (Contents{MPI_COMBINER_STRUCT, {2, 1, 2}, {50, 60}, {}, {MPI_INT, MPI_DOUBLE}}));
    EXPECT_EQ(contents(*made(make_resized, classic, -3, 50, integer)),
              (Contents{MPI_COMBINER_RESIZED, {}, {-3, 50}, {}, one}));
    EXPECT_EQ(contents(*made(make_dup, integer)), (Contents{MPI_COMBINER_DUP, {}, {}, {}, one}));
    const int sizes[] = {10, 20}, subsizes[] = {4, 5}, starts[] = {1, 2};
    EXPECT_EQ(contents(*made(make_subarray, 2, CountArray(sizes), CountArray(subsizes), CountArray(starts), MPI_ORDER_C,
                             integer)),
              (Contents{MPI_COMBINER_SUBARRAY, {2, 10, 20, 4, 5, 1, 2, MPI_ORDER_C}, {}, {}, one}));
    const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 3};
    const int processes[] = {2, 3};
    EXPECT_EQ(contents(*made(make_darray, 6, 1, 2, CountArray(sizes), kinds, arguments, processes, MPI_ORDER_FORTRAN,
                             integer)),
              (Contents{MPI_COMBINER_DARRAY, {6, 1, 2, 10, 20, 17, 18, 19, 3, 2, 3, 15}, {}, {}, one}));
}

TEST(Contents, LargeForm) { // as MPICH 5.0.2 returns them
    const Count lengths[] = {1, 2}, places[] = {4, 5};
    Datatype *types[] = {&integer, &real};
    const List one = {MPI_INT};
    EXPECT_EQ(contents(*made(make_contiguous, large, 3, integer)),
              (Contents{MPI_COMBINER_CONTIGUOUS, {}, {}, {3}, one}));
    EXPECT_EQ(contents(*made(make_vector, large, 3, 2, 5, integer)),
              (Contents{MPI_COMBINER_VECTOR, {}, {}, {3, 2, 5}, one}));
    EXPECT_EQ(contents(*made(make_hvector, large, 3, 2, 50, integer)),
              (Contents{MPI_COMBINER_HVECTOR, {}, {}, {3, 2, 50}, one}));
    EXPECT_EQ(contents(*made(make_indexed, 2, CountArray(lengths), CountArray(places), integer)),
              (Contents{MPI_COMBINER_INDEXED, {}, {}, {2, 1, 2, 4, 5}, one}));
    EXPECT_EQ(contents(*made(make_hindexed, 2, CountArray(lengths), places, integer)),
              (Contents{MPI_COMBINER_HINDEXED, {}, {}, {2, 1, 2, 4, 5}, one}));
    EXPECT_EQ(contents(*made(make_indexed_block, 2, 7, CountArray(places), integer)),
              (Contents{MPI_COMBINER_INDEXED_BLOCK, {}, {}, {2, 7, 4, 5}, one}));
    EXPECT_EQ(contents(*made(make_hindexed_block, large, 2, 7, places, integer)),
              (Contents{MPI_COMBINER_HINDEXED_BLOCK, {}, {}, {2, 7, 4, 5}, one}));
    EXPECT_EQ(contents(*made(make_struct, 2, CountArray(lengths), places, types)),
              (Contents{MPI_COMBINER_STRUCT, {}, {}, {2, 1, 2, 4, 5}, {MPI_INT, MPI_DOUBLE}}));
    EXPECT_EQ(contents(*made(make_resized, large, -3, 50, integer)),
              (Contents{MPI_COMBINER_RESIZED, {}, {}, {-3, 50}, one}));
    const Count sizes[] = {10, 20}, subsizes[] = {4, 5}, starts[] = {1, 2};
    EXPECT_EQ(contents(*made(make_subarray, 2, CountArray(sizes), CountArray(subsizes), CountArray(starts), MPI_ORDER_C,
                             integer)),
              (Contents{MPI_COMBINER_SUBARRAY, {2, MPI_ORDER_C}, {}, {10, 20, 4, 5, 1, 2}, one}));
    const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 3};
    const int processes[] = {2, 3};
    EXPECT_EQ(contents(*made(make_darray, 6, 1, 2, CountArray(sizes), kinds, arguments, processes, MPI_ORDER_FORTRAN,
                             integer)),
              (Contents{MPI_COMBINER_DARRAY, {6, 1, 2, 17, 18, 19, 3, 2, 3, 15}, {}, {10, 20}, one}));
}

TEST(Contents, DerivedPartsComeRetained) {
    Held inner = made(make_contiguous, classic, 2, integer);
    Held outer = made(make_contiguous, classic, 3, *inner);
    MPI_Datatype inner_handle = inner->handle(), returned = nullptr;
    int count = 0;
    ASSERT_TRUE(outer->contents(classic, 1, 0, 0, 1, &count, nullptr, nullptr, &returned).ok());
    EXPECT_EQ(returned, inner_handle);
    inner = Held();
    outer = Held();
    ASSERT_NE(Datatype::from_handle(inner_handle), nullptr);
    Datatype::from_handle(inner_handle)->release();
    EXPECT_EQ(Datatype::from_handle(inner_handle), nullptr);
}

TEST(Contents, Errors) {
    int number = 0;
    MPI_Datatype type = nullptr;
    EXPECT_EQ(integer.contents(classic, 9, 9, 0, 9, &number, nullptr, nullptr, &type).error_class, MPI_ERR_TYPE);
    Held big = made(make_contiguous, large, 3, integer);
    EXPECT_EQ(big->contents(classic, 9, 9, 0, 9, &number, nullptr, nullptr, &type).error_class, MPI_ERR_TYPE);
    Held small = made(make_contiguous, classic, 3, integer);
    EXPECT_EQ(small->contents(large, 0, 9, 9, 9, &number, nullptr, nullptr, &type).error_class, MPI_ERR_ARG);
    EXPECT_EQ(small->contents(large, 1, 9, 9, 0, &number, nullptr, nullptr, &type).error_class, MPI_ERR_ARG);
}

// --- errors ---

TEST(ConstructErrors, NegativeArguments) {
    const int bad[] = {2, -1}, good[] = {1, 1};
    const Count bytes[] = {0, 8};
    Datatype *types[] = {&integer, &integer};
    EXPECT_EQ(error_of(make_contiguous, classic, -1, integer), MPI_ERR_COUNT);
    EXPECT_EQ(error_of(make_vector, classic, -1, 1, 1, integer), MPI_ERR_COUNT);
    EXPECT_EQ(error_of(make_vector, classic, 1, -1, 1, integer), MPI_ERR_ARG);
    EXPECT_EQ(error_of(make_hvector, classic, 1, -1, 1, integer), MPI_ERR_ARG);
    EXPECT_EQ(error_of(make_indexed, 2, CountArray(bad), CountArray(good), integer), MPI_ERR_ARG);
    EXPECT_EQ(error_of(make_hindexed, 2, CountArray(bad), bytes, integer), MPI_ERR_ARG);
    EXPECT_EQ(error_of(make_hindexed, -2, CountArray(good), bytes, integer), MPI_ERR_COUNT);
    EXPECT_EQ(error_of(make_struct, 2, CountArray(bad), bytes, types), MPI_ERR_ARG);
    EXPECT_EQ(error_of(make_indexed_block, 2, -1, CountArray(good), integer), MPI_ERR_ARG);
}

TEST(ConstructErrors, Overflow) {
    constexpr Count huge = INT64_MAX / 4;
    EXPECT_EQ(error_of(make_contiguous, large, huge, real), MPI_ERR_COUNT);
    EXPECT_EQ(error_of(make_vector, large, 2, 1, huge, real), MPI_ERR_ARG);
    EXPECT_EQ(error_of(make_vector, large, huge, huge, 1, predefined(MPI_BYTE)), MPI_ERR_COUNT);
    EXPECT_EQ(error_of(make_hvector, large, 3, 1, INT64_MAX - 8, integer), MPI_ERR_COUNT);
    EXPECT_EQ(error_of(make_hvector, large, 2, 1, INT64_MAX - 2, integer), MPI_ERR_COUNT);
    EXPECT_EQ(error_of(make_hvector, large, 3, 1, INT64_MIN + 8, integer), MPI_ERR_COUNT);
    const Count lengths[] = {1, 1}, far[] = {INT64_MIN + 1, INT64_MAX - 100}, elements[] = {0, huge};
    EXPECT_EQ(error_of(make_hindexed, 2, CountArray(lengths), far, integer), MPI_ERR_COUNT);
    EXPECT_EQ(error_of(make_indexed, 2, CountArray(lengths), CountArray(elements), real), MPI_ERR_ARG);
    EXPECT_EQ(error_of(make_resized, large, INT64_MAX, 1, integer), MPI_ERR_ARG);
    Held big = made(make_contiguous, large, INT64_MAX / 8, real);
    EXPECT_EQ(big->size(), INT64_MAX / 8 * 8);
    ASSERT_TRUE(big->commit().ok());
    EXPECT_TRUE(big->is_contiguous());
    EXPECT_EQ(error_of(make_contiguous, large, 2, *big), MPI_ERR_COUNT);
    const Count sizes[] = {INT64_MAX / 2, 9}, ones[] = {1, 1}, zeros[] = {0, 0};
    EXPECT_EQ(error_of(make_subarray, 2, CountArray(sizes), CountArray(ones), CountArray(zeros), MPI_ORDER_C, real),
              MPI_ERR_ARG);
    // Far apart but describable: one byte every eighth of the address space.
    Held sparse = made(make_hvector, large, 7, 1, Count{1} << 60, predefined(MPI_BYTE));
    EXPECT_EQ(sparse->extent(), (Count{6} << 60) + 1);
    ASSERT_TRUE(sparse->commit().ok());
}

TEST(ConstructErrors, Arrays) {
    const int sizes[] = {4, 4}, good[] = {2, 2}, zero[] = {0, 0}, outside[] = {3, 0}, processes[] = {2, 2};
    auto subarray = [&](const int *subsizes, const int *starts, int order, int dimensions = 2) {
        return error_of(make_subarray, dimensions, CountArray(sizes), CountArray(subsizes), CountArray(starts), order,
                        integer);
    };
    EXPECT_EQ(subarray(zero, zero, MPI_ORDER_C), MPI_ERR_ARG);
    EXPECT_EQ(subarray(good, outside, MPI_ORDER_C), MPI_ERR_ARG);
    EXPECT_EQ(subarray(good, good, 0), MPI_ERR_ARG);
    EXPECT_EQ(subarray(good, good, MPI_ORDER_C, 0), MPI_ERR_ARG);
    auto darray = [&](int size, int rank, int kind, int argument) {
        const int kinds[] = {kind, kind}, arguments[] = {argument, argument};
        return error_of(make_darray, size, rank, 2, CountArray(sizes), kinds, arguments, processes, MPI_ORDER_C,
                        integer);
    };
    EXPECT_EQ(darray(5, 0, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG), MPI_ERR_ARG);
    EXPECT_EQ(darray(4, 4, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_DFLT_DARG), MPI_ERR_RANK);
    EXPECT_EQ(darray(4, 0, MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_DFLT_DARG), MPI_ERR_ARG);
    EXPECT_EQ(darray(4, 0, MPI_DISTRIBUTE_BLOCK, 1), MPI_ERR_ARG);
    EXPECT_EQ(darray(4, 0, MPI_DISTRIBUTE_CYCLIC, 0), MPI_ERR_ARG);
    EXPECT_EQ(darray(4, 0, 77, 1), MPI_ERR_ARG);
}

TEST(ConstructErrors, NestingHasALimit) {
    Held type = made(make_contiguous, classic, 1, integer);
    for (int i = 1; i < deepest_nesting; ++i) type = made(make_dup, *type);
    EXPECT_EQ(error_of(make_dup, *type), MPI_ERR_TYPE);
    ASSERT_TRUE(type->commit().ok());
    EXPECT_TRUE(type->is_contiguous());
}

} // namespace
} // namespace volley
