// SPDX-License-Identifier: BSD-3-Clause
#include "tool/control_variables.h"

#include "boot/error.h"
#include "core/functions.h"
#include "tool/interface.h"
#include "transport/node.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace volley {
namespace tool {
namespace {

constexpr int text_bytes = 1024; ///< of variables that are texts

template <class Number> void store(void *place, Number value) {
    std::memcpy(place, &value, sizeof value);
}
template <class Number> Number load(const void *place) {
    Number value;
    std::memcpy(&value, place, sizeof value);
    return value;
}
template <class Number> std::string text_of(const void *value) {
    return std::to_string(load<Number>(value));
}
void store_text(void *place, const std::string &text) {
    auto *characters = static_cast<char *>(place);
    const std::size_t copied = std::min(text.size(), static_cast<std::size_t>(text_bytes - 1));
    std::memcpy(characters, text.data(), copied);
    characters[copied] = '\0';
}
std::string load_text(const void *place) {
    const auto *characters = static_cast<const char *>(place);
    return {characters, strnlen(characters, text_bytes)};
}

bool has_joined() {
    return node.arena != nullptr;
}
/// Others may read this rank's memory, as far as is known.
bool is_readable() {
    return !has_joined() || node.own->space != 0;
}

std::vector<ControlVariable> make_variables() {
    return {
        {.name = "VOLLEY_ARENA_BYTES",
         .category = Category::memory,
         .verbosity = MPI_T_VERBOSITY_TUNER_DETAIL,
         .datatype = MPI_UNSIGNED_LONG_LONG,
         .scope = MPI_T_SCOPE_CONSTANT,
         .read =
             [](const Settings &settings, void *value) {
                 store<unsigned long long>(value, has_joined() ? node.arena->bytes : settings.most_arena_bytes());
             }},
        {.name = "VOLLEY_CHECK",
         .category = Category::collectives,
         .verbosity = MPI_T_VERBOSITY_USER_BASIC,
         .datatype = MPI_INT,
         .scope = MPI_T_SCOPE_ALL_EQ,
         .read = [](const Settings &settings, void *value) { store<int>(value, settings.checking); },
         .text = text_of<int>,
         .change = [](const void *value) { node.settings.checking = load<int>(value) != 0; },
         .enumeration = &switch_enumeration},
        {.name = "VOLLEY_COLLECTIVES",
         .category = Category::collectives,
         .verbosity = MPI_T_VERBOSITY_TUNER_BASIC,
         .datatype = MPI_CHAR,
         .scope = MPI_T_SCOPE_ALL_EQ,
         .read = [](const Settings &settings, void *value) { store_text(value, settings.collectives); },
         .text = load_text,
         .count = text_bytes},
        {.name = "VOLLEY_CPUS",
         .category = Category::waiting,
         .verbosity = MPI_T_VERBOSITY_TUNER_DETAIL,
         .datatype = MPI_UNSIGNED,
         .scope = MPI_T_SCOPE_CONSTANT,
         .read = [](const Settings &settings,
                    void *value) { store<unsigned>(value, has_joined() ? node.arena->cpus : settings.usable_cpus()); }},
        {.name = "VOLLEY_EAGER_LIMIT",
         .category = Category::messages,
         .verbosity = MPI_T_VERBOSITY_TUNER_BASIC,
         .datatype = MPI_UNSIGNED,
         .scope = MPI_T_SCOPE_LOCAL,
         .read = [](const Settings &settings,
                    void *value) { store<unsigned>(value, settings.eager_limit_to(is_readable())); },
         .text = text_of<unsigned>},
        {.name = "VOLLEY_INTERFACE",
         .category = Category::transports,
         .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
         .datatype = MPI_CHAR,
         .scope = MPI_T_SCOPE_CONSTANT,
         .read = [](const Settings &settings, void *value) { store_text(value, settings.interface); },
         .count = text_bytes},
        {.name = "VOLLEY_PIPELINE_LIMIT",
         .category = Category::messages,
         .verbosity = MPI_T_VERBOSITY_TUNER_BASIC,
         .datatype = MPI_UNSIGNED,
         .scope = MPI_T_SCOPE_LOCAL,
         .read = [](const Settings &settings,
                    void *value) { store<unsigned>(value, settings.pipeline_limit_to(is_readable())); },
         .text = text_of<unsigned>},
        {.name = "VOLLEY_NODES",
         .category = Category::testing,
         .verbosity = MPI_T_VERBOSITY_MPIDEV_BASIC,
         .datatype = MPI_CHAR,
         .scope = MPI_T_SCOPE_CONSTANT,
         .read = [](const Settings &settings, void *value) { store_text(value, numbers_text(settings.nodes)); },
         .count = text_bytes},
        {.name = "VOLLEY_PROCESS_SETS",
         .category = Category::all,
         .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
         .datatype = MPI_CHAR,
         .scope = MPI_T_SCOPE_ALL_EQ,
         .read = [](const Settings &settings,
                    void *value) { store_text(value, volley::text_of(settings.process_sets)); },
         .text = load_text,
         .count = text_bytes},
        {.name = "VOLLEY_REFUSE",
         .category = Category::testing,
         .verbosity = MPI_T_VERBOSITY_MPIDEV_DETAIL,
         .datatype = MPI_UNSIGNED_LONG_LONG,
         .scope = MPI_T_SCOPE_LOCAL,
         .read = [](const Settings &settings,
                    void *value) { store<unsigned long long>(value, settings.refused_allocation); },
         .text = text_of<unsigned long long>},
        {.name = "VOLLEY_TRANSPORT",
         .category = Category::transports,
         .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
         .datatype = MPI_INT,
         .scope = MPI_T_SCOPE_CONSTANT,
         .read =
             [](const Settings &settings, void *value) {
                 store<int>(value, static_cast<int>(has_joined() ? node.arena->transport : settings.carrier()));
             },
         .enumeration = &transport_enumeration},
    };
}

/// A variable without what it is bound to: none of them is bound to anything.
struct ControlHandle {
    const ControlVariable *variable;
};
Handles<ControlHandle> handles;

int read(const ControlVariable &variable, void *value) {
    if (has_joined()) {
        variable.read(node.settings, value);
        return MPI_SUCCESS;
    }
    try {
        variable.read(read_settings(), value);
    } catch (const Error &) {
        return MPI_T_ERR_NOT_ACCESSIBLE; // an environment variable means nothing: MPI_Init will say which
    }
    return MPI_SUCCESS;
}

/// Before the rank joins its job it reads the environment, so a value is written there. The one that was there stays if
/// the value means nothing.
int write_environment(const ControlVariable &variable, const std::string &text) {
    std::optional<std::string> before;
    if (const char *old = std::getenv(variable.name)) before = old;
    setenv(variable.name, text.c_str(), 1);
    try {
        read_settings();
    } catch (const Error &) {
        if (before)
            setenv(variable.name, before->c_str(), 1);
        else
            unsetenv(variable.name);
        return MPI_T_ERR_INVALID;
    }
    return MPI_SUCCESS;
}

int write(const ControlVariable &variable, const void *value) {
    if (!variable.text) return MPI_T_ERR_CVAR_SET_NEVER;
    if (variable.enumeration && !variable.enumeration->has(load<int>(value))) return MPI_T_ERR_INVALID;
    if (!has_joined()) return write_environment(variable, variable.text(value));
    if (!variable.change) return MPI_T_ERR_CVAR_SET_NOT_NOW;
    variable.change(value);
    return MPI_SUCCESS;
}

} // namespace

const std::vector<ControlVariable> &control_variables() {
    static const auto *all = new std::vector<ControlVariable>(make_variables()); // outlives static destructors
    return *all;
}

void end_control_variables() {
    handles.clear();
}

} // namespace tool

