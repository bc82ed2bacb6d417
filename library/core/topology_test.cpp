// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology.h"

#include "core/error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <ctime>
#include <functional>
#include <numeric>
#include <set>

namespace volley {
namespace {

std::vector<int> created(int nodes, std::vector<int> dimensions) {
    EXPECT_EQ(create_dimensions(nodes, dimensions), MPI_SUCCESS) << nodes;
    return dimensions;
}

int refusal(int nodes, std::vector<int> dimensions) {
    return error_class_of(create_dimensions(nodes, dimensions));
}

Topology grid_of(std::vector<int> dimensions, std::vector<int> periods, int rank) {
    Topology grid;
    grid.kind = MPI_CART;
    grid.coordinates = coordinates_of(dimensions, rank);
    grid.dimensions = std::move(dimensions);
    grid.periods = std::move(periods);
    return grid;
}

using Dimensions = std::vector<int>;

TEST(CreateDimensions, ExamplesOfTheStandard) { // MPI 5.0, example 8.1
    EXPECT_EQ(created(6, {0, 0}), (Dimensions{3, 2}));
    EXPECT_EQ(created(7, {0, 0}), (Dimensions{7, 1}));
    EXPECT_EQ(created(6, {0, 3, 0}), (Dimensions{2, 3, 1}));
    EXPECT_EQ(refusal(7, {0, 3, 0}), MPI_ERR_DIMS);
}

TEST(CreateDimensions, Balanced) {
    EXPECT_EQ(created(16, {0, 0, 0}), (Dimensions{4, 2, 2}));
    EXPECT_EQ(created(24, {0, 0, 0}), (Dimensions{4, 3, 2}));
    EXPECT_EQ(created(36, {0, 0, 0}), (Dimensions{4, 3, 3}));
    EXPECT_EQ(created(1000, {0, 0, 0}), (Dimensions{10, 10, 10}));
    EXPECT_EQ(created(2160, {0, 0, 0}), (Dimensions{15, 12, 12}));
    EXPECT_EQ(created(1, {0, 0, 0, 0}), (Dimensions{1, 1, 1, 1}));
}

TEST(CreateDimensions, ProductAndOrderHoldForAll) {
    for (int nodes = 1; nodes <= 400; nodes++)
        for (std::size_t count = 1; count <= 5; count++) {
            std::vector<int> found = created(nodes, std::vector<int>(count, 0));
            EXPECT_EQ(std::accumulate(found.begin(), found.end(), 1, std::multiplies<>()), nodes);
            EXPECT_TRUE(std::ranges::is_sorted(found, std::greater<>()));
        }
}

/// The smallest difference between the largest and the smallest of `count` factors of `number`, by trying all.
int smallest_spread(int number, std::size_t count, int least = 1, int first = 0) {
    if (count == 1) return number >= least ? number - (first == 0 ? number : first) : INT_MAX;
    int best = INT_MAX;
    for (int factor = least; factor <= number; factor++)
        if (number % factor == 0)
            best = std::min(best, smallest_spread(number / factor, count - 1, factor, first == 0 ? factor : first));
    return best;
}

TEST(CreateDimensions, AsCloseToEachOtherAsPossible) {
    EXPECT_EQ(created(7488, {0, 0, 0}), (Dimensions{26, 18, 16}));
    EXPECT_EQ(created(7488 * 5, {0, 5, 0, 0}), (Dimensions{26, 5, 18, 16}));
    for (std::size_t count = 1; count <= 5; count++)
        for (int nodes = 1; nodes <= (count < 5 ? 1500 : 700); nodes++) {
            std::vector<int> found = created(nodes, std::vector<int>(count, 0));
            ASSERT_EQ(found.front() - found.back(), smallest_spread(nodes, count)) << nodes << " in " << count;
        }
}

/// A time, as the worst numbers take seconds by any way that tries too much.
void expect_quick(int nodes, std::size_t count) {
    std::clock_t begin = std::clock();
    std::vector<int> found = created(nodes, std::vector<int>(count, 0));
    double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 0.05) << nodes << " in " << count;
    EXPECT_EQ(std::accumulate(found.begin(), found.end(), std::int64_t{1}, std::multiplies<>()), nodes);
}

TEST(CreateDimensions, LargeNumbersInAnyNumberOfDimensionsTakeNoTime) {
    const int primorial = 2 * 3 * 5 * 7 * 11 * 13 * 17 * 19 * 23;
    for (int nodes : {2095133040, 2147483647, 1 << 30, 1162261467, primorial, 1396755360, 2 * 1073741789, 1073741824})
        for (std::size_t count = 1; count <= 33; count++) expect_quick(nodes, count);
}

TEST(CreateDimensions, LargeNumbersTakeNoTime) {
    created(2147483647, {0, 0, 0});               // prime
    created(1 << 30, std::vector<int>(12, 0));    // many equal factors
    created(2095133040, std::vector<int>(10, 0)); // the number below 2^31 with most divisors
    created(2095133040, std::vector<int>(3, 0));
}

TEST(CreateDimensions, Refused) {
    EXPECT_EQ(refusal(0, {0}), MPI_ERR_DIMS);
    EXPECT_EQ(refusal(6, {-1, 0}), MPI_ERR_DIMS);
    EXPECT_EQ(refusal(6, {2, 2}), MPI_ERR_DIMS);
    EXPECT_EQ(refusal(6, {4, 0}), MPI_ERR_DIMS);
    EXPECT_EQ(refusal(6, {}), MPI_ERR_DIMS);
    EXPECT_EQ(created(6, {2, 3}), (Dimensions{2, 3}));
}

TEST(Grid, SizeIsCheckedBeforeItOverflows) {
    int processes = 0;
    EXPECT_EQ(grid_size(Dimensions{3, 2}, 6, processes), MPI_SUCCESS);
    EXPECT_EQ(processes, 6);
    EXPECT_EQ(grid_size(Dimensions{}, 6, processes), MPI_SUCCESS);
    EXPECT_EQ(processes, 1);
    EXPECT_EQ(error_class_of(grid_size(Dimensions{1 << 30, 1 << 30, 1 << 30}, 6, processes)), MPI_ERR_DIMS);
    EXPECT_EQ(error_class_of(grid_size(Dimensions{3, 0}, 6, processes)), MPI_ERR_DIMS);
}

TEST(Grid, RanksAndCoordinatesAreInverse) {
    Topology grid = grid_of({3, 4, 2}, {0, 1, 0}, 0);
    for (int rank = 0; rank < 24; rank++) {
        int found = -1;
        EXPECT_EQ(rank_at(grid, coordinates_of(grid.dimensions, rank), found), MPI_SUCCESS);
        EXPECT_EQ(found, rank);
    }
    EXPECT_EQ(coordinates_of(grid.dimensions, 1), (std::vector<int>{0, 0, 1})) << "the last varies fastest";
}

TEST(Grid, PeriodicCoordinatesWrap) {
    Topology grid = grid_of({3, 4}, {0, 1}, 0);
    int rank = -1;
    EXPECT_EQ(rank_at(grid, Dimensions{1, -1}, rank), MPI_SUCCESS);
    EXPECT_EQ(rank, 7);
    EXPECT_EQ(rank_at(grid, Dimensions{1, 9}, rank), MPI_SUCCESS);
    EXPECT_EQ(rank, 5);
    EXPECT_EQ(error_class_of(rank_at(grid, Dimensions{3, 0}, rank)), MPI_ERR_ARG);
}

TEST(Grid, Neighbours) {
    Topology grid = grid_of({3, 4}, {0, 1}, 0);
    EXPECT_EQ(neighbour_in_grid(grid, 0, -1), MPI_PROC_NULL);
    EXPECT_EQ(neighbour_in_grid(grid, 0, 2), 8);
    EXPECT_EQ(neighbour_in_grid(grid, 0, 3), MPI_PROC_NULL);
    EXPECT_EQ(neighbour_in_grid(grid, 1, -1), 3);
    EXPECT_EQ(neighbour_in_grid(grid, 1, 4), 0);
    EXPECT_EQ(neighbour_in_grid(grid, 1, -(std::int64_t{1} << 31)), 0);
}

TEST(Grid, PartsCoverAllRanksOnce) {
    Dimensions dimensions{3, 4, 2};
    for (int kept = 0; kept < 8; kept++) {
        Dimensions remains{kept & 1, kept >> 1 & 1, kept >> 2 & 1};
        std::multiset<int> seen;
        for (int rank = 0; rank < 24; rank++) {
            std::vector<int> ranks;
            Topology part = sub_grid(grid_of(dimensions, {0, 1, 0}, rank), remains, ranks);
            auto own = std::ranges::find(ranks, rank);
            ASSERT_NE(own, ranks.end());
            EXPECT_EQ(coordinates_of(part.dimensions, static_cast<int>(own - ranks.begin())), part.coordinates);
            if (own == ranks.begin()) seen.insert(ranks.begin(), ranks.end());
        }
        EXPECT_EQ(seen.size(), 24U);
        EXPECT_EQ(std::set<int>(seen.begin(), seen.end()).size(), 24U);
    }
}

TEST(Graph, Neighbours) {
    Topology graph;
    graph.index = {2, 3, 4, 6};
    graph.edges = {1, 3, 0, 3, 0, 2};
    EXPECT_EQ(check_graph(4, graph.index.data(), graph.edges.data()), MPI_SUCCESS);
    EXPECT_TRUE(std::ranges::equal(graph_neighbours(graph, 0), Dimensions{1, 3}));
    EXPECT_TRUE(std::ranges::equal(graph_neighbours(graph, 3), Dimensions{0, 2}));
    EXPECT_EQ(graph_neighbours(graph, 1).size(), 1U);
    graph.edges[0] = 4;
    EXPECT_EQ(error_class_of(check_graph(4, graph.index.data(), graph.edges.data())), MPI_ERR_ARG);
    graph.index[1] = 1;
    EXPECT_EQ(error_class_of(check_graph(4, graph.index.data(), graph.edges.data())), MPI_ERR_ARG);
}

} // namespace
} // namespace volley
