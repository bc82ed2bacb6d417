// SPDX-License-Identifier: BSD-3-Clause
/// What tests of windows share: a window of integers, made in each of the ways there are.
#pragma once

#include "../../check.h"

#include <functional>
#include <memory>

/// The class of an error that the window's error handler has let pass.
inline int class_of(int code) {
    int error_class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
    return error_class;
}

/// A window with so many 64-bit integers on each rank. Displacements count integers; in a dynamic window they are
/// addresses, which `at` hides.
class IntegerWindow {
  public:
    IntegerWindow(int flavor, int count, MPI_Comm comm = MPI_COMM_WORLD) : flavor_(flavor) {
        const MPI_Aint bytes = count * static_cast<MPI_Aint>(sizeof(long long));
        MPI_Comm_size(comm, &size_);
        switch (flavor) {
        case MPI_WIN_FLAVOR_CREATE:
            own_ = std::make_unique<long long[]>(static_cast<std::size_t>(count));
            memory = own_.get();
            MPI_Win_create(memory, bytes, sizeof(long long), MPI_INFO_NULL, comm, &window);
            break;
        case MPI_WIN_FLAVOR_ALLOCATE:
            MPI_Win_allocate(bytes, sizeof(long long), MPI_INFO_NULL, comm, &memory, &window);
            break;
        case MPI_WIN_FLAVOR_SHARED:
            MPI_Win_allocate_shared(bytes, sizeof(long long), MPI_INFO_NULL, comm, &memory, &window);
            break;
        default:
            own_ = std::make_unique<long long[]>(static_cast<std::size_t>(count));
            memory = own_.get();
            MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window);
            MPI_Win_attach(window, memory, bytes);
            MPI_Aint address;
            MPI_Get_address(memory, &address);
            addresses_.resize(static_cast<std::size_t>(size_));
            MPI_Allgather(&address, 1, MPI_AINT, addresses_.data(), 1, MPI_AINT, comm);
        }
        for (int i = 0; i < count; i++) memory[i] = 0;
        MPI_Barrier(comm);
    }
    IntegerWindow(const IntegerWindow &) = delete;
    IntegerWindow &operator=(const IntegerWindow &) = delete;
    ~IntegerWindow() {
        if (flavor_ == MPI_WIN_FLAVOR_DYNAMIC) {
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Win_detach(window, memory);
        }
        MPI_Win_free(&window);
    }

    /// The displacement of an integer at a rank.
    MPI_Aint at(int rank, int index) const {
        if (flavor_ != MPI_WIN_FLAVOR_DYNAMIC) return index;
        return MPI_Aint_add(addresses_[static_cast<std::size_t>(rank)],
                            index * static_cast<MPI_Aint>(sizeof(long long)));
    }

    MPI_Win window = MPI_WIN_NULL;
    long long *memory = nullptr;

  private:
    int flavor_, size_ = 0;
    std::unique_ptr<long long[]> own_;
    std::vector<MPI_Aint> addresses_;
};

/// Whether all ranks of MPI_COMM_WORLD share memory.
inline bool all_share_memory() {
    MPI_Comm node;
    int size = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    return size == world_size;
}

/// Calls `test` with each flavor that is possible here.
inline void for_each_flavor(const std::function<void(int)> &test) {
    for (int flavor : {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_DYNAMIC, MPI_WIN_FLAVOR_SHARED})
        if (flavor != MPI_WIN_FLAVOR_SHARED || all_share_memory()) test(flavor);
}
