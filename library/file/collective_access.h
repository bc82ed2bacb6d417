// SPDX-License-Identifier: BSD-3-Clause
/// Accesses that all ranks of a file make together, as schedules (collective/schedule.h): blocking, non-blocking and
/// split forms run the same.
///
/// Ranks first tell each other what they access. Where that is small pieces which interleave, a few *aggregators*
/// access the file for all (two-phase I/O): each has a part of the file, its domain, and goes through it in windows of
/// cb_buffer_size bytes. In each window the data of all ranks is collected in memory, or spread from there, by
/// messages; the file sees few large accesses. Ranks tell aggregators the plans of their views (layout/plan.h), and
/// both ends know from these which positions a message has. Otherwise each rank accesses the file by itself, at once.
/// split.pml models a split access through aggregators.
#pragma once

#include "collective/schedule.h"
#include "file/access.h"

#include <memory>

namespace volley {

/// The access is prepared and placed. Afterwards `schedule.completion` has its bytes.
int plan_collective_access(Schedule &schedule, std::shared_ptr<Access> access);

/// The same at the shared file pointer, which all ranks advance in their order. The access is prepared.
int plan_ordered_access(Schedule &schedule, std::shared_ptr<Access> access);

} // namespace volley
