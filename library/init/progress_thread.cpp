// SPDX-License-Identifier: BSD-3-Clause
#include "init/progress_thread.h"

#include "core/engine.h"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>

namespace volley {
namespace {

constexpr timespec pause{.tv_sec = 0, .tv_nsec = 200'000};

/// The rank's lock as the sleeping thread has it: given away for the sleep, and taken back if it is free.
class LockIfFree {
  public:
    bool take() {
        return is_held_ = engine.lock.try_acquire();
    }
    void leave() {
        if (is_held_) engine.lock.release();
        is_held_ = false;
    }
    bool is_held() const {
        return is_held_;
    }
    // What a Wait asks of a lock.
    std::int32_t give_away() {
        is_held_ = false;
        return engine.lock.give_away();
    }
    void take_back(std::int32_t) {
        take();
    }

  private:
    bool is_held_ = false;
};

class ProgressThread {
  public:
    ProgressThread() {
        // Signals are for the program's own threads.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        thread_ = std::thread([this] { run(); });
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        pthread_setname_np(thread_.native_handle(), "volley progress");
    }
    ~ProgressThread() {
        stopping_.store(true, std::memory_order_release);
        wake(*node.own, node.fences);
        thread_.join();
    }
    ProgressThread(const ProgressThread &) = delete;
    ProgressThread &operator=(const ProgressThread &) = delete;

  private:
    void run() {
        while (!is_stopping()) {
            if (program_calls() || !lock_.take())
                nanosleep(&pause, nullptr);
            else
                help();
        }
    }

    /// Whether a thread of the program is in MPI, or has been since this was asked before.
    bool program_calls() {
        const std::uint64_t seen = seen_;
        seen_ = engine.lock.acquisitions();
        return seen_ != seen || node.function().load(std::memory_order_relaxed) != 0;
    }

    /// Makes progress, and sleeps until there may be more.
    void help() {
        while (engine.progress() && !engine.lock.contended()) {}
        Wait wait(*node.own, node.wait_policy, node.fences);
        wait.rest([this] { return is_stopping() || (lock_.is_held() && engine.progress()); }, lock_);
        lock_.leave();
    }

    bool is_stopping() const {
        return stopping_.load(std::memory_order_acquire);
    }

    LockIfFree lock_;
    std::uint64_t seen_ = 0; ///< acquisitions of the rank's lock by the program
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

/// Not destroyed at exit: a child of the process has no such thread, and would wait for it.
ProgressThread *progress_thread = nullptr;

} // namespace

void start_progress_thread() {
    progress_thread = new ProgressThread;
}

void stop_progress_thread() {
    delete progress_thread;
    progress_thread = nullptr;
}

} // namespace volley
