// SPDX-License-Identifier: BSD-3-Clause
// What a window is, besides its memory: attributes, keys, names, hints, groups, error handlers; and every mistake that
// is found, with its class.
#include "window.h"

#include <cstring>
#include <string>

namespace {

void attributes(int flavor) {
    IntegerWindow window(flavor, 5);
    void *value = nullptr;
    int flag = 0;
    auto ask = [&](int keyval) {
        MPI_Win_get_attr(window.window, keyval, static_cast<void *>(&value), &flag);
        CHECK(flag != 0);
        return value;
    };
    const bool dynamic = flavor == MPI_WIN_FLAVOR_DYNAMIC;
    CHECK(ask(MPI_WIN_BASE) == (dynamic ? MPI_BOTTOM : window.memory));
    CHECK(*static_cast<MPI_Aint *>(ask(MPI_WIN_SIZE)) == (dynamic ? 0 : 5 * static_cast<MPI_Aint>(sizeof(long long))));
    CHECK(*static_cast<int *>(ask(MPI_WIN_DISP_UNIT)) == (dynamic ? 1 : static_cast<int>(sizeof(long long))));
    CHECK(*static_cast<int *>(ask(MPI_WIN_CREATE_FLAVOR)) == flavor);
    CHECK(*static_cast<int *>(ask(MPI_WIN_MODEL)) == MPI_WIN_UNIFIED);
}

int deleted;
int note_deletion(MPI_Win, int, void *value, void *extra_state) {
    deleted += *static_cast<int *>(value) + *static_cast<int *>(extra_state);
    return MPI_SUCCESS;
}

void keys() {
    int keyval, extra = 100, value = 7, other = 8, flag = -1, *found = nullptr;
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, note_deletion, &keyval, &extra);
    {
        IntegerWindow window(MPI_WIN_FLAVOR_ALLOCATE, 1);
        MPI_Win_get_attr(window.window, keyval, static_cast<void *>(&found), &flag);
        CHECK(flag == 0);
        MPI_Win_set_attr(window.window, keyval, &value);
        MPI_Win_get_attr(window.window, keyval, static_cast<void *>(&found), &flag);
        CHECK(flag != 0 && found == &value);
        MPI_Win_delete_attr(window.window, keyval);
        CHECK(deleted == 107);
        MPI_Win_set_attr(window.window, keyval, &other);
        MPI_Win_free_keyval(&keyval);
        CHECK(keyval == MPI_KEYVAL_INVALID && deleted == 107);
    }
    CHECK(deleted == 215);
}

void names_and_groups() {
    IntegerWindow window(MPI_WIN_FLAVOR_CREATE, 1);
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1, comparison = -1;
    MPI_Win_get_name(window.window, name, &length);
    CHECK(length == 0 && name[0] == '\0');
    MPI_Win_set_name(window.window, "halo");
    MPI_Win_get_name(window.window, name, &length);
    CHECK(length == 4 && std::strcmp(name, "halo") == 0);
    MPI_Group own, world;
    MPI_Win_get_group(window.window, &own);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(own, world, &comparison);
    CHECK(comparison == MPI_IDENT);
    MPI_Group_free(&own);
    MPI_Group_free(&world);
    CHECK(MPI_Win_fromint(MPI_Win_toint(window.window)) == window.window);
}

std::string hint(MPI_Win window, const char *key) {
    MPI_Info used;
    char value[MPI_MAX_INFO_VAL];
    int length = sizeof value, flag = 0;
    MPI_Win_get_info(window, &used);
    MPI_Info_get_string(used, key, &length, value, &flag);
    MPI_Info_free(&used);
    return flag != 0 ? value : "(none)";
}

