// SPDX-License-Identifier: BSD-3-Clause
// Opening, closing, sizes, views, positions, hints, error handlers, and what goes wrong.
#include "../../check.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace {

constexpr int create = MPI_MODE_CREATE | MPI_MODE_RDWR;

int class_of(int code) {
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    return error_class;
}

std::string text_of(int code) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return text;
}

MPI_File open(const char *name, int mode = create, MPI_Info info = MPI_INFO_NULL) {
    MPI_File file = MPI_FILE_NULL;
    int code = MPI_File_open(MPI_COMM_WORLD, name, mode, info, &file);
    if (code != MPI_SUCCESS) std::fprintf(stderr, "%s\n", text_of(code).c_str());
    CHECK(code == MPI_SUCCESS && file != MPI_FILE_NULL);
    return file;
}

void remove_file(const char *name) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) CHECK(MPI_File_delete(name, MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

int open_error(const char *name, int mode, MPI_Comm communicator = MPI_COMM_WORLD) {
    MPI_File file;
    int code = MPI_File_open(communicator, name, mode, MPI_INFO_NULL, &file);
    CHECK(file == MPI_FILE_NULL);
    return class_of(code);
}

MPI_Offset size_of(MPI_File file) {
    MPI_Offset size = -1;
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS);
    return size;
}

void test_modes() {
    CHECK(open_error("none", 0) == MPI_ERR_AMODE);
    CHECK(open_error("none", MPI_MODE_RDONLY | MPI_MODE_RDWR) == MPI_ERR_AMODE);
    CHECK(open_error("none", MPI_MODE_RDONLY | MPI_MODE_CREATE) == MPI_ERR_AMODE);
    CHECK(open_error("none", MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL) == MPI_ERR_AMODE);
    if (world_size > 1) CHECK(open_error("none", create | (world_rank == 1 ? MPI_MODE_APPEND : 0)) == MPI_ERR_NOT_SAME);
    CHECK(!std::filesystem::exists("none"));
    MPI_File file = open("modes", create | MPI_MODE_EXCL);
    int mode = 0;
    CHECK(MPI_File_get_amode(file, &mode) == MPI_SUCCESS && mode == (create | MPI_MODE_EXCL));
    CHECK(MPI_File_write_at(file, 0, "abc", 3, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_File_close(&file);
    CHECK(file == MPI_FILE_NULL);
    CHECK(open_error("modes", create | MPI_MODE_EXCL) == MPI_ERR_FILE_EXISTS);
    // At the end, with both pointers.
    file = open("ufs:modes", MPI_MODE_WRONLY | MPI_MODE_APPEND);
    MPI_Offset own = -1, shared = -1;
    MPI_File_get_position(file, &own);
    MPI_File_get_position_shared(file, &shared);
    CHECK(own == 3 && shared == 3);
    char byte = 0;
    CHECK(class_of(MPI_File_read(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE)) == MPI_ERR_ACCESS);
    MPI_File_close(&file);
    file = open("modes", MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN);
    CHECK(class_of(MPI_File_write(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE)) == MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_set_size(file, 0)) == MPI_ERR_READ_ONLY);
    CHECK(class_of(MPI_File_preallocate(file, 10)) == MPI_ERR_READ_ONLY);
    MPI_File_close(&file);
    CHECK(!std::filesystem::exists("modes"));
}

void test_sequential() {
    MPI_File file = open("sequential", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    MPI_Offset offset;
    CHECK(class_of(MPI_File_write(file, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE)) == MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(class_of(MPI_File_write_at(file, 0, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE)) == MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(class_of(MPI_File_seek(file, 0, MPI_SEEK_SET)) == MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(class_of(MPI_File_get_position(file, &offset)) == MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(MPI_File_write_ordered(file, "xy", 2, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    CHECK(MPI_File_write_ordered(file, "z", 1, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(size_of(file) == 3 * world_size);
    MPI_File_close(&file);
    remove_file("sequential");
}

void test_sizes() {
    MPI_File file = open("sizes");
    CHECK(MPI_File_set_size(file, 1000) == MPI_SUCCESS && size_of(file) == 1000);
    CHECK(MPI_File_preallocate(file, 500) == MPI_SUCCESS && size_of(file) == 1000);
    CHECK(MPI_File_preallocate(file, 5000) == MPI_SUCCESS && size_of(file) == 5000);
    CHECK(MPI_File_set_size(file, 10) == MPI_SUCCESS && size_of(file) == 10);
    CHECK(class_of(MPI_File_set_size(file, -1)) == MPI_ERR_ARG);
    if (world_size > 1) CHECK(class_of(MPI_File_set_size(file, world_rank)) == MPI_ERR_NOT_SAME);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    int same = MPI_UNEQUAL;
    MPI_File_get_group(file, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &same);
    CHECK(same == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    int atomic = -1;
    CHECK(MPI_File_get_atomicity(file, &atomic) == MPI_SUCCESS && atomic == 0);
    CHECK(MPI_File_set_atomicity(file, 1) == MPI_SUCCESS);
    CHECK(MPI_File_get_atomicity(file, &atomic) == MPI_SUCCESS && atomic == 1);
    MPI_File_close(&file);
    remove_file("sizes");
}

// A filetype whose tiles overlap may show a file that is written, as long as only the first is used. HDF5 makes such
// ones of selections: the lower bound that one member was given is the whole type's.
void test_overlapping_tiles() {
    MPI_File file = open("tiles");
    MPI_Datatype two, overlapping;
    const int places[] = {0, 3};
    MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &two);
    MPI_Type_create_resized(two, 4, 8, &overlapping);
    MPI_Type_commit(&overlapping);
    const MPI_Offset own = 16 * world_rank;
    CHECK(MPI_File_set_view(file, own, MPI_INT, overlapping, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    const int numbers[] = {world_rank, -world_rank};
    CHECK(MPI_File_write_at_all(file, 0, numbers, 2, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    int got[2] = {77, 77};
    CHECK(MPI_File_read_at_all(file, 0, got, 2, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got[0] == world_rank && got[1] == -world_rank);
    CHECK(MPI_File_set_view(file, own, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    int all[4] = {77, 77, 77, 77};
    CHECK(MPI_File_read_at(file, 0, all, 4, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(all[0] == world_rank && all[1] == 0 && all[2] == 0 && all[3] == -world_rank);
    // What overlaps itself is still refused.
    MPI_Datatype itself;
    const int places_and_back[] = {0, 3, 1};
    MPI_Type_create_indexed_block(3, 1, places_and_back, MPI_INT, &itself);
    MPI_Type_commit(&itself);
    CHECK(class_of(MPI_File_set_view(file, 0, MPI_INT, itself, "native", MPI_INFO_NULL)) == MPI_ERR_ARG);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    MPI_Type_free(&two);
    MPI_Type_free(&overlapping);
    MPI_Type_free(&itself);
    remove_file("tiles");
}

void test_views() {
    MPI_File file = open("views");
    MPI_Offset displacement = -1;
    MPI_Datatype etype, filetype;
    char name[MPI_MAX_DATAREP_STRING];
    CHECK(MPI_File_get_view(file, &displacement, &etype, &filetype, name) == MPI_SUCCESS);
    CHECK(displacement == 0 && etype == MPI_BYTE && filetype == MPI_BYTE && std::strcmp(name, "native") == 0);

    MPI_Datatype spaced; // ints 0 and 3 of five
    const int places[] = {0, 3};
    MPI_Datatype two;
    MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, 5 * sizeof(int), &spaced);
    CHECK(class_of(MPI_File_set_view(file, 8, MPI_INT, spaced, "native", MPI_INFO_NULL)) == MPI_ERR_TYPE);
    MPI_Type_commit(&spaced);
    CHECK(class_of(MPI_File_set_view(file, 8, MPI_INT, spaced, "gothic", MPI_INFO_NULL)) ==
          MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK(class_of(MPI_File_set_view(file, -8, MPI_INT, spaced, "native", MPI_INFO_NULL)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_File_set_view(file, 8, MPI_DOUBLE, MPI_INT, "native", MPI_INFO_NULL)) == MPI_ERR_ARG);
    CHECK(MPI_File_set_view(file, 8, MPI_INT, spaced, "internal", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&spaced);
    MPI_Type_free(&two);
    CHECK(MPI_File_get_view(file, &displacement, &etype, &filetype, name) == MPI_SUCCESS);
    CHECK(displacement == 8 && etype == MPI_INT && std::strcmp(name, "internal") == 0);
    MPI_Aint lb, extent;
    MPI_Type_get_extent(filetype, &lb, &extent);
    CHECK(extent == 5 * sizeof(int));
    CHECK(MPI_File_get_type_extent(file, filetype, &extent) == MPI_SUCCESS && extent == 5 * sizeof(int));
    MPI_Count large_extent;
    CHECK(MPI_File_get_type_extent_c(file, filetype, &large_extent) == MPI_SUCCESS && large_extent == extent);
    MPI_Type_free(&filetype);

    MPI_Offset place = -1;
    for (int i = 0; i < 6; i++) {
        CHECK(MPI_File_get_byte_offset(file, i, &place) == MPI_SUCCESS);
        CHECK(place == 8 + static_cast<MPI_Offset>(sizeof(int)) * (i / 2 * 5 + i % 2 * 3));
    }
    CHECK(class_of(MPI_File_get_byte_offset(file, -1, &place)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_File_get_byte_offset(file, INT64_MAX / 8, &place)) == MPI_ERR_ARG);
    CHECK(MPI_File_seek(file, 7, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_seek(file, -2, MPI_SEEK_CUR) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &place) == MPI_SUCCESS && place == 5);
    CHECK(class_of(MPI_File_seek(file, -6, MPI_SEEK_CUR)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_File_seek(file, 0, 12345)) == MPI_ERR_ARG);
    MPI_File_set_size(file, 8 + 5 * sizeof(int)); // one filetype
    CHECK(MPI_File_seek(file, 1, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &place) == MPI_SUCCESS && place == 3);
    CHECK(MPI_File_seek_shared(file, 4, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_get_position_shared(file, &place) == MPI_SUCCESS && place == 4);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_seek_shared(file, -1, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_get_position_shared(file, &place) == MPI_SUCCESS && place == 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_size > 1) CHECK(class_of(MPI_File_seek_shared(file, world_rank, MPI_SEEK_SET)) == MPI_ERR_NOT_SAME);

    short half = 0;
    CHECK(class_of(MPI_File_read(file, &half, 1, MPI_SHORT, MPI_STATUS_IGNORE)) == MPI_ERR_ARG); // half an etype
    CHECK(class_of(MPI_File_read_at(file, -1, &half, 2, MPI_SHORT, MPI_STATUS_IGNORE)) == MPI_ERR_ARG);
    CHECK(class_of(MPI_File_read(file, nullptr, 4, MPI_INT, MPI_STATUS_IGNORE)) == MPI_ERR_BUFFER);
    CHECK(class_of(MPI_File_read(file, &half, -1, MPI_INT, MPI_STATUS_IGNORE)) == MPI_ERR_COUNT);
    // Decreasing, overlapping: for reading alone.
    const int backwards[] = {3, 0};
    MPI_Type_create_indexed_block(2, 1, backwards, MPI_INT, &two);
    MPI_Type_commit(&two);
    CHECK(class_of(MPI_File_set_view(file, 0, MPI_INT, two, "native", MPI_INFO_NULL)) == MPI_ERR_ARG);
    MPI_Type_free(&two);
    MPI_File_close(&file);
    remove_file("views");
}

void test_hints() {
    MPI_Info info, used;
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", "65536");
    MPI_Info_set(info, "romio_cb_read", "disable");
    MPI_Info_set(info, "romio_ds_write", "enable");
    MPI_Info_set(info, "striping_unit", "4096");
    MPI_Info_set(info, "cb_nodes", "many");
    MPI_Info_set(info, "file_perm", "600");
    umask(0);
    MPI_File file = open("hints", create, info);
    struct stat about;
    CHECK(stat("hints", &about) == 0 && (about.st_mode & 0777) == 0600);
    auto hint = [&](const char *key) {
        char value[MPI_MAX_INFO_VAL] = "";
        int flag = 0;
        CHECK(MPI_File_get_info(file, &used) == MPI_SUCCESS);
        MPI_Info_get(used, key, sizeof value - 1, value, &flag);
        MPI_Info_free(&used);
        return std::string(flag != 0 ? value : "none");
    };
    CHECK(hint("cb_buffer_size") == "65536");
    CHECK(hint("romio_cb_read") == "disable");
    CHECK(hint("romio_cb_write") == "automatic");
    // What is not done is not told.
    CHECK(hint("romio_ds_write") == "disable");
    CHECK(hint("striping_unit") == "none" && hint("cb_nodes") == "none");
    CHECK(hint("filename") == "hints");
    MPI_Info_set(info, "cb_nodes", "2");
    CHECK(MPI_File_set_info(file, info) == MPI_SUCCESS && hint("cb_nodes") == "2");
    MPI_Info_free(&info);
    MPI_File_close(&file);
    remove_file("hints");
}

MPI_File seen_file = MPI_FILE_NULL;
int seen_code = MPI_SUCCESS, calls = 0;

void note(MPI_File *file, int *code, ...) {
    seen_file = *file;
    seen_code = *code;
    calls++;
}

void test_errhandlers() {
    MPI_Errhandler errhandler, found;
    CHECK(MPI_File_get_errhandler(MPI_FILE_NULL, &found) == MPI_SUCCESS && found == MPI_ERRORS_RETURN);
    CHECK(MPI_File_create_errhandler(note, &errhandler) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRHANDLER_NULL)) == MPI_ERR_ERRHANDLER);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, errhandler) == MPI_SUCCESS);
    // Of no file: opening, deleting.
    CHECK(open_error("missing", MPI_MODE_RDONLY) == MPI_ERR_NO_SUCH_FILE);
    CHECK(calls == 1 && seen_file == MPI_FILE_NULL && class_of(seen_code) == MPI_ERR_NO_SUCH_FILE);
    CHECK(class_of(MPI_File_delete("missing", MPI_INFO_NULL)) == MPI_ERR_NO_SUCH_FILE);
    CHECK(calls == 2);
    CHECK(text_of(seen_code).find("missing") != std::string::npos);
    MPI_File null = MPI_FILE_NULL;
    CHECK(class_of(MPI_File_close(&null)) == MPI_ERR_FILE && calls == 3);
    // New files have it.
    MPI_File file = open("handlers");
    CHECK(MPI_File_get_errhandler(file, &found) == MPI_SUCCESS && found == errhandler);
    MPI_Errhandler_free(&found);
    CHECK(MPI_File_call_errhandler(file, MPI_ERR_OTHER) == MPI_SUCCESS);
    CHECK(calls == 4 && seen_file == file && seen_code == MPI_ERR_OTHER);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_OTHER) == MPI_SUCCESS && calls == 4);
    CHECK(class_of(MPI_File_seek(file, -1, MPI_SEEK_SET)) == MPI_ERR_ARG);
    CHECK(calls == 5 && seen_file == file);
    // A failure that a wait tells is the file's as well.
    MPI_File_close(&file);
    file = open("handlers", MPI_MODE_RDWR);
    MPI_File_set_errhandler(file, errhandler);
    MPI_Errhandler_free(&errhandler);
    MPI_Request request;
    // The file would become longer than any file can be.
    CHECK(MPI_File_iwrite_at(file, INT64_MAX - 2, "xy", 2, MPI_CHAR, &request) == MPI_SUCCESS);
    CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_IO);
    CHECK(calls == 6 && seen_file == file);
    MPI_File_close(&file);
    remove_file("handlers");
}

void test_errors() {
    CHECK(open_error("no_folder/file", create) == MPI_ERR_NO_SUCH_FILE);
    CHECK(open_error(".", MPI_MODE_RDONLY) == MPI_ERR_BAD_FILE);
    CHECK(open_error(".", create) == MPI_ERR_BAD_FILE);
    CHECK(open_error("/proc/version/file", create) == MPI_ERR_BAD_FILE);
    MPI_File file;
    CHECK(class_of(MPI_File_open(MPI_COMM_NULL, "x", create, MPI_INFO_NULL, &file)) == MPI_ERR_COMM);
    CHECK(class_of(MPI_File_open(MPI_COMM_WORLD, nullptr, create, MPI_INFO_NULL, &file)) == MPI_ERR_ARG);
    if (geteuid() != 0) CHECK(open_error("/etc/shadow", MPI_MODE_RDONLY) == MPI_ERR_ACCESS);
    if (access("/dev/full", W_OK) == 0) {
        file = open("/dev/full", MPI_MODE_WRONLY);
        CHECK(class_of(MPI_File_write(file, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE)) == MPI_ERR_NO_SPACE);
        // All learn of it, whoever writes for them.
        MPI_Info info;
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_cb_write", "enable");
        MPI_File_set_info(file, info);
        MPI_Info_free(&info);
        CHECK(class_of(MPI_File_write_at_all(file, world_rank, "x", 1, MPI_CHAR, MPI_STATUS_IGNORE)) ==
              MPI_ERR_NO_SPACE);
        MPI_File_close(&file);
    }
    file = open("errors", create | MPI_MODE_DELETE_ON_CLOSE);
    char byte = 0;
    CHECK(class_of(MPI_File_read_all_end(file, &byte, MPI_STATUS_IGNORE)) == MPI_ERR_OTHER);
    CHECK(MPI_File_write_all_begin(file, "x", 1, MPI_CHAR) == MPI_SUCCESS);
    CHECK(class_of(MPI_File_read_all(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE)) == MPI_ERR_OTHER);
    CHECK(class_of(MPI_File_close(&file)) == MPI_ERR_OTHER && file != MPI_FILE_NULL);
    CHECK(class_of(MPI_File_write_ordered_end(file, "x", MPI_STATUS_IGNORE)) == MPI_ERR_OTHER);
    CHECK(MPI_File_write_all_end(file, "x", MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_File copy = file;
    MPI_File_close(&file);
    CHECK(class_of(MPI_File_read(copy, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE)) == MPI_ERR_FILE);
}

long descriptors() {
    namespace fs = std::filesystem;
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

/// Files that were closed leave neither descriptors nor communicators behind.
void test_many() {
    long before = descriptors();
    for (int i = 0; i < 1000; i++) {
        MPI_File file = open("many");
        CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        CHECK(MPI_File_write_shared(file, &i, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    }
    CHECK(descriptors() == before);
    MPI_Barrier(MPI_COMM_WORLD);
    int others = 0; // hidden files
    for (const auto &entry : std::filesystem::directory_iterator(".")) others += entry.path().filename() != "many";
    CHECK(others == 0);
    remove_file("many");
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    test_modes();
    test_sequential();
    test_sizes();
    test_views();
    test_overlapping_tiles();
    test_hints();
    test_errhandlers();
    test_errors();
    test_many();
}
