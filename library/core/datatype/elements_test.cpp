// SPDX-License-Identifier: BSD-3-Clause
#include "elements.h"

#include "typemap_model.h"

namespace volley {
namespace {

/// (int, short, int, short), the example of many manuals.
Held int_short_twice() {
    const int lengths[] = {1, 1, 1, 1};
    const Count displacements[] = {0, 4, 8, 12};
    Datatype *types[] = {&predefined(MPI_INT), &predefined(MPI_SHORT), &predefined(MPI_INT), &predefined(MPI_SHORT)};
    return made(make_struct, 4, CountArray(lengths), displacements, types);
}

TEST(Elements, CountsOfPartialMessages) {
    Held type = int_short_twice();
    EXPECT_EQ(elements_in_bytes(10, *type), 3);
    EXPECT_EQ(elements_in_bytes(8, *type), MPI_UNDEFINED);
    EXPECT_EQ(elements_in_bytes(24, *type), 8);
    EXPECT_EQ(elements_in_bytes(28, *type), 9);
    EXPECT_EQ(count_in_bytes(24, *type), 2);
    EXPECT_EQ(count_in_bytes(28, *type), MPI_UNDEFINED);
    EXPECT_EQ(count_in_bytes(0, *type), 0);
    Held empty = made(make_contiguous, CountForm::classic, 0, predefined(MPI_INT));
    EXPECT_EQ(count_in_bytes(0, *empty), 0);
    EXPECT_EQ(count_in_bytes(4, *empty), MPI_UNDEFINED);
    EXPECT_EQ(elements_in_bytes(0, *empty), 0);
    EXPECT_EQ(elements_in_bytes(8, predefined(MPI_DOUBLE_INT)), 1);
    EXPECT_EQ(elements_in_bytes(12, predefined(MPI_DOUBLE_INT)), 2);
    EXPECT_EQ(elements_in_bytes(10, predefined(MPI_DOUBLE_INT)), MPI_UNDEFINED);
}

TEST(Elements, StandardsExample) { // Type2 = two contiguous (REAL, REAL)
    Held type1 = made(make_contiguous, CountForm::classic, 2, predefined(MPI_REAL));
    EXPECT_EQ(count_in_bytes(12, *type1), MPI_UNDEFINED);
    EXPECT_EQ(elements_in_bytes(12, *type1), 3);
}

TEST(Elements, RandomTypesAgainstTheirTypeMap) {
    SampleSource source(11);
    for (int i = 0; i < 2000; ++i) {
        Sample sample = source.sample(static_cast<int>(source.number(0, 4)));
        const Datatype &type = *sample.type;
        Count per_type = std::ssize(sample.map.entries);
        if (per_type == 0) continue;
        Count elements = source.number(0, 3 * per_type), bytes = 0;
        Signature expected;
        for (Count e = 0; e < elements; ++e) {
            const BasicType &basic = sample.map.entries[static_cast<std::size_t>(e % per_type)].basic;
            bytes += basic.size;
            expected = signature::concatenate(expected, signature::element(basic.signature_code()));
        }
        ASSERT_EQ(elements_in_bytes(bytes, type), elements);
        Count back = -1;
        ASSERT_TRUE(bytes_of_elements(elements, type, back).ok());
        ASSERT_EQ(back, bytes);
        ASSERT_EQ(signature_of_elements(elements, type), expected);
        ASSERT_TRUE(signature_fits(expected, type));
        Count size = sample.map.entries[static_cast<std::size_t>(elements % per_type)].basic.size;
        if (size > 1) {
            ASSERT_EQ(elements_in_bytes(bytes + size - 1, type), MPI_UNDEFINED);
        }
    }
}

TEST(Elements, HugeTypesAreCountedWithoutLooping) {
    Held row = made(make_vector, CountForm::large, 1 << 20, 3, 5, *int_short_twice());
    Held matrix = made(make_hvector, CountForm::large, Count{1} << 25, 1, Count{1} << 35, *row);
    EXPECT_EQ(matrix->extents().elements, (Count{1} << 45) * 12);
    Count half = matrix->size() / 2 + 4;
    EXPECT_EQ(elements_in_bytes(half, *matrix), matrix->extents().elements / 2 + 1);
    Count bytes = 0;
    ASSERT_TRUE(bytes_of_elements(matrix->extents().elements / 2 + 1, *matrix, bytes).ok());
    EXPECT_EQ(bytes, half);
    EXPECT_EQ(bytes_of_elements(INT64_MAX, *matrix, bytes).error_class, MPI_ERR_COUNT);
    EXPECT_EQ(bytes_of_elements(-1, *matrix, bytes).error_class, MPI_ERR_COUNT);
}

TEST(Elements, Signatures) {
    auto of = [](Count count, Datatype &type) {
        Signature signature;
        EXPECT_TRUE(signature_of(count, type, signature).ok());
        return signature;
    };
    Datatype &integer = predefined(MPI_INT);
    Held four = made(make_contiguous, CountForm::classic, 4, integer);
    Held spread = made(make_vector, CountForm::classic, 2, 2, 7, integer);
    EXPECT_EQ(of(3, *four), of(3, *spread));
    EXPECT_EQ(of(12, integer), of(3, *four));
    EXPECT_TRUE(signature_fits(of(7, integer), *spread));
    EXPECT_TRUE(signature_fits(of(5, predefined(MPI_LONG)), predefined(MPI_INT64_T)));
    EXPECT_TRUE(signature_fits(of(5, integer), predefined(MPI_INTEGER)));
    EXPECT_FALSE(signature_fits(of(5, integer), predefined(MPI_FLOAT)));
    EXPECT_FALSE(signature_fits(of(5, integer), predefined(MPI_UNSIGNED)));
    EXPECT_FALSE(signature_fits(of(5, integer), predefined(MPI_LONG)));
    EXPECT_FALSE(signature_fits(of(20, predefined(MPI_BYTE)), integer));
    EXPECT_FALSE(signature_fits(of(2, predefined(MPI_REAL16)), predefined(MPI_LONG_DOUBLE)));
    EXPECT_TRUE(signature_fits(of(20, predefined(MPI_PACKED)), integer));
    EXPECT_TRUE(signature_fits(of(20, integer), predefined(MPI_PACKED)));
    EXPECT_TRUE(signature_fits(of(0, integer), predefined(MPI_DOUBLE)));
    const int lengths[] = {1, 1};
    const Count displacements[] = {0, 8};
    Datatype *one[] = {&integer, &predefined(MPI_DOUBLE)}, *other[] = {&predefined(MPI_DOUBLE), &integer};
    Held int_double = made(make_struct, 2, CountArray(lengths), displacements, one);
    Held double_int = made(make_struct, 2, CountArray(lengths), displacements, other);
    EXPECT_FALSE(signature_fits(of(1, *int_double), *double_int));
    EXPECT_TRUE(signature_fits(of(4, *double_int), predefined(MPI_DOUBLE_INT)));
}

} // namespace
} // namespace volley
