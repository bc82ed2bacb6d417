// SPDX-License-Identifier: BSD-3-Clause
#include "core/topology.h"

#include "core/error.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

namespace volley {
namespace {

/// Whether `factor` multiplied `times` times is at least `number`.
bool reaches(std::int64_t factor, std::size_t times, std::int64_t number) {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < times && product < number; i++) product *= factor;
    return product >= number;
}

/// Writes numbers as products of a given number of divisors of one number.
class Factoriser {
  public:
    Factoriser(int number, const std::vector<int> &divisors) : divisors_(divisors) {
        for (int divisor : divisors)
            if (divisor > 1 && std::ranges::none_of(primes_, [&](int prime) { return divisor % prime == 0; }))
                primes_.push_back(divisor);
        for (int prime : primes_)
            for (int left = number; left % prime == 0; left /= prime) prime_factors_++;
    }

    /// As many factors as there is room for, from `smallest` to `largest`, none larger than the one before: the first
    /// as small as possible, then the second, and so on. False if there is no such product.
    bool factorise(std::int64_t number, std::int64_t smallest, std::int64_t largest, std::span<int> factors) {
        smallest_ = smallest;
        refuted_.clear();
        // With more factors than prime ones, the others are 1.
        std::size_t most = std::min(factors.size(), std::max<std::size_t>(prime_factors_, 1));
        if (smallest > 1 && most < factors.size()) return false;
        std::ranges::fill(factors.subspan(most), 1);
        return search(number, largest, factors.first(most));
    }

  private:
    bool search(std::int64_t number, std::int64_t largest, std::span<int> factors) {
        if (factors.size() == 1) {
            factors[0] = static_cast<int>(number);
            return number >= smallest_ && number <= largest;
        }
        // The largest factor is at least the root, and at least the largest prime.
        if (!reaches(largest, factors.size(), number)) return false;
        auto prime = std::find_if(primes_.rbegin(), primes_.rend(), [&](int each) { return number % each == 0; });
        std::int64_t least = std::max(smallest_, prime != primes_.rend() ? std::int64_t{*prime} : 1);
        if (least > largest) return false;
        // Many ways lead to the same rest of the search.
        auto rest = std::tuple(number, largest, factors.size());
        if (refuted_.contains(rest)) return false;
        for (auto divisor = std::ranges::lower_bound(divisors_, least); divisor != divisors_.end(); ++divisor) {
            if (*divisor > largest || *divisor > number) break;
            if (number % *divisor != 0 || !reaches(*divisor, factors.size(), number)) continue;
            factors[0] = *divisor;
            if (search(number / *divisor, *divisor, factors.subspan(1))) return true;
        }
        refuted_.insert(rest);
        return false;
    }

    const std::vector<int> &divisors_;
    std::vector<int> primes_; ///< of the number, ascending
    std::size_t prime_factors_ = 0;
    std::int64_t smallest_ = 1;
    std::set<std::tuple<std::int64_t, std::int64_t, std::size_t>> refuted_;
};

/// Writes `number` as a product of factors that are as close to each other as possible: the smallest difference of the
/// largest and the smallest, then the smallest largest. None is larger than the one before.
void factorise_evenly(int number, const std::vector<int> &divisors, std::span<int> factors) {
    if (factors.empty()) return;
    Factoriser factoriser(number, divisors);
    std::vector<int> tried(factors.size());
    // From 1 up there always is a product. It tells what others must better.
    factoriser.factorise(number, 1, number, factors);
    std::int64_t spread = factors.front() - factors.back();
    // Each smallest factor there can be, from the root down: the further below, the larger the least difference.
    for (auto smallest = divisors.rbegin(); smallest != divisors.rend(); ++smallest) {
        if (*smallest > 1 && reaches(*smallest, factors.size(), std::int64_t{number} + 1)) continue;
        // The largest factor is at least the root: a smaller difference is no longer possible.
        if (!reaches(*smallest + spread, factors.size(), number)) return;
        if (!factoriser.factorise(number, *smallest, *smallest + spread, tried)) continue;
        std::int64_t found = tried.front() - tried.back();
        if (found > spread || (found == spread && tried.front() >= factors[0])) continue;
        spread = found;
        std::ranges::copy(tried, factors.begin());
    }
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
    factorise_evenly(number, divisors_of(number), factors);
    for (std::size_t i = 0; i < free.size(); i++) *free[i] = factors[i];
    return MPI_SUCCESS;
}

int grid_size(std::span<const int> dimensions, int most, int &size) {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < dimensions.size(); i++) {
        if (dimensions[i] < 1) return fail(MPI_ERR_DIMS, "dims[%zu] is %d, but must be positive", i, dimensions[i]);
        product *= dimensions[i];
        if (product > most)
            return fail(MPI_ERR_DIMS, "dims ask for at least %lld processes, but the communicator has %d",
                        static_cast<long long>(product), most);
    }
    size = static_cast<int>(product);
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
