// SPDX-License-Identifier: BSD-3-Clause
/// Sleeping on sockets: for ranks whose messages come through descriptors as well as through memory.
///
/// Such a rank sleeps on two things: its set of descriptors, which the kernel watches, and its *wake-up socket*, to
/// which whoever changes memory for it sends a byte. Both stay ready until somebody reads them, so the order of
/// wait/sleep.h excludes lost wake-ups here, too: a byte that comes between the last look and the sleep ends the sleep.
///
/// One thread of a rank at a time sleeps here, and only that one takes bytes out of the wake-up socket; the others
/// sleep on the futex. Whoever looks at the descriptors (look()) does so with the rank's lock.
///
/// The wake-up socket is a datagram socket in Linux's abstract namespace, whose name the kernel chooses: a number,
/// which is in the rank's record. Whoever else writes to it makes the rank look in vain, no more.
///
/// Ranks without descriptors never open it, and pay one comparison when they go to sleep.
#pragma once

#include "boot/descriptor.h"
#include "boot/job.h"

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <span>

namespace volley {

class Descriptors {
  public:
    /// Makes the set and the wake-up socket, and writes its name into the record. Throws Error.
    void open(RankRecord &own);
    bool in_use() const {
        return static_cast<bool>(set_);
    }

    /// Watches a descriptor for those events (EPOLLIN, EPOLLOUT), which are found with this key. False if the system
    /// has no room for it.
    bool add(int descriptor, std::uint32_t events, std::uint64_t key);
    void change(int descriptor, std::uint32_t events, std::uint64_t key);
    void remove(int descriptor);

    /// What is ready now.
    std::span<const epoll_event> look();
    /// How often look() has found something. Where it has, a sleeper was not forgotten: the kernel had just not come
    /// to wake it.
    std::uint64_t found() const {
        return found_;
    }

    /// Whether this thread is the one that sleeps here, until it calls end_turn().
    bool take_turn() {
        return !taken_.exchange(true, std::memory_order_acq_rel);
    }
    void end_turn() {
        taken_.exchange(false, std::memory_order_acq_rel);
    }
    /// Sleeps until something is ready or `wake` is not `seen`. False if the time limit ended it.
    bool sleep(const std::atomic<std::uint32_t> &wake, std::uint32_t seen, const timespec &longest);

    /// Ends the sleep of the rank whose wake-up socket has this number.
    void wake_up(std::uint32_t number);

  private:
    Descriptor set_, wake_up_;
    std::uint64_t found_ = 0;
    epoll_event ready_[64];
    std::atomic<bool> taken_ = false;
};

extern Descriptors descriptors;

} // namespace volley
