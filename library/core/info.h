// SPDX-License-Identifier: BSD-3-Clause
/// Info objects: ordered pairs of a key and a value.
#pragma once

#include "core/object.h"

#include <mpi.h>

#include <string>
#include <string_view>
#include <vector>

namespace volley {

class Info final : public Object {
  public:
    static constexpr Mark kind = Mark::information;

    struct Entry {
        std::string key, value;
    };

    /// An empty one, with one reference.
    static Info *make();
    /// A new one with the same pairs; nullptr for nullptr.
    static Info *copy(const Info *original);
    /// MPI_INFO_ENV: how this program was started. Filled by boot; lives as long as the library.
    static Info &environment();

    /// nullptr for MPI_INFO_NULL and for what is no info object.
    static Info *from_handle(MPI_Info handle);
    MPI_Info handle();

    /// The value of a key, or nullptr.
    const std::string *find(std::string_view key) const;
    /// Replaces the value, or appends the pair.
    void set(std::string_view key, std::string_view value);
    /// False if there is no such key.
    bool remove(std::string_view key);

    const std::vector<Entry> &entries() const {
        return entries_;
    }

    /// Gives one reference back; the last destroys the object.
    static void release(Info &info);

  private:
    friend class Pool<Info>;
    Info() : Object(Mark::information) {}
    ~Info() = default;

    std::vector<Entry> entries_;
};

} // namespace volley