namespace mpi {

using namespace tool;

int T_cvar_get_num(int *num_cvar) {
    return give_number(control_variables(), num_cvar);
}

int T_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype,
                    MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *scope) {
    const ControlVariable *variable = element_at(control_variables(), cvar_index);
    if (!variable) return MPI_T_ERR_INVALID_INDEX;
    give_text(variable->name, name, name_len);
    give(verbosity, variable->verbosity);
    give(datatype, variable->datatype);
    give(enumtype, variable->enumeration ? variable->enumeration->handle() : MPI_T_ENUM_NULL);
    give_text(setting_description(variable->name), desc, desc_len);
    give(bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
    give(scope, variable->scope);
    return MPI_SUCCESS;
}

int T_cvar_get_index(const char *name, int *cvar_index) {
    return give_index(control_variables(), name, cvar_index);
}

int T_cvar_handle_alloc(int cvar_index, void *, MPI_T_cvar_handle *handle, int *count) {
    const ControlVariable *variable = element_at(control_variables(), cvar_index);
    if (!variable) return MPI_T_ERR_INVALID_INDEX;
    if (!handle) return MPI_T_ERR_INVALID;
    *handle = reinterpret_cast<MPI_T_cvar_handle>(tool::handles.make(variable));
    give(count, variable->count);
    return MPI_SUCCESS;
}

int T_cvar_handle_free(MPI_T_cvar_handle *handle) {
    if (!handle) return MPI_T_ERR_INVALID;
    ControlHandle *freed = tool::handles.find(*handle);
    if (!freed) return MPI_T_ERR_INVALID_HANDLE;
    tool::handles.destroy(freed);
    *handle = MPI_T_CVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

int T_cvar_read(MPI_T_cvar_handle handle, void *buf) {
    ControlHandle *found = tool::handles.find(handle);
    if (!found) return MPI_T_ERR_INVALID_HANDLE;
    return buf ? tool::read(*found->variable, buf) : MPI_T_ERR_INVALID;
}

int T_cvar_write(MPI_T_cvar_handle handle, const void *buf) {
    ControlHandle *found = tool::handles.find(handle);
    if (!found) return MPI_T_ERR_INVALID_HANDLE;
    return buf ? tool::write(*found->variable, buf) : MPI_T_ERR_INVALID;
}

} // namespace mpi
} // namespace volley
