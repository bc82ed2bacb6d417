// SPDX-License-Identifier: BSD-3-Clause
/// The three forms of a collective operation, from the one function that plans it.
#pragma once

#include "collective/schedule.h"
#include "core/error.h"

#include <utility>

namespace volley {

/// A plan checks its arguments and appends steps; it returns an error code.
template <class... Parameters> using Plan = int (*)(Schedule &schedule, Parameters... parameters);

template <class... Parameters, class... Arguments>
int blocking(Plan<Parameters...> plan, const char *name, Communicator &communicator, Arguments &&...arguments) {
    Schedule schedule(name, communicator, Form::blocking);
    int code = plan(schedule, std::forward<Arguments>(arguments)...);
    return code == MPI_SUCCESS ? schedule.run() : code;
}

template <class... Parameters, class... Arguments>
int prepared(Form form, Plan<Parameters...> plan, const char *name, Communicator &communicator, MPI_Request *request,
             Arguments &&...arguments) {
    Schedule *schedule = Schedule::make(name, communicator, form);
    int code = plan(*schedule, std::forward<Arguments>(arguments)...);
    if (code != MPI_SUCCESS) {
        schedule->dispose();
        return code;
    }
    *request = schedule->handle();
    return form == Form::nonblocking ? schedule->start() : MPI_SUCCESS;
}

template <class... Parameters, class... Arguments>
int nonblocking(Plan<Parameters...> plan, const char *name, Communicator &communicator, MPI_Request *request,
                Arguments &&...arguments) {
    return prepared(Form::nonblocking, plan, name, communicator, request, std::forward<Arguments>(arguments)...);
}

/// Hints are not looked at: none is defined that could change what is done here.
template <class... Parameters, class... Arguments>
int persistent(Plan<Parameters...> plan, const char *name, Communicator &communicator, MPI_Request *request,
               Arguments &&...arguments) {
    return prepared(Form::persistent, plan, name, communicator, request, std::forward<Arguments>(arguments)...);
}

} // namespace volley
