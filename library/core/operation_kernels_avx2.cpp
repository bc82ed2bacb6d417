// SPDX-License-Identifier: BSD-3-Clause
// Without FMA: every processor has to come to the same result.
#if defined(__x86_64__)
#pragma GCC optimize("O3")
#pragma GCC target("avx2")
#include "core/operation_loops.h"

namespace volley {

constinit const KernelTable avx2_kernels = TableMaker().table;

} // namespace volley
#endif