void hints() {
    MPI_Info info;
    MPI_Win window;
    void *memory;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "accumulate_ordering", "rar,waw");
    MPI_Info_set(info, "accumulate_ops", "nonsense");
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096");
    MPI_Info_set(info, "unknown", "x");
    MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, static_cast<void *>(&memory), &window);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 4096 == 0);
    CHECK(hint(window, "no_locks") == "true" && hint(window, "accumulate_ordering") == "rar,waw");
    CHECK(hint(window, "accumulate_ops") == "same_op_no_op" && hint(window, "unknown") == "(none)");
    CHECK(hint(window, "same_size") == "false" && hint(window, "same_disp_unit") == "false");
    CHECK(hint(window, "mpi_accumulate_granularity") == "0");
    MPI_Info_set(info, "accumulate_ops", "same_op");
    MPI_Info_set(info, "no_locks", "false");
    MPI_Win_set_info(window, info);
    CHECK(hint(window, "accumulate_ops") == "same_op" && hint(window, "no_locks") == "true");
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window)) == MPI_ERR_RMA_SYNC);
    MPI_Info_free(&info);
    MPI_Win_free(&window);
    CHECK(window == MPI_WIN_NULL);
}

int handled_code, answered_code = MPI_SUCCESS;
MPI_Win handled_window;
void handle(MPI_Win *window, int *code, ...) {
    handled_window = *window;
    handled_code = *code;
    *code = answered_code != MPI_SUCCESS ? answered_code : *code;
}

void ignore(MPI_Comm *, int *, ...) {}

void error_handlers() {
    IntegerWindow window(MPI_WIN_FLAVOR_ALLOCATE, 1);
    MPI_Errhandler errhandler, found;
    MPI_Win_get_errhandler(window.window, &found);
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    MPI_Win_create_errhandler(handle, &errhandler);
    MPI_Win_set_errhandler(window.window, errhandler);
    MPI_Errhandler_free(&errhandler);
    MPI_Win_call_errhandler(window.window, MPI_ERR_OTHER);
    CHECK(handled_window == window.window && handled_code == MPI_ERR_OTHER);
    const int code = MPI_Win_unlock(0, window.window);
    CHECK(class_of(code) == MPI_ERR_RMA_SYNC && handled_code == code);
    // What a handler leaves is what the function returns.
    answered_code = MPI_ERR_OTHER;
    CHECK(MPI_Win_unlock(0, window.window) == MPI_ERR_OTHER);
    CHECK(class_of(handled_code) == MPI_ERR_RMA_SYNC);
    answered_code = MPI_SUCCESS;
    MPI_Win same = window.window;
    MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, window.window);
    CHECK(class_of(MPI_Win_free(&same)) == MPI_ERR_RMA_SYNC && same == window.window);
    MPI_Win_unlock(world_rank, window.window);
    // An error handler for communicators does not fit.
    MPI_Comm_create_errhandler(ignore, &errhandler);
    CHECK(class_of(MPI_Win_set_errhandler(window.window, errhandler)) == MPI_ERR_ARG);
    MPI_Errhandler_free(&errhandler);
}

