// SPDX-License-Identifier: BSD-3-Clause
#include "core/info.h"

#include <algorithm>

namespace volley {
namespace {

Pool<Info> pool;

} // namespace

Info *Info::make() {
    return pool.make();
}

Info *Info::copy(const Info *original) {
    if (original == nullptr) return nullptr;
    Info *made = make();
    made->entries_ = original->entries_;
    return made;
}

Info *Info::from_handle(MPI_Info handle) {
    if (handle == MPI_INFO_ENV) return &environment();
    return object_of<Info>(handle);
}

MPI_Info Info::handle() {
    return this == &environment() ? MPI_INFO_ENV : reinterpret_cast<MPI_Info>(this);
}

const std::string *Info::find(std::string_view key) const {
    auto found = std::ranges::find(entries_, key, &Entry::key);
    return found != entries_.end() ? &found->value : nullptr;
}

void Info::set(std::string_view key, std::string_view value) {
    auto found = std::ranges::find(entries_, key, &Entry::key);
    if (found != entries_.end())
        found->value = value;
    else
        entries_.push_back({std::string(key), std::string(value)});
}

bool Info::remove(std::string_view key) {
    auto found = std::ranges::find(entries_, key, &Entry::key);
    if (found == entries_.end()) return false;
    entries_.erase(found);
    return true;
}

void Info::release(Info &info) {
    if (static_cast<Object &>(info).release()) pool.destroy(&info);
}

} // namespace volley
