// SPDX-License-Identifier: BSD-3-Clause
// Every function that reads or writes, each with a view in which the ranks' blocks interleave. What lies in the file is
// compared with what must lie there.
#include "../../check.h"

#include <algorithm>
#include <functional>
#include <string>

namespace {

constexpr int block = 3;   // ints of a rank, before those of the next
constexpr int blocks = 40; // that a rank writes in one access
constexpr int length = block * blocks;

using Data = std::vector<int>;

int value(int rank, int round, int i) {
    return (rank + 1) * 1000003 + round * 10007 + i;
}

Data data_of(int rank, int round) {
    Data data(length);
    for (int i = 0; i < length; i++) data[static_cast<std::size_t>(i)] = value(rank, round, i);
    return data;
}

/// One form of access: how it writes and reads `length` ints at the beginning of what it is to access.
struct Form {
    const char *name;
    bool shared;  // at the shared pointer: ranks' data is in order, or mixed
    bool ordered; // in the order of ranks
    std::function<int(MPI_File, const int *, MPI_Status *)> write;
    std::function<int(MPI_File, int *, MPI_Status *)> read;
};

int count_of(const MPI_Status &status) {
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    return count;
}

int seek(MPI_File file) {
    return MPI_File_seek(file, 0, MPI_SEEK_SET);
}

// The plain form and that with large counts, one after the other: the second half of the data goes with the second.
constexpr int half = length / 2;
int expected_first = half; // ints that the first of them moves

template <class Plain, class Large>
int both(Plain plain, Large large, MPI_File file, auto *buffer, MPI_Status *status) {
    MPI_Status first;
    int code;
    if constexpr (std::is_invocable_v<Plain, MPI_File, MPI_Offset, decltype(buffer), int, MPI_Datatype, MPI_Status *>) {
        code = plain(file, 0, buffer, half, MPI_INT, &first);
        CHECK(code == MPI_SUCCESS);
        code = large(file, half, buffer + half, half, MPI_INT, status);
    } else {
        code = plain(file, buffer, half, MPI_INT, &first);
        CHECK(code == MPI_SUCCESS);
        code = large(file, buffer + half, half, MPI_INT, status);
    }
    CHECK(count_of(first) == expected_first);
    return code;
}

template <class Plain, class Large>
int both_started(Plain plain, Large large, MPI_File file, auto *buffer, MPI_Status *status) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    if constexpr (std::is_invocable_v<Plain, MPI_File, MPI_Offset, decltype(buffer), int, MPI_Datatype,
                                      MPI_Request *>) {
        CHECK(plain(file, 0, buffer, half, MPI_INT, &requests[0]) == MPI_SUCCESS);
        CHECK(large(file, half, buffer + half, half, MPI_INT, &requests[1]) == MPI_SUCCESS);
    } else {
        CHECK(plain(file, buffer, half, MPI_INT, &requests[0]) == MPI_SUCCESS);
        CHECK(large(file, buffer + half, half, MPI_INT, &requests[1]) == MPI_SUCCESS);
    }
    int code = MPI_Waitall(2, requests, statuses);
    CHECK(count_of(statuses[0]) == expected_first);
    *status = statuses[1];
    return code;
}

template <class Plain, class Large, class End>
int both_split(Plain plain, Large large, End end, MPI_File file, auto *buffer, MPI_Status *status) {
    MPI_Status first;
    if constexpr (std::is_invocable_v<Plain, MPI_File, MPI_Offset, decltype(buffer), int, MPI_Datatype>) {
        CHECK(plain(file, 0, buffer, half, MPI_INT) == MPI_SUCCESS);
        CHECK(end(file, buffer, &first) == MPI_SUCCESS);
        CHECK(large(file, half, buffer + half, half, MPI_INT) == MPI_SUCCESS);
    } else {
        CHECK(plain(file, buffer, half, MPI_INT) == MPI_SUCCESS);
        // An access by itself may come between; another that all make together may not.
        int error_class = MPI_SUCCESS;
        MPI_Error_class(MPI_File_set_atomicity(file, 0), &error_class);
        CHECK(error_class == MPI_ERR_OTHER);
        CHECK(end(file, buffer, &first) == MPI_SUCCESS);
        CHECK(large(file, buffer + half, half, MPI_INT) == MPI_SUCCESS);
    }
    CHECK(count_of(first) == expected_first);
    return end(file, buffer + half, status);
}

