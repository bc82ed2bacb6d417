// SPDX-License-Identifier: BSD-3-Clause
/// All that depends on the processor: system calls without a C library, and the jump into a program.
///
/// An architecture is one header that defines, in namespace volley::launch:
///   elf_machine            its e_machine
///   raw_system_call(...)   a system call that touches nothing but registers; negative errno on failure
///   enter_program(...)     as the kernel enters a new program
#pragma once

#if defined(__x86_64__)
#include "launch/machine_x86_64.h"
#else
#error "mpiexec knows x86-64 only: add machine_<architecture>.h"
#endif
