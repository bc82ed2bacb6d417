// SPDX-License-Identifier: BSD-3-Clause
// Datatypes by functions that programs call seldom: packing, distributed arrays, parametrised and matched types, what a
// type was made of, names, sizes and extents of every form.
#include "../../check.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace {

/// The extent by each of the functions there are.
void check_extent(MPI_Datatype type, MPI_Aint lower_bound, MPI_Aint extent) {
    MPI_Aint lb = -99, width = -99;
    MPI_Count large_lb = -99, large_width = -99;
    MPI_Type_get_extent(type, &lb, &width);
    CHECK(lb == lower_bound && width == extent);
    MPI_Type_get_extent_c(type, &large_lb, &large_width);
    CHECK(large_lb == lower_bound && large_width == extent);
    MPI_Type_get_extent_x(type, &large_lb, &large_width);
    CHECK(large_lb == lower_bound && large_width == extent);
}

void check_true_extent(MPI_Datatype type, MPI_Aint lower_bound, MPI_Aint extent) {
    MPI_Aint lb = -99, width = -99;
    MPI_Count large_lb = -99, large_width = -99;
    MPI_Type_get_true_extent(type, &lb, &width);
    CHECK(lb == lower_bound && width == extent);
    MPI_Type_get_true_extent_c(type, &large_lb, &large_width);
    CHECK(large_lb == lower_bound && large_width == extent);
    MPI_Type_get_true_extent_x(type, &large_lb, &large_width);
    CHECK(large_lb == lower_bound && large_width == extent);
}

void check_size(MPI_Datatype type, int size) {
    int found = 0;
    MPI_Count large = 0;
    MPI_Type_size(type, &found);
    CHECK(found == size);
    MPI_Type_size_c(type, &large);
    CHECK(large == size);
    MPI_Type_size_x(type, &large);
    CHECK(large == size);
}

/// The bytes of the first `ints` places that the type has, packed.
std::vector<int> packed_ints(MPI_Datatype type, const std::vector<int> &from) {
    int bytes = 0, position = 0;
    MPI_Pack_size(1, type, MPI_COMM_SELF, &bytes);
    std::vector<int> packed(static_cast<std::size_t>(bytes) / sizeof(int) + 1, -1);
    MPI_Pack(from.data(), 1, type, packed.data(), static_cast<int>(packed.size() * sizeof(int)), &position,
             MPI_COMM_SELF);
    packed.resize(static_cast<std::size_t>(position) / sizeof(int));
    return packed;
}

std::vector<int> counted(int to) {
    std::vector<int> numbers;
    for (int i = 0; i < to; i++) numbers.push_back(i);
    return numbers;
}

