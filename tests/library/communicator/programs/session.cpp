// SPDX-License-Identifier: BSD-3-Clause
// Sessions without, before, during and after MPI_Init, and communicators that are made from groups.
#include "check.h"

#include <cstring>
#include <string>

namespace {

std::string value_of(MPI_Info info, const char *key) {
    char value[MPI_MAX_INFO_VAL] = "";
    int length = sizeof value, flag = 0;
    MPI_Info_get_string(info, key, &length, value, &flag);
    return flag ? value : "";
}

MPI_Session begin(const char *level = nullptr) {
    MPI_Info info = MPI_INFO_NULL;
    if (level) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "thread_level", level);
    }
    MPI_Session session = MPI_SESSION_NULL;
    CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    CHECK(session != MPI_SESSION_NULL);
    if (level) MPI_Info_free(&info);
    return session;
}

MPI_Comm communicator_of(MPI_Session session, const char *set, const char *tag) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    CHECK(MPI_Group_from_session_pset(session, set, &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) == MPI_SUCCESS);
    MPI_Group_free(&group);
    return made;
}

void test_process_sets(MPI_Session session) {
    int count = 0;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
    const char *const names[] = {"mpi://WORLD", "mpi://SELF", "mpi://SHARED"};
    CHECK(count == 3);
    for (int n = 0; n < count; n++) {
        int length = 0;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, nullptr);
        std::string name(static_cast<std::size_t>(length), '?');
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name.data());
        CHECK(std::strcmp(name.c_str(), names[n]) == 0);
        char cut[5];
        int room = sizeof cut;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &room, cut);
        CHECK(std::strcmp(cut, "mpi:") == 0 && room == length);
        MPI_Info info = MPI_INFO_NULL;
        MPI_Session_get_pset_info(session, name.c_str(), &info);
        MPI_Group group = MPI_GROUP_NULL;
        MPI_Group_from_session_pset(session, name.c_str(), &group);
        int size = 0;
        MPI_Group_size(group, &size);
        CHECK(value_of(info, "mpi_size") == std::to_string(size));
        MPI_Group_free(&group);
        MPI_Info_free(&info);
    }
    MPI_Comm world = communicator_of(session, "mpi://WORLD", "world"), node, parts;
    MPI_Comm shared = communicator_of(session, "mpi://SHARED", "shared");
    int alike = MPI_UNEQUAL;
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_compare(shared, node, &alike);
    CHECK(alike == MPI_CONGRUENT);
    MPI_Info hint;
    MPI_Info_create(&hint);
    MPI_Info_set(hint, "mpi_pset_name", "mpi://SHARED");
    MPI_Comm_split_type(world, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, hint, &parts);
    MPI_Comm_compare(parts, node, &alike);
    CHECK(alike == MPI_CONGRUENT);
    MPI_Info_free(&hint);
    for (MPI_Comm *each : {&world, &node, &parts, &shared}) MPI_Comm_free(each);
    MPI_Group group = MPI_GROUP_NULL;
    CHECK(class_of(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group)) == MPI_ERR_ARG);
    int length = 0;
    CHECK(class_of(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 3, &length, nullptr)) == MPI_ERR_ARG);
}

// Each is used for itself, and several times: the same tag may be used again when the first is made.
void test_communicators(MPI_Session session) {
    for (int i = 0; i < 10; i++) {
        MPI_Comm one = communicator_of(session, "mpi://WORLD", "org.volley.test");
        MPI_Comm other = communicator_of(session, "mpi://WORLD", "org.volley.test");
        MPI_Comm self = communicator_of(session, "mpi://SELF", "org.volley.test");
        check_ring(one);
        check_ring(other);
        CHECK(size_of(self) == 1);
        check_ring(self);
        for (MPI_Comm *communicator : {&one, &other, &self}) MPI_Comm_disconnect(communicator);
    }
}

void test_intercommunicator(MPI_Session session) {
    MPI_Group world = MPI_GROUP_NULL, even = MPI_GROUP_NULL, odd = MPI_GROUP_NULL;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    int size = 0, rank = 0, remote = 0;
    MPI_Group_size(world, &size);
    MPI_Group_rank(world, &rank);
    if (size > 1) {
        int ranges[1][3] = {{0, size - 1, 2}};
        MPI_Group_range_incl(world, 1, ranges, &even);
        MPI_Group_range_excl(world, 1, ranges, &odd);
        MPI_Comm inter = MPI_COMM_NULL, all = MPI_COMM_NULL;
        MPI_Intercomm_create_from_groups(rank % 2 == 0 ? even : odd, 0, rank % 2 == 0 ? odd : even, 0, "both",
                                         MPI_INFO_NULL, MPI_ERRORS_RETURN, &inter);
        MPI_Comm_remote_size(inter, &remote);
        CHECK(remote == (rank % 2 == 0 ? size / 2 : (size + 1) / 2));
        MPI_Intercomm_merge(inter, rank % 2, &all);
        check_ring(all);
        MPI_Comm_free(&all);
        MPI_Comm_free(&inter);
        MPI_Group_free(&even);
        MPI_Group_free(&odd);
    }
    MPI_Group_free(&world);
}

void test_everything(MPI_Session session) {
    test_process_sets(session);
    test_communicators(session);
    test_intercommunicator(session);
}

void test_thread_levels() {
    for (const char *asked : {static_cast<const char *>(nullptr), "MPI_THREAD_MULTIPLE"}) {
        MPI_Session session = begin(asked);
        MPI_Info info = MPI_INFO_NULL;
        MPI_Session_get_info(session, &info);
        CHECK(value_of(info, "thread_level") == "MPI_THREAD_MULTIPLE");
        MPI_Info_free(&info);
        MPI_Session_finalize(&session);
        CHECK(session == MPI_SESSION_NULL);
    }
}

} // namespace

int main(int argc, char **argv) {
    for (int i = 0; i < 3; i++) {
        MPI_Session session = begin();
        test_everything(session);
        MPI_Session_finalize(&session);
    }
    MPI_Session session = begin();
    MPI_Init(&argc, &argv);
    test_everything(session);
    check_ring(MPI_COMM_WORLD);
    MPI_Comm kept = communicator_of(session, "mpi://WORLD", "kept");
    MPI_Finalize();
    check_ring(kept); // the session still goes on
    MPI_Comm_disconnect(&kept);
    test_everything(session);
    test_thread_levels();
    MPI_Session_finalize(&session);
    session = begin();
    test_everything(session);
    MPI_Session_finalize(&session);
}
