// SPDX-License-Identifier: BSD-3-Clause
/// See machine.h.
#pragma once

#include <elf.h>

#include <cstdint>

namespace volley::launch {

inline constexpr std::uint16_t elf_machine = EM_X86_64;

[[gnu::always_inline]] inline long raw_system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
    long result = number;
    register long fourth asm("r10") = d;
    asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(fourth) : "rcx", "r11", "memory");
    return result;
}

/// rdx is 0 (no function to register with atexit), rbp is 0 (the outermost frame), as the psABI has it.
[[noreturn, gnu::always_inline]] inline void enter_program(std::uintptr_t entry, std::uintptr_t stack_pointer) {
    asm volatile("mov %1, %%rsp\n\t"
                 "xor %%edx, %%edx\n\t"
                 "xor %%ebp, %%ebp\n\t"
                 "jmp *%0"
                 :
                 : "a"(entry), "D"(stack_pointer)
                 : "memory");
    __builtin_unreachable();
}

} // namespace volley::launch
