// SPDX-License-Identifier: BSD-3-Clause
#include "launch/elf_image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "boot/error.h"
#include "launch/machine.h"

namespace volley::launch {
namespace {

/// Nothing in the headers of a sane file is larger; a damaged one must not take all memory.
constexpr std::uint64_t most_header_bytes = 256 << 20;

std::uint64_t page_bytes() {
    static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

std::uint64_t page_down(std::uint64_t address) {
    return address & ~(page_bytes() - 1);
}

std::uint64_t page_up(std::uint64_t address) {
    return page_down(address + page_bytes() - 1);
}

int protection_of(std::uint32_t flags) {
    return ((flags & PF_R) ? PROT_READ : 0) | ((flags & PF_W) ? PROT_WRITE : 0) | ((flags & PF_X) ? PROT_EXEC : 0);
}

std::string real_path(const std::string &path) {
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
    if (!real) throw system_error("cannot follow the path " + path);
    return real.get();
}

template <typename Record> Record record_at(const std::vector<char> &bytes, std::size_t index) {
    Record record;
    std::memcpy(&record, bytes.data() + index * sizeof(Record), sizeof(Record));
    return record;
}

/// A text of the string table; empty if the index is outside.
std::string text_at(const std::vector<char> &strings, std::uint64_t index) {
    if (index >= strings.size()) return {};
    const char *begin = strings.data() + index;
    return {begin, strnlen(begin, strings.size() - index)};
}

std::string replace_all(std::string text, const std::string &what, const std::string &with) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
        text.replace(at, what.size(), with);
    return text;
}

bool has_text(const std::vector<char> &strings, const char *text) {
    // A whole text of the table begins after a zero.
    return std::string_view(strings.data(), strings.size()).find(std::string(1, '\0') + text) != std::string_view::npos;
}

/// gcc's sanitizers come as a shared library; clang's are inside the program, which exports their symbols; linked
/// statically by gcc they leave the hooks that a program may define.
std::string sanitizer_in(const std::vector<char> &strings) {
    static constexpr const char *names[][3] = {
        {"AddressSanitizer", "libasan.so", "__asan_init"},
        {"ThreadSanitizer", "libtsan.so", "__tsan_init"},
        {"MemorySanitizer", "libmsan.so", "__msan_init"},
        {"HWAddressSanitizer", "libhwasan.so", "__hwasan_init"},
        {"LeakSanitizer", "liblsan.so", "__lsan_init"},
        {"a sanitizer", "__sanitizer_symbolize_code", "__sanitizer_symbolize_data"},
    };
    for (const auto &[name, one, other] : names)
        if (has_text(strings, one) || has_text(strings, other)) return name;
    return {};
}

} // namespace

ElfImage::ElfImage(const std::string &path) : path_(real_path(path)) {
    file_ = Descriptor(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_) throw NotPlaceable(std::string("its file cannot be read: ") + std::strerror(errno));
    read_headers();
}

std::vector<char> ElfImage::read_file(std::uint64_t offset, std::uint64_t bytes) const {
    if (bytes > most_header_bytes) throw NotPlaceable("its ELF headers are damaged");
    std::vector<char> content(bytes);
    std::uint64_t done = 0;
    while (done < bytes) {
        const ssize_t got = pread(file_.get(), content.data() + done, bytes - done, static_cast<off_t>(offset + done));
        if (got <= 0) throw NotPlaceable("its ELF headers lead outside the file");
        done += static_cast<std::uint64_t>(got);
    }
    return content;
}

const ElfImage::Segment *ElfImage::segment_of(std::uint64_t address) const {
    for (const Segment &segment : segments_)
        if (address >= segment.address && address - segment.address < segment.file_bytes) return &segment;
    return nullptr;
}

std::vector<char> ElfImage::read_address(std::uint64_t address, std::uint64_t bytes) const {
    const Segment *segment = segment_of(address);
    if (segment == nullptr || bytes > segment->file_bytes - (address - segment->address))
        throw NotPlaceable("its ELF headers lead outside its segments");
    return read_file(segment->offset + (address - segment->address), bytes);
}

void ElfImage::read_headers() {
    struct stat facts = {};
    if (fstat(file_.get(), &facts) != 0) throw system_error("cannot look at " + path_);
    const auto available = std::min<std::uint64_t>(static_cast<std::uint64_t>(facts.st_size), sizeof(Elf64_Ehdr));
    std::vector<char> start = read_file(0, available);
    if (start.size() >= 2 && start[0] == '#' && start[1] == '!') throw NotPlaceable("it is a script");
    if (start.size() < sizeof(Elf64_Ehdr) || std::memcmp(start.data(), ELFMAG, SELFMAG) != 0)
        throw NotPlaceable("it is not an ELF file");
    const auto header = record_at<Elf64_Ehdr>(start, 0);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != elf_machine ||
        header.e_phentsize != sizeof(Elf64_Phdr))
        throw NotPlaceable("it is built for another architecture");
    if (header.e_type == ET_EXEC) throw NotPlaceable("it is not position-independent (link it with -pie)");
    if (header.e_type != ET_DYN) throw NotPlaceable("it is not a program");
    entry_ = header.e_entry;
    program_header_count_ = header.e_phnum;

