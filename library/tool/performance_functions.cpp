// SPDX-License-Identifier: BSD-3-Clause
/// MPI_T_pvar_* (MPI 5.0, section 15.3.7).
#include "core/communicator.h"
#include "core/functions.h"
#include "tool/interface.h"
#include "tool/performance_variables.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

namespace volley {
namespace tool {
namespace {

struct PerformanceSession {};

/// What a handle has counted of one element, and where the variable was when it began to count on.
struct PerformanceElement {
    std::uint64_t counted = 0, since = 0;
};

/// A view of a variable.
class PerformanceHandle {
    using Element = PerformanceElement;

  public:
    PerformanceHandle(const PerformanceVariable &variable, const PerformanceSession &session, MPI_Comm bound)
        : variable_(variable), session_(session), bound_(bound), elements_(elements_of(variable, communicator())) {}

    int count() const {
        return static_cast<int>(elements_.size());
    }

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
        for (int index = 0; index < count() && !started_; index++) element(index).since = now(index);
        started_ = true;
    }
    void stop() {
        for (int index = 0; index < count(); index++) element(index).counted = value(index);
        started_ = false;
    }
    void reset() {
        for (int index = 0; index < count(); index++) set(index, 0);
    }
    /// All elements, one after the other.
    void store(void *place) const {
        for (int index = 0; index < count(); index++) {
            const std::uint64_t whole = value(index);
            std::memcpy(at(place, index), &whole, bytes()); // of the narrow ones, the lower half
        }
    }
    void load(const void *place) {
        for (int index = 0; index < count(); index++) {
            std::uint64_t whole = 0;
            std::memcpy(&whole, at(place, index), bytes());
            set(index, whole);
        }
    }

  private:
    static std::vector<Element> elements_of(const PerformanceVariable &variable, const Communicator *communicator) {
        return std::vector<Element>(variable.of_peer ? static_cast<std::size_t>(communicator->peer_group().size()) : 1);
    }
    std::size_t bytes() const {
        return variable_.datatype == MPI_UNSIGNED_LONG_LONG ? sizeof(std::uint64_t) : sizeof(std::uint32_t);
    }
    template <class Place> Place *at(Place *place, int index) const {
        using Byte = std::conditional_t<std::is_const_v<Place>, const char, char>;
        return static_cast<Byte *>(place) + static_cast<std::size_t>(index) * bytes();
    }
    Element &element(int index) {
        return elements_[static_cast<std::size_t>(index)];
    }
    void set(int index, std::uint64_t value) {
        element(index) = {value, started_ ? now(index) : 0};
    }
    std::uint64_t value(int index) const {
        if (!counts()) return now(index);
        const Element &element = elements_[static_cast<std::size_t>(index)];
        return started_ ? element.counted + now(index) - element.since : element.counted;
    }
    const Communicator *communicator() const {
        return variable_.bind == MPI_T_BIND_MPI_COMM ? Communicator::from_handle(bound_) : nullptr;
    }
    std::uint64_t now(int index) const {
        if (variable_.of_peer != nullptr) return variable_.of_peer(communicator()->peer_process(index));
        return variable_.value(communicator());
    }

    const PerformanceVariable &variable_;
    const PerformanceSession &session_;
    MPI_Comm bound_;
    bool started_ = false;
    std::vector<Element> elements_;
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
    PerformanceHandle *made = tool::handles.make(*variable, *its, bound);
    *handle = reinterpret_cast<MPI_T_pvar_handle>(made);
    give(count, made->count());
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
    found->load(buf);
    return MPI_SUCCESS;
}

int T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    return tool::apply(session, handle, MPI_T_ERR_PVAR_NO_WRITE, [](PerformanceHandle &each) { each.reset(); });
}

int T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf) {
    PerformanceHandle *found;
    if (int code = tool::find(session, handle, found)) return code;
    if (!found->counts()) return MPI_T_ERR_PVAR_NO_WRITE;
    if (!buf) return MPI_T_ERR_INVALID;
    found->store(buf);
    found->reset();
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
