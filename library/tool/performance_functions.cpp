// SPDX-License-Identifier: BSD-3-Clause
/// MPI_T_pvar_* (MPI 5.0, section 15.3.7).
#include "core/communicator.h"
#include "core/functions.h"
#include "tool/interface.h"
#include "tool/performance_variables.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace volley {
namespace tool {
namespace {

struct PerformanceSession {};

/// A view of a variable.
class PerformanceHandle {
  public:
    PerformanceHandle(const PerformanceVariable &variable, const PerformanceSession &session, MPI_Comm bound)
        : variable_(variable), session_(session), bound_(bound) {}

    bool is_of(const PerformanceSession &session) const {
        return &session_ == &session;
    }
    bool counts() const {
        return variable_.counts();
    }
    /// What it is bound to still exists.
    bool is_alive() const {
        return variable_.bind == MPI_T_BIND_NO_OBJECT || communicator() != nullptr;
    }
    void start() {
        if (!started_) since_ = now();
        started_ = true;
    }
    void stop() {
        counted_ = value();
        started_ = false;
    }
    void set(std::uint64_t value) {
        counted_ = value;
        if (started_) since_ = now();
    }
    std::uint64_t value() const {
        if (!counts()) return now();
        return started_ ? counted_ + now() - since_ : counted_;
    }
    void store(void *place) const {
        const std::uint64_t whole = value();
        const auto narrow = static_cast<std::uint32_t>(whole);
        if (is_wide())
            std::memcpy(place, &whole, sizeof whole);
        else
            std::memcpy(place, &narrow, sizeof narrow);
    }
    std::uint64_t load(const void *place) const {
        std::uint64_t whole = 0;
        std::memcpy(&whole, place, is_wide() ? sizeof whole : sizeof(std::uint32_t));
        return whole;
    }

  private:
    bool is_wide() const {
        return variable_.datatype == MPI_UNSIGNED_LONG_LONG;
    }
    const Communicator *communicator() const {
        return Communicator::from_handle(bound_);
    }
    std::uint64_t now() const {
        return variable_.value(variable_.bind == MPI_T_BIND_MPI_COMM ? communicator() : nullptr);
    }

