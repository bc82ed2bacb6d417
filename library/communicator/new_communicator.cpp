// SPDX-License-Identifier: BSD-3-Clause
#include "communicator/new_communicator.h"

#include "core/errhandler.h"
#include "core/hints.h"

namespace volley {

MPI_Comm hand_out(const Communicator &parent, Communicator *made, const Info *hints) {
    if (!made) return MPI_COMM_NULL;
    set_hints(*made, hints);
    replace_errhandler(made->errhandler, *parent.errhandler);
    made->session = parent.session;
    return made->handle();
}

} // namespace volley
