// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Info_... (MPI 5.0, chapter 10), and hints on communicators (section 7.4.4).
#include "core/communicator.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/hints.h"
#include "core/info.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace volley {
namespace {

constexpr std::array<std::string_view, 5> assertions = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
};
constexpr std::string_view asserted_memory_kinds = "mpi_assert_memory_alloc_kinds";

int check_key(const char *key) {
    std::size_t length = strnlen(key, MPI_MAX_INFO_KEY);
    if (length == 0) return fail(MPI_ERR_INFO_KEY, "key is empty, but must have at least one character");
    if (length == MPI_MAX_INFO_KEY)
        return fail(MPI_ERR_INFO_KEY, "key '%.40s...' has more than the %d characters that MPI_MAX_INFO_KEY allows",
                    key, MPI_MAX_INFO_KEY - 1);
    return MPI_SUCCESS;
}

/// Copies as much as fits into `room` bytes, with a terminating zero.
void copy_string(std::string_view from, char *to, std::size_t room) {
    std::size_t length = std::min(from.size(), room - 1);
    std::memcpy(to, from.data(), length);
    to[length] = '\0';
}

void drop_hints(Communicator &communicator) {
    if (communicator.info == nullptr) return;
    Info::release(*communicator.info);
    communicator.info = nullptr;
}

bool is_hint(const Info::Entry &entry) {
    if (entry.key == asserted_memory_kinds) return true;
    return std::ranges::find(assertions, entry.key) != assertions.end() &&
           (entry.value == "true" || entry.value == "false");
}

} // namespace

void set_hints(Communicator &communicator, const Info *hints) {
    if (hints == nullptr) return;
    static const bool registered = (Communicator::on_release(drop_hints), true);
    static_cast<void>(registered);
    for (const Info::Entry &entry : hints->entries()) {
        if (!is_hint(entry)) continue;
        if (communicator.info == nullptr) communicator.info = Info::make();
        communicator.info->set(entry.key, entry.value);
    }
}

int mpi::Comm_set_info(Communicator &comm, Info *info) {
    set_hints(comm, info);
    return MPI_SUCCESS;
}

int mpi::Comm_get_info(Communicator &comm, MPI_Info *info_used) {
    Info *used = comm.info != nullptr ? Info::copy(comm.info) : Info::make();
    used->set(memory_kinds_key, memory_kinds);
    *info_used = used->handle();
    return MPI_SUCCESS;
}

int mpi::Info_create(MPI_Info *info) {
    *info = Info::make()->handle();
    return MPI_SUCCESS;
}

int mpi::Info_dup(Info *info, MPI_Info *newinfo) {
    *newinfo = Info::copy(info)->handle();
    return MPI_SUCCESS;
}

int mpi::Info_free(MPI_Info *info) {
    Info *named = Info::from_handle(*info);
    if (named == nullptr || *info == MPI_INFO_ENV)
        return fail(MPI_ERR_INFO, "info is %s, but must be an info object that this program has made",
                    *info == MPI_INFO_NULL  ? "MPI_INFO_NULL"
                    : *info == MPI_INFO_ENV ? "MPI_INFO_ENV"
                                            : "none, or one that was freed");
    Info::release(*named);
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

int mpi::Info_set(Info *info, const char *key, const char *value) {
    if (int code = check_key(key)) return code;
    if (strnlen(value, MPI_MAX_INFO_VAL) == MPI_MAX_INFO_VAL)
        return fail(MPI_ERR_INFO_VALUE,
                    "the value of '%s' has more than the %d characters that MPI_MAX_INFO_VAL allows", key,
                    MPI_MAX_INFO_VAL - 1);
    info->set(key, value);
    return MPI_SUCCESS;
}

int mpi::Info_delete(Info *info, const char *key) {
    if (int code = check_key(key)) return code;
    if (!info->remove(key)) return fail(MPI_ERR_INFO_NOKEY, "the info object has no key '%s' to be deleted", key);
    return MPI_SUCCESS;
}

int mpi::Info_get(Info *info, const char *key, int valuelen, char *value, int *flag) {
    if (int code = check_key(key)) return code;
    if (valuelen < 0) return fail(MPI_ERR_ARG, "valuelen is %d, but must not be negative", valuelen);
    const std::string *found = info->find(key);
    *flag = found != nullptr;
    // The terminating zero is not counted in valuelen.
    if (found != nullptr) copy_string(*found, value, static_cast<std::size_t>(valuelen) + 1);
    return MPI_SUCCESS;
}

int mpi::Info_get_string(Info *info, const char *key, int *buflen, char *value, int *flag) {
    if (int code = check_key(key)) return code;
    if (*buflen < 0) return fail(MPI_ERR_ARG, "buflen is %d, but must not be negative", *buflen);
    const std::string *found = info->find(key);
    *flag = found != nullptr;
    if (found == nullptr) return MPI_SUCCESS;
    if (*buflen > 0) {
        if (value == nullptr) return fail(MPI_ERR_ARG, "value is a null pointer, but buflen is %d", *buflen);
        copy_string(*found, value, static_cast<std::size_t>(*buflen));
    }
    // Here it is counted, before and after.
    *buflen = static_cast<int>(found->size()) + 1;
    return MPI_SUCCESS;
}

int mpi::Info_get_valuelen(Info *info, const char *key, int *valuelen, int *flag) {
    if (int code = check_key(key)) return code;
    const std::string *found = info->find(key);
    *flag = found != nullptr;
    if (found != nullptr) *valuelen = static_cast<int>(found->size());
    return MPI_SUCCESS;
}

int mpi::Info_get_nkeys(Info *info, int *nkeys) {
    *nkeys = static_cast<int>(info->entries().size());
    return MPI_SUCCESS;
}

int mpi::Info_get_nthkey(Info *info, int n, char *key) {
    int keys = static_cast<int>(info->entries().size());
    if (n < 0 || n >= keys)
        return fail(MPI_ERR_ARG, "n is %d, but the info object has %d keys, numbered from 0", n, keys);
    copy_string(info->entries()[static_cast<std::size_t>(n)].key, key, MPI_MAX_INFO_KEY);
    return MPI_SUCCESS;
}

} // namespace volley