/// Calls that must fail, each with its class.
void mistakes() {
    IntegerWindow made(MPI_WIN_FLAVOR_ALLOCATE, 4);
    MPI_Win window = made.window;
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    long long value = 1, other = 0;
    auto put = [&](int rank, MPI_Aint disp, int count = 1) {
        return class_of(MPI_Put(&value, count, MPI_LONG_LONG, rank, disp, count, MPI_LONG_LONG, window));
    };
    MPI_Win none = MPI_WIN_NULL;
    CHECK(class_of(MPI_Win_free(&none)) == MPI_ERR_WIN && class_of(MPI_Win_fence(0, none)) == MPI_ERR_WIN);
    MPI_Win failed;
    CHECK(class_of(MPI_Win_create(&value, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &failed)) == MPI_ERR_SIZE);
    CHECK(class_of(MPI_Win_create(&value, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &failed)) == MPI_ERR_DISP);
    CHECK(class_of(MPI_Win_create_c(nullptr, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &failed)) == MPI_ERR_BASE);

    // Outside of every epoch.
    CHECK(put(0, 0) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_unlock(0, window)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_unlock_all(window)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_flush(0, window)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_flush_local(0, window)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_flush_all(window)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_flush_local_all(window)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_complete(window)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_wait(window)) == MPI_ERR_RMA_SYNC);
    int flag;
    CHECK(class_of(MPI_Win_test(window, &flag)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_lock(77, 0, 0, window)) == MPI_ERR_LOCKTYPE);
    CHECK(class_of(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOPUT, window)) == MPI_ERR_ASSERT);
    CHECK(class_of(MPI_Win_lock(MPI_LOCK_SHARED, world_size, 0, window)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Win_fence(MPI_MODE_NOCHECK, window)) == MPI_ERR_ASSERT);
    MPI_Request request;
    CHECK(class_of(MPI_Rput(&value, 1, MPI_LONG_LONG, 0, 0, 1, MPI_LONG_LONG, window, &request)) == MPI_ERR_RMA_SYNC);

    // Under a shared lock of one rank.
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    CHECK(class_of(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_lock_all(0, window)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_fence(0, window)) == MPI_ERR_RMA_SYNC);
    CHECK(class_of(MPI_Win_start(MPI_GROUP_EMPTY, 0, window)) == MPI_ERR_RMA_SYNC);
    if (world_size > 1) CHECK(put(1, 0) == MPI_ERR_RMA_SYNC);
    CHECK(put(world_size, 0) == MPI_ERR_RANK && put(-77, 0) == MPI_ERR_RANK);
    CHECK(put(0, -1) == MPI_ERR_DISP);
    CHECK(put(0, 4) == MPI_ERR_RMA_RANGE && put(0, 3, 2) == MPI_ERR_RMA_RANGE);
    CHECK(put(0, MPI_Aint{1} << 62) == MPI_ERR_RMA_RANGE);
    CHECK(put(0, 0, -1) == MPI_ERR_COUNT);
    CHECK(put(0, 77, 0) == MPI_SUCCESS);
    CHECK(class_of(MPI_Put(&value, 1, MPI_LONG_LONG, 0, 0, 2, MPI_LONG_LONG, window)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Put(nullptr, 1, MPI_LONG_LONG, 0, 0, 1, MPI_LONG_LONG, window)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_Accumulate(&value, 1, MPI_LONG_LONG, 0, 0, 1, MPI_DOUBLE, MPI_SUM, window)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Accumulate(&value, 1, MPI_LONG_LONG, 0, 0, 1, MPI_LONG_LONG, MPI_NO_OP, window)) == MPI_ERR_OP);
    CHECK(class_of(MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_BAND, window)) == MPI_ERR_OP);
    MPI_Op op;
    MPI_Op_create([](void *, void *, int *, MPI_Datatype *) {}, 1, &op);
    CHECK(class_of(MPI_Accumulate(&value, 1, MPI_LONG_LONG, 0, 0, 1, MPI_LONG_LONG, op, window)) == MPI_ERR_OP);
    MPI_Op_free(&op);
    CHECK(class_of(MPI_Compare_and_swap(&value, &value, &other, MPI_DOUBLE, 0, 0, window)) == MPI_ERR_TYPE);
    // With MPI_NO_OP nothing is said of the origin.
    CHECK(MPI_Get_accumulate(nullptr, 0, MPI_DATATYPE_NULL, &other, 1, MPI_LONG_LONG, 0, 0, 1, MPI_LONG_LONG, MPI_NO_OP,
                             window) == MPI_SUCCESS);
    MPI_Win_unlock(0, window);

    MPI_Win_lock_all(0, window);
    CHECK(class_of(MPI_Win_unlock(0, window)) == MPI_ERR_RMA_SYNC);
    MPI_Win_unlock_all(window);

    // An epoch of fences ends where a rank is locked.
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    CHECK(MPI_Get(&other, 1, MPI_LONG_LONG, 0, 0, 1, MPI_LONG_LONG, window) == MPI_SUCCESS);
    MPI_Win_unlock(0, window);
    CHECK(put(world_rank, 0) == MPI_ERR_RMA_SYNC);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    MPI_Win_lock_all(0, window);
    MPI_Win_unlock_all(window);
    CHECK(put(world_rank, 0) == MPI_ERR_RMA_SYNC);

    // MPI_PROC_NULL can be locked like a neighbour.
    CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, window) == MPI_SUCCESS);
    CHECK(put(MPI_PROC_NULL, 0) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(MPI_PROC_NULL, window) == MPI_SUCCESS);
    CHECK(MPI_Win_flush_local(MPI_PROC_NULL, window) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock(MPI_PROC_NULL, window) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_unlock(MPI_ANY_SOURCE, window)) == MPI_ERR_RANK);

    CHECK(class_of(MPI_Win_attach(window, &value, 8)) == MPI_ERR_RMA_FLAVOR);
    CHECK(class_of(MPI_Win_detach(window, &value)) == MPI_ERR_RMA_FLAVOR);
    MPI_Barrier(MPI_COMM_WORLD);
}

