// SPDX-License-Identifier: BSD-3-Clause
/// The protocol of a TCP connection between two ranks.
///
/// A connection belongs to one sender and one receiver of messages; the sender makes it. First the two prove to each
/// other that they know the job's secret or, between jobs, that of their connection (boot/proof/handshake.h). Frames
/// follow, each a FrameHeader and, for some kinds, a payload of `bytes` bytes. The sender sends:
///
///     eager     a message, whole: its payload follows
///     request   a message is announced that has `bytes` bytes; `id` is its number from here on, never used again
///     data      the next part of message `id`: its payload follows
///     cancel    message `id` shall not be received, if that is still possible
///     withdrawn message `id`, which was asked for, will not come: its communicator, with that context, was revoked or
///               has lost a member
///     departed  `bytes` members of the communicator with that context, which the receiver's node has drawn, have left
///
/// The receiver sends, on the same connection:
///
///     pull      message `id` has been matched, and its first `bytes` bytes may be sent. If `tag` is 1, no more are
///               wanted; if it is 0, further pulls say how far the sender may go on (grants.h)
///     credit    eager messages that took `bytes` bytes of the sender's credit have been received
///     limit     eager messages of up to `bytes` bytes are welcome from now on (grants.h)
///     cancelled message `id` will not be received
///
/// Both send, last of all:
///
///     leaving   the rank ends: from now on, a closed connection is no error
///
/// With the transport fabric both send, first of all on the socket, `fabric`: a FabricIntroduction follows. All frames
/// but `leaving` then go by libfabric (transport/fabric/fabric.h), and the data of messages without frames: `pull` says
/// with which tags, from `name` on. `leaving` goes both ways; who has handled the one that came behind all others says
/// `taken` on the socket.
///
/// Between processes of different jobs on one host, the two hand each other memory right behind the handshake
/// (transport/tcp/handover.h). The same frames then go through it, but `limit`, and each `pull` asks for all.
///
/// Messages are matched in the order of their eager and request frames. The data of several messages may take turns.
///
/// A communicator whose members are of several jobs has a context with a name, which each node numbers for itself:
/// eager and request carry the name then, and of the number its lowest bit, the kind of traffic.
///
/// All hosts have the same byte order.
#pragma once

#include "transport/process.h"

#include <cstddef>
#include <cstdint>

namespace volley::wire {

/// "VOLTCP", version 7: what a handshake is for (HandshakeEnds).
inline constexpr std::uint64_t protocol = 0x0750'4354'4c4f'5600;

enum class FrameKind : std::uint32_t {
    eager = 1,
    request = 2,
    data = 3,
    cancel = 4,
    pull = 5,
    credit = 6,
    cancelled = 7,
    departed = 8,
    leaving = 9,
    fabric = 10,
    taken = 11,
    withdrawn = 12,
    limit = 13,
};

struct FrameHeader {
    FrameKind kind;
    std::uint32_t context = 0; ///< of eager and request, as are source and tag
    std::int32_t source = 0;
    std::int32_t tag = 0;
    std::uint64_t bytes = 0;
    std::uint64_t id = 0;   ///< not 0 where there is one
    std::uint64_t name = 0; ///< of the context; 0: it has none
};

static_assert(sizeof(FrameHeader) == 40);

/// How to reach a rank's endpoint of libfabric.
struct FabricIntroduction {
    std::uint64_t token; ///< for messages of this connection
    char provider[32];   ///< with a zero byte behind
    std::uint32_t address_bytes;
    unsigned char address[260];
};

static_assert(sizeof(FabricIntroduction) == 304);

/// The longest message that is sent eagerly, if the receiver has said nothing, and if it is alone with this sender.
inline constexpr std::uint64_t usual_eager = 16384;
inline constexpr std::uint64_t largest_eager = 65536;
/// The longest eager message that goes through a buffer where two processes share memory. Longer ones go straight to
/// their place.
inline constexpr std::uint64_t longest_whole_in_memory = 1024;
/// The longest payload of a data frame.
inline constexpr std::uint64_t largest_data = 1 << 20;

/// How much a sender may have sent eagerly to one receiver before the receiver has received it: payloads and headers.
inline constexpr std::uint64_t eager_credit = 4 << 20;
/// The receiver gives credit back in portions of so many bytes, or more.
inline constexpr std::uint64_t credit_portion = eager_credit / 4;

inline constexpr std::uint64_t eager_cost(std::uint64_t bytes) {
    return sizeof(FrameHeader) + bytes;
}

/// No message is longer than a signed number of bytes can say.
inline constexpr std::uint64_t largest_message = UINT64_MAX / 2;

/// Whether a header by itself makes sense.
inline constexpr bool is_sensible(const FrameHeader &header) {
    switch (header.kind) {
    case FrameKind::eager:
        return header.bytes <= largest_eager;
    case FrameKind::request:
        return header.id != 0 && header.bytes <= largest_message;
    case FrameKind::pull:
        return header.id != 0 && header.bytes <= largest_message &&
               (header.tag == 1 || (header.tag == 0 && header.bytes > 0));
    case FrameKind::data:
        return header.id != 0 && header.bytes > 0 && header.bytes <= largest_data;
    case FrameKind::limit:
        return header.bytes <= largest_eager;
    case FrameKind::credit:
        return header.bytes > 0 && header.bytes <= eager_credit;
    case FrameKind::cancel:
    case FrameKind::cancelled:
    case FrameKind::withdrawn:
        return header.id != 0;
    case FrameKind::departed:
        return header.bytes > 0;
    case FrameKind::fabric:
        return header.bytes == sizeof(FabricIntroduction);
    case FrameKind::leaving:
    case FrameKind::taken:
        return true;
    }
    return false;
}

/// Whether the payload is handled as it comes. That of others has to be there as a whole. Where reading again costs
/// little, eager messages above `longest_whole` are handled so.
inline constexpr bool comes_in_parts(const FrameHeader &header, std::uint64_t longest_whole = usual_eager) {
    return header.kind == FrameKind::data || (header.kind == FrameKind::eager && header.bytes > longest_whole);
}

/// What follows the header at once.
inline constexpr std::uint64_t payload_bytes(const FrameHeader &header) {
    return header.kind == FrameKind::eager || header.kind == FrameKind::fabric ? header.bytes : 0;
}

} // namespace volley::wire