    const std::vector<char> table = read_file(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
    std::uint64_t dynamic_address = 0;
    std::uint64_t dynamic_bytes = 0;
    alignment_ = page_bytes();
    low_ = UINT64_MAX;
    for (std::size_t index = 0; index < header.e_phnum; ++index) {
        const auto entry = record_at<Elf64_Phdr>(table, index);
        switch (entry.p_type) {
        case PT_LOAD:
            if (entry.p_memsz == 0) break;
            if (entry.p_memsz < entry.p_filesz || entry.p_vaddr + entry.p_memsz < entry.p_vaddr ||
                (entry.p_vaddr - entry.p_offset) % page_bytes() != 0)
                throw NotPlaceable("its ELF headers are damaged");
            segments_.push_back(
                {entry.p_offset, entry.p_vaddr, entry.p_filesz, entry.p_memsz, protection_of(entry.p_flags)});
            low_ = std::min(low_, page_down(entry.p_vaddr));
            high_ = std::max(high_, page_up(entry.p_vaddr + entry.p_memsz));
            if ((entry.p_align & (entry.p_align - 1)) == 0) alignment_ = std::max(alignment_, entry.p_align);
            if (header.e_phoff >= entry.p_offset && header.e_phoff - entry.p_offset < entry.p_filesz)
                program_headers_address_ = entry.p_vaddr + (header.e_phoff - entry.p_offset);
            break;
        case PT_INTERP:
            interpreter_ = text_at(read_file(entry.p_offset, entry.p_filesz), 0);
            break;
        case PT_GNU_STACK:
            executable_stack_ = (entry.p_flags & PF_X) != 0;
            break;
        case PT_DYNAMIC:
            dynamic_address = entry.p_vaddr;
            dynamic_bytes = entry.p_filesz;
            break;
        default:
            break;
        }
    }
    if (segments_.empty()) throw NotPlaceable("its ELF headers are damaged");
    if (dynamic_bytes != 0) read_dynamic(dynamic_address, dynamic_bytes);
}

void ElfImage::read_dynamic(std::uint64_t address, std::uint64_t bytes) {
    const std::vector<char> table = read_address(address, bytes);
    const std::size_t count = bytes / sizeof(Elf64_Dyn);
    std::uint64_t strings_bytes = 0;
    for (std::size_t index = 0; index < count; ++index) {
        const auto entry = record_at<Elf64_Dyn>(table, index);
        if (entry.d_tag == DT_STRTAB) strings_address_ = entry.d_un.d_ptr;
        if (entry.d_tag == DT_STRSZ) strings_bytes = entry.d_un.d_val;
    }
    if (strings_bytes == 0) return;
    const std::vector<char> strings = read_address(strings_address_, strings_bytes);
    sanitizer_ = sanitizer_in(strings);
    runs_python_ = has_text(strings, "Py_BytesMain") || has_text(strings, "Py_Main");

    const std::string origin = path_.substr(0, std::max<std::size_t>(path_.rfind('/'), 1));
    for (std::size_t index = 0; index < count; ++index) {
        const auto entry = record_at<Elf64_Dyn>(table, index);
        if (entry.d_tag != DT_RUNPATH && entry.d_tag != DT_RPATH && entry.d_tag != DT_NEEDED) continue;
        const std::string text = text_at(strings, entry.d_un.d_val);
        std::string expanded = replace_all(replace_all(text, "$ORIGIN", origin), "${ORIGIN}", origin);
        if (expanded == text) continue;
        run_paths_.push_back({address + index * sizeof(Elf64_Dyn) + offsetof(Elf64_Dyn, d_un), std::move(expanded)});
    }
}

MappedImage ElfImage::map() const {
    // Reserve the whole range, so that the segments keep their distances; aligned by cutting what is too much.
    const std::uint64_t bytes = high_ - low_;
    const std::uint64_t slack = alignment_ - page_bytes();
    void *reserved = mmap(nullptr, bytes + slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) throw system_error("cannot map " + path_);
    const auto begin = reinterpret_cast<std::uintptr_t>(reserved);
    const std::uintptr_t first = begin + ((low_ - begin) & (alignment_ - 1));
    const std::uintptr_t base = first - low_;
    if (first > begin) munmap(reserved, first - begin);
    if (first + bytes < begin + bytes + slack)
        munmap(reinterpret_cast<void *>(first + bytes), begin + bytes + slack - (first + bytes));

    std::uint64_t end = low_;
    for (const Segment &segment : segments_) {
        if (page_down(segment.address) > end) // holes between segments belong to nobody
            munmap(reinterpret_cast<void *>(base + end), page_down(segment.address) - end);
        map_segment(base, segment);
        end = std::max(end, page_up(segment.address + segment.memory_bytes));
    }
    point_run_paths(base);
    return {base, base + entry_, base + program_headers_address_};
}

void ElfImage::map_segment(std::uintptr_t base, const Segment &segment) const {
    const std::uint64_t begin = page_down(segment.address);
    const std::uint64_t file_end = segment.address + segment.file_bytes;
    const std::uint64_t end = page_up(segment.address + segment.memory_bytes);
    std::uint64_t mapped = begin;
    if (segment.file_bytes != 0) {
        mapped = page_up(file_end);
        if (mmap(reinterpret_cast<void *>(base + begin), mapped - begin, segment.protection, MAP_PRIVATE | MAP_FIXED,
                 file_.get(), static_cast<off_t>(segment.offset - (segment.address - begin))) == MAP_FAILED)
            throw system_error("cannot map " + path_);
        if (segment.memory_bytes > segment.file_bytes && (segment.protection & PROT_WRITE) != 0)
            std::memset(reinterpret_cast<void *>(base + file_end), 0, mapped - file_end);
    }
    if (end > mapped && mmap(reinterpret_cast<void *>(base + mapped), end - mapped, segment.protection,
                             MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        throw system_error("cannot map " + path_);
}

void ElfImage::point_run_paths(std::uintptr_t base) const {
    for (const RunPath &run_path : run_paths_) {
        // The dynamic linker adds the value to the string table's address, modulo 2^64: any text can be meant.
        const std::uint64_t value =
            reinterpret_cast<std::uintptr_t>(run_path.expanded.c_str()) - (base + strings_address_);
        const std::uintptr_t at = base + run_path.entry_address;
        const int protection = segment_of(run_path.entry_address)->protection;
        void *page = reinterpret_cast<void *>(page_down(at));
        const bool read_only = (protection & PROT_WRITE) == 0;
        if (read_only && mprotect(page, page_bytes(), protection | PROT_WRITE) != 0) continue;
        std::memcpy(reinterpret_cast<void *>(at), &value, sizeof(value));
        if (read_only) mprotect(page, page_bytes(), protection);
    }
}

} // namespace volley::launch
