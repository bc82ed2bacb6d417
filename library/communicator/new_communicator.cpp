// SPDX-License-Identifier: BSD-3-Clause
#include "communicator/new_communicator.h"

#include "core/errhandler.h"
#include "core/hints.h"

namespace volley {

void replace_errhandler(Communicator &communicator, Errhandler &errhandler) {
    errhandler.retain();
    Errhandler::release(*communicator.errhandler);
    communicator.errhandler = &errhandler;
}

MPI_Comm hand_out(const Communicator &parent, Communicator *made, const Info *hints) {
    if (!made) return MPI_COMM_NULL;
    set_hints(*made, hints);
    replace_errhandler(*made, *parent.errhandler);
    made->session = parent.session;
    return made->handle();
}

} // namespace volley
