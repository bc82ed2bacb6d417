// SPDX-License-Identifier: BSD-3-Clause
/// Ending the whole job from inside a rank.
#pragma once

namespace volley {

/// Ends all ranks; the job's exit status is `code` (its low eight bits, or 1 if they are 0 and code is not).
/// The caller has said why. The launcher says which rank it was.
[[noreturn]] void abort_job(int code);

/// Ends this rank and those of its job that are marked (RankRecord::to_abort); the job goes on with the others.
[[noreturn]] void abort_marked_ranks(int code);

/// For what cannot be reported through an error handler: prints "Volley: rank N: `reason`" and ends the job.
[[noreturn, gnu::cold]] void abort_job_for(const char *reason);

} // namespace volley
