// SPDX-License-Identifier: BSD-3-Clause
/// How functions of the core report failure: an int, MPI_SUCCESS or an error code with a sentence for people.
///
/// A code made here holds its class in the low seven bits (the standard ABI's classes are below 128) and above
/// them, below MPI_ERR_LASTCODE, which of the last sentences belongs to it; MPI_Error_class and MPI_Error_string take
/// it apart. Success costs nothing. Classes and codes a program adds lie above MPI_ERR_LASTCODE.
#pragma once

#include "core/datatype/outcome.h"
#include "layout/checked.h"

#include <mpi.h>

namespace volley {

class Communicator;
class Datatype;

/// Keeps the sentence (printf format; names the thing, the value seen and the value wanted) and returns the code.
[[gnu::format(printf, 2, 3), gnu::cold, nodiscard]] int fail(int error_class, const char *format, ...);

/// The same for what the datatype engine says; MPI_SUCCESS where it went well.
[[nodiscard]] int report(const Outcome &outcome);

/// That so many elements of a datatype are more than a message can have: MPI_ERR_COUNT.
[[gnu::cold, nodiscard]] int too_many_elements(const char *argument, Count count, const Datatype &datatype);

/// MPI_ERR_NO_MEM, for memory that could not be had somewhere inside of a function.
[[gnu::cold, nodiscard]] int out_of_memory();

/// Names the communicator whose error handler gets the failure that is being returned, where no argument of the call
/// says so (requests know their communicator). Ignored if nothing fails; forgotten when the call returns.
inline void blame(Communicator &communicator);
/// What blame() was called with since the call began, or nullptr.
[[nodiscard]] inline Communicator *blamed();
inline void forget_blame();

/// The class of a code made by fail(), MPI_SUCCESS for success. Not for codes that a program added.
constexpr int error_class_of(int code) {
    return code > MPI_ERR_LASTCODE ? code : code & 127;
}

/// The sentence of a code made by fail(); "" if there is none (any more: the last 127 are kept).
const char *sentence_of(int code);

/// The class in the words of the standard ("MPI_ERR_TRUNCATE"), and a sentence; both nullptr if there is no such
/// predefined class.
struct ErrorClass {
    const char *name;
    const char *sentence;
};
ErrorClass describe_error_class(int error_class);

/// The class of any value: of a code made by fail(), a bare class, an added code; MPI_ERR_UNKNOWN for others.
int class_of_any_code(int code);

/// The text of MPI_Error_string: fits MPI_MAX_ERROR_STRING. False if nobody made such a code.
bool error_string(int code, char *text);

namespace internal {
inline Communicator *blamed_communicator = nullptr;
}

inline void blame(Communicator &communicator) {
    internal::blamed_communicator = &communicator;
}

inline Communicator *blamed() {
    return internal::blamed_communicator;
}

inline void forget_blame() {
    internal::blamed_communicator = nullptr;
}

} // namespace volley
