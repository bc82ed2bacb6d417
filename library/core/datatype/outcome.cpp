// SPDX-License-Identifier: BSD-3-Clause
#include "outcome.h"

#include <cstdarg>
#include <cstdio>
#include <new>

namespace volley {

Outcome failure(int error_class, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    Outcome outcome;
    outcome.error_class = error_class;
    try {
        outcome.message = text;
    } catch (const std::bad_alloc &) {}
    return outcome;
}

} // namespace volley
