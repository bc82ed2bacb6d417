// SPDX-License-Identifier: BSD-3-Clause
#include "launch/initial_stack.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "boot/error.h"

namespace volley::launch {
namespace {

constexpr std::uint64_t mebi = 1 << 20;

/// As the kernel's stack_guard_gap: larger than the frames that skip over a single page.
constexpr std::uint64_t guard_bytes = mebi;
constexpr std::uint64_t default_bytes = 64 * mebi; ///< virtual; for RLIMIT_STACK "unlimited"
constexpr std::uint64_t least_bytes = mebi / 4;
constexpr std::uint64_t random_bytes = 16;

/// Writes downwards from the top of a stack.
class Pusher {
  public:
    explicit Pusher(std::uintptr_t top) : at_(top) {}

    std::uintptr_t bytes(const void *from, std::uint64_t count) {
        at_ -= count;
        std::memcpy(reinterpret_cast<void *>(at_), from, count);
        return at_;
    }
    std::uintptr_t text(const std::string &text) {
        return bytes(text.c_str(), text.size() + 1);
    }
    std::uintptr_t words(const std::vector<std::uint64_t> &words) {
        at_ = (at_ - words.size() * sizeof(std::uint64_t)) & ~std::uintptr_t{15}; // the ABI's alignment at the start
        std::memcpy(reinterpret_cast<void *>(at_), words.data(), words.size() * sizeof(std::uint64_t));
        return at_;
    }

  private:
    std::uintptr_t at_;
};

} // namespace

std::uint64_t stack_bytes(std::uint64_t string_bytes) {
    rlimit limit = {};
    std::uint64_t bytes = default_bytes;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        bytes = std::max<std::uint64_t>(limit.rlim_cur, least_bytes);
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return (bytes + string_bytes + page - 1) / page * page;
}

std::uintptr_t map_stack(std::uint64_t bytes, bool executable) {
    const int protection = PROT_READ | PROT_WRITE | (executable ? PROT_EXEC : 0);
    void *low =
        mmap(nullptr, guard_bytes + bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (low == MAP_FAILED || mprotect(low, guard_bytes, PROT_NONE) != 0)
        throw system_error("cannot map a stack of " + std::to_string(bytes / mebi) + " MiB (ulimit -s sets the size)");
    return reinterpret_cast<std::uintptr_t>(low) + guard_bytes + bytes;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> own_auxiliary_vector() {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> vector;
    const Descriptor file(open("/proc/self/auxv", O_RDONLY | O_CLOEXEC));
    Elf64_auxv_t entry;
    while (file && read(file.get(), &entry, sizeof(entry)) == sizeof(entry) && entry.a_type != AT_NULL)
        vector.emplace_back(entry.a_type, entry.a_un.a_val);
    if (vector.empty()) throw system_error("cannot read /proc/self/auxv");
    return vector;
}

InitialStack build_initial_stack(std::uintptr_t top, const std::vector<std::string> &arguments,
                                 const std::vector<std::string> &environment, const std::string &path,
                                 const MappedImage &program, std::uint16_t program_header_count,
                                 const MappedImage &interpreter,
                                 const std::vector<std::pair<std::uint64_t, std::uint64_t>> &own) {
    Pusher stack(top - sizeof(std::uint64_t)); // the kernel leaves a zero word at the very top, too
    const std::uintptr_t path_address = stack.text(path);
    char random[random_bytes];
    if (getrandom(random, sizeof(random), 0) != sizeof(random)) throw system_error("cannot get random bytes");
    const std::uintptr_t random_address = stack.bytes(random, sizeof(random));

    std::vector<std::uint64_t> words = {arguments.size()};
    for (const std::string &argument : arguments) words.push_back(stack.text(argument));
    words.push_back(0);
    for (const std::string &variable : environment) words.push_back(stack.text(variable));
    words.push_back(0);
    const std::pair<std::uint64_t, std::uint64_t> replaced[] = {
        {AT_PHDR, program.program_headers}, {AT_PHENT, sizeof(Elf64_Phdr)},
        {AT_PHNUM, program_header_count},   {AT_BASE, interpreter.base},
        {AT_ENTRY, program.entry},          {AT_EXECFN, path_address},
        {AT_RANDOM, random_address},        {AT_SECURE, 0},
    };
    const auto is_replaced = [&](std::uint64_t type) {
        return std::any_of(std::begin(replaced), std::end(replaced),
                           [&](const auto &entry) { return entry.first == type; });
    };
    for (const auto &[type, value] : own)
        if (!is_replaced(type) && type != AT_EXECFD) words.insert(words.end(), {type, value});
    for (const auto &[type, value] : replaced) words.insert(words.end(), {type, value});
    words.insert(words.end(), {AT_NULL, 0});
    return {stack.words(words), random_address};
}

} // namespace volley::launch
