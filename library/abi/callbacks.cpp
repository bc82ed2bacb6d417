// SPDX-License-Identifier: BSD-3-Clause
/// What faces call to have callbacks of their programs called by them.
#include "core/callbacks.h"

#include "abi/call.h"
#include "core/attribute.h"
#include "core/errhandler.h"
#include "core/operation.h"

using namespace volley;

namespace {

/// These are functions of this library alone; none of MPI's numbers is theirs.
constexpr std::uint32_t no_function = 0;

} // namespace

void volley_call_operation_by(MPI_Op op, ReductionCaller caller) {
    const Call call(no_function, Call::Anytime{});
    Operation::from_handle(op)->call_by(caller);
}

void volley_call_errhandler_by(MPI_Errhandler errhandler, ErrhandlerCaller caller) {
    const Call call(no_function, Call::Anytime{});
    Errhandler::from_handle(errhandler)->call_by(caller);
}

void volley_call_keyval_by(int keyval, CopyAttributeCaller copy, DeleteAttributeCaller remove) {
    const Call call(no_function, Call::Anytime{});
    call_keyval_by(keyval, copy, remove);
}
