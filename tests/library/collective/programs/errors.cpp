// SPDX-License-Identifier: BSD-3-Clause
/// Wrong arguments are refused, by every rank for itself, with a class and a sentence.
#include "collective.h"

#include <cstring>

static void refused(int code, int wanted, const char *part) {
    int error_class = MPI_SUCCESS, length = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(code, &error_class);
    if (code == MPI_SUCCESS) stop(std::string("not refused: ") + part);
    MPI_Error_string(code, text, &length);
    if (error_class != wanted)
        stop("class " + std::to_string(error_class) + " instead of " + std::to_string(wanted) + ": " + text);
    if (std::strstr(text, part) == nullptr) stop("\"" + std::string(part) + "\" is not said in: " + text);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    std::vector<int> a(64), b(64), counts(static_cast<std::size_t>(world_size), 1), places(counts.size());
    int *x = a.data(), *y = b.data();
    MPI_Datatype fresh;
    MPI_Type_contiguous(2, MPI_INT, &fresh);

    refused(MPI_Bcast(x, -1, MPI_INT, 0, comm), MPI_ERR_COUNT, "count is -1");
    refused(MPI_Bcast(x, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE, "MPI_DATATYPE_NULL");
    refused(MPI_Bcast(x, 1, fresh, 0, comm), MPI_ERR_TYPE, "committed");
    refused(MPI_Bcast(x, 1, MPI_INT, world_size, comm), MPI_ERR_ROOT, "root is");
    refused(MPI_Bcast(x, 1, MPI_INT, -1, comm), MPI_ERR_ROOT, "root is -1");
    refused(MPI_Bcast(nullptr, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER, "null pointer");
    refused(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    refused(MPI_Allreduce(x, x, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, "use MPI_IN_PLACE");
    refused(MPI_Allreduce(x, y, 1, MPI_FLOAT, MPI_BAND, comm), MPI_ERR_OP, "MPI_BAND is not defined for MPI_FLOAT");
    refused(MPI_Allreduce(x, y, 1, MPI_INT, MPI_REPLACE, comm), MPI_ERR_OP, "one-sided");
    refused(MPI_Allreduce(x, y, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP, "MPI_OP_NULL");
    refused(MPI_Allreduce(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER, "recvbuf");
    refused(MPI_Allgather(x, 1, MPI_INT, x - world_rank, 1, MPI_INT, comm), MPI_ERR_BUFFER, "use MPI_IN_PLACE");
    refused(MPI_Alltoall(x, 1, MPI_INT, x, 1, MPI_INT, comm), MPI_ERR_BUFFER, "use MPI_IN_PLACE");
    counts[0] = -5;
    refused(MPI_Allgatherv(x, 1, MPI_INT, y, counts.data(), places.data(), MPI_INT, comm), MPI_ERR_COUNT,
            "recvcounts[0] is -5");
    refused(MPI_Reduce_scatter(x, y, counts.data(), MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT, "recvcounts[0] is -5");
    MPI_Request request = MPI_REQUEST_NULL;
    refused(MPI_Ibcast(x, -1, MPI_INT, 0, comm, &request), MPI_ERR_COUNT, "count is -1");
    refused(MPI_Reduce_init(x, y, 1, MPI_INT, MPI_SUM, 99, comm, MPI_INFO_NULL, &request), MPI_ERR_ROOT, "root is 99");
    refused(MPI_Neighbor_allgather(x, 1, MPI_INT, y, 1, MPI_INT, comm), MPI_ERR_TOPOLOGY, "topology");
    refused(MPI_Reduce_local(x, x, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, "same");
    MPI_Op sum = MPI_SUM;
    refused(MPI_Op_free(&sum), MPI_ERR_OP, "MPI_SUM");

    // More is sent than is to be received: nothing behind the place for it is touched.
    for (int length : {2, 200, 2000, 60000}) {
        auto room = static_cast<std::size_t>(length * world_size);
        std::vector<int> sent(2 * room, world_rank), received(room + 16);
        auto untouched_behind = [&](const char *what) {
            for (std::size_t i = room; i < received.size(); ++i)
                expect(received[i], untouched, std::string("behind the place of ") + what, static_cast<int>(i));
        };
        auto truncated = [&](const char *what, auto &&call) {
            received.assign(received.size(), untouched);
            int code = call(sent.data(), received.data());
            if (code != MPI_SUCCESS) refused(code, MPI_ERR_TRUNCATE, "bytes");
            untouched_behind(what);
            return code != MPI_SUCCESS;
        };
        bool told = truncated("MPI_Alltoall", [&](int *from, int *to) {
            return MPI_Alltoall(from, 2 * length, MPI_INT, to, length, MPI_INT, comm);
        });
        if (!told) stop("MPI_Alltoall takes more than it has room for");
        told = truncated("MPI_Allgather", [&](int *from, int *to) {
            return MPI_Allgather(from, 2 * length, MPI_INT, to, length, MPI_INT, comm);
        });
        if (!told) stop("MPI_Allgather takes more than it has room for");
    }

    // Everything goes on as usual afterwards.
    x[0] = 1;
    MPI_Allreduce(x, y, 1, MPI_INT, MPI_SUM, comm);
    expect(y[0], world_size, "MPI_Allreduce after errors", 0);
    MPI_Type_free(&fresh);
    MPI_Comm_free(&comm);
    end();
}
