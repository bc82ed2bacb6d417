// SPDX-License-Identifier: BSD-3-Clause
#include "boot/handed_descriptors.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace volley {
namespace {

/// The control message that carries descriptors.
union Control {
    char bytes[CMSG_SPACE(most_handed * sizeof(int))];
    cmsghdr aligned;
};

} // namespace

ssize_t send_with_descriptors(const Descriptor &socket, const void *data, std::size_t bytes,
                              std::span<const int> descriptors, int flags) {
    iovec part{.iov_base = const_cast<void *>(data), .iov_len = bytes};
    Control control = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
    }
    return sendmsg(socket.get(), &message, flags | MSG_NOSIGNAL);
}

ssize_t receive_with_descriptors(const Descriptor &socket, void *data, std::size_t bytes,
                                 std::vector<Descriptor> &handed, int flags) {
    handed.clear();
    handed.reserve(most_handed);
    iovec part{.iov_base = data, .iov_len = bytes};
    Control control = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    const ssize_t got = recvmsg(socket.get(), &message, flags | MSG_CMSG_CLOEXEC);
    if (got < 0) return got;
    for (cmsghdr *header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        std::array<int, most_handed> numbers;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        std::memcpy(numbers.data(), CMSG_DATA(header), count * sizeof(int));
        for (std::size_t i = 0; i < count; i++) handed.emplace_back(numbers[i]);
    }
    return got;
}

} // namespace volley
