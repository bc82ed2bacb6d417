// SPDX-License-Identifier: BSD-3-Clause
#include "fortran/copies.h"

#include <mutex>
#include <unordered_map>

namespace volley::fortran {

std::atomic<int> requests_with_copies{0};

namespace {

struct Kept {
    std::vector<SectionCopy> copies;
    bool persistent;
    bool active;
};

std::mutex mutex;

std::unordered_map<MPI_Request, Kept> &all_kept() {
    static auto *all = new std::unordered_map<MPI_Request, Kept>; // requests may be completed at the very end
    return *all;
}

void erase(MPI_Request request) {
    all_kept().erase(request);
    requests_with_copies.store(static_cast<int>(all_kept().size()), std::memory_order_relaxed);
}

} // namespace

void SectionCopy::make() {
    copy_ = std::make_unique_for_overwrite<char[]>(section_bytes(array_));
    address_ = copy_.get();
    read(); // results as well: what is not written stays as it was
}

void keep_copies(MPI_Request request, bool persistent, std::initializer_list<SectionCopy *> copies) {
    const std::lock_guard lock(mutex);
    Kept kept{{}, persistent, !persistent};
    for (SectionCopy *copy : copies)
        if (copy->is_copy()) kept.copies.push_back(std::move(*copy));
    erase(request);
    all_kept().emplace(request, std::move(kept));
    requests_with_copies.store(static_cast<int>(all_kept().size()), std::memory_order_relaxed);
}

void start_copies(MPI_Request request) {
    const std::lock_guard lock(mutex);
    const auto found = all_kept().find(request);
    if (found == all_kept().end()) return;
    for (SectionCopy &copy : found->second.copies) copy.read();
    found->second.active = true;
}

void finish_copies(MPI_Request before, MPI_Request now) {
    const std::lock_guard lock(mutex);
    const auto found = all_kept().find(before);
    if (found == all_kept().end()) return;
    Kept &kept = found->second;
    int complete = now == MPI_REQUEST_NULL;
    // A persistent request keeps its handle; others may be complete without anybody having completed them.
    if (complete == 0 && kept.active) PMPI_Request_get_status(now, &complete, MPI_STATUS_IGNORE);
    if (complete != 0 && kept.active) {
        for (const SectionCopy &copy : kept.copies) copy.write_back();
        kept.active = false;
    }
    if (now != MPI_REQUEST_NULL) return;
    for (SectionCopy &copy : kept.copies) copy.drop();
    erase(before);
}

void forget_copies(MPI_Request request) {
    const std::lock_guard lock(mutex);
    const auto found = all_kept().find(request);
    if (found == all_kept().end()) return;
    for (SectionCopy &copy : found->second.copies) {
        if (found->second.active)
            copy.abandon();
        else
            copy.drop();
    }
    erase(request);
}

} // namespace volley::fortran
