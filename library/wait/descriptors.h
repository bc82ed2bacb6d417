// SPDX-License-Identifier: BSD-3-Clause
/// Sleeping on sockets, for ranks whose messages come through descriptors as well as through memory.
///
/// Such a rank sleeps on two things: its set of descriptors, which the kernel watches, and its *wake-up socket*. A rank
/// that changes memory for the sleeper sends a byte to that socket. Both stay ready until somebody reads them, so the
/// order of wait/sleep.h excludes lost wake-ups here, too: a byte that comes between the last look and the sleep ends
/// the sleep.
///
/// Only one thread of a rank at a time sleeps here, and only that thread takes bytes out of the wake-up socket; the
/// others sleep on the futex. A thread that looks at the descriptors (look()) holds the rank's lock.
///
/// The wake-up socket is a datagram socket in Linux's abstract namespace. The kernel chooses its name, a number, which
/// is in the rank's record. A stranger that writes to it only makes the rank look in vain.
///
/// Ranks without descriptors never open the socket, and pay one comparison when they go to sleep.
#pragma once

#include "boot/descriptor.h"
#include "boot/job.h"

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <span>

namespace volley {

class Doorbell;

class Descriptors {
  public:
    /// Makes the set and the wake-up socket, and writes the socket's name into the record. Throws Error.
    void open(RankRecord &own);
    bool in_use() const {
        return static_cast<bool>(set_);
    }

    /// Watches a descriptor for those events (EPOLLIN, EPOLLOUT); look() returns them with this key. False if the
    /// system has no room for it.
    bool add(int descriptor, std::uint32_t events, std::uint64_t key);
    void change(int descriptor, std::uint32_t events, std::uint64_t key);
    void remove(int descriptor);

    /// The events that are ready now.
    std::span<const epoll_event> look();
    /// How often look() has found something. If that has changed, a sleeper was not forgotten: the kernel had just not
    /// woken it yet.
    std::uint64_t found() const {
        return found_;
    }

    /// Makes this thread the one that sleeps here, until it calls end_turn(). False if another thread already is.
    bool take_turn() {
        return !taken_.exchange(true, std::memory_order_acq_rel);
    }
    void end_turn() {
        taken_.exchange(false, std::memory_order_acq_rel);
    }
    /// Sleeps until something is ready or `wake` is not `seen`. False if the time limit ended it.
    bool sleep(const std::atomic<std::uint32_t> &wake, std::uint32_t seen, const timespec &longest);

    /// Before each sleep this is asked whether a descriptor that is watched will end it; if not, sleep() returns. It is
    /// called without the rank's lock.
    void ask_before_sleep(bool (*may_sleep)()) {
        may_sleep_ = may_sleep;
    }

    /// The same of a doorbell, by which others end the sleep (wait/doorbell.h).
    void ask_doorbell(Doorbell &own) {
        doorbell_.store(&own, std::memory_order_release);
    }
    /// Somebody has sent a byte to end the sleep, which has not been read.
    bool has_unread_byte() const;

    /// Ends the sleep of the rank whose wake-up socket has this number.
    void wake_up(std::uint32_t number);
    /// For a process that only wakes others, as the launcher: makes the socket that wake_up() sends by. Without one
    /// (false), ranks that sleep on descriptors are not woken.
    bool open_to_wake();

  private:
    Descriptor set_, wake_up_;
    std::uint64_t found_ = 0;
    epoll_event ready_[64];
    std::atomic<bool> taken_ = false;
    bool (*may_sleep_)() = nullptr;
    std::atomic<Doorbell *> doorbell_ = nullptr;
};

extern Descriptors descriptors;

} // namespace volley
