// SPDX-License-Identifier: BSD-3-Clause
/// Bytes as text, and texts of several fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace volley {

/// The parts between separators: one, if there is none.
inline std::vector<std::string> fields_of(std::string_view text, char separator) {
    std::vector<std::string> fields(1);
    for (const char letter : text)
        if (letter == separator)
            fields.emplace_back();
        else
            fields.back() += letter;
    return fields;
}

inline std::string to_hexadecimal(std::string_view bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const char byte : bytes) {
        text += digits[static_cast<unsigned char>(byte) >> 4];
        text += digits[static_cast<unsigned char>(byte) & 15];
    }
    return text;
}

/// Nothing if the text is something else.
inline std::optional<std::string> from_hexadecimal(std::string_view text) {
    const auto digit = [](char letter) {
        return letter >= '0' && letter <= '9' ? letter - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
    };
    if (text.size() % 2 != 0) return std::nullopt;
    std::string bytes;
    for (std::size_t at = 0; at < text.size(); at += 2) {
        const int high = digit(text[at]), low = digit(text[at + 1]);
        if (high < 0 || low < 0) return std::nullopt;
        bytes += static_cast<char>(high * 16 + low);
    }
    return bytes;
}

} // namespace volley
