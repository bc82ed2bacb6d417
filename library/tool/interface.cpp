// SPDX-License-Identifier: BSD-3-Clause
#include "tool/interface.h"

#include "core/functions.h"

#include <algorithm>
#include <cstring>

namespace volley {
namespace tool {
namespace {

int users = 0;

} // namespace

bool is_initialised() {
    return users > 0;
}

void give_text(std::string_view text, char *place, int *length) {
    if (!length) return;
    if (place && *length > 0) {
        const std::size_t copied = std::min(text.size(), static_cast<std::size_t>(*length) - 1);
        std::memcpy(place, text.data(), copied);
        place[copied] = '\0';
    }
    *length = static_cast<int>(text.size() + 1);
}

} // namespace tool

namespace mpi {

int T_init_thread(int, int *provided) {
    tool::users++;
    tool::give(provided, static_cast<int>(MPI_THREAD_MULTIPLE)); // the lock serves any number of threads
    return MPI_SUCCESS;
}

int T_finalize() {
    if (--tool::users > 0) return MPI_SUCCESS;
    tool::end_control_variables();
    tool::end_performance_variables();
    tool::end_events();
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
