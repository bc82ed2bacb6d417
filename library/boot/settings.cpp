// SPDX-License-Identifier: BSD-3-Clause
#include "boot/settings.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "boot/error.h"

namespace volley {
namespace {

/// A ring holds four of the longest messages; there may be one from each rank to each other.
constexpr std::uint32_t largest_eager_limit = 1 << 20;

std::optional<std::uint32_t> read_bytes(const char *name, std::uint32_t largest) {
    const char *text = std::getenv(name);
    if (text == nullptr || *text == '\0') return {};
    const std::string_view digits = text;
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    if (error != std::errc() || end != digits.end() || value > largest)
        throw Error(std::string("environment variable ") + name + " is '" + text +
                    "': it must be a number of bytes from 0 to " + std::to_string(largest) + ", or not be set");
    return value;
}

} // namespace

Settings read_settings() {
    Settings settings;
    const char *check = std::getenv("VOLLEY_CHECK");
    settings.checking = check != nullptr && *check != '\0' && std::string_view(check) != "0";
    settings.eager_limit = read_bytes("VOLLEY_EAGER_LIMIT", largest_eager_limit);
    return settings;
}

std::string Settings::text(bool shared) const {
    return "VOLLEY_CHECK=" + std::to_string(static_cast<int>(checking)) +
           "  1: ranks compare what they are about to do in collective operations\n"
           "VOLLEY_EAGER_LIMIT=" +
           std::to_string(eager_limit_to(shared)) + "  longer messages wait for their receiver (bytes)\n";
}

} // namespace volley
