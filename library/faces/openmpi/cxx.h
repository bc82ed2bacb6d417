// SPDX-License-Identifier: BSD-3-Clause
/// What becomes of programs that use the bindings for C++.
#pragma once

#include <cstdio>
#include <cstdlib>

[[noreturn]] inline void refuse_cxx(const char *function) {
    std::fprintf(stderr,
                 "Volley: the program calls %s, of the bindings for C++ that MPI 3.0 has removed; they are not "
                 "supported\n",
                 function);
    std::abort();
}
