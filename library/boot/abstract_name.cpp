// SPDX-License-Identifier: BSD-3-Clause
#include "boot/abstract_name.h"

#include "boot/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>

namespace volley {
namespace {

constexpr std::size_t digits = 5;
constexpr socklen_t name_bytes = offsetof(sockaddr_un, sun_path) + 1 + digits;

} // namespace

AbstractName::AbstractName(std::uint32_t number) : bytes(name_bytes) {
    address.sun_family = AF_UNIX;
    std::array<char, digits + 1> text{};
    std::snprintf(text.data(), text.size(), "%05x", (number - 1) & 0xfffffU);
    std::copy_n(text.data(), digits, address.sun_path + 1);
}

std::uint32_t bind_to_any_name(const Descriptor &socket) {
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    socklen_t bytes = sizeof name;
    if (!socket || bind(socket.get(), reinterpret_cast<sockaddr *>(&name), sizeof name.sun_family) != 0 ||
        getsockname(socket.get(), reinterpret_cast<sockaddr *>(&name), &bytes) != 0)
        return 0;
    const char *begin = name.sun_path + 1, *end = begin + digits;
    std::uint32_t number = 0;
    if (bytes != name_bytes || std::from_chars(begin, end, number, 16).ptr != end)
        throw Error("the system has given a Unix socket a name of an unknown kind");
    return number + 1;
}

} // namespace volley
