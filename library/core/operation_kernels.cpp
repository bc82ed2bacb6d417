// SPDX-License-Identifier: BSD-3-Clause
// At -O2 gcc 12 vectorises no loop whose length it does not know.
#pragma GCC optimize("O3")
#include "core/operation_loops.h"

namespace volley {

constinit const KernelTable baseline_kernels = TableMaker().table;

} // namespace volley
