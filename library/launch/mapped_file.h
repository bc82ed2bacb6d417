// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "boot/descriptor.h"

namespace volley::launch {

/// A file in memory, to be read only. Empty if it cannot be.
class MappedFile {
  public:
    explicit MappedFile(const std::string &path) {
        const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
        struct stat facts = {};
        if (!file || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size <= 0) return;
        void *got = mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, file.get(), 0);
        if (got == MAP_FAILED) return;
        begin_ = static_cast<const char *>(got);
        bytes_ = static_cast<std::size_t>(facts.st_size);
    }
    MappedFile(const MappedFile &) = delete;
    MappedFile &operator=(const MappedFile &) = delete;
    ~MappedFile() {
        if (begin_ != nullptr) munmap(const_cast<char *>(begin_), bytes_);
    }

    /// False if it lies outside.
    template <typename Record> bool read(std::uint64_t offset, Record &record) const {
        if (offset > bytes_ || bytes_ - offset < sizeof(Record)) return false;
        std::memcpy(&record, begin_ + offset, sizeof(Record));
        return true;
    }
    /// Empty if it lies outside.
    [[nodiscard]] std::string text(std::uint64_t offset) const {
        if (offset >= bytes_) return {};
        return {begin_ + offset, strnlen(begin_ + offset, bytes_ - offset)};
    }

  private:
    const char *begin_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace volley::launch
