// SPDX-License-Identifier: BSD-3-Clause
/// Published names, their errors, and those of ports; two processes of a job that join over a socket.
#include "meeting.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace {

int class_of(int code) {
    int error_class;
    MPI_Error_class(code, &error_class);
    return error_class;
}

void publish() {
    const std::string service = "a name with / and \n in it " + std::string(200, 'x') + std::to_string(getpid());
    char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME];
    CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(class_of(MPI_Lookup_name(service.c_str(), MPI_INFO_NULL, found)) == MPI_ERR_NAME);
    CHECK(MPI_Publish_name(service.c_str(), MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(MPI_Lookup_name(service.c_str(), MPI_INFO_NULL, found) == MPI_SUCCESS);
    CHECK(std::strcmp(port, found) == 0);
    CHECK(class_of(MPI_Publish_name(service.c_str(), MPI_INFO_NULL, port)) == MPI_ERR_SERVICE);
    CHECK(class_of(MPI_Unpublish_name(service.c_str(), MPI_INFO_NULL, "another")) == MPI_ERR_SERVICE);
    CHECK(MPI_Unpublish_name(service.c_str(), MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(class_of(MPI_Unpublish_name(service.c_str(), MPI_INFO_NULL, port)) == MPI_ERR_SERVICE);
    CHECK(class_of(MPI_Lookup_name(service.c_str(), MPI_INFO_NULL, found)) == MPI_ERR_NAME);
    CHECK(MPI_Close_port(port) == MPI_SUCCESS);
    CHECK(class_of(MPI_Close_port(port)) == MPI_ERR_PORT);
    // Nobody is there any more.
    MPI_Comm inter;
    CHECK(class_of(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)) == MPI_ERR_PORT);
    CHECK(inter == MPI_COMM_NULL);
    CHECK(class_of(MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)) == MPI_ERR_PORT);
    CHECK(class_of(MPI_Comm_accept("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)) == MPI_ERR_PORT);
    CHECK(class_of(MPI_Comm_accept(port, MPI_INFO_NULL, 1, MPI_COMM_SELF, &inter)) == MPI_ERR_ROOT);
}

/// A published name whose publisher has ended is gone with it.
void publish_in_vain(const char *folder) {
    const std::string path = std::string(folder) + "/" + "7374616c65"; // "stale", as the library spells files' names
    char host[256] = "", found[MPI_MAX_PORT_NAME];
    gethostname(host, sizeof host - 1);
    std::FILE *file = std::fopen(path.c_str(), "w");
    std::fprintf(file, "somewhere\n%d 1 %s\nstale", getpid(), host);
    std::fclose(file);
    CHECK(class_of(MPI_Lookup_name("stale", MPI_INFO_NULL, found)) == MPI_ERR_NAME);
    CHECK(access(path.c_str(), F_OK) != 0);
}

/// Rank 0 accepts; rank 1 has another secret first, and is turned away. Then it is let in.
void show_a_false_secret() {
    char port[MPI_MAX_PORT_NAME] = "";
    if (world_rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (world_rank > 1) return;
    MPI_Comm inter;
    if (world_rank == 0) {
        CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
    } else {
        std::string changed = port;
        changed.back() = changed.back() == '0' ? '1' : '0';
        CHECK(class_of(MPI_Comm_connect(changed.c_str(), MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter)) == MPI_ERR_PORT);
        CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
    }
    exchange_messages(inter, world_rank == 0);
    MPI_Comm_disconnect(&inter);
    if (world_rank == 0) MPI_Close_port(port);
}

/// Rank 0 has a port but does not accept in time: rank 1 gives up. Once rank 0 does accept, rank 1 gets in.
void connect_too_early() {
    char port[MPI_MAX_PORT_NAME] = "";
    if (world_rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Comm inter;
    MPI_Info hints;
    MPI_Info_create(&hints);
    if (world_rank == 1) {
        MPI_Info_set(hints, "timeout", "soon");
        CHECK(class_of(MPI_Comm_connect(port, hints, 0, MPI_COMM_SELF, &inter)) == MPI_ERR_INFO_VALUE);
        MPI_Info_set(hints, "timeout", "1");
        CHECK(class_of(MPI_Comm_connect(port, hints, 0, MPI_COMM_SELF, &inter)) == MPI_ERR_PORT);
    }
    MPI_Info_free(&hints);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank > 1) return;
    if (world_rank == 0)
        CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
    else
        CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
    exchange_messages(inter, world_rank == 0);
    MPI_Comm_disconnect(&inter);
    if (world_rank == 0) MPI_Close_port(port);
}

/// Ranks 0 and 1.
void join_by_socket(const std::string &path) {
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    path.copy(name.sun_path, sizeof name.sun_path - 1);
    auto *address = reinterpret_cast<sockaddr *>(&name);
    int made = socket(AF_UNIX, SOCK_STREAM, 0), joined = made;
    if (world_rank == 0) CHECK(bind(made, address, sizeof name) == 0 && listen(made, 1) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 1) CHECK(connect(made, address, sizeof name) == 0);
    if (world_rank == 0) joined = accept(made, nullptr, nullptr);
    if (world_rank > 1) return;
    MPI_Comm inter;
    CHECK(MPI_Comm_join(joined, &inter) == MPI_SUCCESS);
    exchange_messages(inter, world_rank == 0);
    use_together(inter, world_rank == 0);
    MPI_Comm_disconnect(&inter);
    // Not a byte of the socket's stream was taken or left.
    char byte = 'x';
    CHECK(world_rank == 0 ? write(joined, &byte, 1) == 1 : read(joined, &byte, 1) == 1 && byte == 'x');
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    publish();
    if (world_rank == 0) publish_in_vain(argv[1]);
    if (world_size > 1) show_a_false_secret();
    if (world_size > 1) connect_too_early();
    if (world_size > 1) join_by_socket(argv[2]);
}
