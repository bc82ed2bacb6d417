// SPDX-License-Identifier: BSD-3-Clause
/// Starts copies of itself: `spawn PROCESSES` is the parent; children get what they are to be as their arguments.
#include "meeting.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

int class_of(int code) {
    int error_class;
    MPI_Error_class(code, &error_class);
    return error_class;
}

long count_of(const char *folder) {
    return std::ranges::distance(std::filesystem::directory_iterator(folder));
}

long lines_of(const char *path) {
    std::ifstream file(path);
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
}

int attribute(int keyval) {
    int *value, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &flag);
    return flag ? *value : -1;
}

int be_child(char **argv) {
    MPI_Comm parent, again;
    MPI_Comm_get_parent(&parent);
    CHECK(parent != MPI_COMM_NULL);
    CHECK(world_size == std::atoi(argv[2]));
    CHECK(attribute(MPI_APPNUM) == std::atoi(argv[3]) || world_rank > 0);
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm_get_name(parent, name, &length);
    CHECK(std::string(name) == "MPI_COMM_PARENT");
    if (std::string(argv[4]) == "abort") MPI_Abort(MPI_COMM_WORLD, 5);
    if (std::string(argv[4]) == "kill") raise(SIGKILL);
    if (std::string(argv[4]) == "wait") MPI_Barrier(parent);
    if (std::string(argv[4]) != "disconnect at once") use(parent, false);
    if (std::string(argv[4]).starts_with("disconnect")) {
        MPI_Comm_disconnect(&parent);
        MPI_Comm_get_parent(&again);
        CHECK(again == MPI_COMM_NULL);
    }
    MPI_Finalize();
    return 0;
}

void spawn_one_program(const char *self, int processes) {
    const std::string size = std::to_string(processes);
    for (const char *how : {"disconnect", "stay"}) {
        const char *arguments[] = {"child", size.c_str(), "0", how, nullptr};
        std::vector<int> codes(static_cast<std::size_t>(processes), -1);
        MPI_Comm inter;
        MPI_Comm_spawn(self, const_cast<char **>(arguments), processes, MPI_INFO_NULL, world_size - 1, MPI_COMM_WORLD,
                       &inter, codes.data());
        for (int code : codes) CHECK(code == MPI_SUCCESS);
        int remote;
        MPI_Comm_remote_size(inter, &remote);
        CHECK(remote == processes);
        use(inter, true);
        if (std::string(how) == "disconnect")
            MPI_Comm_disconnect(&inter);
        else
            MPI_Comm_free(&inter);
    }
}

void spawn_two_programs(const char *self) {
    const char *first[] = {"child", "3", "0", "disconnect", nullptr},
               *second[] = {"child", "3", "1", "disconnect", nullptr};
    char *programs[] = {const_cast<char *>(self), const_cast<char *>(self)};
    char **arguments[] = {const_cast<char **>(first), const_cast<char **>(second)};
    // Two of the second would be one too many.
    MPI_Info soft;
    MPI_Info_create(&soft);
    MPI_Info_set(soft, "soft", "1,3:9:2");
    const int most[] = {2, 2};
    const MPI_Info hints[] = {MPI_INFO_NULL, soft};
    int codes[4];
    MPI_Comm inter;
    MPI_Comm_spawn_multiple(2, programs, arguments, most, hints, 0, MPI_COMM_WORLD, &inter, codes);
    for (int i = 0; i < 4; i++) CHECK(class_of(codes[i]) == (i < 3 ? MPI_SUCCESS : MPI_ERR_SPAWN));
    use(inter, true);
    MPI_Comm_disconnect(&inter);
    MPI_Info_free(&soft);
}

void spawn_nothing() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm inter;
    int code = -1;
    int result = MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, &code);
    CHECK(class_of(result) == MPI_ERR_SPAWN && class_of(code) == MPI_ERR_SPAWN && inter == MPI_COMM_NULL);
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(result, text, &length);
    CHECK(std::strstr(text, "/no/such/program"));
    result = MPI_Comm_spawn("true", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    CHECK(class_of(result) == MPI_ERR_SPAWN);
    result = MPI_Comm_spawn("true", MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
    CHECK(class_of(result) == MPI_ERR_ARG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/// Nothing is left of jobs that have come and gone: descriptors and mappings are as many after all as after a few.
void spawn_again_and_again(const char *self, int rounds) {
    constexpr int first = 5;
    const char *arguments[] = {"child", "1", "0", "disconnect at once", nullptr};
    long descriptors = 0, mappings = 0;
    for (int round = 0; round < rounds; round++) {
        MPI_Comm inter;
        MPI_Comm_spawn(self, const_cast<char **>(arguments), 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
        MPI_Comm_disconnect(&inter);
        if (round == first) {
            descriptors = count_of("/proc/self/fd");
            mappings = lines_of("/proc/self/maps");
        }
    }
    CHECK(count_of("/proc/self/fd") <= descriptors + 3); // connections that are just ending
    CHECK(lines_of("/proc/self/maps") <= mappings + 10);
}

/// A child that ends badly takes this job with it.
void spawn_to_the_end(const char *self, const char *how) {
    const char *arguments[] = {"child", "2", "0", how, nullptr};
    MPI_Comm inter;
    MPI_Comm_spawn(self, const_cast<char **>(arguments), 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
    if (std::string(how) == "wait" && world_rank == 0) MPI_Abort(MPI_COMM_WORLD, 6);
    MPI_Barrier(inter);
}

} // namespace

int main(int argc, char **argv) {
    if (std::string(argv[1]) == "child") {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
        MPI_Comm_size(MPI_COMM_WORLD, &world_size);
        return be_child(argv);
    }
    Mpi mpi(&argc, &argv);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    CHECK(parent == MPI_COMM_NULL);
    if (std::string(argv[1]) == "end") {
        spawn_to_the_end(argv[0], argv[2]);
    } else if (std::string(argv[1]) == "again") {
        spawn_again_and_again(argv[0], std::atoi(argv[2]));
    } else {
        spawn_one_program(argv[0], std::atoi(argv[1]));
        spawn_two_programs(argv[0]);
        spawn_nothing();
    }
}
