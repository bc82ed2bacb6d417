// SPDX-License-Identifier: BSD-3-Clause
#include "launch/check.h"

#include <elf.h>

#include <set>
#include <string_view>

#include "boot/error.h"
#include "launch/environment.h"
#include "launch/faces.h"
#include "launch/mapped_file.h"
#include "launch/program.h"
#include "tools/json.h"

namespace volley::launch {
namespace {

using Names = std::set<std::string>;

struct Symbols {
    Names needed, defined; ///< of MPI
};

/// Functions of MPI, as C and Fortran call them.
bool is_of_mpi(std::string_view name) {
    for (const std::string_view start : {"MPI_", "PMPI_", "MPIX_", "mpi_", "pmpi_"})
        if (name.starts_with(start)) return true;
    return false;
}

Symbols read_symbols(const std::string &path) {
    Symbols symbols;
    const MappedFile file(path);
    Elf64_Ehdr header = {};
    if (!file.read(0, header)) return symbols;
    std::vector<Elf64_Shdr> sections(header.e_shnum);
    for (std::size_t i = 0; i < sections.size(); ++i)
        if (!file.read(header.e_shoff + i * sizeof(Elf64_Shdr), sections[i])) return symbols;
    for (const Elf64_Shdr &section : sections) {
        if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
        Elf64_Sym symbol = {};
        for (std::uint64_t at = 0; at + sizeof symbol <= section.sh_size; at += sizeof symbol) {
            if (!file.read(section.sh_offset + at, symbol)) break;
            const std::string name = file.text(sections[section.sh_link].sh_offset + symbol.st_name);
            if (!is_of_mpi(name) || (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT)) continue;
            (symbol.st_shndx == SHN_UNDEF ? symbols.needed : symbols.defined).insert(name);
        }
    }
    return symbols;
}

/// The libraries of this installation in which the functions of such an MPI are found.
std::vector<std::string> providers(const std::vector<LinkedMpi> &mpis) {
    std::vector<std::string> files;
    const std::string beside = faces_folder() + "/..";
    for (const LinkedMpi &mpi : mpis) {
        if (!mpi.launcher.empty())
            files.push_back(faces_folder() + "/" + mpi.library);
        else
            files.insert(files.end(), {beside + "/libmpi_abi.so.1", beside + "/libvolley_fortran.so.1"});
    }
    return files;
}

void write_names(view::Json &json, const char *key, const Names &names) {
    json.key(key).begin_array();
    for (const std::string &name : names) json.value(name);
    json.end_array();
}

void write_functions(view::Json &json, const std::vector<LinkedMpi> &mpis, const std::vector<std::string> &files) {
    Names needed, defined, missing;
    for (const std::string &file : files) {
        if (file.find("/libvolley_fortran.so") != std::string::npos) continue; // it needs everything
        const Symbols symbols = read_symbols(file);
        needed.insert(symbols.needed.begin(), symbols.needed.end());
        defined.insert(symbols.defined.begin(), symbols.defined.end()); // a tool's own, for example
    }
    for (const std::string &file : providers(mpis)) defined.merge(read_symbols(file).defined);
    for (const std::string &name : needed) {
        if (!defined.contains(name)) missing.insert(name);
    }
    json.key("functions").value(needed.size());
    write_names(json, "missing", missing);
}

void write_environment(view::Json &json, const std::vector<std::string> &environment) {
    json.key("environment").begin_object();
    for (const char *name : {"LD_LIBRARY_PATH", "LD_PRELOAD", "MPI4PY_LIBMPI"})
        if (const auto value = find_variable(environment, name)) json.key(name).value(*value);
    json.end_object();
}

} // namespace

std::string check_text(const CommandLine &line) {
    const Application application = line.applications.empty() ? Application() : line.applications.front();
    std::vector<std::string> environment = application_environment(line, application);
    offer_faces(environment);
    view::Json json;
    json.begin_object();
    if (!line.applications.empty()) {
        std::string problem;
        Program program;
        try {
            program = find_program(application.program, application.directory, environment);
        } catch (const Error &error) {
            if (error.status() == ExitStatus::not_found) throw;
            problem = error.what();
        }
        const std::string path = program.path.empty() ? application.program : program.path;
        std::vector<std::string> files;
        const std::vector<LinkedMpi> mpis = find_linked_mpis(path, environment, &files);
        preload_faces(environment, faces_behind_run_path(program.mpis));
        json.key("program").value(path);
        json.key("problem").value(problem);
        json.key("shared").value(program.image != nullptr);
        json.key("reason").value(program.reason);
        json.key("mpis").begin_array();
        for (const LinkedMpi &mpi : mpis) {
            json.begin_object();
            json.key("library").value(mpi.library);
            json.key("mpi").value(mpi.mpi);
            json.key("needed_by").value(mpi.through.empty() ? path : mpi.through);
            json.key("face").value(!mpi.launcher.empty() && has_face(mpi.library) ? faces_folder() + "/" + mpi.library
                                                                                  : std::string());
            json.end_object();
        }
        json.end_array();
        write_functions(json, mpis, files);
    }
    write_environment(json, environment);
    json.end_object();
    return json.text() + "\n";
}

} // namespace volley::launch
