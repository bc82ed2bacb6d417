// SPDX-License-Identifier: BSD-3-Clause
#include "launch/linked_mpi.h"

#include <elf.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>
#include <string_view>

#include "launch/environment.h"
#include "launch/machine.h"
#include "launch/mapped_file.h"

namespace volley::launch {
namespace {

struct KnownMpi {
    const char *library;
    const char *mpi;
    const char *launcher;
    bool of_other_language = false;
};
constexpr KnownMpi known[] = {
    {"libmpi_abi.so.1", "the standard ABI", ""},
    {"libmpi.so.40", "Open MPI", "Open MPI's mpirun"},
    {"libmpi_cxx.so.40", "Open MPI", "Open MPI's mpirun", true},
    {"libmpi_mpifh.so.40", "Open MPI", "Open MPI's mpirun", true},
    {"libmpi_usempif08.so.40", "Open MPI", "Open MPI's mpirun", true},
    {"libmpi_usempi_ignore_tkr.so.40", "Open MPI", "Open MPI's mpirun", true},
    {"libmpi.so.20", "Open MPI", "Open MPI's mpirun"},
    {"libmpi.so.1", "Open MPI", "Open MPI's mpirun"},
    {"libmpi.so.12", "MPICH or one of its family", "that MPI's mpiexec"},
    {"libmpich.so.12", "MPICH", "MPICH's mpiexec"},
    {"libmpifort.so.12", "MPICH or one of its family", "that MPI's mpiexec", true},
    {"libmpichfort.so.12", "MPICH", "MPICH's mpiexec", true},
    {"libmpich.so.10", "MPICH", "MPICH's mpiexec"},
    {"libmpi.so.0", "LAM", "LAM's mpirun"},
    {"liblam.so.0", "LAM", "LAM's mpirun"},
};

/// What the dynamic section of a file says of others.
struct Needs {
    std::vector<std::string> libraries;
    std::vector<std::string> folders; ///< to look in, of RUNPATH or RPATH
    bool run_path = false;            ///< they are of RUNPATH
};

void add_folders(std::vector<std::string> &folders, const std::string &list, const std::string &origin) {
    for (std::size_t begin = 0; begin <= list.size();) {
        const auto end = std::min(list.find(':', begin), list.size());
        std::string folder = list.substr(begin, end - begin);
        for (const std::string_view variable : {"$ORIGIN", "${ORIGIN}"})
            if (const auto at = folder.find(variable); at != std::string::npos)
                folder.replace(at, variable.size(), origin);
        if (!folder.empty()) folders.push_back(folder);
        begin = end + 1;
    }
}

/// The offset in the file of what will lie at an address; where segments leave it out, one outside the file.
std::uint64_t offset_of(const std::vector<Elf64_Phdr> &segments, std::uint64_t address) {
    for (const Elf64_Phdr &segment : segments)
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    return UINT64_MAX;
}

std::optional<Needs> read_needs(const std::string &path) {
    const MappedFile file(path);
    Elf64_Ehdr header = {};
    if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != elf_machine)
        return std::nullopt;
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    for (std::size_t i = 0; i < segments.size(); ++i)
        if (!file.read(header.e_phoff + i * sizeof(Elf64_Phdr), segments[i])) return std::nullopt;
    std::vector<Elf64_Dyn> entries;
    for (const Elf64_Phdr &segment : segments) {
        if (segment.p_type != PT_DYNAMIC) continue;
        Elf64_Dyn entry = {};
        for (std::uint64_t at = 0; at + sizeof entry <= segment.p_filesz; at += sizeof entry)
            if (file.read(segment.p_offset + at, entry)) entries.push_back(entry);
    }
    std::uint64_t strings = UINT64_MAX;
    for (const Elf64_Dyn &entry : entries)
        if (entry.d_tag == DT_STRTAB) strings = offset_of(segments, entry.d_un.d_ptr);
    Needs needs;
    if (strings == UINT64_MAX) return needs;
    const std::string origin = path.substr(0, path.rfind('/'));
    for (const Elf64_Dyn &entry : entries) {
        if (entry.d_tag == DT_RUNPATH) needs.run_path = true;
        if (entry.d_tag == DT_NEEDED) needs.libraries.push_back(file.text(strings + entry.d_un.d_val));
        if (entry.d_tag == DT_RUNPATH || entry.d_tag == DT_RPATH)
            add_folders(needs.folders, file.text(strings + entry.d_un.d_val), origin);
    }
    return needs;
}

/// The path with symbolic links followed; empty if there is no such file.
std::string real_path(const std::string &path) {
    char *real = realpath(path.c_str(), nullptr);
    std::string result = real != nullptr ? real : "";
    std::free(real);
    return result;
}

/// The first file of that name, with links followed; empty if there is none.
std::string look_in(const std::vector<std::string> &folders, const std::string &library) {
    for (const std::string &folder : folders)
        if (std::string real = real_path(folder + "/" + library); !real.empty()) return real;
    return {};
}

const KnownMpi *find_known(const std::string &library) {
    for (const KnownMpi &each : known)
        if (library == each.library) return &each;
    return nullptr;
}

} // namespace

std::vector<LinkedMpi> find_linked_mpis(const std::string &path, const std::vector<std::string> &environment,
                                        std::vector<std::string> *looked_at) {
    std::vector<std::string> common;
    add_folders(common, find_variable(environment, "LD_LIBRARY_PATH").value_or(""), "");
    for (const char *folder : {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib",
                               "/usr/lib", "/usr/local/lib"})
        common.emplace_back(folder);

    std::vector<LinkedMpi> found;
    const std::string program = real_path(path);
    std::vector<std::string> folders_of_program; // an RPATH holds for what libraries need as well
    std::deque<std::string> files = {program};
    std::set<std::string> seen;
    for (; !files.empty(); files.pop_front()) {
        const std::string &file = files.front();
        std::optional<Needs> needs = read_needs(file);
        if (!needs) continue;
        if (looked_at != nullptr) looked_at->push_back(file);
        std::vector<std::string> before_environment = needs->run_path ? std::vector<std::string>() : needs->folders;
        if (file == program) folders_of_program = before_environment;
        before_environment.insert(before_environment.end(), folders_of_program.begin(), folders_of_program.end());
        for (const std::vector<std::string> &more : {folders_of_program, common})
            needs->folders.insert(needs->folders.end(), more.begin(), more.end());
        for (const std::string &library : needs->libraries) {
            if (!seen.insert(library).second) continue;
            if (const KnownMpi *mpi = find_known(library); mpi != nullptr)
                found.push_back({library, mpi->mpi, mpi->launcher, file == program ? "" : file,
                                 !look_in(before_environment, library).empty(), mpi->of_other_language});
            else if (std::string real = look_in(needs->folders, library); !real.empty())
                files.push_back(real);
        }
    }
    return found;
}

} // namespace volley::launch
