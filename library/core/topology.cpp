// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology.h"

#include "core/error.h"

#include <algorithm>
#include <functional>

namespace volley {
namespace {

/// Whether `largest` multiplied `factors` times is at least `number`.
bool reaches(std::int64_t largest, std::size_t factors, std::int64_t number) {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < factors && product < number; i++) product *= largest;
    return product >= number;
}

/// Writes `number` as a product of as many factors as there is room for, none larger than `largest` and none larger
/// than the one before: the first as small as possible, then the second, and so on. False if there is no such product.
bool factorise(std::int64_t number, std::int64_t largest, const std::vector<int> &divisors, std::span<int> factors) {
    if (factors.empty()) return number == 1;
    if (factors.size() == 1) {
        factors[0] = static_cast<int>(number);
        return number <= largest;
    }
    for (int divisor : divisors) {
        if (divisor > largest || divisor > number) return false;
        if (number % divisor != 0 || !reaches(divisor, factors.size(), number)) continue;
        factors[0] = divisor;
        if (factorise(number / divisor, divisor, divisors, factors.subspan(1))) return true;
    }
    return false;
}

std::vector<int> divisors_of(int number) {
    std::vector<int> small, large;
    for (std::int64_t divisor = 1; divisor * divisor <= number; divisor++) {
        if (number % divisor != 0) continue;
        small.push_back(static_cast<int>(divisor));
        if (divisor * divisor != number) large.push_back(static_cast<int>(number / divisor));
    }
    small.insert(small.end(), large.rbegin(), large.rend());
    return small;
}

} // namespace

int create_dimensions(int nodes, std::span<int> dimensions) {
    if (nodes < 1) return fail(MPI_ERR_DIMS, "nnodes is %d, but must be positive", nodes);
    std::vector<int *> free;
    std::int64_t left = nodes;
    for (std::size_t i = 0; i < dimensions.size(); i++) {
        if (dimensions[i] < 0)
            return fail(MPI_ERR_DIMS, "dims[%zu] is %d, but must be 0 (to be chosen) or positive", i, dimensions[i]);
        if (dimensions[i] == 0) {
            free.push_back(&dimensions[i]);
        } else if (left % dimensions[i] != 0) {
            return fail(MPI_ERR_DIMS,
                        "the entries of dims that are set, up to dims[%zu] = %d, do not divide nnodes, %d", i,
                        dimensions[i], nodes);
        } else {
            left /= dimensions[i];
        }
    }
    if (free.empty() && left != 1)
        return fail(MPI_ERR_DIMS, "all entries of dims are set, but their product is not nnodes, %d", nodes);
    std::vector<int> factors(free.size());
    auto number = static_cast<int>(left);
    factorise(number, number, divisors_of(number), factors);
    for (std::size_t i = 0; i < free.size(); i++) *free[i] = factors[i];
    return MPI_SUCCESS;
}

int grid_size(std::span<const int> dimensions, int most, int &processes) {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < dimensions.size(); i++) {
        if (dimensions[i] < 1) return fail(MPI_ERR_DIMS, "dims[%zu] is %d, but must be positive", i, dimensions[i]);
        product *= dimensions[i];
        if (product > most)
            return fail(MPI_ERR_DIMS, "dims ask for at least %lld processes, but the communicator has %d",
                        static_cast<long long>(product), most);
    }
    processes = static_cast<int>(product);
    return MPI_SUCCESS;
}

int rank_at(const Topology &grid, std::span<const int> coordinates, int &rank) {
    int found = 0;
    for (std::size_t i = 0; i < grid.dimensions.size(); i++) {
        int dimension = grid.dimensions[i], coordinate = coordinates[i];
        if (coordinate < 0 || coordinate >= dimension) {
            if (!grid.periods[i])
                return fail(MPI_ERR_ARG, "coords[%zu] is %d, but that dimension is not periodic and has 0 to %d", i,
                            coordinate, dimension - 1);
            coordinate = (coordinate % dimension + dimension) % dimension;
        }
        found = found * dimension + coordinate;
    }
    rank = found;
    return MPI_SUCCESS;
}

std::vector<int> coordinates_of(std::span<const int> dimensions, int rank) {
    std::vector<int> coordinates(dimensions.size());
    for (std::size_t i = dimensions.size(); i-- > 0;) {
        coordinates[i] = rank % dimensions[i];
        rank /= dimensions[i];
    }
    return coordinates;
}

int neighbour_in_grid(const Topology &grid, int dimension, std::int64_t displacement) {
    auto along = static_cast<std::size_t>(dimension);
    std::int64_t extent = grid.dimensions[along];
    std::int64_t coordinate = grid.coordinates[along] + displacement;
    if ((coordinate < 0 || coordinate >= extent) && !grid.periods[along]) return MPI_PROC_NULL;
    std::vector<int> coordinates = grid.coordinates;
    coordinates[along] = static_cast<int>((coordinate % extent + extent) % extent);
    int rank = 0;
    for (std::size_t i = 0; i < coordinates.size(); i++) rank = rank * grid.dimensions[i] + coordinates[i];
    return rank;
}

Topology sub_grid(const Topology &grid, std::span<const int> remains, std::vector<int> &ranks) {
    Topology part;
    part.kind = MPI_CART;
    // The distance of ranks that are neighbours in each dimension.
    std::vector<int> strides(grid.dimensions.size());
    int stride = 1, origin = 0;
    for (std::size_t i = strides.size(); i-- > 0;) {
        strides[i] = stride;
        stride *= grid.dimensions[i];
        if (!remains[i]) origin += grid.coordinates[i] * strides[i];
    }
    ranks = {origin};
    for (std::size_t i = 0; i < strides.size(); i++) {
        if (!remains[i]) continue;
        part.dimensions.push_back(grid.dimensions[i]);
        part.periods.push_back(grid.periods[i]);
        part.coordinates.push_back(grid.coordinates[i]);
        std::vector<int> wider;
        for (int rank : ranks)
            for (int step = 0; step < grid.dimensions[i]; step++) wider.push_back(rank + step * strides[i]);
        ranks = std::move(wider);
    }
    return part;
}

int check_graph(int nodes, const int *index, const int *edges) {
    int before = 0;
    for (int node = 0; node < nodes; node++) {
        if (index[node] < before)
            return fail(MPI_ERR_ARG, "index[%d] is %d, but must be at least %d, the number before it", node,
                        index[node], before);
        before = index[node];
    }
    for (int edge = 0; edge < before; edge++)
        if (edges[edge] < 0 || edges[edge] >= nodes)
            return fail(MPI_ERR_ARG, "edges[%d] is %d, but the graph has the nodes 0 to %d", edge, edges[edge],
                        nodes - 1);
    return MPI_SUCCESS;
}

std::span<const int> graph_neighbours(const Topology &graph, int node) {
    auto begin = static_cast<std::size_t>(node == 0 ? 0 : graph.index[static_cast<std::size_t>(node) - 1]);
    auto end = static_cast<std::size_t>(graph.index[static_cast<std::size_t>(node)]);
    return std::span(graph.edges).subspan(begin, end - begin);
}

} // namespace volley
