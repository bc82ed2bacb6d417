// SPDX-License-Identifier: BSD-3-Clause
/// Versions, memory, clocks, and what machine this is (MPI 5.0, sections 9.1, 9.2 and 9.6).
#include "core/error.h"
#include "core/functions.h"
#include "core/info.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace volley {
namespace {

constexpr const char *library_version = "Volley " VOLLEY_VERSION ", MPI 5.0, standard ABI 1.0";

/// A cache line: what vector instructions like.
constexpr std::size_t usual_alignment = 64;

double seconds(const timespec &time) {
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The info key mpi_minimum_memory_alignment (MPI 5.0, section 9.2): a power of two; others are ignored.
std::size_t alignment_wanted(const Info *info) {
    const std::string *hint = info != nullptr ? info->find("mpi_minimum_memory_alignment") : nullptr;
    std::size_t wanted = 0;
    if (hint != nullptr) std::from_chars(hint->data(), hint->data() + hint->size(), wanted);
    return std::has_single_bit(wanted) ? std::max(wanted, usual_alignment) : usual_alignment;
}

} // namespace

int mpi::Get_version(int *version, int *subversion) {
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

int mpi::Get_library_version(char *version, int *resultlen) {
    std::size_t length = std::strlen(library_version);
    std::memcpy(version, library_version, length + 1);
    *resultlen = static_cast<int>(length);
    return MPI_SUCCESS;
}

int mpi::Get_processor_name(char *name, int *resultlen) {
    if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0) std::strcpy(name, "unknown");
    name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
    *resultlen = static_cast<int>(std::strlen(name));
    return MPI_SUCCESS;
}

/// Ranks of a job share a host, and with it its memory; of caches and NUMA nodes nothing is known.
int mpi::Get_hw_resource_info(MPI_Info *hw_info) {
    Info *made = Info::make();
    made->set("mpi_shared_memory", "true");
    *hw_info = made->handle();
    return MPI_SUCCESS;
}

double mpi::Wtime() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return seconds(now);
}

double mpi::Wtick() {
    timespec resolution;
    clock_getres(CLOCK_MONOTONIC, &resolution);
    return seconds(resolution);
}

int mpi::Alloc_mem(MPI_Aint size, Info *info, void *baseptr) {
    void *memory = nullptr;
    auto bytes = static_cast<std::size_t>(std::max<MPI_Aint>(size, 1));
    if (posix_memalign(&memory, alignment_wanted(info), bytes) != 0)
        return fail(MPI_ERR_NO_MEM, "there is no memory for %lld bytes", static_cast<long long>(size));
    *static_cast<void **>(baseptr) = memory;
    return MPI_SUCCESS;
}

int mpi::Free_mem(void *base) {
    std::free(base);
    return MPI_SUCCESS;
}

/// For profilers that put themselves in front of it (MPI 5.0, section 15.2.4).
int mpi::Pcontrol(int) {
    return MPI_SUCCESS;
}

} // namespace volley
