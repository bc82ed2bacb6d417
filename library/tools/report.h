// SPDX-License-Identifier: BSD-3-Clause
/// What mpitask and mpimsg print: tables for people, JSON for programs.
#pragma once

#include "tools/json.h"
#include "tools/snapshot.h"
#include "tools/why.h"

#include <string>

namespace volley::view {

/// "job of mpiexec 4711: 4 ranks, 2 CPUs"
std::string job_line(const Snapshot &snapshot);

/// A line per rank.
std::string tasks_table(const Snapshot &snapshot);

/// A line per message; with those of the library's collective operations if `all`.
std::string messages_table(const Snapshot &snapshot, bool all);

/// A line per rank and peer that it has a connection with.
std::string connections_table(const Snapshot &snapshot);

// Members of the object of one job.
void write_job(Json &json, const Snapshot &snapshot);
void write_tasks(Json &json, const Snapshot &snapshot);
void write_messages(Json &json, const Snapshot &snapshot, bool all);
void write_connections(Json &json, const Snapshot &snapshot);
void write_verdict(Json &json, const Verdict &verdict);

} // namespace volley::view
