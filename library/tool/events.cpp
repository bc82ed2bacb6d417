// SPDX-License-Identifier: BSD-3-Clause
#include "tool/events.h"

#include "core/functions.h"
#include "core/info.h"
#include "core/tool_events.h"
#include "tool/interface.h"
#include "wait/clock.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace volley {
namespace tool {
namespace {

struct UnexpectedMessage {
    int sender, tag;
    unsigned long long bytes;
};
struct LongWait {
    int kind, peer;
    unsigned long long ns;
};

enum TypeIndex : int { unexpected_message, long_wait };

std::vector<EventType> make_types() {
    std::vector<EventType> types(2);
    types[unexpected_message] = {
        .name = "volley_unexpected_message",
        .category = Category::messages,
        .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
        .elements = {{MPI_INT, offsetof(UnexpectedMessage, sender), sizeof(int)},
                     {MPI_INT, offsetof(UnexpectedMessage, tag), sizeof(int)},
                     {MPI_UNSIGNED_LONG_LONG, offsetof(UnexpectedMessage, bytes), sizeof(unsigned long long)}},
        .bytes = sizeof(UnexpectedMessage),
        .description = "a message has arrived before its receive: the sender's rank in the job, the tag, the bytes"};
    types[long_wait] = {
        .name = "volley_long_wait",
        .category = Category::waiting,
        .verbosity = MPI_T_VERBOSITY_USER_DETAIL,
        .elements = {{MPI_INT, offsetof(LongWait, kind), sizeof(int)},
                     {MPI_INT, offsetof(LongWait, peer), sizeof(int)},
                     {MPI_UNSIGNED_LONG_LONG, offsetof(LongWait, ns), sizeof(unsigned long long)}},
        .bytes = sizeof(LongWait),
        .description = "a call has waited longer than some microseconds: for what, for which rank of the job or -1, "
                       "and how many nanoseconds after those",
        .enumeration = &wait_enumeration};
    return types;
}

constexpr std::size_t safety_levels = 4;
constexpr std::array<MPI_T_cb_safety, safety_levels> safety_of = {
    MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};
/// What a callback has to be made for, to be called where events happen.
constexpr std::size_t needed_level = 1;

/// The number of a level; safety_levels for what is none.
std::size_t level_of(MPI_T_cb_safety safety) {
    return static_cast<std::size_t>(std::ranges::find(safety_of, safety) - safety_of.begin());
}

/// What a tool gets of an event while its callback runs.
struct Instance {
    const EventType &type;
    const void *data;
    std::uint64_t ns;
};
Instance *delivered = nullptr;

struct Callback {
    MPI_T_event_cb_function *function = nullptr;
    void *user_data = nullptr;
};

struct Registration {
    int type;
    std::array<Callback, safety_levels> callbacks{};
    MPI_T_event_dropped_cb_function *dropped_handler = nullptr;
    MPI_Count dropped = 0;

    MPI_T_event_registration handle() {
        return reinterpret_cast<MPI_T_event_registration>(this);
    }
    bool wants_events() const {
        return std::ranges::any_of(callbacks, [](const Callback &each) { return each.function != nullptr; });
    }
    /// The level of the callback that is made for the least, but for enough; safety_levels if there is none.
    std::size_t level() const {
        std::size_t found = needed_level;
        while (found < safety_levels && !callbacks[found].function) found++;
        return found;
    }
    void deliver(Instance &instance);
};
Handles<Registration> registrations;

void Registration::deliver(Instance &instance) {
    if (!wants_events()) return;
    const std::size_t with = level();
    if (with == safety_levels) {
        dropped++;
        return;
    }
    const Callback callback = callbacks[with]; // it may free this registration
    if (dropped > 0 && dropped_handler)
        dropped_handler(std::exchange(dropped, 0), handle(), 0, safety_of[with], callback.user_data);
    Instance *outer = std::exchange(delivered, &instance);
    callback.function(reinterpret_cast<MPI_T_event_instance>(&instance), handle(), safety_of[with], callback.user_data);
    delivered = outer;
}

class Events final : public ToolEvents {
  public:
    void unexpected_message(int sender, int tag, Count bytes) override {
        const UnexpectedMessage data{sender, tag, static_cast<unsigned long long>(bytes)};
        raise(TypeIndex::unexpected_message, &data);
    }
    void long_wait(WaitKind kind, int peer, std::uint64_t ns) override {
        const LongWait data{static_cast<int>(kind), peer, ns};
        raise(TypeIndex::long_wait, &data);
    }

