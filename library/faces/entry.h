// SPDX-License-Identifier: BSD-3-Clause
/// What entry points of a face are made of. Their names are the library's names as well, with other types, so both are
/// given to the linker only.
#pragma once

/// The library's function.
#define NATIVE(name) native_##name
#define DECLARE_NATIVE(name) extern "C" decltype(::name) native_##name __asm__("volley_" #name)

/// PMPI_X, and the weak MPI_X, which a tool may define as well.
#define FACE_ENTRY(type, name, parameters)                                                                             \
    extern "C" [[gnu::visibility("default")]] type face_##name parameters __asm__("P" #name);                          \
    extern "C"                                                                                                         \
        [[gnu::visibility("default"), gnu::weak, gnu::alias("P" #name)]] type weak_##name parameters __asm__(#name);   \
    type face_##name parameters

/// A function that is no part of the standard: it has one name.
#define FACE_EXTENSION(type, name, parameters)                                                                         \
    extern "C" [[gnu::visibility("default")]] type face_##name parameters __asm__(#name);                              \
    type face_##name parameters
