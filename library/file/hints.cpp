// SPDX-License-Identifier: BSD-3-Clause
#include "file/hints.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace volley {
namespace {

std::optional<Count> number(const std::string *text, int base = 10) {
    if (text == nullptr) return std::nullopt;
    Count value = 0;
    auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value, base);
    if (error != std::errc() || end != text->data() + text->size() || value <= 0) return std::nullopt;
    return value;
}

/// Of a buffer. A larger one is made as large as allowed, and told so.
void take_bytes(const Info &info, const char *key, Count &value) {
    constexpr Count most = Count{1} << 30;
    if (auto given = number(info.find(key))) value = std::min(*given, most);
}

void take_choice(const Info &info, const char *key, Choice &choice) {
    const std::string *given = info.find(key);
    if (given == nullptr) return;
    if (*given == "automatic") choice = Choice::automatic;
    if (*given == "enable") choice = Choice::enable;
    if (*given == "disable") choice = Choice::disable;
}

const char *text_of(Choice choice) {
    switch (choice) {
    case Choice::enable:
        return "enable";
    case Choice::disable:
        return "disable";
    default:
        return "automatic";
    }
}

} // namespace

void FileHints::take(const Info *info) {
    if (info == nullptr) return;
    if (const std::string *both = info->find("collective_buffering"); both != nullptr) {
        if (*both == "true") collect_reads = collect_writes = Choice::enable;
        if (*both == "false") collect_reads = collect_writes = Choice::disable;
    }
    if (auto given = number(info->find("cb_nodes"))) aggregators = static_cast<int>(std::min<Count>(*given, INT32_MAX));
    take_bytes(*info, "cb_buffer_size", buffer_bytes);
    take_choice(*info, "romio_cb_read", collect_reads);
    take_choice(*info, "romio_cb_write", collect_writes);
    take_choice(*info, "romio_ds_read", sieve_reads);
    take_bytes(*info, "ind_rd_buffer_size", sieve_bytes);
    if (auto given = number(info->find("file_perm"), 8)) permissions = static_cast<int>(*given & 07777);
}

void FileHints::tell(Info &info) const {
    if (aggregators > 0) info.set("cb_nodes", std::to_string(aggregators));
    info.set("cb_buffer_size", std::to_string(buffer_bytes));
    info.set("romio_cb_read", text_of(collect_reads));
    info.set("romio_cb_write", text_of(collect_writes));
    info.set("romio_ds_read", text_of(sieve_reads));
    info.set("romio_ds_write", "disable"); // bytes that nobody has written are never written
    info.set("ind_rd_buffer_size", std::to_string(sieve_bytes));
}

} // namespace volley
