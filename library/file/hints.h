// SPDX-License-Identifier: BSD-3-Clause
/// Hints on files: those that change what is done. Others are ignored, and not told by MPI_File_get_info.
#pragma once

#include "core/info.h"
#include "layout/checked.h"

namespace volley {

/// What a program says about a way of doing things that is chosen by itself otherwise.
enum class Choice : std::uint8_t { automatic, enable, disable };

struct FileHints {
    int aggregators = 0;          ///< cb_nodes: ranks that access the file for all; 0: as many as there are nodes
    Count buffer_bytes = 4 << 20; ///< cb_buffer_size: what an aggregator reads or writes at once
    Choice collect_reads = Choice::automatic;  ///< romio_cb_read
    Choice collect_writes = Choice::automatic; ///< romio_cb_write
    Choice sieve_reads = Choice::automatic;    ///< romio_ds_read: small holes are read as well, and thrown away
    Count sieve_bytes = 4 << 20;               ///< ind_rd_buffer_size: what is read at once then
    int permissions = 0666;                    ///< file_perm, of a file that is created; the umask applies

    /// Takes what is there and valid; what has another value stays as it is.
    void take(const Info *info);
    /// All of them as the program would give them.
    void tell(Info &info) const;
};

} // namespace volley
