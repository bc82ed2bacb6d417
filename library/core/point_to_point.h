// SPDX-License-Identifier: BSD-3-Clause
/// Sending and receiving inside the library: what MPI_Send and relatives, and collectives, are made of.
///
/// Arguments are trusted: the datatype is committed, peers are in range or MPI_PROC_NULL, counts not negative.
/// Errors that only appear on the way (truncation) are in the request's completion, or returned.
#pragma once

#include "core/communicator.h"
#include "core/datatype/datatype.h"
#include "core/request.h"

namespace volley {

/// A user's buffer. The datatype is retained by operations that outlive the call.
struct Data {
    const void *address;
    Count count;
    Datatype *datatype;

    static Data bytes(const void *address, Count bytes); ///< MPI_BYTE
    Count size() const {
        return count * datatype->size();
    }
};

/// Where a message goes to or comes from.
struct Address {
    Communicator &communicator;
    int peer; ///< rank among communicator.peers(), MPI_PROC_NULL, or MPI_ANY_SOURCE for receives
    int tag;  ///< or MPI_ANY_TAG for receives
    Traffic traffic = Traffic::program;
};

// Blocking. Return an error code; `completion` as for requests.
int send(const Data &data, const Address &to, SendMode mode = SendMode::standard);
int receive(const Data &data, const Address &from, Completion *completion = nullptr);

// Non-blocking: never nullptr; the caller waits with wait_for() and calls dispose(), or gives it to the user.
Request *start_send(const Data &data, const Address &to, SendMode mode = SendMode::standard);
Request *start_receive(const Data &data, const Address &from);

// Persistent: inactive until start(). They keep references to communicator and datatype.
Request *make_persistent_send(const Data &data, const Address &to, SendMode mode);
Request *make_persistent_receive(const Data &data, const Address &from);

/// A request that is complete from the beginning (MPI_PROC_NULL, nothing to do).
Request *make_complete_request(const Completion &completion);

/// MPI_Iprobe: whether a message that matches has arrived; it stays where it is.
bool probe(const Address &from, Completion &completion);

} // namespace volley