void constructors() {
    MPI_Datatype type, copy;
    const MPI_Aint places[] = {8, 24};
    MPI_Type_create_hvector(2, 1, 12, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK((packed_ints(type, counted(4)) == std::vector{0, 3}));
    check_size(type, 8);
    check_extent(type, 0, 16);
    MPI_Type_dup(type, &copy);
    MPI_Type_free(&type);
    CHECK((packed_ints(copy, counted(4)) == std::vector{0, 3}));
    MPI_Type_free(&copy);
    MPI_Type_create_hindexed_block(2, 2, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK((packed_ints(type, counted(8)) == std::vector{2, 3, 6, 7}));
    check_true_extent(type, 8, 24);
    check_extent(type, 8, 24);
    MPI_Type_free(&type);
}

/// 5 columns in blocks of 1 in turn, 4 rows in blocks, over 2 x 2 processes: process 1 has rows 0, 1 and columns 1, 3.
void distributed_array() {
    const int sizes[] = {4, 5}, kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, processes[] = {2, 2};
    MPI_Datatype type;
    MPI_Type_create_darray(4, 1, 2, sizes, kinds, arguments, processes, MPI_ORDER_C, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECK((packed_ints(type, counted(20)) == std::vector{1, 3, 6, 8}));
    check_size(type, 16);
    check_extent(type, 0, 80);
    MPI_Type_free(&type);
}

void packing() {
    const std::array<std::int32_t, 3> numbers = {1, -2, 0x01020304};
    const char datarep[] = "external32";
    MPI_Aint bytes = 0, position = 0;
    MPI_Pack_external_size(datarep, 3, MPI_INT32_T, &bytes);
    CHECK(bytes == 12);
    std::array<unsigned char, 12> packed = {};
    MPI_Pack_external(datarep, numbers.data(), 3, MPI_INT32_T, packed.data(), 12, &position);
    CHECK(position == 12 && packed[3] == 1 && packed[8] == 1 && packed[11] == 4); // big-endian
    std::array<std::int32_t, 3> found = {};
    position = 0;
    MPI_Unpack_external(datarep, packed.data(), 12, &position, found.data(), 3, MPI_INT32_T);
    CHECK(position == 12 && found == numbers);
    std::array<unsigned char, 12> large = {};
    MPI_Count at = 0;
    MPI_Pack_external_c(datarep, numbers.data(), 3, MPI_INT32_T, large.data(), 12, &at);
    CHECK(at == 12 && large == packed);
    at = 0;
    found = {};
    MPI_Unpack_external_c(datarep, large.data(), 12, &at, found.data(), 3, MPI_INT32_T);
    CHECK(at == 12 && found == numbers);

    std::array<char, 64> own = {};
    int place = 0;
    const double fraction = 2.5;
    MPI_Pack(numbers.data(), 3, MPI_INT32_T, own.data(), 64, &place, MPI_COMM_WORLD);
    MPI_Pack(&fraction, 1, MPI_DOUBLE, own.data(), 64, &place, MPI_COMM_WORLD);
    const int end = place;
    double half = 0;
    place = 0;
    found = {};
    MPI_Unpack(own.data(), end, &place, found.data(), 3, MPI_INT32_T, MPI_COMM_WORLD);
    MPI_Unpack(own.data(), end, &place, &half, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    CHECK(found == numbers && half == fraction && place == end);
}

void contents() {
    MPI_Datatype type, part = MPI_DATATYPE_NULL;
    const MPI_Count lengths[] = {2, 1}, places[] = {0, 16};
    MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &type);
    MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
    int combiner = 0;
    MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
    CHECK(combiner == MPI_COMBINER_HINDEXED && integers == 0 && addresses == 0 && counts == 5 && types == 1);
    MPI_Count found[5] = {};
    MPI_Type_get_contents_c(type, 0, 0, 5, 1, nullptr, nullptr, found, &part);
    CHECK(found[0] == 2 && found[1] == 2 && found[2] == 1 && found[3] == 0 && found[4] == 16 && part == MPI_INT);
    MPI_Type_free(&type);
}

void matched_types() {
    MPI_Datatype type;
    int size = 0, combiner = 0, integers = 0, addresses = 0, types = 0;
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, &type);
    check_size(type, 8);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, &type);
    check_size(type, 4);
    MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type);
    check_size(type, 16);
    MPI_Type_create_f90_integer(9, &type);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    MPI_Type_size(type, &size);
    CHECK(combiner == MPI_COMBINER_F90_INTEGER && integers == 1 && size == 4);
    MPI_Type_create_f90_real(15, 307, &type);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    MPI_Type_size(type, &size);
    CHECK(combiner == MPI_COMBINER_F90_REAL && integers == 2 && size == 8);
    MPI_Type_create_f90_complex(6, 37, &type);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    MPI_Type_size(type, &size);
    CHECK(combiner == MPI_COMBINER_F90_COMPLEX && integers == 2 && size == 8);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type);
    CHECK(type == MPI_DOUBLE_INT);
    MPI_Type_get_value_index(MPI_CHAR, MPI_DOUBLE, &type);
    CHECK(type == MPI_DATATYPE_NULL);
}

int copies = 0, deletions = 0;

int copy_attribute(MPI_Datatype, int, void *, void *in, void *out, int *flag) {
    copies++;
    *static_cast<void **>(out) = static_cast<char *>(in) + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

int delete_attribute(MPI_Datatype, int, void *, void *) {
    deletions++;
    return MPI_SUCCESS;
}

void names_and_attributes() {
    MPI_Datatype type, copy;
    char name[MPI_MAX_OBJECT_NAME];
    char text[] = "ab";
    int length = 0, keyval = MPI_KEYVAL_INVALID, flag = 0;
    void *value = nullptr;
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_get_name(type, name, &length);
    CHECK(length == 0);
    MPI_Type_set_name(type, "triple");
    MPI_Type_get_name(type, name, &length);
    CHECK(std::string(name) == "triple" && length == 6);
    MPI_Type_get_name(MPI_INT, name, &length);
    CHECK(std::string(name) == "MPI_INT");
    MPI_Type_create_keyval(copy_attribute, delete_attribute, &keyval, nullptr);
    MPI_Type_set_attr(type, keyval, text);
    MPI_Type_dup(type, &copy);
    MPI_Type_get_attr(copy, keyval, &value, &flag);
    CHECK(flag && value == text + 1 && copies == 1);
    MPI_Type_delete_attr(type, keyval);
    MPI_Type_get_attr(type, keyval, &value, &flag);
    CHECK(!flag && deletions == 1);
    MPI_Type_free(&copy);
    CHECK(deletions == 2);
    MPI_Type_free(&type);
    MPI_Type_free_keyval(&keyval);
    CHECK(keyval == MPI_KEYVAL_INVALID);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    for (const auto test : {constructors, distributed_array, packing, contents, matched_types, names_and_attributes})
        test();
}
