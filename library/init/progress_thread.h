// SPDX-License-Identifier: BSD-3-Clause
/// A thread of the rank that makes progress while the program computes (VOLLEY_PROGRESS_THREAD).
///
/// Messages that wait for their receiver's consent, steps of non-blocking collective operations and accesses of other
/// hosts to windows move when their rank is inside of MPI. With this thread they move at any time. It is one of two:
///
///  - *Helping*: no thread of the program has called MPI for a while. The thread sleeps as a waiting call does, so
///    whoever brings something wakes it (wait/sleep.h), and makes progress.
///  - *Aside*: the program calls MPI, and finds itself what comes. A thread that slept would cost each sender a system
///    call to wake it, and the lock. So it sleeps apart from what is delivered, and looks again after `pause` whether
///    the program has called MPI since. If not, it helps.
///
/// No wait depends on the pause: it is how long a program has to compute before the thread helps, no time-out of one.
#pragma once

namespace volley {

/// Precondition: the rank has joined its job, and its lock is shared for good (core/lock.h).
void start_progress_thread();
/// Returns when the thread has ended; nothing if there is none. The caller may hold the rank's lock.
void stop_progress_thread();

} // namespace volley
