// SPDX-License-Identifier: BSD-3-Clause
/// Carries the bytes of a connection (transport/tcp/connection.h) between two processes of different jobs on one host:
/// two rings of bytes, one for each direction, in memory that only these two have mapped.
///
/// Each end keeps its own position, and takes from the memory only the other's, which it checks: another job can spoil
/// what it says, and nothing else. What is read is copied out before anybody looks at it.
///
/// Who has written, or has made room that the other waits for, rings the other's doorbell (wait/doorbell.h). A writer
/// that finds no room says so, and looks once more; the reader makes room, and looks whether the writer waits. All four
/// are sequentially consistent, as with a doorbell.
#pragma once

#include "boot/job.h"
#include "boot/sealed_memory.h"
#include "wait/doorbell.h"

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace volley {

/// Positions are bytes since the beginning. They are on lines of their own, since two processes write them.
struct ByteRing {
    alignas(cache_line) std::atomic<std::uint64_t> written;
    alignas(cache_line) std::atomic<std::uint64_t> read;
    alignas(cache_line) std::atomic<std::uint32_t> writer_waits; ///< for room
};

/// At the beginning of the memory. The bytes of both rings follow, in this order.
struct SharedStreamHead {
    ByteRing forth, back;                  ///< from the end that has made it, and to it
    std::uint64_t forth_bytes, back_bytes; ///< each a power of two
};

class SharedStream {
  public:
    /// Makes the memory; `file` is for the other end. Nothing if the system has no room.
    static std::unique_ptr<SharedStream> make(std::size_t forth_bytes, std::size_t back_bytes, Descriptor &file);
    /// The other end. Nothing if the memory cannot be mapped, or makes no sense.
    static std::unique_ptr<SharedStream> map(const Descriptor &file);

    /// Who is at the other end. To be called before anything else.
    void introduce(OtherDoorbell other) {
        other_ = std::move(other);
    }

    /// Writes as much as there is room for; 0: the other end will ring once there is more.
    std::size_t write(std::span<const iovec> from);
    /// Reads what there is; 0: nothing.
    std::size_t read(std::span<const iovec> into);
    /// The other end has written a position that cannot be.
    bool is_broken() const {
        return is_broken_;
    }

  private:
    struct Way {
        ByteRing *ring = nullptr;
        char *bytes = nullptr;
        std::size_t capacity = 0;
        std::uint64_t position = 0; ///< of this end
    };

    SharedStream(SealedMemory memory, bool is_maker, std::size_t forth_bytes, std::size_t back_bytes);
    std::size_t room();

    SealedMemory memory_;
    OtherDoorbell other_;
    Way out_, in_;
    std::uint64_t taken_ = 0; ///< of what was written: as far as this end has looked
    bool is_broken_ = false;
};

} // namespace volley
