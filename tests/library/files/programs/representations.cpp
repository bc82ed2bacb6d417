// SPDX-License-Identifier: BSD-3-Clause
// external32, and data representations that the program registers.
#include "../../check.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace {

int class_of(int code) {
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    return error_class;
}

MPI_File open(const char *name, MPI_Comm communicator = MPI_COMM_WORLD) {
    MPI_File file = MPI_FILE_NULL;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(communicator, name, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    return file;
}

std::vector<unsigned char> raw(const char *name, std::size_t bytes) {
    MPI_File file;
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    std::vector<unsigned char> data(bytes);
    MPI_Status status;
    int count = 0;
    MPI_File_read(file, data.data(), static_cast<int>(bytes), MPI_BYTE, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == static_cast<int>(bytes));
    MPI_File_close(&file);
    return data;
}

/// Sizes in the file differ from those in memory, and the filetype's extents follow them.
void test_external32() {
    MPI_File file = open("external");
    MPI_Datatype two, every_other;
    // A wide character has two bytes there. What is given in bytes must be given as it is in the file.
    MPI_Type_vector(2, 1, world_size, MPI_WCHAR, &two);
    MPI_Type_create_resized(two, 0, 2 * 2 * world_size, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Offset begin = 2 * world_rank;
    CHECK(MPI_File_set_view(file, begin, MPI_WCHAR, every_other, "external32", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Aint extent = 0;
    CHECK(MPI_File_get_type_extent(file, MPI_WCHAR, &extent) == MPI_SUCCESS && extent == 2);
    CHECK(MPI_File_get_type_extent(file, every_other, &extent) == MPI_SUCCESS && extent == 4 * world_size);
    const wchar_t text[2] = {static_cast<wchar_t>(0x4100 + world_rank), static_cast<wchar_t>(0x4200 + world_rank)};
    MPI_Status status;
    int count = 0;
    CHECK(MPI_File_write_all(file, text, 2, MPI_WCHAR, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_WCHAR, &count);
    CHECK(count == 2);
    MPI_Barrier(MPI_COMM_WORLD);
    auto bytes = raw("external", static_cast<std::size_t>(4 * world_size));
    for (int i = 0; i < 2 * world_size; i++) {
        CHECK(bytes[static_cast<std::size_t>(2 * i)] == 0x41 + i / world_size);
        CHECK(bytes[static_cast<std::size_t>(2 * i + 1)] == i % world_size);
    }
    // More than there is: only whole elements come.
    wchar_t back[4] = {};
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_read(file, back, 4, MPI_WCHAR, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_WCHAR, &count);
    CHECK(count == 2 && std::equal(text, text + 2, back) && back[2] == 0 && back[3] == 0);
    MPI_Request request;
    std::fill_n(back, 4, L'\0');
    CHECK(MPI_File_iread_at_all(file, 1, back, 1, MPI_WCHAR, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_WCHAR, &count);
    CHECK(count == 1 && back[0] == text[1] && back[1] == 0);
    MPI_Type_free(&every_other);
    MPI_Type_free(&two);
    MPI_File_close(&file);
}

int state = 17;

/// Numbers as text of twelve characters.
constexpr int text_bytes = 12;

int text_extent(MPI_Datatype datatype, MPI_Aint *extent, void *extra_state) {
    if (extra_state != &state || datatype != MPI_INT) return MPI_ERR_OTHER;
    *extent = text_bytes;
    return MPI_SUCCESS;
}

template <class Count>
int to_text(void *memory, MPI_Datatype datatype, Count count, void *external, MPI_Offset position, void *extra_state) {
    int size = 0;
    MPI_Type_size(datatype, &size);
    if (extra_state != &state || size % static_cast<int>(sizeof(int)) != 0) return MPI_ERR_OTHER;
    Count numbers = count * static_cast<Count>(size / static_cast<int>(sizeof(int)));
    const int *from = static_cast<int *>(memory) + position;
    for (Count i = 0; i < numbers; i++) {
        char text[text_bytes + 1];
        std::snprintf(text, sizeof text, "%11d ", from[i]);
        std::memcpy(static_cast<char *>(external) + i * text_bytes, text, text_bytes);
    }
    return MPI_SUCCESS;
}

template <class Count>
int from_text(void *memory, MPI_Datatype, Count count, void *external, MPI_Offset position, void *extra_state) {
    if (extra_state != &state) return MPI_ERR_OTHER;
    int *to = static_cast<int *>(memory) + position;
    for (Count i = 0; i < count; i++)
        to[i] = std::stoi(std::string(static_cast<char *>(external) + i * text_bytes, text_bytes));
    return MPI_SUCCESS;
}

void test_text(const char *representation) {
    MPI_File file = open("text");
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, representation, MPI_INFO_NULL) == MPI_SUCCESS);
    char name[MPI_MAX_DATAREP_STRING];
    MPI_Offset displacement;
    MPI_Datatype etype, filetype;
    CHECK(MPI_File_get_view(file, &displacement, &etype, &filetype, name) == MPI_SUCCESS);
    CHECK(std::strcmp(name, representation) == 0);
    const int numbers[3] = {world_rank, -world_rank * 1000, 7};
    CHECK(MPI_File_write_ordered(file, numbers, 3, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    auto bytes = raw("text", static_cast<std::size_t>(3 * text_bytes * world_size));
    CHECK(std::memcmp(bytes.data(), "          0           0           7 ", 3 * text_bytes) == 0);
    int back[3] = {};
    CHECK(MPI_File_read_at(file, 3 * world_rank, back, 3, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(std::equal(numbers, numbers + 3, back));
    // The program's function says that it does not know this type.
    double real = 0;
    CHECK(class_of(MPI_File_write_at(file, 0, &real, 1, MPI_DOUBLE, MPI_STATUS_IGNORE)) == MPI_ERR_CONVERSION);
    MPI_File_close(&file);
}

int native_extent(MPI_Datatype datatype, MPI_Aint *extent, void *) {
    MPI_Aint lb;
    return MPI_Type_get_extent(datatype, &lb, extent);
}

void test_registered() {
    CHECK(MPI_Register_datarep("text", from_text<int>, to_text<int>, text_extent, &state) == MPI_SUCCESS);
    CHECK(MPI_Register_datarep_c("large text", from_text<MPI_Count>, to_text<MPI_Count>, text_extent, &state) ==
          MPI_SUCCESS);
    CHECK(class_of(MPI_Register_datarep("text", from_text<int>, to_text<int>, text_extent, &state)) ==
          MPI_ERR_DUP_DATAREP);
    CHECK(class_of(MPI_Register_datarep("native", from_text<int>, to_text<int>, text_extent, &state)) ==
          MPI_ERR_DUP_DATAREP);
    CHECK(class_of(MPI_Register_datarep("none", from_text<int>, to_text<int>, nullptr, &state)) == MPI_ERR_ARG);
    std::string long_name(MPI_MAX_DATAREP_STRING, 'x');
    CHECK(class_of(MPI_Register_datarep(long_name.c_str(), from_text<int>, to_text<int>, text_extent, &state)) ==
          MPI_ERR_ARG);
    test_text("text");
    test_text("large text");
    // Without conversions: as in memory.
    CHECK(MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, native_extent, nullptr) ==
          MPI_SUCCESS);
    MPI_File file = open("plain");
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "plain", MPI_INFO_NULL) == MPI_SUCCESS);
    int number = 4711, back = 0;
    CHECK(MPI_File_write_at(file, world_rank, &number, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(file, world_rank, &back, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(back == number);
    MPI_File_close(&file);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    test_external32();
    test_registered();
}