void dynamic() {
    MPI_Win window;
    long long memory[4] = {};
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    CHECK(MPI_Win_attach(window, memory, 16) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_attach(window, memory + 1, 16)) == MPI_ERR_RMA_ATTACH);
    CHECK(MPI_Win_attach(window, memory + 2, 16) == MPI_SUCCESS);
    CHECK(class_of(MPI_Win_detach(window, memory + 1)) == MPI_ERR_RMA_ATTACH);
    CHECK(MPI_Win_detach(window, memory) == MPI_SUCCESS && MPI_Win_detach(window, memory + 2) == MPI_SUCCESS);
    MPI_Aint size;
    int disp_unit;
    void *base;
    CHECK(class_of(MPI_Win_shared_query(window, 0, &size, &disp_unit, static_cast<void *>(&base))) ==
          MPI_ERR_RMA_FLAVOR);
    MPI_Win_free(&window);
}

/// Segments of different sizes, one after the other or apart; ranks read each other's.
void shared_memory(bool noncontiguous) {
    MPI_Comm node;
    MPI_Info info;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int rank, size;
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    MPI_Info_create(&info);
    if (noncontiguous) MPI_Info_set(info, "alloc_shared_noncontig", "true");
    MPI_Win window;
    int *own = nullptr;
    const auto bytes = static_cast<MPI_Aint>(sizeof(int)) * rank; // rank 0 has none
    MPI_Win_allocate_shared_c(bytes, sizeof(int), info, node, static_cast<void *>(&own), &window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < rank; i++) own[i] = 100 * rank + i;
    MPI_Win_fence(0, window);
    char *end_of_last = nullptr;
    for (int other = 1; other < size; other++) {
        MPI_Aint found_bytes = -1, unit = -1;
        int *found = nullptr;
        MPI_Win_shared_query_c(window, other, &found_bytes, &unit, static_cast<void *>(&found));
        CHECK(found_bytes == static_cast<MPI_Aint>(sizeof(int)) * other && unit == sizeof(int));
        for (int i = 0; i < other; i++) CHECK(found[i] == 100 * other + i);
        if (!noncontiguous && end_of_last != nullptr) CHECK(reinterpret_cast<char *>(found) == end_of_last);
        end_of_last = reinterpret_cast<char *>(found + other);
        if (other != 1) continue;
        int *first = nullptr, first_unit;
        MPI_Win_shared_query(window, MPI_PROC_NULL, &found_bytes, &first_unit, static_cast<void *>(&first));
        CHECK(first == found && found_bytes == sizeof(int));
    }
    MPI_Win_free(&window);
    MPI_Info_free(&info);
    MPI_Comm_free(&node);
}

void shared_over_nodes() {
    if (all_share_memory()) return;
    MPI_Win window;
    void *base;
    CHECK(class_of(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void *>(&base), &window)) ==
          MPI_ERR_RMA_SHARED);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    for_each_flavor(attributes);
    keys();
    names_and_groups();
    hints();
    error_handlers();
    mistakes();
    dynamic();
    for (bool noncontiguous : {false, true}) shared_memory(noncontiguous);
    shared_over_nodes();
}
