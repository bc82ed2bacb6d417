// SPDX-License-Identifier: BSD-3-Clause
/// Arithmetic of process topologies (MPI 5.0, chapter 8): what needs no communication.
#pragma once

#include "core/communicator.h"

#include <cstdint>
#include <span>
#include <vector>

namespace volley {

/// MPI_Dims_create: fills the entries that are 0, largest first. The largest dimension is as small as it can be,
/// then the second largest, and so on. MPI_ERR_DIMS if the entries that are set do not divide `nodes`.
int create_dimensions(int nodes, std::span<int> dimensions);

/// Number of processes in a grid; MPI_ERR_DIMS if a dimension is not positive or there are more than `most`.
int grid_size(std::span<const int> dimensions, int most, int &processes);

/// The rank at some coordinates, the last of which varies fastest; MPI_ERR_ARG if one is out of a range that is
/// not periodic.
int rank_at(const Topology &grid, std::span<const int> coordinates, int &rank);
std::vector<int> coordinates_of(std::span<const int> dimensions, int rank);

/// The rank `displacement` steps along a dimension, or MPI_PROC_NULL.
int neighbour_in_grid(const Topology &grid, int dimension, std::int64_t displacement);

/// The grid of the dimensions that remain, and the ranks of the processes in this one's part of it, in order.
Topology sub_grid(const Topology &grid, std::span<const int> remains, std::vector<int> &ranks);

/// Checks what describes a graph of `nodes` nodes.
int check_graph(int nodes, const int *index, const int *edges);

/// Of a graph: all neighbours of one node.
std::span<const int> graph_neighbours(const Topology &graph, int node);

} // namespace volley
