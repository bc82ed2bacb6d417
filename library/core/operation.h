// SPDX-License-Identifier: BSD-3-Clause
/// Reduction operations: the predefined ones, and those of MPI_Op_create.
#pragma once

#include "core/callbacks.h"
#include "core/datatype/datatype.h"
#include "core/object.h"
#include "core/operation_kernels.h"

#include <mpi.h>

namespace volley {

class Operation final : public Object {
  public:
    static constexpr Mark kind = Mark::operation;

    static Operation *make(MPI_User_function *function, bool commutative);
    static Operation *make(MPI_User_function_c *function, bool commutative);

    /// The operation a handle names; nullptr for MPI_OP_NULL and for what is no operation.
    static Operation *from_handle(MPI_Op handle);
    MPI_Op handle();

    bool is_predefined() const {
        return number_ != 0;
    }
    bool is_commutative() const {
        return commutative_;
    }
    /// Of a predefined operation: the low bits of its handle; 0 for a user's.
    int number() const {
        return number_;
    }
    /// Of a user's operation.
    void call_by(ReductionCaller caller) {
        caller_ = caller;
    }
    /// MPI_REPLACE or MPI_NO_OP: for one-sided communication, and here for MPI_Reduce_local.
    bool is_assignment() const {
        return number_ >= replace_number;
    }
    const char *name() const {
        return name_;
    }

    /// Gives one reference back; the last destroys the operation. Nothing happens to predefined ones.
    static void release(Operation &operation);

    Operation(int number, const char *name, bool commutative); ///< of the predefined, in operation.cpp

    static constexpr int replace_number = 0x1c;
    static constexpr int no_op_number = 0x1d;

  private:
    friend class Pool<Operation>;
    friend class Reduction;
    Operation(MPI_User_function *function, MPI_User_function_c *large, bool commutative);
    ~Operation() = default;

    int number_ = 0;
    bool commutative_ = false;
    const char *name_ = "a user's operation";
    MPI_User_function *function_ = nullptr;
    MPI_User_function_c *large_function_ = nullptr;
    ReductionCaller caller_ = nullptr; ///< of the function, if that is not to be called with our handles
};

/// As what kind of element the loops of predefined operations treat a datatype; `none` if no operation is defined for
/// it.
Element element_of(const Datatype &datatype);

/// Is the operation defined for elements of this type (MPI 5.0, section 6.9.2)? A user's is for any. MPI_CHAR and
/// MPI_WCHAR, which the standard leaves out, count as integers.
bool applies(const Operation &operation, const Datatype &datatype);

/// MPI_SUCCESS if it applies, else MPI_ERR_OP with a sentence that says which types it wants.
[[nodiscard]] int check_applies(const Operation &operation, const Datatype &datatype);

/// An operation together with the datatype of its operands, which it applies to.
class Reduction {
  public:
    Reduction(Operation &operation, Datatype &datatype);

    /// inout[i] = in[i] op inout[i]. The buffers do not overlap.
    void fold(const void *in, void *inout, Count count) const;

    /// out[i] = a[i] op b[i]. The buffers do not overlap.
    void join(const void *a, const void *b, void *out, Count count) const;

    /// out[i] = sources[0][i] op sources[1][i] op ..., in pieces that stay in the cache. Of predefined,
    /// commutative operations only; none of the sources overlaps `out`.
    void join_all(const void *const *sources, int source_count, void *out, Count count) const;

    Operation &operation() const {
        return *operation_;
    }
    Datatype &datatype() const {
        return *datatype_;
    }
    /// By one of the library's loops.
    bool is_predefined() const {
        return kernel_.fold != nullptr;
    }

  private:
    void call_user(const void *in, void *inout, Count count) const;

    Operation *operation_;
    Datatype *datatype_;
    ReductionKernel kernel_{};
};

} // namespace volley
