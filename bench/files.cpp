// SPDX-License-Identifier: BSD-3-Clause
/// What collective access to a file costs, all ranks together, any MPI compiles and runs it:
///
///     mpicxx -std=c++20 -O2 files.cpp -o files && mpiexec -n 4 ./files FOLDER MEBIBYTES
///
/// The ranks' blocks interleave in the file, in blocks of several sizes; or each rank has one part of it. The first
/// line is what one rank takes for the same bytes by pwrite and pread of 4 MiB, as dd does: the limit. The file is
/// written anew each time, and is in the page cache when it is read. Nothing waits for the storage device.
#include <mpi.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int attempts = 3;
int rank, ranks;

void check(int code) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    std::fprintf(stderr, "%s\n", text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/// The fastest attempt, each as slow as its slowest rank. `before` is not timed.
double seconds(const std::function<void()> &before, const std::function<void()> &work) {
    double best = 1e9;
    for (int i = 0; i < attempts; i++) {
        before();
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        work();
        double mine = MPI_Wtime() - begin, slowest;
        MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        best = std::min(best, slowest);
    }
    return best;
}

void print(const std::string &name, double bytes, double writing, double reading) {
    if (rank == 0)
        std::printf("%-24s %8.3f s %8.0f MB/s   %8.3f s %8.0f MB/s\n", name.c_str(), writing, bytes / writing / 1e6,
                    reading, bytes / reading / 1e6);
}

void remove(const std::string &name) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(name.c_str());
}

/// One rank, without MPI.
void measure_limit(const std::string &name, std::size_t bytes) {
    constexpr std::size_t piece = 4 << 20;
    std::vector<char> buffer(piece, 1);
    auto go_through = [&](auto &&call, int flags) {
        if (rank != 0) return;
        int file = open(name.c_str(), flags, 0644);
        for (std::size_t done = 0; done < bytes; done += piece)
            if (call(file, buffer.data(), std::min(piece, bytes - done), static_cast<off_t>(done)) <= 0) std::abort();
        close(file);
    };
    double writing = seconds([&] { remove(name); }, [&] { go_through(pwrite, O_CREAT | O_WRONLY); });
    double reading = seconds([] {}, [&] { go_through(pread, O_RDONLY); });
    print("one rank, no MPI", static_cast<double>(bytes), writing, reading);
    remove(name);
}

/// All ranks; `block` bytes of a rank lie between those of others, 0 for one part each.
void measure(const std::string &name, std::size_t bytes, std::size_t block) {
    const std::size_t own = bytes / static_cast<std::size_t>(ranks);
    std::vector<char> buffer(own, static_cast<char>(rank));
    MPI_Datatype part = MPI_BYTE, filetype = MPI_BYTE;
    if (block != 0) {
        MPI_Type_contiguous(static_cast<int>(block), MPI_BYTE, &part);
        MPI_Type_create_resized(part, 0, static_cast<MPI_Aint>(block) * ranks, &filetype);
        MPI_Type_commit(&filetype);
    }
    auto displacement = static_cast<MPI_Offset>((block != 0 ? block : own) * static_cast<std::size_t>(rank));
    auto all = [&](bool writes) {
        MPI_File file;
        int mode = writes ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
        check(MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, MPI_INFO_NULL, &file));
        check(MPI_File_set_view(file, displacement, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
        int count = static_cast<int>(own);
        check(writes ? MPI_File_write_all(file, buffer.data(), count, MPI_BYTE, MPI_STATUS_IGNORE)
                     : MPI_File_read_all(file, buffer.data(), count, MPI_BYTE, MPI_STATUS_IGNORE));
        check(MPI_File_close(&file));
    };
    double writing = seconds([&] { remove(name); }, [&] { all(true); });
    double reading = seconds([&] { std::fill(buffer.begin(), buffer.end(), 'x'); }, [&] { all(false); });
    if (!std::all_of(buffer.begin(), buffer.end(), [](char byte) { return byte == rank; })) std::abort();
    print(block == 0 ? "one part each" : "blocks of " + std::to_string(block), static_cast<double>(bytes), writing,
          reading);
    remove(name);
    if (block != 0) {
        MPI_Type_free(&part);
        MPI_Type_free(&filetype);
    }
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const std::string name = std::string(argc > 1 ? argv[1] : ".") + "/files.bench";
    const std::size_t bytes = (argc > 2 ? std::stoul(argv[2]) : 256) << 20;
    if (rank == 0) std::printf("%zu MiB, %d ranks, %-4s write %15s read\n", bytes >> 20, ranks, "", "");
    measure_limit(name, bytes);
    for (std::size_t block : {0, 64, 1024, 4096, 65536, 1 << 20}) measure(name, bytes, block);
    MPI_Finalize();
}
