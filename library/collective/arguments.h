// SPDX-License-Identifier: BSD-3-Clause
/// Arguments of collective operations, decoded and checked where they are significant.
#pragma once

#include "collective/schedule.h"

#include <mpi.h>

namespace volley {

/// Blocks of a buffer, one per peer or neighbour: all alike, or with counts and displacements, or with datatypes
/// of their own as well (the three shapes of MPI_Alltoall, MPI_Alltoallv and MPI_Alltoallw).
class Blocks {
  public:
    Blocks() = default;

    Block operator[](int i) const {
        if (types_ != nullptr) return {base_ + displacements_[i], counts_[i], Datatype::from_handle(types_[i])};
        if (varying_) return {base_ + displacements_[i] * extent_, counts_[i], type_};
        return {base_ + i * count_ * extent_, count_, type_};
    }

    /// Bytes of the blocks [0, blocks).
    Count bytes(int blocks) const;

    /// All blocks alike.
    bool uniform() const {
        return !varying_;
    }

  private:
    friend class Arguments;
    char *base_ = nullptr;
    bool varying_ = false;
    Count count_ = 0;
    Count extent_ = 0;
    CountArray counts_{static_cast<const int *>(nullptr)};
    CountArray displacements_{static_cast<const int *>(nullptr)};
    Datatype *type_ = nullptr;
    const MPI_Datatype *types_ = nullptr;
};

/// The names of one side's arguments in the standard, for messages. Where a function has arrays instead, the names
/// are in the plural.
struct Names {
    const char *buffer;
    const char *count;
    const char *type;
};

inline constexpr Names send_names{"sendbuf", "sendcount", "sendtype"};
inline constexpr Names receive_names{"recvbuf", "recvcount", "recvtype"};

/// What the call passed for one side: undecoded, for its meaning depends on the rank.
struct Passed {
    const void *buffer;
    Count count;
    MPI_Datatype type;
};

struct PassedEach {
    const void *buffer;
    CountArray counts;
    CountArray displacements;
    MPI_Datatype type;
};

struct PassedMixed {
    const void *buffer;
    CountArray counts;
    CountArray displacements; ///< bytes
    const MPI_Datatype *types;
};

/// Decodes arguments one after another; after a failure it does nothing more, and code() is what failed.
class Arguments {
  public:
    Block block(const Names &names, const Passed &passed);
    Blocks blocks(const Names &names, const Passed &passed, int blocks);
    Blocks blocks(const Names &names, const PassedEach &passed, int blocks);
    Blocks blocks(const Names &names, const PassedMixed &passed, int blocks);

    /// Operands of a reduction: a datatype the operation applies to.
    Block operands(const char *buffer_name, const Passed &passed, const Operation &operation);

    /// All of them; `name` is in the singular.
    void counts(const char *name, CountArray values, int count);
    /// So many elements, `number` times, are no more than a message.
    void repeated(const char *name, Count count, int number, const Datatype &type);
    /// All of them, and their sum; `name` is in the singular.
    void total(const char *name, CountArray values, int number, MPI_Datatype type);
    /// In an intracommunicator: one of its ranks. In an intercommunicator also MPI_ROOT and MPI_PROC_NULL.
    void root(int root, const Communicator &communicator);
    void intracommunicator(const Communicator &communicator, const char *function);
    /// MPI_IN_PLACE is not allowed there.
    void not_in_place(const char *name, const void *buffer, const char *reason);
    /// What this rank sends is not where it is to receive it.
    void apart(const Block &sent, const Block &received);

    bool ok() const {
        return code_ == MPI_SUCCESS;
    }
    int code() const {
        return code_;
    }

  private:
    Datatype *type(const char *name, MPI_Datatype handle);
    void elements(const char *name, Count count, const Datatype &type);
    void together(const char *name, const Blocks &blocks, int number);
    void buffer(const char *name, const void *address, Count count, const Datatype &type);

    int code_ = MPI_SUCCESS;
};

/// MPI_ERR_TRUNCATE if a block of so many bytes is to go where there is less room.
int check_fits(Count sent, Count to_be_received);

} // namespace volley
