// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Abi_...: the binary interface, and what a Fortran layer on top of it tells the library (MPI 5.0, chapter 20).
#include "core/error.h"
#include "core/functions.h"
#include "core/info.h"

#include <array>
#include <cstring>
#include <string>

namespace volley {
namespace {

constexpr int largest_logical = 16; ///< bytes

/// How Fortran spells .TRUE. and .FALSE., once somebody has said so.
struct FortranBooleans {
    int bytes = 0; ///< 0: not known
    std::array<unsigned char, largest_logical> true_value{}, false_value{};
};

FortranBooleans fortran_booleans;
Info *fortran_info = nullptr;

int check_logical_size(int bytes) {
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == largest_logical) return MPI_SUCCESS;
    return fail(MPI_ERR_ARG, "logical_size is %d, but must be 1, 2, 4, 8 or 16 bytes", bytes);
}

} // namespace

int mpi::Abi_get_version(int *abi_major, int *abi_minor) {
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}

int mpi::Abi_get_info(MPI_Info *info) {
    Info *made = Info::make();
    made->set("mpi_aint_size", std::to_string(sizeof(MPI_Aint)));
    made->set("mpi_count_size", std::to_string(sizeof(MPI_Count)));
    made->set("mpi_offset_size", std::to_string(sizeof(MPI_Offset)));
    *info = made->handle();
    return MPI_SUCCESS;
}

int mpi::Abi_set_fortran_info(Info *info) {
    if (info == nullptr) return fail(MPI_ERR_INFO, "info is MPI_INFO_NULL, but must be an info object");
    if (fortran_info != nullptr)
        return fail(MPI_ERR_ABI, "MPI_Abi_set_fortran_info was called before, but may be called only once");
    fortran_info = Info::copy(info);
    return MPI_SUCCESS;
}

int mpi::Abi_get_fortran_info(MPI_Info *info) {
    *info = fortran_info != nullptr ? Info::copy(fortran_info)->handle() : MPI_INFO_NULL;
    return MPI_SUCCESS;
}

int mpi::Abi_set_fortran_booleans(int logical_size, void *logical_true, void *logical_false) {
    if (int code = check_logical_size(logical_size)) return code;
    if (logical_true == nullptr || logical_false == nullptr)
        return fail(MPI_ERR_ARG, "%s is a null pointer", logical_true == nullptr ? "logical_true" : "logical_false");
    if (fortran_booleans.bytes != 0)
        return fail(MPI_ERR_ABI, "MPI_Abi_set_fortran_booleans was called before, but may be called only once");
    fortran_booleans.bytes = logical_size;
    std::memcpy(fortran_booleans.true_value.data(), logical_true, static_cast<std::size_t>(logical_size));
    std::memcpy(fortran_booleans.false_value.data(), logical_false, static_cast<std::size_t>(logical_size));
    return MPI_SUCCESS;
}

int mpi::Abi_get_fortran_booleans(int logical_size, void *logical_true, void *logical_false, int *is_set) {
    if (int code = check_logical_size(logical_size)) return code;
    *is_set = fortran_booleans.bytes == logical_size;
    if (!*is_set) return MPI_SUCCESS;
    std::memcpy(logical_true, fortran_booleans.true_value.data(), static_cast<std::size_t>(logical_size));
    std::memcpy(logical_false, fortran_booleans.false_value.data(), static_cast<std::size_t>(logical_size));
    return MPI_SUCCESS;
}

} // namespace volley
