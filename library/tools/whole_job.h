// SPDX-License-Identifier: BSD-3-Clause
/// Looking at all ranks of a job, on whatever host they are.
#pragma once

#include "tools/jobs.h"
#include "tools/snapshot.h"

namespace volley::view {

/// Ranks of this host are read from its memory, those of others asked for (boot/look_request.h). Hosts that do not
/// answer in time are marked so. Throws Unreadable.
Snapshot look_everywhere(const Job &job);

/// The ranks of this host alone. Throws Unreadable.
Snapshot look_here(const Job &job);

} // namespace volley::view
