// SPDX-License-Identifier: BSD-3-Clause
#include "boot/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstring>

namespace volley {
namespace {

constexpr std::size_t rounded(std::size_t bytes) {
    return (bytes + 3) / 4 * 4; // names and contents of notes are padded (System V ABI, "Note Section")
}

/// In the notes of a segment; 0 if it has no build id.
std::uint64_t build_id_among(const char *notes, std::size_t bytes) {
    for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
        ElfW(Nhdr) note;
        std::memcpy(&note, notes + at, sizeof note);
        const std::size_t content = at + sizeof note + rounded(note.n_namesz);
        std::uint64_t id = 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz >= sizeof id && content + sizeof id <= bytes) {
            std::memcpy(&id, notes + content, sizeof id);
            return id;
        }
        at = content + rounded(note.n_descsz);
    }
    return 0;
}

/// Looks at one loaded file; ends the walk at the one that holds this function.
int look(dl_phdr_info *file, std::size_t, void *found) {
    const auto here = reinterpret_cast<ElfW(Addr)>(&look);
    bool is_this = false;
    std::uint64_t id = 0;
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) &segment = file->dlpi_phdr[i];
        const ElfW(Addr) begin = file->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD) is_this |= here >= begin && here < begin + segment.p_memsz;
        if (segment.p_type == PT_NOTE && id == 0)
            id = build_id_among(reinterpret_cast<const char *>(begin), segment.p_memsz);
    }
    if (is_this) *static_cast<std::uint64_t *>(found) = id;
    return is_this;
}

} // namespace

std::uint64_t build_id() {
    std::uint64_t found = 0;
    dl_iterate_phdr(look, &found);
    return found;
}

} // namespace volley
