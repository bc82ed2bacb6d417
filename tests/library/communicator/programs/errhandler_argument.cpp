// SPDX-License-Identifier: BSD-3-Clause
// Functions that take an error handler for what they make call it for their own errors too (MPI 5.0, sections 7.4.2,
// 7.6.2 and 11.3.2).
#include "check.h"

#include <string>

namespace {

int calls = 0, seen = MPI_SUCCESS;

void of_communicator(MPI_Comm *communicator, int *code, ...) {
    if (*communicator == MPI_COMM_NULL) calls++;
    seen = class_of(*code);
}

void of_session(MPI_Session *session, int *code, ...) {
    if (*session == MPI_SESSION_NULL) calls++;
    seen = class_of(*code);
}

} // namespace

int main() {
    MPI_Errhandler for_sessions, for_communicators;
    MPI_Session_create_errhandler(of_session, &for_sessions);
    MPI_Comm_create_errhandler(of_communicator, &for_communicators);
    MPI_Info wrong;
    MPI_Info_create(&wrong);
    MPI_Info_set(wrong, "thread_level", "none of them");
    MPI_Session session = MPI_SESSION_NULL;
    CHECK(class_of(MPI_Session_init(wrong, for_sessions, &session)) == MPI_ERR_INFO_VALUE);
    CHECK(session == MPI_SESSION_NULL && calls == 1 && seen == MPI_ERR_INFO_VALUE);
    CHECK(class_of(MPI_Session_init(wrong, MPI_ERRORS_RETURN, &session)) == MPI_ERR_INFO_VALUE);
    CHECK(class_of(MPI_Session_init(MPI_INFO_NULL, for_sessions, nullptr)) == MPI_ERR_ARG && calls == 2);
    MPI_Info_free(&wrong);

    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    char text[4] = "?";
    int length = sizeof text;
    CHECK(class_of(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, nullptr)) == MPI_ERR_ARG);
    MPI_Group group;
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Comm made = MPI_COMM_NULL;
    const std::string long_tag(MPI_MAX_STRINGTAG_LEN, 'x');
    calls = 0;
    CHECK(class_of(MPI_Comm_create_from_group(group, long_tag.c_str(), MPI_INFO_NULL, for_communicators, &made)) ==
          MPI_ERR_ARG);
    CHECK(made == MPI_COMM_NULL && calls == 1 && seen == MPI_ERR_ARG);
    CHECK(class_of(MPI_Comm_create_from_group(MPI_GROUP_NULL, "tag", MPI_INFO_NULL, for_communicators, &made)) ==
          MPI_ERR_GROUP);
    CHECK(calls == 2 && seen == MPI_ERR_GROUP);
    CHECK(class_of(MPI_Intercomm_create_from_groups(group, 5, group, 0, "tag", MPI_INFO_NULL, for_communicators,
                                                    &made)) == MPI_ERR_RANK);
    CHECK(made == MPI_COMM_NULL && calls == 3 && seen == MPI_ERR_RANK);
    MPI_Group_free(&group);
    MPI_Errhandler_free(&for_sessions);
    MPI_Errhandler_free(&for_communicators);
    MPI_Session_finalize(&session);
    return 0;
}
