// SPDX-License-Identifier: BSD-3-Clause
/// What entry points refuse, before anything is sent.
#include "abi/call.h"

#include "boot/function_names.h"
#include "core/error.h"
#include "core/test_job.h"

#include <climits>
#include <cstdlib>
#include <new>
#include <string>

namespace {

bool memory_is_used_up = false;

} // namespace

// Of the whole test program, so that one test can have no memory left.

[[gnu::noinline]] void *operator new(std::size_t bytes) {
    void *memory = memory_is_used_up ? nullptr : std::malloc(bytes != 0 ? bytes : 1);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

/// std::stable_sort asks so for its buffer. Without this one a sanitizer sees two allocators.
[[gnu::noinline]] void *operator new(std::size_t bytes, const std::nothrow_t &) noexcept {
    return memory_is_used_up ? nullptr : std::malloc(bytes != 0 ? bytes : 1);
}

[[gnu::noinline]] void operator delete(void *memory) noexcept {
    std::free(memory);
}

[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}

namespace volley {
namespace {

class EntriesTest : public TestJob {
  protected:
    static MPI_Datatype pair_of_ints() {
        MPI_Datatype type;
        MPI_Type_contiguous(2, MPI_INT, &type);
        return type;
    }

    int data[4] = {};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
};

TEST_F(EntriesTest, Communicators) {
    int number;
    EXPECT_EQ(class_of(MPI_Comm_rank(MPI_COMM_NULL, &number)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPI_Comm_rank(nullptr, &number)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPI_Comm_rank(reinterpret_cast<MPI_Comm>(MPI_INT), &number)), MPI_ERR_COMM);
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    int code = MPI_Comm_rank(reinterpret_cast<MPI_Comm>(group), &number);
    EXPECT_EQ(class_of(code), MPI_ERR_COMM);
    EXPECT_NE(text_of(code).find("which is no communicator"), std::string::npos) << text_of(code);
    MPI_Group_free(&group);
    EXPECT_EQ(class_of(MPI_Comm_remote_size(MPI_COMM_WORLD, &number)), MPI_ERR_COMM);
}

int failure_of_world = MPI_SUCCESS;

void see_failure_of_world(MPI_Comm *communicator, int *code, ...) {
    if (*communicator == MPI_COMM_WORLD) failure_of_world = *code;
}

TEST_F(EntriesTest, MemoryThatIsUsedUp) {
    MPI_Group all, some = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int members[] = {1, 3};
    memory_is_used_up = true;
    int code = MPI_Group_incl(all, 2, members, &some);
    memory_is_used_up = false;
    EXPECT_EQ(class_of(code), MPI_ERR_NO_MEM);
    EXPECT_EQ(some, MPI_GROUP_NULL);
    EXPECT_EQ(MPI_Group_incl(all, 2, members, &some), MPI_SUCCESS);
    MPI_Group_free(&some);

    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(see_failure_of_world, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm communicator = MPI_COMM_NULL;
    memory_is_used_up = true;
    code = MPI_Comm_create_group(MPI_COMM_WORLD, all, 0, &communicator);
    memory_is_used_up = false;
    EXPECT_EQ(class_of(code), MPI_ERR_NO_MEM);
    EXPECT_EQ(failure_of_world, code);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    MPI_Group_free(&all);
}

TEST_F(EntriesTest, FreedCommunicators) {
    Communicator *communicator = Communicator::make_unsettled(Group::self(), nullptr);
    MPI_Comm handle = communicator->handle();
    int number;
    EXPECT_EQ(MPI_Comm_size(handle, &number), MPI_SUCCESS);
    communicator->freed = true; // but something still refers to it
    EXPECT_EQ(class_of(MPI_Comm_size(handle, &number)), MPI_ERR_COMM);
    Communicator::release(*communicator);
    EXPECT_EQ(class_of(MPI_Comm_size(handle, &number)), MPI_ERR_COMM);
}

TEST_F(EntriesTest, SendArguments) {
    auto send = [](const void *buffer, int count, MPI_Datatype type, int peer, int tag) {
        return class_of(MPI_Send(buffer, count, type, peer, tag, MPI_COMM_WORLD));
    };
    EXPECT_EQ(send(data, -1, MPI_INT, 0, 0), MPI_ERR_COUNT);
    EXPECT_EQ(send(data, 1, MPI_DATATYPE_NULL, 0, 0), MPI_ERR_TYPE);
    EXPECT_EQ(send(data, 1, MPI_INT, ranks, 0), MPI_ERR_RANK);
    EXPECT_EQ(send(data, 1, MPI_INT, MPI_ANY_SOURCE, 0), MPI_ERR_RANK);
    EXPECT_EQ(send(data, 1, MPI_INT, 0, MPI_ANY_TAG), MPI_ERR_TAG);
    EXPECT_EQ(send(nullptr, 1, MPI_INT, 0, 0), MPI_ERR_BUFFER);
    EXPECT_EQ(send(MPI_IN_PLACE, 1, MPI_INT, 0, 0), MPI_ERR_BUFFER);
    EXPECT_EQ(send(nullptr, 0, MPI_INT, MPI_PROC_NULL, INT_MAX), MPI_SUCCESS);
    MPI_Datatype type = pair_of_ints();
    EXPECT_EQ(send(data, 1, type, 0, 0), MPI_ERR_TYPE);
    MPI_Type_commit(&type);
    EXPECT_EQ(send(data, 1, type, MPI_PROC_NULL, 0), MPI_SUCCESS);
    MPI_Datatype stale = type;
    MPI_Type_free(&type);
    EXPECT_EQ(send(data, 1, stale, MPI_PROC_NULL, 0), MPI_ERR_TYPE);
}

TEST_F(EntriesTest, AddressesInDatatypesNeedNoBuffer) {
    MPI_Aint address;
    MPI_Get_address(data, &address);
    int length = 4;
    MPI_Datatype type;
    MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &type);
    MPI_Type_commit(&type);
    EXPECT_EQ(MPI_Send(MPI_BOTTOM, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    MPI_Type_free(&type);
}

TEST_F(EntriesTest, ReceiveArguments) {
    auto receive = [&](int peer, int tag, MPI_Request *made) {
        return class_of(MPI_Irecv(data, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, made));
    };
    EXPECT_EQ(receive(ranks, 0, &request), MPI_ERR_RANK);
    EXPECT_EQ(receive(MPI_ROOT, 0, &request), MPI_ERR_RANK);
    EXPECT_EQ(receive(0, -1, &request), MPI_ERR_TAG);
    EXPECT_EQ(receive(MPI_PROC_NULL, MPI_ANY_TAG, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(MPI_Recv(data, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Waitall(2, nullptr, MPI_STATUSES_IGNORE)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE)), MPI_ERR_COUNT);
}

TEST_F(EntriesTest, BothFormsOfAFunction) {
    MPI_Datatype type;
    MPI_Type_contiguous_c(1LL << 40, MPI_BYTE, &type);
    int size;
    MPI_Count large;
    EXPECT_EQ(MPI_Type_size(type, &size), MPI_SUCCESS);
    EXPECT_EQ(size, MPI_UNDEFINED);
    EXPECT_EQ(MPI_Type_size_c(type, &large), MPI_SUCCESS);
    EXPECT_EQ(large, 1LL << 40);
    EXPECT_EQ(MPI_Type_size_x(type, &large), MPI_SUCCESS);
    EXPECT_EQ(large, 1LL << 40);
    int integers, addresses, datatypes, combiner;
    EXPECT_EQ(class_of(MPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner)), MPI_ERR_TYPE);
    MPI_Type_free(&type);
}

TEST_F(EntriesTest, PackingMovesThePosition) {
    char packed[16];
    int position = 4, from[2] = {1, 2}, to[2] = {};
    EXPECT_EQ(MPI_Pack(from, 2, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(position, 12);
    EXPECT_EQ(class_of(MPI_Pack(from, 2, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD)), MPI_ERR_TRUNCATE);
    EXPECT_EQ(position, 12);
    MPI_Count large_position = 4;
    EXPECT_EQ(MPI_Unpack_c(packed, sizeof packed, &large_position, to, 2, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(large_position, 12);
    EXPECT_EQ(to[1], 2);
}

TEST_F(EntriesTest, NullHandlesHaveNames) {
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    EXPECT_EQ(MPI_Comm_get_name(MPI_COMM_NULL, name, &length), MPI_SUCCESS);
    EXPECT_STREQ(name, "MPI_COMM_NULL");
    EXPECT_EQ(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length), MPI_SUCCESS);
    EXPECT_STREQ(name, "MPI_DATATYPE_NULL");
    EXPECT_EQ(MPI_Type_get_name(MPI_INT, name, &length), MPI_SUCCESS);
    EXPECT_EQ(std::string(name, static_cast<std::size_t>(length)), "MPI_INT");
    EXPECT_EQ(MPI_Comm_set_name(MPI_COMM_SELF, std::string(500, 'n').c_str()), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_get_name(MPI_COMM_SELF, name, &length), MPI_SUCCESS);
    EXPECT_EQ(length, MPI_MAX_OBJECT_NAME - 1);
}

TEST_F(EntriesTest, StatusesCarryCounts) {
    status = {};
    int count;
    MPI_Status_set_elements(&status, MPI_INT, 3);
    MPI_Get_count(&status, MPI_INT, &count);
    EXPECT_EQ(count, 3);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    EXPECT_EQ(count, MPI_UNDEFINED);
    EXPECT_EQ(class_of(MPI_Get_count(nullptr, MPI_INT, &count)), MPI_ERR_ARG);
}

TEST_F(EntriesTest, HandlesAreNumbers) {
    EXPECT_EQ(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
    EXPECT_EQ(MPI_Comm_fromint(0x101), MPI_COMM_WORLD);
    EXPECT_EQ(MPI_Win_toint(MPI_WIN_NULL), 0x110);
    MPI_Datatype type = pair_of_ints();
    int number = MPI_Type_toint(type);
    EXPECT_GE(number, 4096);
    EXPECT_EQ(MPI_Type_toint(type), number);
    EXPECT_EQ(MPI_Type_fromint(number), type);
    EXPECT_EQ(MPI_Type_fromint(INT_MAX), MPI_DATATYPE_NULL);
    MPI_Type_free(&type);
}

TEST_F(EntriesTest, FilesReturnTheirErrors) {
    // Files have MPI_ERRORS_RETURN at first: nothing is fatal.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Offset size;
    EXPECT_EQ(class_of(MPI_File_get_size(MPI_FILE_NULL, &size)), MPI_ERR_FILE);
    EXPECT_EQ(class_of(MPI_File_delete(nullptr, MPI_INFO_NULL)), MPI_ERR_ARG);
}

std::uint32_t inside_handler;

/// Calls MPI inside of MPI, and notes in which function that leaves the rank.
void note_function(MPI_Comm *communicator, int *, ...) {
    int number;
    MPI_Comm_size(*communicator, &number);
    inside_handler = node.function().load();
}

TEST_F(EntriesTest, ActivityNamesTheFunctionAndIsRestored) {
    MPI_Errhandler errhandler;
    MPI_Comm_create_errhandler(note_function, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    MPI_Send(data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    EXPECT_EQ(function_names[inside_handler], "MPI_Send");
    EXPECT_EQ(node.function().load(), 0U);
    MPI_Errhandler_free(&errhandler);
}

TEST_F(EntriesTest, ProfilingNamesAreTheSameFunctions) {
    EXPECT_EQ(reinterpret_cast<void *>(MPI_Send), reinterpret_cast<void *>(PMPI_Send));
}

} // namespace
} // namespace volley
