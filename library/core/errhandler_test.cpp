// SPDX-License-Identifier: BSD-3-Clause
#include "core/errhandler.h"

#include "core/communicator.h"
#include "core/error.h"
#include "core/test_job.h"

#include <string>

namespace volley {
namespace {

using ErrhandlerTest = TestJob;
using ErrhandlerDeathTest = TestJob;

struct Seen {
    int calls = 0;
    MPI_Comm communicator = MPI_COMM_NULL;
    int code = MPI_SUCCESS;
};
Seen seen;

void note(MPI_Comm *communicator, int *code, ...) {
    seen = {seen.calls + 1, *communicator, *code};
}

void free_itself(MPI_Comm *communicator, int *, ...) {
    MPI_Comm_set_errhandler(*communicator, MPI_ERRORS_RETURN);
    seen.calls++;
}

void *seen_file;

void note_file(MPI_File *file, int *, ...) {
    seen_file = *file;
}

void ignore(MPI_Session *, int *, ...) {}

TEST_F(ErrhandlerTest, PredefinedOnesMayBeFreedAndStay) {
    MPI_Errhandler errhandler;
    ASSERT_EQ(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &errhandler), MPI_SUCCESS);
    EXPECT_EQ(errhandler, MPI_ERRORS_RETURN);
    EXPECT_EQ(MPI_Errhandler_free(&errhandler), MPI_SUCCESS);
    EXPECT_EQ(errhandler, MPI_ERRHANDLER_NULL);
    EXPECT_EQ(class_of(MPI_Errhandler_free(&errhandler)), MPI_ERR_ERRHANDLER);
    EXPECT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_SUCCESS);
}

TEST_F(ErrhandlerTest, CallbacksSeeCommunicatorAndCode) {
    MPI_Errhandler errhandler;
    ASSERT_EQ(MPI_Comm_create_errhandler(note, &errhandler), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler), MPI_SUCCESS);
    MPI_Errhandler copy = errhandler;
    ASSERT_EQ(MPI_Errhandler_free(&errhandler), MPI_SUCCESS);
    seen = {};
    int code = MPI_Send(nullptr, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    EXPECT_EQ(class_of(code), MPI_ERR_BUFFER);
    EXPECT_EQ(seen.calls, 1);
    EXPECT_EQ(seen.communicator, MPI_COMM_WORLD);
    EXPECT_EQ(seen.code, code);
    EXPECT_EQ(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER), MPI_SUCCESS);
    EXPECT_EQ(seen.calls, 2);
    EXPECT_EQ(seen.code, MPI_ERR_OTHER);
    // The communicator had the last reference.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EXPECT_EQ(class_of(MPI_Comm_set_errhandler(MPI_COMM_WORLD, copy)), MPI_ERR_ERRHANDLER);
}

TEST_F(ErrhandlerTest, HandlersMayBeReplacedWhileTheyRun) {
    MPI_Errhandler errhandler;
    MPI_Comm_create_errhandler(free_itself, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler);
    MPI_Errhandler_free(&errhandler);
    seen = {};
    EXPECT_EQ(class_of(MPI_Send(nullptr, -1, MPI_INT, 0, 0, MPI_COMM_SELF)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(MPI_Send(nullptr, -1, MPI_INT, 0, 0, MPI_COMM_SELF)), MPI_ERR_COUNT);
    EXPECT_EQ(seen.calls, 1);
}

TEST_F(ErrhandlerTest, WithoutACommunicatorThatOfSelfIsAsked) {
    MPI_Errhandler errhandler;
    MPI_Comm_create_errhandler(note, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler);
    seen = {};
    int number;
    EXPECT_EQ(class_of(MPI_Comm_rank(MPI_COMM_NULL, &number)), MPI_ERR_COMM);
    EXPECT_EQ(seen.calls, 1);
    EXPECT_EQ(seen.communicator, MPI_COMM_SELF);
    EXPECT_EQ(class_of(MPI_Type_commit(nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(seen.calls, 2);
    MPI_Errhandler_free(&errhandler);
}

TEST_F(ErrhandlerTest, KindsAreTold) {
    MPI_Errhandler errhandler;
    MPI_Session_create_errhandler(ignore, &errhandler);
    EXPECT_EQ(class_of(MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPI_Comm_create_errhandler(nullptr, &errhandler)), MPI_ERR_ARG);
    MPI_Errhandler_free(&errhandler);
}

TEST_F(ErrhandlerTest, FailuresOfAHiddenCommunicatorAreThoseOfItsFile) {
    MPI_Errhandler errhandler;
    ASSERT_EQ(MPI_File_create_errhandler(note_file, &errhandler), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler)), MPI_ERR_ARG);
    int file;
    ErrorTarget target{Mark::file, &file, "the file 'a'", Errhandler::from_handle(errhandler)};
    Communicator &hidden = Communicator::world();
    hidden.error_target = &target;
    seen_file = nullptr;
    EXPECT_EQ(raise(&hidden, MPI_ERR_IO), MPI_ERR_IO);
    EXPECT_EQ(seen_file, static_cast<void *>(&file));
    hidden.error_target = nullptr;
    MPI_Errhandler_free(&errhandler);
}

TEST_F(ErrhandlerDeathTest, FatalErrorsSayAllThatIsKnown) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    EXPECT_EXIT(MPI_Send("", 1, MPI_CHAR, 0, -5, MPI_COMM_WORLD), testing::ExitedWithCode(MPI_ERR_TAG),
                "Volley: rank 2: MPI_Send on MPI_COMM_WORLD failed: MPI_ERR_TAG: tag is -5, but must be from 0 to ");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
    EXPECT_EXIT(MPI_Comm_size(MPI_COMM_WORLD, nullptr), testing::ExitedWithCode(MPI_ERR_ARG),
                "MPI_Comm_size on MPI_COMM_WORLD failed: MPI_ERR_ARG: size is a null pointer");
}

TEST_F(ErrhandlerDeathTest, CallsOutsideOfInitAndFinalizeEnd) {
    int number;
    engine.available = false;
    engine.phase = Phase::before;
    EXPECT_EXIT(MPI_Comm_rank(MPI_COMM_WORLD, &number), testing::ExitedWithCode(MPI_ERR_INTERN),
                "MPI_Comm_rank was called before MPI_Init; call MPI_Init, ");
    EXPECT_EXIT(MPI_Info_create(nullptr), testing::ExitedWithCode(MPI_ERR_ARG), "MPI_Info_create failed: MPI_ERR_ARG");
    engine.phase = Phase::finalised;
    EXPECT_EXIT(MPI_Comm_rank(MPI_COMM_WORLD, &number), testing::ExitedWithCode(MPI_ERR_INTERN),
                "MPI_Comm_rank was called after MPI_Finalize");
    engine.phase = Phase::initialised;
    engine.available = true;
}

} // namespace
} // namespace volley
