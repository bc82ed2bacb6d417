// SPDX-License-Identifier: BSD-3-Clause
/// Error classes and codes that a program adds (MPI 5.0, section 9.5). They lie above MPI_ERR_LASTCODE.
#pragma once

#include <string>

namespace volley {

/// MPI_ERR_UNKNOWN if the program has added no such class or code (or removed it).
int class_of_added_code(int code);

/// "" if it has been given none; nullptr if there is no such class or code.
const std::string *text_of_added_error(int code);

/// The value of the attribute MPI_LASTUSEDCODE; its address stays the same.
int *last_used_code();

} // namespace volley
