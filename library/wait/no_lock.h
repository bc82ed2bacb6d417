// SPDX-License-Identifier: BSD-3-Clause
/// For tests: a rank of one thread, which has no lock to give to others while it waits.
#pragma once

namespace volley {

inline struct NoLock {
    static bool contended() {
        return false;
    }
    static int give_away() {
        return 0;
    }
    static void take_back(int) {}
} no_lock;

} // namespace volley
