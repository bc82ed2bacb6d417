// SPDX-License-Identifier: BSD-3-Clause
#include "boot/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace volley {
namespace {

constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;

} // namespace

SealedMemory::~SealedMemory() {
    if (address_) munmap(address_, bytes_);
}

SealedMemory SealedMemory::make(const char *name, std::size_t bytes, Descriptor &file) {
    Descriptor made(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!made || ftruncate(made.get(), static_cast<off_t>(bytes)) != 0 ||
        fcntl(made.get(), F_ADD_SEALS, size_seals | F_SEAL_SEAL) != 0)
        return {};
    file = std::move(made);
    return map_all(file, bytes);
}

SealedMemory SealedMemory::map(const Descriptor &file, std::size_t least) {
    struct stat about = {};
    const int seals = fcntl(file.get(), F_GET_SEALS);
    if (seals < 0 || (seals & size_seals) != size_seals || fstat(file.get(), &about) != 0 || about.st_size < 0)
        return {};
    const auto bytes = static_cast<std::size_t>(about.st_size);
    return bytes < least ? SealedMemory() : map_all(file, bytes);
}

/// A core file need not have it: what is in it is on its way, and the ends have their own words for that.
SealedMemory SealedMemory::map_all(const Descriptor &file, std::size_t bytes) {
    void *got = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
    if (got == MAP_FAILED) return {};
    madvise(got, bytes, MADV_DONTDUMP);
    return {got, bytes};
}

} // namespace volley
