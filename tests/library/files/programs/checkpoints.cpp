// SPDX-License-Identifier: BSD-3-Clause
// Writes checkpoints until it is killed. Record i of checkpoint n has the number n * records + i in all its words, so
// that what is found later tells who wrote it. Every checkpoint has a file of its own, whose last word says that all is
// there.
#include "../../check.h"

#include <string>
#include <unistd.h>

namespace {

constexpr int words = 512; // of a record

MPI_Datatype every_rank() {
    MPI_Datatype record, spread;
    MPI_Type_contiguous(words, MPI_LONG_LONG, &record);
    MPI_Type_create_resized(record, 0, static_cast<MPI_Aint>(sizeof(long long)) * words * world_size, &spread);
    MPI_Type_free(&record);
    MPI_Type_commit(&spread);
    return spread;
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    const int own_records = std::stoi(argv[1]), records = own_records * world_size;
    MPI_Datatype filetype = every_rank();
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "cb_buffer_size", "65536");
    std::vector<long long> data(static_cast<std::size_t>(own_records) * words);
    std::vector<int> processes(static_cast<std::size_t>(world_size));
    int own = getpid();
    MPI_Gather(&own, 1, MPI_INT, processes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (world_rank == 0) {
        for (int process : processes) std::printf("%d ", process);
        std::puts("");
    }
    for (long long number = 0;; number++) {
        for (int record = 0; record < own_records; record++)
            for (int word = 0; word < words; word++)
                data[static_cast<std::size_t>(record) * words + static_cast<std::size_t>(word)] =
                    number * records + record * world_size + world_rank;
        MPI_File file;
        std::string name = "checkpoint." + std::to_string(number);
        CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file) ==
              MPI_SUCCESS);
        MPI_Offset begin = static_cast<MPI_Offset>(sizeof(long long)) * words * world_rank;
        CHECK(MPI_File_set_view(file, begin, MPI_LONG_LONG, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        CHECK(MPI_File_write_all(file, data.data(), static_cast<int>(data.size()), MPI_LONG_LONG, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(MPI_File_set_view(file, 0, MPI_LONG_LONG, MPI_LONG_LONG, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        // After this all have written: it returned in all ranks.
        long long last = -1 - number;
        MPI_Offset end = static_cast<MPI_Offset>(records) * words;
        if (world_rank == 0)
            CHECK(MPI_File_write_at(file, end, &last, 1, MPI_LONG_LONG, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_close(&file) == MPI_SUCCESS);
        if (world_rank == 0) {
            std::printf("%lld\n", number);
            std::fflush(stdout);
        }
    }
}
