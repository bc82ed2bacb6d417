// SPDX-License-Identifier: BSD-3-Clause
// Everything else that programs call seldom: memory, the environment, groups, deprecated attributes, error handlers of
// sessions, integers for handles, what the ABI says of itself, and windows with counts of type MPI_Count.
#include "../../check.h"

#include <array>
#include <cstring>
#include <string>

namespace {

const MPI_Comm world = MPI_COMM_WORLD;

void environment() {
    char *memory = nullptr;
    MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory);
    std::memset(memory, 1, 1000);
    MPI_Free_mem(memory);
    int is_main = 0;
    MPI_Is_thread_main(&is_main);
    CHECK(is_main);
    CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 1e-3);
    CHECK(MPI_Pcontrol(1) == MPI_SUCCESS && MPI_Pcontrol(2, 3, 4) == MPI_SUCCESS);
    MPI_Info info;
    MPI_Get_hw_resource_info(&info);
    int keys = 0;
    MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; i++) {
        char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL + 1];
        int length = 0, flag = 0, room = sizeof value;
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get_valuelen(info, key, &length, &flag);
        MPI_Info_get_string(info, key, &room, value, &flag);
        CHECK(flag && length == static_cast<int>(std::strlen(value)));
        CHECK(std::string(value) == "true" || std::string(value) == "false");
    }
    MPI_Info_free(&info);
}

/// What a communicator keeps of an info object that has a hint.
std::string hint_of(MPI_Comm comm) {
    MPI_Info info;
    char value[16] = "";
    int flag = 0, room = sizeof value;
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get_string(info, "mpi_assert_no_any_tag", &room, value, &flag);
    MPI_Info_free(&info);
    return value;
}

void communicators() {
    MPI_Info info;
    MPI_Comm copy;
    MPI_Request request;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_idup_with_info(world, info, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int result = 0;
    MPI_Comm_compare(world, copy, &result);
    CHECK(result == MPI_CONGRUENT && hint_of(copy) == "true");
    MPI_Info_set(info, "mpi_assert_no_any_tag", "false");
    MPI_Comm_set_info(copy, info);
    CHECK(hint_of(copy) == "false");
    MPI_Info_free(&info);
    MPI_Comm_free(&copy);

    const int periodic = 0, indices[] = {0}, edges[] = {0};
    MPI_Comm grid;
    int coordinate = -1, place = -1;
    MPI_Cart_create(world, 1, &world_size, &periodic, 0, &grid);
    MPI_Cart_coords(grid, world_size - 1, 1, &coordinate);
    CHECK(coordinate == world_size - 1);
    MPI_Comm_free(&grid);
    MPI_Graph_map(world, 1, indices, edges, &place);
    CHECK((place == MPI_UNDEFINED) || place == 0);
}

void groups() {
    MPI_Group all, first, without_first, found;
    const int zero = 0;
    int result = 0, size = 0;
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, &zero, &first);
    MPI_Group_excl(all, 1, &zero, &without_first);
    MPI_Group_size(without_first, &size);
    CHECK(size == world_size - 1);
    MPI_Group_difference(all, first, &found);
    MPI_Group_compare(found, without_first, &result);
    CHECK(result == MPI_IDENT);
    if (found != MPI_GROUP_EMPTY) MPI_Group_free(&found);
    MPI_Group_intersection(all, first, &found);
    MPI_Group_compare(found, first, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&found);
    if (without_first != MPI_GROUP_EMPTY) MPI_Group_free(&without_first);
    CHECK(MPI_Group_fromint(MPI_Group_toint(all)) == all);
    MPI_Group_free(&first);
    MPI_Group_free(&all);
}

int copies = 0, deletions = 0;

int copy_attribute(MPI_Comm, int, void *, void *in, void *out, int *flag) {
    copies++;
    *static_cast<void **>(out) = in;
    *flag = 1;
    return MPI_SUCCESS;
}

int delete_attribute(MPI_Comm, int, void *, void *) {
    deletions++;
    return MPI_SUCCESS;
}

/// Functions of MPI-1, which the standard still has.
void old_attributes() {
    MPI_Comm comm, copy;
    int keyval = MPI_KEYVAL_INVALID, flag = 0, number = 5;
    void *value = nullptr;
    MPI_Comm_dup(world, &comm);
    MPI_Keyval_create(copy_attribute, delete_attribute, &keyval, nullptr);
    MPI_Attr_put(comm, keyval, &number);
    MPI_Comm_dup(comm, &copy);
    MPI_Attr_get(copy, keyval, &value, &flag);
    CHECK(flag && value == &number && copies == 1);
    MPI_Attr_delete(comm, keyval);
    MPI_Attr_get(comm, keyval, &value, &flag);
    CHECK(!flag && deletions == 1);
    MPI_Comm_free(&copy);
    CHECK(deletions == 2);
    MPI_Comm_free(&comm);
    MPI_Keyval_free(&keyval);
}

