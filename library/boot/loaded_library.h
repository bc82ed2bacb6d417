// SPDX-License-Identifier: BSD-3-Clause
/// Functions of a library that is opened while the program runs (dlopen).
#pragma once

#include <dlfcn.h>

#include <string>

#include "boot/error.h"

namespace volley {

/// Sets `function` to the one of that name in an opened library, whose file has the name `file`. Throws Error.
template <class Function> void find_function(void *library, const char *file, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) throw Error(std::string("the library ") + file + " has no function " + name);
}

} // namespace volley