#define BOTH(form)                                                                                                     \
    [](MPI_File file, const int *buffer, MPI_Status *status) {                                                         \
        return both(MPI_File_write##form, MPI_File_write##form##_c, file, buffer, status);                             \
    },                                                                                                                 \
        [](MPI_File file, int *buffer, MPI_Status *status) {                                                           \
            return both(MPI_File_read##form, MPI_File_read##form##_c, file, buffer, status);                           \
        }
#define STARTED(form)                                                                                                  \
    [](MPI_File file, const int *buffer, MPI_Status *status) {                                                         \
        return both_started(MPI_File_iwrite##form, MPI_File_iwrite##form##_c, file, buffer, status);                   \
    },                                                                                                                 \
        [](MPI_File file, int *buffer, MPI_Status *status) {                                                           \
            return both_started(MPI_File_iread##form, MPI_File_iread##form##_c, file, buffer, status);                 \
        }
#define SPLIT(form)                                                                                                    \
    [](MPI_File file, const int *buffer, MPI_Status *status) {                                                         \
        return both_split(MPI_File_write##form##_begin, MPI_File_write##form##_begin_c, MPI_File_write##form##_end,    \
                          file, buffer, status);                                                                       \
    },                                                                                                                 \
        [](MPI_File file, int *buffer, MPI_Status *status) {                                                           \
            return both_split(MPI_File_read##form##_begin, MPI_File_read##form##_begin_c, MPI_File_read##form##_end,   \
                              file, buffer, status);                                                                   \
        }

const std::vector<Form> forms = {
    {"at", false, false, BOTH(_at)},
    {"iat", false, false, STARTED(_at)},
    {"at_all", false, false, BOTH(_at_all)},
    {"iat_all", false, false, STARTED(_at_all)},
    {"at_all split", false, false, SPLIT(_at_all)},
    {"individual", false, false, BOTH()},
    {"iindividual", false, false, STARTED()},
    {"all", false, false, BOTH(_all)},
    {"iall", false, false, STARTED(_all)},
    {"all split", false, false, SPLIT(_all)},
    {"shared", true, false, BOTH(_shared)},
    {"ishared", true, false, STARTED(_shared)},
    {"ordered", true, true, BOTH(_ordered)},
    {"ordered split", true, true, SPLIT(_ordered)},
};

Data whole_file(const std::string &name, int ints) {
    MPI_File file;
    CHECK(MPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    Data data(static_cast<std::size_t>(ints) + 1);
    MPI_Status status;
    CHECK(MPI_File_read(file, data.data(), ints + 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(count_of(status) == ints); // and no more
    data.pop_back();
    MPI_File_close(&file);
    return data;
}

void set_interleaved_view(MPI_File file) {
    MPI_Datatype part, filetype;
    MPI_Type_contiguous(block, MPI_INT, &part);
    MPI_Type_create_resized(part, 0, static_cast<MPI_Aint>(sizeof(int)) * block * world_size, &filetype);
    MPI_Type_commit(&filetype);
    MPI_Offset begin = static_cast<MPI_Offset>(sizeof(int)) * block * world_rank;
    CHECK(MPI_File_set_view(file, begin, MPI_INT, filetype, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&part);
    MPI_Type_free(&filetype);
}

void test_interleaved(const Form &form, int round, MPI_Info info) {
    std::string name = "interleaved";
    MPI_File file;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, info, &file) == MPI_SUCCESS);
    set_interleaved_view(file);
    Data mine = data_of(world_rank, round);
    MPI_Status status;
    CHECK(form.write(file, mine.data(), &status) == MPI_SUCCESS);
    CHECK(count_of(status) == half);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    Data all = whole_file(name, length * world_size);
    for (int i = 0; i < std::ssize(all); i++) {
        int rank = i / block % world_size, own = i / (block * world_size) * block + i % block;
        CHECK(all[static_cast<std::size_t>(i)] == value(rank, round, own));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    seek(file);
    Data back(length, -1);
    CHECK(form.read(file, back.data(), &status) == MPI_SUCCESS);
    CHECK(count_of(status) == half);
    CHECK(back == mine);
    // Beyond the end of the file there is nothing, and memory stays as it was.
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_set_size(file, static_cast<MPI_Offset>(sizeof(int)) * block * world_size);
    seek(file);
    std::fill(back.begin(), back.end(), -1);
    expected_first = block;
    CHECK(form.read(file, back.data(), &status) == MPI_SUCCESS);
    expected_first = half;
    CHECK(count_of(status) == 0);
    for (int i = 0; i < length; i++)
        CHECK(back[static_cast<std::size_t>(i)] == (i < block ? value(world_rank, round, i) : -1));
    MPI_File_close(&file);
    if (world_rank == 0) MPI_File_delete(name.c_str(), MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
}

void test_shared(const Form &form, int round) {
    std::string name = "shared";
    MPI_File file;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    Data mine = data_of(world_rank, round);
    MPI_Status status;
    CHECK(form.write(file, mine.data(), &status) == MPI_SUCCESS);
    CHECK(count_of(status) == half);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Offset position;
    CHECK(MPI_File_get_position_shared(file, &position) == MPI_SUCCESS);
    CHECK(position == static_cast<MPI_Offset>(length) * world_size);
    // Each access is in one piece, somewhere; of the ordered ones it is known where.
    Data all = whole_file(name, length * world_size);
    std::vector<int> seen(static_cast<std::size_t>(2 * world_size));
    for (int part = 0; part < 2 * world_size; part++) {
        const int *found = &all[static_cast<std::size_t>(part * half)];
        int rank = found[0] / 1000003 - 1, second = (found[0] - value(rank, round, 0)) / half;
        CHECK(rank >= 0 && rank < world_size && (second == 0 || second == 1));
        if (form.ordered) CHECK(rank == part % world_size && second == part / world_size);
        for (int i = 0; i < half; i++) CHECK(found[i] == value(rank, round, second * half + i));
        seen[static_cast<std::size_t>(2 * rank + second)]++;
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    Data back(length, -1);
    CHECK(form.read(file, back.data(), &status) == MPI_SUCCESS);
    CHECK(count_of(status) == half);
    long long mine_sum = 0, sum = 0, wanted = 0;
    for (int one : back) mine_sum += one;
    for (int one : all) wanted += one;
    MPI_Allreduce(&mine_sum, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == wanted); // all was read, and once
    if (form.ordered) CHECK(back == mine);
    MPI_File_close(&file);
}

/// Few bytes far apart: nobody goes through all that lies between.
void test_far_apart(MPI_Info info) {
    MPI_File file;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, "far", mode, info, &file) == MPI_SUCCESS);
    MPI_Datatype far;
    constexpr MPI_Aint gibibyte = MPI_Aint{1} << 30;
    MPI_Type_create_resized(MPI_INT, 0, gibibyte, &far);
    MPI_Type_commit(&far);
    auto begin = static_cast<MPI_Offset>(sizeof(int)) * world_rank;
    CHECK(MPI_File_set_view(file, begin, MPI_INT, far, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    Data mine = data_of(world_rank, 1), back(length);
    CHECK(MPI_File_write_all(file, mine.data(), length, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_read_at_all(file, 0, back.data(), length, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(back == mine);
    MPI_Type_free(&far);
    MPI_File_close(&file);
}

/// A view that is set while collective accesses are under way is for those that come after it.
void test_views_between(MPI_Info info) {
    MPI_File file;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, "between", mode, info, &file) == MPI_SUCCESS);
    constexpr int accesses = 4;
    std::vector<Data> written;
    std::vector<MPI_Request> requests(accesses);
    for (int i = 0; i < accesses; i++) written.push_back(data_of(world_rank, i));
    for (std::size_t i = 0; i < accesses; i++) {
        // Another distance in each of them.
        const int stride = (world_size + static_cast<int>(i)) * block;
        MPI_Datatype view;
        MPI_Type_vector(blocks, block, stride, MPI_INT, &view);
        MPI_Type_commit(&view);
        const MPI_Offset begin = (static_cast<MPI_Offset>(i) << 20) + world_rank * block * MPI_Offset{sizeof(int)};
        CHECK(MPI_File_set_view(file, begin, MPI_INT, view, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        CHECK(MPI_File_iwrite_all(file, written[i].data(), length, MPI_INT, &requests[i]) == MPI_SUCCESS);
        MPI_Type_free(&view);
    }
    CHECK(MPI_Waitall(accesses, requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (std::size_t i = 0; i < accesses; i++) {
        Data back(block, -1);
        for (int at = 0; at < blocks; at++) {
            const MPI_Offset begin = (static_cast<MPI_Offset>(i) << 20) / MPI_Offset{sizeof(int)} +
                                     (world_rank + at * (world_size + static_cast<int>(i))) * block;
            CHECK(MPI_File_read_at(file, begin, back.data(), block, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(std::equal(back.begin(), back.end(), written[i].begin() + at * block));
        }
    }
    MPI_File_close(&file);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    // Small windows, so that there are several; alone and by aggregators, one and several.
    std::vector<MPI_Info> infos;
    for (const char *way : {"enable", "disable", "automatic"}) {
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_cb_write", way);
        MPI_Info_set(info, "romio_cb_read", way);
        MPI_Info_set(info, "cb_buffer_size", "1000");
        MPI_Info_set(info, "romio_ds_read", way);
        MPI_Info_set(info, "ind_rd_buffer_size", "100");
        if (infos.empty()) MPI_Info_set(info, "cb_nodes", "3");
        infos.push_back(info);
    }
    for (MPI_Info info : infos) {
        test_far_apart(info);
        test_views_between(info);
    }
    int round = 0;
    for (const Form &form : forms) {
        if (form.shared)
            test_shared(form, round++);
        else
            for (MPI_Info info : infos) test_interleaved(form, round++, info);
    }
    for (MPI_Info &info : infos) MPI_Info_free(&info);
}