int handled = 0;

void handle_of_comm(MPI_Comm *, int *code, ...) {
    handled = *code;
}

void handle_of_session(MPI_Session *, int *code, ...) {
    handled = *code;
}

void error_handlers() {
    MPI_Comm comm;
    MPI_Errhandler handler, found;
    MPI_Comm_dup(world, &comm);
    MPI_Comm_create_errhandler(handle_of_comm, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_call_errhandler(comm, MPI_ERR_TAG);
    CHECK(handled == MPI_ERR_TAG);
    CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(handler)) == handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);

    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_create_errhandler(handle_of_session, &handler);
    MPI_Session_set_errhandler(session, handler);
    MPI_Session_get_errhandler(session, &found);
    CHECK(found == handler);
    MPI_Session_call_errhandler(session, MPI_ERR_ARG);
    CHECK(handled == MPI_ERR_ARG);
    CHECK(MPI_Session_fromint(MPI_Session_toint(session)) == session);
    MPI_Errhandler_free(&found);
    MPI_Errhandler_free(&handler);
    MPI_Session_finalize(&session);
}

void add(void *in, void *inout, int *count, MPI_Datatype *) {
    for (int i = 0; i < *count; i++) static_cast<int *>(inout)[i] += static_cast<int *>(in)[i];
}

void integers_for_handles() {
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    CHECK(MPI_Op_fromint(MPI_Op_toint(op)) == op && MPI_Op_fromint(MPI_Op_toint(MPI_SUM)) == MPI_SUM);
    MPI_Op_free(&op);
    MPI_Datatype type;
    MPI_Type_contiguous(2, MPI_INT, &type);
    CHECK(MPI_Type_fromint(MPI_Type_toint(type)) == type && MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT);
    MPI_Type_free(&type);
    int data = 0;
    MPI_Request request;
    MPI_Recv_init(&data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    CHECK(MPI_Request_fromint(MPI_Request_toint(request)) == request);
    MPI_Request_free(&request);
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Isend(&data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    MPI_Mprobe(0, 0, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE);
    CHECK(MPI_Message_fromint(MPI_Message_toint(message)) == message);
    MPI_Mrecv(&data, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
}

void abi() {
    int major = 0, minor = -1;
    MPI_Abi_get_version(&major, &minor);
    CHECK(major == 1 && minor >= 0);
    MPI_Info info;
    char value[32] = "";
    int flag = 0, room = sizeof value;
    MPI_Abi_get_info(&info);
    MPI_Info_get_string(info, "mpi_aint_size", &room, value, &flag);
    CHECK(flag && std::stoul(value) == sizeof(MPI_Aint));
    MPI_Info_free(&info);
    CHECK(MPI_Aint_diff(MPI_Aint_add(1000, 24), 1000) == 24);
}

/// What a Fortran layer says before MPI_Init, once; nobody has said it in a C program.
void fortran() {
    MPI_Info info;
    char value[32] = "";
    int flag = 0, room = sizeof value, is_set = -1;
    MPI_Abi_get_fortran_info(&info);
    CHECK(info == MPI_INFO_NULL);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_logical_size", "4");
    CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Abi_get_fortran_info(&info);
    MPI_Info_get_string(info, "mpi_logical_size", &room, value, &flag);
    CHECK(flag && std::string(value) == "4");
    MPI_Info_free(&info);

    std::array<int, 1> yes = {1}, no = {0}, found_yes = {-1}, found_no = {-1};
    MPI_Abi_get_fortran_booleans(sizeof(int), found_yes.data(), found_no.data(), &is_set);
    CHECK(!is_set);
    CHECK(MPI_Abi_set_fortran_booleans(sizeof(int), yes.data(), no.data()) == MPI_SUCCESS);
    MPI_Abi_get_fortran_booleans(sizeof(int), found_yes.data(), found_no.data(), &is_set);
    CHECK(is_set && found_yes == yes && found_no == no);
}

void windows() {
    int *memory = nullptr;
    MPI_Win window;
    MPI_Request request;
    const int one = 1;
    int before = -1;
    MPI_Win_allocate_c(sizeof(int), sizeof(int), MPI_INFO_NULL, world, &memory, &window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, world_rank, 0, window);
    *memory = 10;
    MPI_Win_unlock(world_rank, window);
    MPI_Barrier(world);
    MPI_Win_lock_all(0, window);
    MPI_Raccumulate_c(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(0, window);
    MPI_Barrier(world);
    MPI_Rget_accumulate_c(nullptr, 0, MPI_INT, &before, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(before == 10 + world_size);
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

} // namespace

int main(int argc, char **argv) {
    fortran();
    Mpi mpi(&argc, &argv);
    for (const auto test :
         {environment, communicators, groups, old_attributes, error_handlers, integers_for_handles, abi, windows})
        test();
}
