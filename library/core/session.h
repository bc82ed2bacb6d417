// SPDX-License-Identifier: BSD-3-Clause
/// Sessions: MPI for a part of a program, without MPI_Init (MPI 5.0, section 11.3).
///
/// Every session keeps the library started (init/initialise.h counts them). The process sets are "mpi://WORLD",
/// "mpi://SELF" and "mpi://SHARED", the processes of this one's node. A group made from a session, and communicators
/// made from such a group, share the session's buffer for buffered sends.
#pragma once

#include "core/object.h"

#include <mpi.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace volley {

class BufferedSends;
class Errhandler;
class Group;
class Info;

/// The place where a session's buffer is attached. It lives as long as groups and communicators of the session; once
/// the session has ended no buffer is attached.
struct SessionBuffer {
    BufferedSends *attached = nullptr;
};

class Session final : public Object {
  public:
    static constexpr Mark kind = Mark::session;

    /// Retains the error handler. The caller has already started the library for this session.
    static Session *make(Errhandler &errhandler, int thread_level);

    /// nullptr for MPI_SESSION_NULL and for what is no session.
    static Session *from_handle(MPI_Session handle) {
        return object_of<Session>(handle);
    }
    MPI_Session handle() {
        return reinterpret_cast<MPI_Session>(this);
    }

    int thread_level() const {
        return thread_level_;
    }

    /// Drops the handle's reference and the error handler's. The library stays acquired: the caller releases it.
    static void destroy(Session &session);

    Errhandler *errhandler; ///< never nullptr; core/errhandler.h
    /// core/buffered.h: MPI_Session_attach_buffer. Groups and communicators share it.
    std::shared_ptr<SessionBuffer> buffer = std::make_shared<SessionBuffer>();

  private:
    friend class Pool<Session>;
    Session(Errhandler &errhandler, int thread_level);
    ~Session() = default;

    int thread_level_;
};

/// A named set of processes, among them this one.
struct ProcessSet {
    std::string name;
    Group *group;
};

/// In the order of MPI_Session_get_nth_pset: those of MPI, then those that the user has named.
const std::vector<ProcessSet> &process_sets();
/// nullptr if there is none of that name (they are compared without regard to case, as URIs' schemes are).
const ProcessSet *find_process_set(std::string_view name);

} // namespace volley
