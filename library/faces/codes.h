// SPDX-License-Identifier: BSD-3-Clause
/// Error codes. The library's hold a class in their low bits, and above them which sentence belongs to them
/// (library/core/error.h); only the class is converted. Included after a face's values.h.
#pragma once

namespace volley::faces {

inline constexpr int class_bits = 127;

inline int code_to_native(int code) {
    if (code == MPI_SUCCESS) [[likely]]
        return code;
    if (code > MPI_ERR_LASTCODE + added_code_distance) return code - added_code_distance;
    if (code < 0) return code;
    if (const int tool = tool_code_to_native(code); tool != code) return tool;
    return (code & ~class_bits) | class_to_native[code & class_bits];
}

inline int code_to_face(int code) {
    if (code == MPI_SUCCESS) [[likely]]
        return code;
    if (code >= MPI_ERR_LASTCODE) return code + added_code_distance;
    if (code < 0) return code;
    return (code & ~class_bits) | class_to_face[code & class_bits];
}

} // namespace volley::faces