    const PerformanceVariable &variable_;
    const PerformanceSession &session_;
    MPI_Comm bound_;
    bool started_ = false;
    std::uint64_t counted_ = 0, since_ = 0;
};

Handles<PerformanceSession> sessions;
Handles<PerformanceHandle> handles;

/// The handle, which has to belong to the session.
int find(MPI_T_pvar_session session, MPI_T_pvar_handle handle, PerformanceHandle *&found) {
    const PerformanceSession *its = sessions.find(session);
    if (!its) return MPI_T_ERR_INVALID_SESSION;
    found = handles.find(handle);
    return found && found->is_of(*its) && found->is_alive() ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

/// Does something to a handle that counts, or to all such of the session. `refused` is the error of others.
template <class Action> int apply(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int refused, Action &&action) {
    if (handle == MPI_T_PVAR_ALL_HANDLES) {
        const PerformanceSession *its = sessions.find(session);
        if (!its) return MPI_T_ERR_INVALID_SESSION;
        handles.for_each([&](PerformanceHandle &each) {
            if (each.is_of(*its) && each.counts() && each.is_alive()) action(each);
        });
        return MPI_SUCCESS;
    }
    PerformanceHandle *found;
    if (int code = find(session, handle, found)) return code;
    if (!found->counts()) return refused;
    action(*found);
    return MPI_SUCCESS;
}

} // namespace

void end_performance_variables() {
    handles.clear();
    sessions.clear();
}

} // namespace tool

namespace mpi {

using namespace tool;

int T_pvar_get_num(int *num_pvar) {
    return give_number(performance_variables(), num_pvar);
}

int T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class, MPI_Datatype *datatype,
                    MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *readonly, int *continuous,
                    int *atomic) {
    const PerformanceVariable *variable = element_at(performance_variables(), pvar_index);
    if (!variable) return MPI_T_ERR_INVALID_INDEX;
    give_text(variable->name, name, name_len);
    give(verbosity, variable->verbosity);
    give(var_class, variable->variable_class);
    give(datatype, variable->datatype);
    give(enumtype, variable->enumeration ? variable->enumeration->handle() : MPI_T_ENUM_NULL);
    give_text(variable->description, desc, desc_len);
    give(bind, variable->bind);
    give(readonly, static_cast<int>(!variable->counts()));
    give(continuous, static_cast<int>(!variable->counts()));
    give(atomic, static_cast<int>(variable->counts()));
    return MPI_SUCCESS;
}

int T_pvar_get_index(const char *name, int var_class, int *pvar_index) {
    return give_index(performance_variables(), name, pvar_index,
                      [&](const PerformanceVariable &variable) { return variable.variable_class == var_class; });
}

int T_pvar_session_create(MPI_T_pvar_session *session) {
    if (!session) return MPI_T_ERR_INVALID;
    *session = reinterpret_cast<MPI_T_pvar_session>(sessions.make());
    return MPI_SUCCESS;
}

int T_pvar_session_free(MPI_T_pvar_session *session) {
    if (!session) return MPI_T_ERR_INVALID;
    PerformanceSession *freed = sessions.find(*session);
    if (!freed) return MPI_T_ERR_INVALID_SESSION;
    tool::handles.destroy_if([&](const PerformanceHandle &handle) { return handle.is_of(*freed); });
    sessions.destroy(freed);
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}

int T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle, MPI_T_pvar_handle *handle,
                        int *count) {
    const PerformanceSession *its = sessions.find(session);
    if (!its) return MPI_T_ERR_INVALID_SESSION;
    const PerformanceVariable *variable = element_at(performance_variables(), pvar_index);
    if (!variable) return MPI_T_ERR_INVALID_INDEX;
    if (!handle) return MPI_T_ERR_INVALID;
    MPI_Comm bound = MPI_COMM_NULL;
    if (variable->bind == MPI_T_BIND_MPI_COMM) {
        if (!obj_handle) return MPI_T_ERR_INVALID;
        bound = *static_cast<MPI_Comm *>(obj_handle);
        if (!Communicator::from_handle(bound)) return MPI_T_ERR_INVALID;
    }
    *handle = reinterpret_cast<MPI_T_pvar_handle>(tool::handles.make(*variable, *its, bound));
    give(count, 1);
    return MPI_SUCCESS;
}

int T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle) {
    const PerformanceSession *its = sessions.find(session);
    if (!its) return MPI_T_ERR_INVALID_SESSION;
    PerformanceHandle *freed = handle ? tool::handles.find(*handle) : nullptr;
    if (!freed || !freed->is_of(*its)) return MPI_T_ERR_INVALID_HANDLE;
    tool::handles.destroy(freed);
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

int T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    return tool::apply(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [](PerformanceHandle &each) { each.start(); });
}

int T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    return tool::apply(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, [](PerformanceHandle &each) { each.stop(); });
}

int T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf) {
    PerformanceHandle *found;
    if (int code = tool::find(session, handle, found)) return code;
    if (!buf) return MPI_T_ERR_INVALID;
    found->store(buf);
    return MPI_SUCCESS;
}

int T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf) {
    PerformanceHandle *found;
    if (int code = tool::find(session, handle, found)) return code;
    if (!found->counts()) return MPI_T_ERR_PVAR_NO_WRITE;
    if (!buf) return MPI_T_ERR_INVALID;
    found->set(found->load(buf));
    return MPI_SUCCESS;
}

int T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    return tool::apply(session, handle, MPI_T_ERR_PVAR_NO_WRITE, [](PerformanceHandle &each) { each.set(0); });
}

int T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf) {
    PerformanceHandle *found;
    if (int code = tool::find(session, handle, found)) return code;
    if (!found->counts()) return MPI_T_ERR_PVAR_NO_WRITE;
    if (!buf) return MPI_T_ERR_INVALID;
    found->store(buf);
    found->set(0);
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
