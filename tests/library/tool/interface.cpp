// SPDX-License-Identifier: BSD-3-Clause
/// The tool information interface: every function of it, what it tells of this library, and what it refuses.
#include "../check.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

const MPI_Comm world = MPI_COMM_WORLD;

#define GOOD(call) CHECK((call) == MPI_SUCCESS)

using Text = char[600];

void before_init() {
    int number;
    CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
    CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
    int provided = -1;
    GOOD(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    GOOD(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    GOOD(MPI_T_finalize());
    GOOD(MPI_T_cvar_get_num(&number)); // initialised twice, finalised once
    CHECK(number > 0);
}

MPI_T_cvar_handle control(const char *name, int *count = nullptr) {
    int index, elements;
    MPI_T_cvar_handle handle;
    GOOD(MPI_T_cvar_get_index(name, &index));
    GOOD(MPI_T_cvar_handle_alloc(index, nullptr, &handle, count ? count : &elements));
    return handle;
}

/// What is written before MPI_Init takes effect in it.
void set_before_init() {
    MPI_T_cvar_handle handle = control("VOLLEY_EAGER_LIMIT");
    unsigned limit = 12345, read = 0, too_large = 1U << 30;
    GOOD(MPI_T_cvar_write(handle, &limit));
    GOOD(MPI_T_cvar_read(handle, &read));
    CHECK(read == limit);
    CHECK(MPI_T_cvar_write(handle, &too_large) == MPI_T_ERR_INVALID);
    GOOD(MPI_T_cvar_read(handle, &read));
    CHECK(read == limit);
    GOOD(MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
}

void control_variables() {
    int number;
    GOOD(MPI_T_cvar_get_num(&number));
    std::set<std::string> names;
    for (int index = 0; index < number; index++) {
        Text name, description;
        int name_length = sizeof name, description_length = sizeof description, verbosity, bind, scope, again;
        MPI_Datatype datatype;
        MPI_T_enum enumeration;
        GOOD(MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &datatype, &enumeration, description,
                                 &description_length, &bind, &scope));
        CHECK(name_length == static_cast<int>(std::strlen(name)) + 1 && std::strlen(description) > 5);
        CHECK(bind == MPI_T_BIND_NO_OBJECT && scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ);
        CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
        GOOD(MPI_T_cvar_get_index(name, &again));
        CHECK(again == index && names.insert(name).second);
        // What is not wanted may be left out; a short place gets what fits.
        int length = 4;
        GOOD(MPI_T_cvar_get_info(index, name, &length, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
        CHECK(std::strcmp(name, "VOL") == 0 && length == name_length);
        MPI_T_cvar_handle handle;
        int count;
        GOOD(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count));
        std::vector<unsigned long long> value(static_cast<std::size_t>(count) / 8 + 1);
        GOOD(MPI_T_cvar_read(handle, value.data()));
        if (scope == MPI_T_SCOPE_CONSTANT) CHECK(MPI_T_cvar_write(handle, value.data()) == MPI_T_ERR_CVAR_SET_NEVER);
        GOOD(MPI_T_cvar_handle_free(&handle));
    }
    CHECK(names.count("VOLLEY_EAGER_LIMIT") && names.count("VOLLEY_TRANSPORT"));
    MPI_T_cvar_handle handle;
    int index, count;
    CHECK(MPI_T_cvar_get_index("nonsense", &index) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_cvar_get_index(nullptr, &index) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_cvar_handle_alloc(number, nullptr, &handle, &count) == MPI_T_ERR_INVALID_INDEX);
    handle = MPI_T_CVAR_HANDLE_NULL;
    CHECK(MPI_T_cvar_handle_free(&handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_read(handle, &count) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_write(handle, &count) == MPI_T_ERR_INVALID_HANDLE);
}

/// What was set before MPI_Init is so, and cannot be set any more; what can, takes effect.
void settings_in_effect() {
    MPI_T_cvar_handle limit = control("VOLLEY_EAGER_LIMIT"), check = control("VOLLEY_CHECK");
    unsigned value = 0;
    GOOD(MPI_T_cvar_read(limit, &value));
    CHECK(value == 12345);
    CHECK(MPI_T_cvar_write(limit, &value) == MPI_T_ERR_CVAR_SET_NOT_NOW);
    int on = 1, nonsense = 2, read = -1;
    CHECK(MPI_T_cvar_write(check, &nonsense) == MPI_T_ERR_INVALID);
    GOOD(MPI_T_cvar_write(check, &on));
    GOOD(MPI_T_cvar_read(check, &read));
    CHECK(read == 1);
    if (world_size > 1) {
        // Ranks that give different roots are told so now.
        MPI_Comm comm;
        MPI_Comm_dup(world, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        CHECK(MPI_Bcast(&value, 1, MPI_UNSIGNED, world_rank == 0 ? 0 : 1, comm) != MPI_SUCCESS);
        MPI_Comm_free(&comm);
    }
    on = 0;
    GOOD(MPI_T_cvar_write(check, &on));
    GOOD(MPI_T_cvar_handle_free(&limit));
    GOOD(MPI_T_cvar_handle_free(&check));
    int count;
    MPI_T_cvar_handle text = control("VOLLEY_COLLECTIVES", &count);
    std::string place(static_cast<std::size_t>(count), 'x');
    GOOD(MPI_T_cvar_read(text, place.data()));
    CHECK(std::strcmp(place.c_str(), "") == 0);
    GOOD(MPI_T_cvar_handle_free(&text));
}

void enumerations() {
    int index, items;
    GOOD(MPI_T_cvar_get_index("VOLLEY_TRANSPORT", &index));
    MPI_T_enum enumeration;
    GOOD(MPI_T_cvar_get_info(index, nullptr, nullptr, nullptr, nullptr, &enumeration, nullptr, nullptr, nullptr,
                             nullptr));
    CHECK(enumeration != MPI_T_ENUM_NULL);
    Text name;
    int length = sizeof name, value = -1;
    GOOD(MPI_T_enum_get_info(enumeration, &items, name, &length));
    CHECK(items == 4 && std::strlen(name) > 0);
    length = sizeof name;
    GOOD(MPI_T_enum_get_item(enumeration, 1, &value, name, &length));
    CHECK(value == 1 && std::strcmp(name, "tcp") == 0);
    length = sizeof name;
    GOOD(MPI_T_enum_get_item(enumeration, 2, &value, name, &length));
    CHECK(value == 2 && std::strcmp(name, "daemon") == 0);
    CHECK(MPI_T_enum_get_item(enumeration, 4, &value, name, &length) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &items, name, &length) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &value, name, &length) == MPI_T_ERR_INVALID_HANDLE);
}

struct Variable {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;

    Variable(MPI_T_pvar_session of, const char *name, int variable_class, MPI_Comm comm = MPI_COMM_NULL) : session(of) {
        int index, count;
        GOOD(MPI_T_pvar_get_index(name, variable_class, &index));
        GOOD(MPI_T_pvar_handle_alloc(session, index, comm == MPI_COMM_NULL ? nullptr : &comm, &handle, &count));
        CHECK(count == 1);
    }
    /// Of those of 64 bits.
    unsigned long long value() const {
        unsigned long long value;
        GOOD(MPI_T_pvar_read(session, handle, &value));
        return value;
    }
    unsigned narrow() const {
        unsigned value;
        GOOD(MPI_T_pvar_read(session, handle, &value));
        return value;
    }
};

void performance_variables() {
    int number, index, count;
    GOOD(MPI_T_pvar_get_num(&number));
    std::set<std::string> names;
    for (index = 0; index < number; index++) {
        Text name, description;
        int name_length = sizeof name, description_length = sizeof description, verbosity, variable_class, bind,
            readonly, continuous, atomic, again;
        MPI_Datatype datatype;
        MPI_T_enum enumeration;
        GOOD(MPI_T_pvar_get_info(index, name, &name_length, &verbosity, &variable_class, &datatype, &enumeration,
                                 description, &description_length, &bind, &readonly, &continuous, &atomic));
        GOOD(MPI_T_pvar_get_index(name, variable_class, &again));
        CHECK(again == index && names.insert(name).second);
        CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_GENERIC, &again) == MPI_T_ERR_INVALID_NAME);
        CHECK((enumeration != MPI_T_ENUM_NULL) == (variable_class == MPI_T_PVAR_CLASS_STATE));
    }
    MPI_T_pvar_session session, other;
    GOOD(MPI_T_pvar_session_create(&session));
    GOOD(MPI_T_pvar_session_create(&other));
    Variable level(session, "volley_thread_level", MPI_T_PVAR_CLASS_STATE);
    int provided;
    MPI_Query_thread(&provided);
    CHECK(static_cast<int>(level.narrow()) == provided);
    CHECK(MPI_T_pvar_start(session, level.handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_stop(session, level.handle) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_reset(session, level.handle) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_write(session, level.handle, &count) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_readreset(session, level.handle, &count) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_read(other, level.handle, &count) == MPI_T_ERR_INVALID_HANDLE);
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    CHECK(MPI_T_pvar_handle_alloc(session, number, nullptr, &handle, &count) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, 0, nullptr, &handle, &count) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_handle_free(session, &handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_free(other, &level.handle) == MPI_T_ERR_INVALID_HANDLE);
    GOOD(MPI_T_pvar_handle_free(session, &level.handle));
    CHECK(level.handle == MPI_T_PVAR_HANDLE_NULL);
    Variable sizes(session, "volley_arena_bytes", MPI_T_PVAR_CLASS_SIZE),
        used(session, "volley_arena_used", MPI_T_PVAR_CLASS_LEVEL),
        highest(session, "volley_arena_used_highest", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    CHECK(used.value() > 0 && highest.value() >= used.value() && sizes.value() > highest.value());
    GOOD(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL && MPI_T_pvar_session_free(&session) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_T_ERR_INVALID_SESSION);
    GOOD(MPI_T_pvar_session_free(&other));
}

/// Each handle has its own view of a counter, which counts while it is started.
void views() {
    MPI_Comm comm;
    MPI_Comm_dup(world, &comm);
    MPI_T_pvar_session session;
    GOOD(MPI_T_pvar_session_create(&session));
    Variable schedules(session, "volley_collective_schedules", MPI_T_PVAR_CLASS_COUNTER, comm),
        never(session, "volley_collective_schedules", MPI_T_PVAR_CLASS_COUNTER, comm);
    auto begin_one = [&] {
        MPI_Request request;
        MPI_Ibarrier(comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
    begin_one();
    CHECK(schedules.value() == 0);
    GOOD(MPI_T_pvar_start(session, schedules.handle));
    begin_one();
    CHECK(schedules.value() == 1);
    begin_one();
    GOOD(MPI_T_pvar_stop(session, schedules.handle));
    begin_one();
    CHECK(schedules.value() == 2 && never.value() == 0);
    unsigned long long value = 40;
    GOOD(MPI_T_pvar_write(session, schedules.handle, &value));
    GOOD(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    begin_one();
    GOOD(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    CHECK(never.value() == 1);
    GOOD(MPI_T_pvar_readreset(session, schedules.handle, &value));
    CHECK(value == 41 && schedules.value() == 0);
    GOOD(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    CHECK(never.value() == 0);
    int index;
    MPI_T_pvar_handle handle;
    GOOD(MPI_T_pvar_get_index("volley_collective_rounds", MPI_T_PVAR_CLASS_COUNTER, &index));
    MPI_Comm none = MPI_COMM_NULL;
    CHECK(MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, nullptr) == MPI_T_ERR_INVALID);
    CHECK(MPI_T_pvar_handle_alloc(session, index, &none, &handle, nullptr) == MPI_T_ERR_INVALID);
    MPI_Comm_free(&comm);
    CHECK(MPI_T_pvar_read(session, schedules.handle, &value) == MPI_T_ERR_INVALID_HANDLE); // its object is gone
    GOOD(MPI_T_pvar_session_free(&session));
}

/// Queues and transports tell what has happened.
void counters(bool by_tcp) {
    MPI_T_pvar_session session;
    GOOD(MPI_T_pvar_session_create(&session));
    Variable posted(session, "volley_posted_receives", MPI_T_PVAR_CLASS_LEVEL),
        highest(session, "volley_posted_receives_highest", MPI_T_PVAR_CLASS_HIGHWATERMARK),
        searches(session, "volley_posted_searches", MPI_T_PVAR_CLASS_COUNTER),
        lines(session, "volley_shm_lines_sent", MPI_T_PVAR_CLASS_COUNTER),
        sent(session, "volley_tcp_bytes_sent", MPI_T_PVAR_CLASS_COUNTER),
        connections(session, "volley_tcp_connections", MPI_T_PVAR_CLASS_LEVEL),
        lost(session, "volley_lost_wake_ups", MPI_T_PVAR_CLASS_COUNTER);
    GOOD(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    const int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    const unsigned before = posted.narrow();
    int in[10], out = 7;
    MPI_Request requests[10];
    for (int tag = 0; tag < 10; tag++) MPI_Irecv(&in[tag], 1, MPI_INT, left, tag, world, &requests[tag]);
    CHECK(posted.narrow() == before + 10 && highest.narrow() >= 10);
    MPI_Barrier(world);
    for (int tag = 10; tag-- > 0;) MPI_Send(&out, 1, MPI_INT, right, tag, world);
    MPI_Waitall(10, requests, MPI_STATUSES_IGNORE);
    CHECK(posted.narrow() == before && searches.value() > 0 && lost.value() == 0);
    if (by_tcp && world_size > 1)
        CHECK(connections.value() >= 2 && sent.value() >= 10 * sizeof out);
    else
        CHECK(lines.value() >= 10 && connections.value() == 0);
    GOOD(MPI_T_pvar_session_free(&session));
}

/// Messages by TCP, for each rank of a communicator.
void peers(bool by_tcp) {
    MPI_T_pvar_session session;
    GOOD(MPI_T_pvar_session_create(&session));
    MPI_Comm reversed;
    MPI_Comm_split(world, 0, -world_rank, &reversed);
    auto of_peers = [&](const char *name) {
        MPI_T_pvar_handle handle;
        int index, count;
        GOOD(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
        GOOD(MPI_T_pvar_handle_alloc(session, index, &reversed, &handle, &count));
        CHECK(count == world_size);
        GOOD(MPI_T_pvar_start(session, handle));
        return handle;
    };
    auto messages_to = of_peers("volley_messages_to_peers"), bytes_to = of_peers("volley_bytes_to_peers"),
         messages_from = of_peers("volley_messages_from_peers"), bytes_from = of_peers("volley_bytes_from_peers");
    auto read = [&](MPI_T_pvar_handle handle) {
        std::vector<unsigned long long> values(static_cast<std::size_t>(world_size));
        GOOD(MPI_T_pvar_read(session, handle, values.data()));
        std::reverse(values.begin(), values.end()); // by ranks of the world
        return values;
    };
    const auto right = static_cast<std::size_t>((world_rank + 1) % world_size),
               left = static_cast<std::size_t>((world_rank + world_size - 1) % world_size);
    static char out[50000], in[50000];
    MPI_Request request;
    for (const int bytes : {1000, 50000}) { // whole, and announced
        MPI_Irecv(in, bytes, MPI_CHAR, static_cast<int>(left), 0, world, &request);
        MPI_Send(out, bytes, MPI_CHAR, static_cast<int>(right), 0, world);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    const unsigned long long messages = by_tcp && world_size > 1 ? 2 : 0, bytes = by_tcp && world_size > 1 ? 51000 : 0;
    CHECK(read(messages_to)[right] == messages && read(bytes_to)[right] == bytes);
    CHECK(read(messages_from)[left] == messages && read(bytes_from)[left] == bytes);
    CHECK(read(messages_to)[static_cast<std::size_t>(world_rank)] == 0);
    std::vector<unsigned long long> written(static_cast<std::size_t>(world_size), 5);
    GOOD(MPI_T_pvar_stop(session, messages_to));
    GOOD(MPI_T_pvar_write(session, messages_to, written.data()));
    CHECK(read(messages_to) == written);
    GOOD(MPI_T_pvar_reset(session, messages_to));
    CHECK(read(messages_to)[0] == 0 && read(bytes_to)[right] == bytes);
    MPI_Comm_free(&reversed);
    GOOD(MPI_T_pvar_session_free(&session));
}

void categories() {
    int number, changed, again;
    GOOD(MPI_T_category_changed(&changed));
    GOOD(MPI_T_category_get_num(&number));
    std::set<int> controls, performances, events, subcategories;
    for (int index = 0; index < number; index++) {
        Text name, description;
        int name_length = sizeof name, description_length = sizeof description, of_controls, of_performances, of_events,
            of_categories;
        GOOD(MPI_T_category_get_info(index, name, &name_length, description, &description_length, &of_controls,
                                     &of_performances, &of_categories));
        GOOD(MPI_T_category_get_num_events(index, &of_events));
        GOOD(MPI_T_category_get_index(name, &again));
        CHECK(again == index);
        int indices[100];
        auto add = [&](std::set<int> &all, int count, int (*get)(int, int, int[])) {
            GOOD(get(index, 100, indices));
            for (int i = 0; i < count; i++) CHECK(all.insert(indices[i]).second);
        };
        add(controls, of_controls, MPI_T_category_get_cvars);
        add(performances, of_performances, MPI_T_category_get_pvars);
        add(events, of_events, MPI_T_category_get_events);
        add(subcategories, of_categories, MPI_T_category_get_categories);
    }
    // Each is in one category, and each category but the first in another.
    int all;
    GOOD(MPI_T_cvar_get_num(&all));
    CHECK(static_cast<int>(controls.size()) == all);
    GOOD(MPI_T_pvar_get_num(&all));
    CHECK(static_cast<int>(performances.size()) == all);
    GOOD(MPI_T_event_get_num(&all));
    CHECK(static_cast<int>(events.size()) == all && static_cast<int>(subcategories.size()) == number - 1);
    CHECK(MPI_T_category_get_index("nonsense", &again) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_category_get_cvars(number, 0, nullptr) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_pvars(-1, 0, nullptr) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_events(number, 0, nullptr) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_categories(number, 0, nullptr) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_category_get_num_events(number, &all) == MPI_T_ERR_INVALID_INDEX);
}

struct Seen {
    int events = 0, tag = -1, freed = 0;
    unsigned long long bytes = 0;
    MPI_Count when = 0, dropped = 0;
    MPI_T_event_instance last = nullptr;
};

void happened(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
              void *user_data) {
    Seen &seen = *static_cast<Seen *>(user_data);
    CHECK(safety == MPI_T_CB_REQUIRE_THREAD_SAFE && registration != nullptr);
    seen.events++;
    seen.last = instance;
    GOOD(MPI_T_event_read(instance, 1, &seen.tag));
    GOOD(MPI_T_event_read(instance, 2, &seen.bytes));
    CHECK(MPI_T_event_read(instance, 3, &seen.bytes) == MPI_T_ERR_INVALID_INDEX);
    struct {
        int sender, tag;
        unsigned long long bytes;
    } copy;
    GOOD(MPI_T_event_copy(instance, &copy));
    CHECK(copy.tag == seen.tag && copy.bytes == seen.bytes);
    GOOD(MPI_T_event_get_timestamp(instance, &seen.when));
    int source = -1;
    GOOD(MPI_T_event_get_source(instance, &source));
    CHECK(source == 0);
}

Seen *told;

void dropped(MPI_Count count, MPI_T_event_registration, int, MPI_T_cb_safety, void *) {
    told->dropped += count;
}

void freed(MPI_T_event_registration, MPI_T_cb_safety, void *user_data) {
    static_cast<Seen *>(user_data)->freed++;
}

/// A message to oneself that arrives before its receive.
void unexpected(int tag) {
    int value = 1;
    MPI_Request request;
    MPI_Isend(&value, 1, MPI_INT, world_rank, tag, world, &request);
    int flag = 0;
    while (!flag) MPI_Iprobe(world_rank, tag, world, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, world_rank, tag, world, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void events() {
    int number, index, again;
    GOOD(MPI_T_event_get_num(&number));
    for (index = 0; index < number; index++) {
        Text name, description;
        int name_length = sizeof name, description_length = sizeof description, verbosity, bind, elements = 10;
        MPI_Datatype datatypes[10];
        MPI_Aint displacements[10];
        MPI_T_enum enumeration;
        MPI_Info info;
        GOOD(MPI_T_event_get_info(index, name, &name_length, &verbosity, datatypes, displacements, &elements,
                                  &enumeration, &info, description, &description_length, &bind));
        MPI_Info_free(&info);
        CHECK(elements > 0 && elements <= 10 && displacements[0] == 0);
        GOOD(MPI_T_event_get_index(name, &again));
        CHECK(again == index);
    }
    CHECK(MPI_T_event_get_index("nonsense", &again) == MPI_T_ERR_INVALID_NAME);
    MPI_T_event_registration registration;
    CHECK(MPI_T_event_handle_alloc(number, nullptr, MPI_INFO_NULL, &registration) == MPI_T_ERR_INVALID_INDEX);
    GOOD(MPI_T_event_get_index("volley_unexpected_message", &index));
    GOOD(MPI_T_event_handle_alloc(index, nullptr, MPI_INFO_NULL, &registration));
    Seen seen;
    told = &seen;
    MPI_Info info;
    GOOD(MPI_T_event_handle_set_info(registration, MPI_INFO_NULL));
    GOOD(MPI_T_event_handle_get_info(registration, &info));
    MPI_Info_free(&info);
    // Callbacks that may not be called inside of MPI are not: what happens is dropped.
    GOOD(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &seen, happened));
    GOOD(MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL));
    GOOD(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info));
    MPI_Info_free(&info);
    GOOD(MPI_T_event_set_dropped_handler(registration, dropped));
    unexpected(5);
    CHECK(seen.events == 0);
    GOOD(MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &seen, happened));
    MPI_Count before, after;
    GOOD(MPI_T_source_get_timestamp(0, &before));
    unexpected(6);
    GOOD(MPI_T_source_get_timestamp(0, &after));
    CHECK(seen.events == 1 && seen.tag == 6 && seen.bytes == sizeof(int) && seen.dropped == 1);
    CHECK(before <= seen.when && seen.when <= after);
    CHECK(MPI_T_event_read(seen.last, 0, &again) == MPI_T_ERR_INVALID_HANDLE); // it is over
    CHECK(MPI_T_event_copy(seen.last, &again) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_timestamp(seen.last, &before) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_get_source(seen.last, &again) == MPI_T_ERR_INVALID_HANDLE);
    GOOD(MPI_T_event_handle_free(registration, &seen, freed));
    unexpected(7);
    CHECK(seen.events == 1 && seen.freed == 1);
    CHECK(MPI_T_event_handle_free(registration, &seen, freed) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_event_set_dropped_handler(registration, dropped) == MPI_T_ERR_INVALID_HANDLE);
}

void sources() {
    int number;
    GOOD(MPI_T_source_get_num(&number));
    CHECK(number == 1);
    Text name, description;
    int name_length = sizeof name, description_length = sizeof description;
    MPI_T_source_order order;
    MPI_Count ticks, most;
    MPI_Info info;
    GOOD(MPI_T_source_get_info(0, name, &name_length, description, &description_length, &order, &ticks, &most, &info));
    MPI_Info_free(&info);
    CHECK(order == MPI_T_SOURCE_ORDERED && ticks == 1'000'000'000 && most > ticks);
    CHECK(MPI_T_source_get_info(1, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_source_get_timestamp(1, &most) == MPI_T_ERR_INVALID_INDEX);
}

/// Several threads read and allocate while the ranks exchange messages.
void threads() {
    std::vector<std::thread> all;
    for (int thread = 0; thread < 3; thread++)
        all.emplace_back([] {
            for (int round = 0; round < 200; round++) {
                MPI_T_pvar_session session;
                GOOD(MPI_T_pvar_session_create(&session));
                Variable waits(session, "volley_long_waits", MPI_T_PVAR_CLASS_COUNTER),
                    communicators(session, "volley_communicators", MPI_T_PVAR_CLASS_LEVEL);
                GOOD(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
                CHECK(communicators.value() >= 3);
                waits.value();
                GOOD(MPI_T_pvar_session_free(&session));
            }
        });
    for (int round = 0; round < 200; round++) MPI_Barrier(world);
    for (std::thread &thread : all) thread.join();
    MPI_Barrier(world);
}

} // namespace

int main(int argc, char **argv) {
    before_init();
    set_before_init();
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(world, &world_rank);
    MPI_Comm_size(world, &world_size);
    control_variables();
    settings_in_effect();
    enumerations();
    performance_variables();
    views();
    counters(argc > 1);
    peers(argc > 1);
    categories();
    events();
    sources();
    threads();
    if (world_rank == 0) std::puts("good");
    MPI_Finalize();
    int number;
    if (MPI_T_pvar_get_num(&number) != MPI_SUCCESS || MPI_T_finalize() != MPI_SUCCESS ||
        MPI_T_pvar_get_num(&number) != MPI_T_ERR_NOT_INITIALIZED)
        return 1;
}
