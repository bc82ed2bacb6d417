// SPDX-License-Identifier: BSD-3-Clause
/// PMIx, the interface of PRRTE (prterun, Open MPI's mpirun) and of Slurm's plugin "pmix". How a process talks to its
/// launcher is PMIx's own affair, so its library is loaded, if such a launcher has started this process
/// (libpmix.so.2; the PMIx Standard, versions 3 to 5).
#pragma once

#include "boot/foreign/launcher.h"

#include <memory>

namespace volley::pmix {

/// Connects to the launcher, once a process; nullptr if none that speaks PMIx has started this one. Throws Error.
std::unique_ptr<ForeignLauncher> connect();

} // namespace volley::pmix