  private:
    static void raise(int type, const void *data) {
        Instance instance{event_types()[static_cast<std::size_t>(type)], data, clock_ns()};
        // A callback may free registrations.
        std::vector<Registration *> all;
        registrations.for_each([&](Registration &each) {
            if (each.type == type) all.push_back(&each);
        });
        for (Registration *each : all)
            if (Registration *still = registrations.find(each)) still->deliver(instance);
    }
} events;

/// Events are reported only while some callback wants them.
void watch() {
    bool wanted = false;
    registrations.for_each([&](const Registration &each) { wanted |= each.wants_events(); });
    tool_events = wanted ? &events : nullptr;
}

Instance *find_instance(MPI_T_event_instance handle) {
    auto *instance = reinterpret_cast<Instance *>(handle);
    return instance && instance == delivered ? instance : nullptr;
}

/// There are no hints for events: those that were given are ignored.
MPI_Info no_hints() {
    return Info::make()->handle();
}

} // namespace

const std::vector<EventType> &event_types() {
    static const auto *all = new std::vector<EventType>(make_types()); // outlives static destructors
    return *all;
}

void end_events() {
    registrations.clear();
    watch();
}

} // namespace tool

namespace mpi {

using namespace tool;

int T_source_get_num(int *num_sources) {
    if (!num_sources) return MPI_T_ERR_INVALID;
    *num_sources = 1;
    return MPI_SUCCESS;
}

int T_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,
                      MPI_T_source_order *ordering, MPI_Count *ticks_per_second, MPI_Count *max_ticks, MPI_Info *info) {
    if (source_index != 0) return MPI_T_ERR_INVALID_INDEX;
    give_text("volley_rank", name, name_len);
    give_text("what happens in this rank, by the monotonic clock of its host", desc, desc_len);
    give(ordering, MPI_T_SOURCE_ORDERED);
    give(ticks_per_second, static_cast<MPI_Count>(1'000'000'000));
    give(max_ticks, std::numeric_limits<MPI_Count>::max());
    if (info) *info = no_hints();
    return MPI_SUCCESS;
}

int T_source_get_timestamp(int source_index, MPI_Count *timestamp) {
    if (source_index != 0) return MPI_T_ERR_INVALID_INDEX;
    if (!timestamp) return MPI_T_ERR_INVALID;
    *timestamp = static_cast<MPI_Count>(clock_ns());
    return MPI_SUCCESS;
}

int T_event_get_num(int *num_events) {
    return give_number(event_types(), num_events);
}

int T_event_get_info(int event_index, char *name, int *name_len, int *verbosity, MPI_Datatype *array_of_datatypes,
                     MPI_Aint *array_of_displacements, int *num_elements, MPI_T_enum *enumtype, MPI_Info *info,
                     char *desc, int *desc_len, int *bind) {
    const EventType *type = element_at(event_types(), event_index);
    if (!type) return MPI_T_ERR_INVALID_INDEX;
    give_text(type->name, name, name_len);
    give(verbosity, type->verbosity);
    if (num_elements) {
        const auto room = static_cast<std::size_t>(std::max(*num_elements, 0));
        for (std::size_t i = 0; i < std::min(room, type->elements.size()); i++) {
            if (array_of_datatypes) array_of_datatypes[i] = type->elements[i].datatype;
            if (array_of_displacements)
                array_of_displacements[i] = static_cast<MPI_Aint>(type->elements[i].displacement);
        }
        *num_elements = static_cast<int>(type->elements.size());
    }
    give(enumtype, type->enumeration ? type->enumeration->handle() : MPI_T_ENUM_NULL);
    if (info) *info = no_hints();
    give_text(type->description, desc, desc_len);
    give(bind, static_cast<int>(MPI_T_BIND_NO_OBJECT));
    return MPI_SUCCESS;
}

int T_event_get_index(const char *name, int *event_index) {
    return give_index(event_types(), name, event_index);
}

int T_event_handle_alloc(int event_index, void *, MPI_Info, MPI_T_event_registration *event_registration) {
    if (!element_at(event_types(), event_index)) return MPI_T_ERR_INVALID_INDEX;
    if (!event_registration) return MPI_T_ERR_INVALID;
    *event_registration = registrations.make(Registration{.type = event_index})->handle();
    return MPI_SUCCESS;
}

int T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info) {
    return registrations.find(event_registration) ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

int T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info *info_used) {
    if (!registrations.find(event_registration)) return MPI_T_ERR_INVALID_HANDLE;
    if (!info_used) return MPI_T_ERR_INVALID;
    *info_used = no_hints();
    return MPI_SUCCESS;
}

int T_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info,
                              void *user_data, MPI_T_event_cb_function event_cb_function) {
    Registration *registration = registrations.find(event_registration);
    if (!registration) return MPI_T_ERR_INVALID_HANDLE;
    const std::size_t level = level_of(cb_safety);
    if (level == safety_levels) return MPI_T_ERR_INVALID;
    registration->callbacks[level] = {event_cb_function, user_data};
    watch();
    return MPI_SUCCESS;
}

