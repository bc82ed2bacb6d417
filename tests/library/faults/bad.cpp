// SPDX-License-Identifier: BSD-3-Clause
/// One error of a program, chosen by name; each has to end in a message, none in a crash.
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace {

const MPI_Comm world = MPI_COMM_WORLD;
int value, rank, size;

MPI_Comm freed_communicator() {
    MPI_Comm copy;
    MPI_Comm_dup(world, &copy);
    MPI_Comm stale = copy;
    MPI_Comm_free(&copy);
    return stale;
}

MPI_Datatype uncommitted() {
    MPI_Datatype type;
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    return type;
}

MPI_Datatype freed_type() {
    MPI_Datatype type = uncommitted(), stale = type;
    MPI_Type_free(&type);
    return stale;
}

void wait_twice() {
    MPI_Request request, stale;
    MPI_Isend(&value, 1, MPI_INT, rank, 1, world, &request);
    stale = request;
    MPI_Recv(&value, 1, MPI_INT, rank, 1, world, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&stale, MPI_STATUS_IGNORE);
}

void truncated(int bytes) {
    static char data[100000];
    MPI_Request request;
    MPI_Isend(data, bytes, MPI_CHAR, rank, 1, world, &request);
    MPI_Recv(data, bytes / 2, MPI_CHAR, rank, 1, world, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

const std::map<std::string, std::function<void()>> errors = {
    {"rank", [] { MPI_Send(&value, 1, MPI_INT, size, 0, world); }},
    {"negative rank", [] { MPI_Recv(&value, 1, MPI_INT, -77, 0, world, MPI_STATUS_IGNORE); }},
    {"tag", [] { MPI_Send(&value, 1, MPI_INT, 0, -5, world); }},
    {"count", [] { MPI_Send(&value, -1, MPI_INT, 0, 0, world); }},
    {"null datatype", [] { MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, world); }},
    {"uncommitted datatype", [] { MPI_Send(&value, 1, uncommitted(), 0, 0, world); }},
    {"freed datatype", [] { MPI_Send(&value, 1, freed_type(), 0, 0, world); }},
    {"null communicator", [] { MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL); }},
    {"freed communicator", [] { MPI_Barrier(freed_communicator()); }},
    {"null buffer", [] { MPI_Send(nullptr, 1, MPI_INT, 0, 0, world); }},
    {"truncation", [] { truncated(100); }},
    {"large truncation", [] { truncated(100000); }},
    {"freed request", [] { wait_twice(); }},
    {"root", [] { MPI_Bcast(&value, 1, MPI_INT, size + 3, world); }},
    {"operation", [] { MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_OP_NULL, world); }},
    {"operation on type",
     [] {
         double number = 1;
         MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_DOUBLE, MPI_BAND, world);
     }},
    {"aliased buffers", [] { MPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, world); }},
    {"no buffer attached", [] { MPI_Bsend(&value, 1, MPI_INT, 0, 0, world); }},
    {"free the world",
     [] {
         MPI_Comm copy = MPI_COMM_WORLD;
         MPI_Comm_free(&copy);
     }},
    {"free a predefined type",
     [] {
         MPI_Datatype type = MPI_INT;
         MPI_Type_free(&type);
     }},
    {"no displacement unit",
     [] {
         MPI_Win window;
         MPI_Win_create(&value, 4, 0, MPI_INFO_NULL, world, &window);
     }},
    {"different collectives",
     [] {
         if (rank == 0)
             MPI_Barrier(world);
         else
             MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, world);
     }},
    {"different roots", [] { MPI_Bcast(&value, 1, MPI_INT, rank, world); }},
    {"different counts",
     [] {
         int values[2] = {};
         MPI_Bcast(values, 1 + rank, MPI_INT, 0, world);
     }},
    {"initialise twice", [] { MPI_Init(nullptr, nullptr); }},
};

} // namespace

int main(int argc, char **argv) {
    std::string error = argc > 1 ? argv[1] : "";
    if (error == "list") {
        for (auto &[name, make] : errors) std::puts(name.c_str());
        return 0;
    }
    if (error == "before") MPI_Barrier(world);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    if (errors.contains(error)) errors.at(error)();
    if (error == "unreceived") MPI_Send(&value, 1, MPI_INT, rank, 9, world);
    MPI_Finalize();
    if (error == "after") MPI_Barrier(world);
    return 0;
}
