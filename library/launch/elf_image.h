// SPDX-License-Identifier: BSD-3-Clause
/// An ELF file that can be mapped at any address, any number of times.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "boot/descriptor.h"

namespace volley::launch {

/// Why a file cannot be mapped many times into one address space. Not an error: its ranks are processes then.
class NotPlaceable : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Where one copy of an image lies, as the auxiliary vector wants it.
struct MappedImage {
    std::uintptr_t base; ///< what is added to the addresses in the file
    std::uintptr_t entry;
    std::uintptr_t program_headers;
};

/// The headers of a program or an interpreter, read and checked once; mapped once per rank.
class ElfImage {
  public:
    /// Throws NotPlaceable with the reason if the file is not a position-independent ELF file of this
    /// machine, or Error if it cannot be read. `path` is followed through symbolic links.
    explicit ElfImage(const std::string &path);

    [[nodiscard]] const std::string &path() const {
        return path_;
    }
    /// PT_INTERP; empty for a static program or an interpreter.
    [[nodiscard]] const std::string &interpreter() const {
        return interpreter_;
    }
    /// The sanitizer it was built with, e.g. "AddressSanitizer"; empty: none.
    [[nodiscard]] const std::string &sanitizer() const {
        return sanitizer_;
    }
    /// Whether it is Python's interpreter, or has one inside.
    [[nodiscard]] bool runs_python() const {
        return runs_python_;
    }
    /// Whether it asks for a stack that holds code.
    [[nodiscard]] bool executable_stack() const {
        return executable_stack_;
    }
    [[nodiscard]] std::uint16_t program_header_count() const {
        return program_header_count_;
    }

    /// Maps one more copy into this process at a fresh address, as the kernel would. Throws Error. The image
    /// must not be destroyed before the copy's rank has ended: its run path may lie here, see RunPath.
    [[nodiscard]] MappedImage map() const;

  private:
    struct Segment {
        std::uint64_t offset, address, file_bytes, memory_bytes;
        int protection;
    };

    /// The dynamic linker takes $ORIGIN in the program's own run path from /proc/self/exe, which is mpiexec
    /// in a shared address space. So each copy's dynamic entry is pointed at the expanded text.
    struct RunPath {
        std::uint64_t entry_address; ///< of the value in the dynamic section
        std::string expanded;
    };

    void read_headers();
    void read_dynamic(std::uint64_t address, std::uint64_t bytes);
    void map_segment(std::uintptr_t base, const Segment &segment) const;
    void point_run_paths(std::uintptr_t base) const;
    [[nodiscard]] const Segment *segment_of(std::uint64_t address) const;
    [[nodiscard]] std::vector<char> read_file(std::uint64_t offset, std::uint64_t bytes) const;
    [[nodiscard]] std::vector<char> read_address(std::uint64_t address, std::uint64_t bytes) const;

    std::string path_;
    Descriptor file_;
    std::uint64_t entry_ = 0;
    std::uint64_t program_headers_address_ = 0;
    std::uint16_t program_header_count_ = 0;
    std::uint64_t low_ = 0; ///< of the segments, whole pages
    std::uint64_t high_ = 0;
    std::uint64_t alignment_ = 0;
    std::vector<Segment> segments_;
    std::string interpreter_;
    std::string sanitizer_;
    bool runs_python_ = false;
    bool executable_stack_ = false;
    std::uint64_t strings_address_ = 0;
    std::vector<RunPath> run_paths_;
};

} // namespace volley::launch
