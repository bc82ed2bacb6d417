// SPDX-License-Identifier: BSD-3-Clause
#include "abi/call.h"

#include "boot/function_names.h"
#include "transport/abort.h"

#include <string>

namespace volley {

bool Call::withdraw() {
    function_->store(previous_, std::memory_order_release);
    if (previous_ == 0) engine.lock.leave_as_owner();
    return false;
}

void Call::enter(std::uint32_t function, bool anytime) {
    engine.lock.acquire();
    locked_ = true;
    if (!anytime && !engine.available.load(std::memory_order_relaxed)) refuse(function);
    function_ = &node.function();
    previous_ = engine.lock.function();
    engine.lock.set_function(function);
    function_->store(function, std::memory_order_relaxed);
    forget_blame();
}

void Call::leave() {
    if (engine.lock.is_held()) engine.lock.set_function(previous_);
    if (locked_)
        engine.lock.release();
    else if (previous_ == 0)
        engine.lock.leave_as_owner();
}

void Call::refuse(std::uint32_t function) {
    std::string reason(function_names[function]);
    if (engine.phase == Phase::finalised)
        reason += " was called after MPI_Finalize, but MPI is over then; call it before";
    else
        reason += " was called before MPI_Init; call MPI_Init, MPI_Init_thread or MPI_Session_init first";
    abort_job_for(reason.c_str());
}

} // namespace volley
