// SPDX-License-Identifier: BSD-3-Clause
/// The functions of sessions (MPI 5.0, section 11.3).
#include "core/session.h"

#include "core/buffered.h"
#include "core/engine.h"
#include "core/errhandler.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/group.h"
#include "core/info.h"
#include "init/initialise.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace volley {
namespace {

struct ThreadLevel {
    int level;
    std::string_view name;
};
constexpr std::array<ThreadLevel, 4> thread_levels = {{
    {MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
    {MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
    {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
    {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"},
}};

/// The level that the hint "thread_level" asks for, if it is there. The standard leaves the default to the library (MPI
/// 5.0, section 11.3.1); sessions are for parts of a program that do not know of each other's threads.
int requested_level(const Info *info, std::optional<int> &level) {
    const std::string *wanted = info ? info->find("thread_level") : nullptr;
    if (!wanted) return MPI_SUCCESS;
    auto found = std::ranges::find(thread_levels, *wanted, &ThreadLevel::name);
    if (found == thread_levels.end())
        return fail(MPI_ERR_INFO_VALUE,
                    "thread_level is \"%s\", but must be MPI_THREAD_SINGLE, _FUNNELED, "
                    "_SERIALIZED or _MULTIPLE",
                    wanted->c_str());
    level = found->level;
    return MPI_SUCCESS;
}

int no_such_set(const char *name) {
    return fail(MPI_ERR_ARG, "pset_name is \"%s\", but there are \"mpi://WORLD\", \"mpi://SELF\" and \"mpi://SHARED\"",
                name);
}

} // namespace

namespace mpi {

int Session_init(Info *info, Errhandler &errhandler, MPI_Session *session) {
    *session = MPI_SESSION_NULL;
    std::optional<int> level;
    if (int code = requested_level(info, level); code != MPI_SUCCESS) return code;
    if (int code = acquire_library(level); code != MPI_SUCCESS) return code;
    *session = Session::make(errhandler, engine.thread_level)->handle();
    return MPI_SUCCESS;
}

int Session_finalize(MPI_Session *session) {
    Session *finalised = Session::from_handle(*session);
    if (!finalised)
        return fail(MPI_ERR_SESSION, "session is %s, not a session that can be finalised",
                    *session == MPI_SESSION_NULL ? "MPI_SESSION_NULL" : "no live session");
    if (BufferedSends *attached = std::exchange(finalised->buffer->attached, nullptr)) {
        attached->flush();
        delete attached;
    }
    Session::destroy(*finalised);
    *session = MPI_SESSION_NULL;
    release_library();
    return MPI_SUCCESS;
}

int Session_get_info(Session &session, MPI_Info *info_used) {
    Info *info = Info::make();
    auto level = std::ranges::find(thread_levels, session.thread_level(), &ThreadLevel::level);
    info->set("thread_level", level->name);
    *info_used = info->handle();
    return MPI_SUCCESS;
}

int Session_get_num_psets(Session &, Info *, int *npset_names) {
    *npset_names = static_cast<int>(process_sets().size());
    return MPI_SUCCESS;
}

int Session_get_nth_pset(Session &, Info *, int n, int *pset_len, char *pset_name) {
    if (n < 0 || static_cast<std::size_t>(n) >= process_sets().size())
        return fail(MPI_ERR_ARG, "n is %d, but there are %zu process sets, counted from 0", n, process_sets().size());
    const std::string &name = process_sets()[static_cast<std::size_t>(n)].name;
    if (*pset_len > 0 && pset_name == nullptr)
        return fail(MPI_ERR_ARG,
                    "pset_name is a null pointer, but pset_len is %d: pass an array of that length, or 0 to learn "
                    "the length",
                    *pset_len);
    // A length of 0 only asks for the length; it counts the zero at the end.
    if (*pset_len > 0) {
        std::size_t copied = name.copy(pset_name, static_cast<std::size_t>(*pset_len) - 1);
        pset_name[copied] = '\0';
    }
    *pset_len = static_cast<int>(name.size()) + 1;
    return MPI_SUCCESS;
}

int Session_get_pset_info(Session &, const char *pset_name, MPI_Info *info) {
    const ProcessSet *set = find_process_set(pset_name);
    if (!set) return no_such_set(pset_name);
    Info *facts = Info::make();
    facts->set("mpi_size", std::to_string(set->group->size()));
    *info = facts->handle();
    return MPI_SUCCESS;
}

int Group_from_session_pset(Session &session, const char *pset_name, MPI_Group *newgroup) {
    const ProcessSet *set = find_process_set(pset_name);
    if (!set) return no_such_set(pset_name);
    *newgroup = Group::make(set->group->processes(), session.buffer)->handle();
    return MPI_SUCCESS;
}

} // namespace mpi

} // namespace volley
