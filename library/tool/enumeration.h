// SPDX-License-Identifier: BSD-3-Clause
/// Values of variables that have names.
#pragma once

#include <mpi.h>

#include <vector>

namespace volley::tool {

struct Enumeration {
    struct Item {
        int value;
        const char *name;
    };

    const char *name;
    std::vector<Item> items;

    MPI_T_enum handle() const {
        return reinterpret_cast<MPI_T_enum>(const_cast<Enumeration *>(this));
    }
    bool has(int value) const;
};

extern const Enumeration switch_enumeration;       ///< off, on
extern const Enumeration transport_enumeration;    ///< of VOLLEY_TRANSPORT
extern const Enumeration thread_level_enumeration; ///< MPI_THREAD_*
extern const Enumeration wait_enumeration;         ///< WaitKind (boot/job.h)

} // namespace volley::tool
