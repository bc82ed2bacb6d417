// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Op_create and relatives, and MPI_Reduce_local (MPI 5.0, sections 6.9.5 and 6.9.7).
#include "core/error.h"
#include "core/operation.h"

#include <core/functions.h>

namespace volley::mpi {

int Op_create(MPI_User_function *function, int commute, MPI_Op *op) {
    if (function == nullptr) return fail(MPI_ERR_ARG, "user_fn is a null pointer, but must be a function");
    *op = Operation::make(function, commute != 0)->handle();
    return MPI_SUCCESS;
}

int Op_create_c(MPI_User_function_c *function, int commute, MPI_Op *op) {
    if (function == nullptr) return fail(MPI_ERR_ARG, "user_fn is a null pointer, but must be a function");
    *op = Operation::make(function, commute != 0)->handle();
    return MPI_SUCCESS;
}

int Op_free(MPI_Op *op) {
    Operation *operation = Operation::from_handle(*op);
    if (operation == nullptr)
        return fail(MPI_ERR_OP, "op is %s", *op == MPI_OP_NULL ? "MPI_OP_NULL" : "no operation, or was freed before");
    if (operation->is_predefined()) return fail(MPI_ERR_OP, "op is %s, which may not be freed", operation->name());
    Operation::release(*operation);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

int Op_commutative(Operation &operation, int *commute) {
    *commute = operation.is_commutative() ? 1 : 0;
    return MPI_SUCCESS;
}

int Reduce_local(const void *in, void *inout, Count count, Datatype &datatype, Operation &operation) {
    if (in == MPI_IN_PLACE || inout == MPI_IN_PLACE)
        return fail(MPI_ERR_BUFFER, "%s is MPI_IN_PLACE, but MPI_Reduce_local needs two buffers",
                    in == MPI_IN_PLACE ? "inbuf" : "inoutbuf");
    if (count > 0 && in == inout)
        return fail(MPI_ERR_BUFFER, "inbuf and inoutbuf are the same (%p), but must not overlap", in);
    if (int code = check_applies(operation, datatype); code != MPI_SUCCESS) return code;
    Reduction(operation, datatype).fold(in, inout, count);
    return MPI_SUCCESS;
}

} // namespace volley::mpi