int T_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info) {
    if (!registrations.find(event_registration)) return MPI_T_ERR_INVALID_HANDLE;
    return level_of(cb_safety) < safety_levels ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int T_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                              MPI_Info *info_used) {
    if (!registrations.find(event_registration)) return MPI_T_ERR_INVALID_HANDLE;
    if (level_of(cb_safety) == safety_levels || !info_used) return MPI_T_ERR_INVALID;
    *info_used = no_hints();
    return MPI_SUCCESS;
}

int T_event_handle_free(MPI_T_event_registration event_registration, void *user_data,
                        MPI_T_event_free_cb_function free_cb_function) {
    Registration *registration = registrations.find(event_registration);
    if (!registration) return MPI_T_ERR_INVALID_HANDLE;
    registrations.destroy(registration);
    watch();
    if (free_cb_function) free_cb_function(event_registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, user_data);
    return MPI_SUCCESS;
}

int T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                MPI_T_event_dropped_cb_function dropped_cb_function) {
    Registration *registration = registrations.find(event_registration);
    if (!registration) return MPI_T_ERR_INVALID_HANDLE;
    registration->dropped_handler = dropped_cb_function;
    return MPI_SUCCESS;
}

int T_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer) {
    const Instance *instance = find_instance(event_instance);
    if (!instance) return MPI_T_ERR_INVALID_HANDLE;
    const auto &elements = instance->type.elements;
    if (element_index < 0 || static_cast<std::size_t>(element_index) >= elements.size()) return MPI_T_ERR_INVALID_INDEX;
    if (!buffer) return MPI_T_ERR_INVALID;
    const EventElement &element = elements[static_cast<std::size_t>(element_index)];
    std::memcpy(buffer, static_cast<const char *>(instance->data) + element.displacement, element.bytes);
    return MPI_SUCCESS;
}

int T_event_copy(MPI_T_event_instance event_instance, void *buffer) {
    const Instance *instance = find_instance(event_instance);
    if (!instance) return MPI_T_ERR_INVALID_HANDLE;
    if (!buffer) return MPI_T_ERR_INVALID;
    std::memcpy(buffer, instance->data, instance->type.bytes);
    return MPI_SUCCESS;
}

int T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp) {
    const Instance *instance = find_instance(event_instance);
    if (!instance) return MPI_T_ERR_INVALID_HANDLE;
    if (!event_timestamp) return MPI_T_ERR_INVALID;
    *event_timestamp = static_cast<MPI_Count>(instance->ns);
    return MPI_SUCCESS;
}

int T_event_get_source(MPI_T_event_instance event_instance, int *source_index) {
    if (!find_instance(event_instance)) return MPI_T_ERR_INVALID_HANDLE;
    if (!source_index) return MPI_T_ERR_INVALID;
    *source_index = 0;
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
