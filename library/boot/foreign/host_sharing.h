// SPDX-License-Identifier: BSD-3-Clause
/// How the ranks that a foreign launcher has started on a host come to share memory: the first of them waits for the
/// others at a socket (boot/foreign/host_socket.h), and hands each of them the arena's file, and the sockets where that
/// rank takes connections if there are several hosts. Everybody knows how many ranks come; if one ends before, the
/// launcher ends the job.
#pragma once

#include "boot/descriptor.h"
#include "boot/job.h"

#include <cstdint>
#include <string>
#include <vector>

namespace volley {

/// What a rank is given.
struct Handed {
    Descriptor arena;
    std::uint64_t address = 0;         ///< where the arena is mapped
    std::vector<Descriptor> listeners; ///< empty: all ranks are on one host
};

/// The end of the first rank.
class HostFirst {
  public:
    struct Guest {
        int rank;
        std::string processors; ///< allowed_list() of its process
        Descriptor socket;
    };

    HostFirst();
    /// The number of its socket.
    [[nodiscard]] std::uint32_t number() const {
        return number_;
    }
    /// Waits until so many others have come. Throws Error.
    std::vector<Guest> receive_guests(std::size_t count);
    /// `listeners` may be empty. Throws Error.
    static void hand(const Guest &guest, int arena, std::uint64_t address, const std::vector<Descriptor> &listeners);

  private:
    std::uint32_t number_ = 0;
    Descriptor listener_;
};

/// The end of the others.
class HostGuest {
  public:
    /// Goes to the first rank. Throws Error.
    HostGuest(std::uint32_t number, int rank, const std::string &processors);
    /// Waits for the first rank. Throws Gone if that has ended, or Error.
    Handed receive();

  private:
    Descriptor socket_;
};

} // namespace volley
