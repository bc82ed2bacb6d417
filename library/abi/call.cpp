// SPDX-License-Identifier: BSD-3-Clause
#include "abi/call.h"

#include "boot/function_names.h"
#include "transport/abort.h"

#include <string>

namespace volley {

void Call::refuse(std::uint32_t function) {
    std::string reason(function_names[function]);
    if (engine.phase == Phase::finalised)
        reason += " was called after MPI_Finalize, but MPI is over then; call it before";
    else
        reason += " was called before MPI_Init; call MPI_Init, MPI_Init_thread or MPI_Session_init first";
    abort_job_for(reason.c_str());
}

} // namespace volley
