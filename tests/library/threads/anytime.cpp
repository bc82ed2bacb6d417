// SPDX-License-Identifier: BSD-3-Clause
// Functions that any thread may call at any time: before MPI is started, while other threads start and end it or wait
// in it, and after its end (MPI 5.0, section 11.4.1).
//
//     anytime init|sessions    the level of thread support is MPI_THREAD_SERIALIZED
#include "check.h"

#include <mpi.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int callers = 3;

std::atomic<int> calls[callers];
std::atomic<bool> over = false;

void handle_error(MPI_Session *, int *code, ...) {
    int error_class;
    MPI_Error_class(*code, &error_class);
    CHECK(error_class == MPI_ERR_ARG);
}

void read_facts() {
    int version = 0, subversion = 0, length = 0, flag = 0;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Get_version(&version, &subversion);
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION);
    MPI_Get_library_version(text, &length);
    CHECK(static_cast<int>(std::strlen(text)) == length);
    MPI_Initialized(&flag);
    MPI_Finalized(&flag);
}

void use_info(int number) {
    MPI_Info info, copy;
    MPI_Info_create(&info);
    const std::string key = "key " + std::to_string(number), value = "value " + std::to_string(number);
    MPI_Info_set(info, key.c_str(), value.c_str());
    MPI_Info_dup(info, &copy);
    MPI_Info_delete(info, key.c_str());
    char got[MPI_MAX_INFO_VAL];
    int length = sizeof got, flag = 0, keys = 1;
    MPI_Info_get_string(copy, key.c_str(), &length, got, &flag);
    CHECK(flag && got == value);
    MPI_Info_get_nkeys(info, &keys);
    CHECK(keys == 0);
    const MPI_Info same = MPI_Info_fromint(MPI_Info_toint(copy));
    CHECK(same == copy);
    MPI_Info_free(&info);
    MPI_Info_free(&copy);
}

void use_errors(int number) {
    int added_class, code, its_class, length;
    const std::string text = "of thread " + std::to_string(number);
    MPI_Add_error_class(&added_class);
    MPI_Add_error_code(added_class, &code);
    MPI_Add_error_string(code, text.c_str());
    MPI_Error_class(code, &its_class);
    CHECK(its_class == added_class);
    char got[MPI_MAX_ERROR_STRING];
    MPI_Error_string(code, got, &length);
    CHECK(got == text);
    MPI_Remove_error_string(code);
    MPI_Remove_error_code(code);
    MPI_Remove_error_class(added_class);
    MPI_Errhandler handler;
    MPI_Session_create_errhandler(handle_error, &handler);
    MPI_Errhandler_free(&handler);
}

void call_at_any_time(int number) {
    while (!over) {
        read_facts();
        use_info(number);
        use_errors(number);
        calls[number]++;
        std::this_thread::yield(); // others want the lock, too
    }
}

/// All have called everything, and once more from now on.
void let_all_call() {
    for (std::atomic<int> &count : calls)
        for (const int seen = count; count < seen + 2;) std::this_thread::yield();
}

void talk(MPI_Comm communicator) {
    int rank, size;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    for (int round = 0; round < 30; round++) {
        int received = -1;
        MPI_Sendrecv(&round, 1, MPI_INT, (rank + 1) % size, 0, &received, 1, MPI_INT, (rank + size - 1) % size, 0,
                     communicator, MPI_STATUS_IGNORE);
        CHECK(received == round);
    }
}

/// In a session of its own, which no other thread uses.
void run_session(int number, int rounds) {
    for (int round = 0; round < rounds; round++) {
        MPI_Session session;
        MPI_Errhandler handler;
        MPI_Session_create_errhandler(handle_error, &handler);
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "thread_level", "MPI_THREAD_SERIALIZED");
        MPI_Session_init(info, handler, &session);
        MPI_Info_free(&info);
        MPI_Errhandler_free(&handler);
        MPI_Group group;
        CHECK(MPI_Group_from_session_pset(session, "mpi://NOWHERE", &group) != MPI_SUCCESS);
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
        MPI_Comm communicator;
        const std::string name = "session " + std::to_string(number);
        MPI_Comm_create_from_group(group, name.c_str(), MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &communicator);
        MPI_Group_free(&group);
        talk(communicator);
        MPI_Comm_free(&communicator);
        MPI_Session_finalize(&session);
    }
}

} // namespace

int main(int argc, char **argv) {
    const std::string how = argc == 2 ? argv[1] : "";
    std::vector<std::thread> threads;
    for (int number = 0; number < callers; number++) threads.emplace_back(call_at_any_time, number);
    let_all_call();
    if (how == "init") {
        int provided, rank;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        talk(MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) std::puts("good");
        MPI_Finalize();
    } else {
        std::vector<std::thread> sessions;
        for (int number = 0; number < 2; number++) sessions.emplace_back(run_session, number, 2);
        for (std::thread &session : sessions) session.join();
        run_session(2, 1);
    }
    let_all_call();
    over = true;
    for (std::thread &thread : threads) thread.join();
}
