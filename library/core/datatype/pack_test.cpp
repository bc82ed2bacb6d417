// SPDX-License-Identifier: BSD-3-Clause
#include "pack.h"

#include "external32.h"
#include "typemap_model.h"

#include <cmath>
#include <limits>

namespace volley {
namespace {

using Bytes = std::vector<unsigned char>;

template <class Value> Bytes external(MPI_Datatype handle, std::vector<Value> values) {
    Datatype &type = predefined(handle);
    Count count = std::ssize(values), size = 0, position = 0;
    EXPECT_TRUE(pack_external_size("external32", count, type, size).ok());
    Bytes bytes(static_cast<std::size_t>(size));
    EXPECT_TRUE(pack_external_at("external32", values.data(), count, type, bytes.data(), size, position).ok());
    EXPECT_EQ(position, size);
    std::vector<Value> back(values.size());
    position = 0;
    EXPECT_TRUE(unpack_external_at("external32", bytes.data(), size, position, back.data(), count, type).ok());
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] == values[i]) {
            EXPECT_EQ(back[i], values[i]);
        } else {
            EXPECT_NE(back[i], back[i]);
        }
    }
    return bytes;
}

TEST(External32, KnownBytes) {
    EXPECT_EQ(external<int>(MPI_INT, {1, -2, 0x01020304}), (Bytes{0, 0, 0, 1, 255, 255, 255, 254, 1, 2, 3, 4}));
    EXPECT_EQ(external<short>(MPI_SHORT, {258, -1}), (Bytes{1, 2, 255, 255}));
    EXPECT_EQ(external<long>(MPI_LONG, {5, -5}), (Bytes{0, 0, 0, 5, 255, 255, 255, 251}));
    EXPECT_EQ(external<unsigned long>(MPI_UNSIGNED_LONG, {0xfffffffful}), (Bytes{255, 255, 255, 255}));
    EXPECT_EQ(external<long long>(MPI_LONG_LONG, {-2}), (Bytes{255, 255, 255, 255, 255, 255, 255, 254}));
    EXPECT_EQ(external<wchar_t>(MPI_WCHAR, {L'A', wchar_t{0x20ac}}), (Bytes{0, 'A', 0x20, 0xac}));
    EXPECT_EQ(external<float>(MPI_FLOAT, {1.0f, -2.0f}), (Bytes{0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}));
    EXPECT_EQ(external<double>(MPI_DOUBLE, {1.0}), (Bytes{0x3f, 0xf0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(external<char>(MPI_CHAR, {'h', 'i'}), (Bytes{'h', 'i'}));
    EXPECT_EQ(external<MPI_Count>(MPI_COUNT, {3}), (Bytes{0, 0, 0, 0, 0, 0, 0, 3}));
}

TEST(External32, Complex) {
    float parts[2] = {1, -2};
    Bytes bytes(8);
    Count position = 0;
    ASSERT_TRUE(
        pack_external_at("external32", parts, 1, predefined(MPI_C_FLOAT_COMPLEX), bytes.data(), 8, position).ok());
    EXPECT_EQ(bytes, (Bytes{0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}));
    long double wide[2] = {1, -2}, back[2] = {0, 0};
    bytes.resize(32);
    position = 0;
    Datatype &type = predefined(MPI_C_LONG_DOUBLE_COMPLEX);
    ASSERT_TRUE(pack_external_at("external32", wide, 1, type, bytes.data(), 32, position).ok());
    EXPECT_EQ(bytes[16], 0xc0);
    position = 0;
    ASSERT_TRUE(unpack_external_at("external32", bytes.data(), 32, position, back, 1, type).ok());
    EXPECT_EQ(back[0], 1);
    EXPECT_EQ(back[1], -2);
}

TEST(External32, LongDoubleIsBinary128) {
    using Limits = std::numeric_limits<long double>;
    Bytes bytes = external<long double>(MPI_LONG_DOUBLE, {1.0L});
    EXPECT_EQ(bytes, (Bytes{0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(external<long double>(MPI_LONG_DOUBLE, {-1.5L}),
              (Bytes{0xbf, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
    external<long double>(MPI_LONG_DOUBLE,
                          {0.0L, 1.0L / 3, -1e4000L, Limits::max(), Limits::min(), Limits::denorm_min(),
                           Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::min() / 3});
#if defined(__SIZEOF_FLOAT128__) && !defined(__clang__)
    // The compiler's own conversion gives the same bits, in both directions and with rounding.
    __extension__ using Quad = __float128;
    std::mt19937_64 random(5);
    BasicType type = predefined(MPI_LONG_DOUBLE).basic();
    for (int i = 0; i < 20000; ++i) {
        std::uint64_t words[2] = {random(), random()};
        if (i % 5 == 0) words[1] &= 0x8000'ffff'ffff'ffff;                        // subnormal
        if (i % 7 == 0) words[0] = words[0] >> 49 << 49 | std::uint64_t{1} << 48; // a tie
        if (i % 11 == 0) words[1] |= 0xffff'ffff'ffff, words[0] |= ~std::uint64_t{0} << 40;
        Quad quad;
        std::memcpy(&quad, words, 16);
        if (quad != quad) continue;
        char big[16], reversed[16];
        std::memcpy(big, words, 16);
        std::reverse_copy(big, big + 16, reversed);
        long double narrow = 0;
        external32::decode(type, reinterpret_cast<char *>(&narrow), 16, 1, reversed);
        ASSERT_EQ(narrow, static_cast<long double>(quad)) << std::hex << words[1] << " " << words[0];
        external32::encode(type, reinterpret_cast<const char *>(&narrow), 16, 1, reversed);
        std::reverse_copy(reversed, reversed + 16, big);
        std::memcpy(&quad, big, 16);
        ASSERT_TRUE(quad == static_cast<Quad>(narrow));
    }
#endif
}

TEST(External32, DerivedTypesFollowTheTypeMap) {
    SampleSource source(21);
    for (unsigned i = 0; i < 500; ++i) {
        Sample sample = source.sample(static_cast<int>(source.number(0, 3)));
        ASSERT_TRUE(sample.type->commit().ok());
        Count count = source.number(0, 3), size = 0, position = 3;
        ModelBuffer buffer(sample.map, count);
        buffer.fill(i);
        std::vector<char> expected(3, 'x');
        std::vector<char> packed = buffer.packed();
        const char *next = packed.data();
        for (Count e = 0; e < count; ++e)
            for (const TypeMapEntry &entry : sample.map.entries) {
                expected.resize(expected.size() + entry.basic.external_size);
                external32::encode(entry.basic, next, 0, 1,
                                   expected.data() + expected.size() - entry.basic.external_size);
                next += entry.basic.size;
            }
        ASSERT_TRUE(pack_external_size("external32", count, *sample.type, size).ok());
        ASSERT_EQ(size + 3, std::ssize(expected));
        std::vector<char> actual(expected.size(), 'x');
        ASSERT_TRUE(pack_external_at("external32", buffer.address(), count, *sample.type, actual.data(),
                                     std::ssize(actual), position)
                        .ok());
        ASSERT_EQ(position, std::ssize(actual));
        ASSERT_EQ(actual, expected);
    }
}

TEST(Pack, PositionsAndRoundTrip) {
    Held column = made(make_vector, CountForm::classic, 3, 1, 4, predefined(MPI_INT));
    int matrix[12], back[12] = {};
    for (int i = 0; i < 12; ++i) matrix[i] = i + 1;
    char packed[64];
    Count position = 0, size = 0;
    EXPECT_EQ(pack_at(matrix, 1, *column, packed, sizeof packed, position).error_class, MPI_ERR_TYPE);
    ASSERT_TRUE(column->commit().ok());
    ASSERT_TRUE(pack_size(1, *column, size).ok());
    EXPECT_EQ(size, 12);
    double real = 2.5, real_back = 0;
    ASSERT_TRUE(pack_at(matrix, 1, *column, packed, sizeof packed, position).ok());
    ASSERT_TRUE(pack_at(&real, 1, predefined(MPI_DOUBLE), packed, sizeof packed, position).ok());
    EXPECT_EQ(position, 20);
    position = 0;
    ASSERT_TRUE(unpack_at(packed, 20, position, back, 1, *column).ok());
    ASSERT_TRUE(unpack_at(packed, 20, position, &real_back, 1, predefined(MPI_DOUBLE)).ok());
    EXPECT_EQ(position, 20);
    EXPECT_EQ(real_back, 2.5);
    EXPECT_EQ(back[0], 1);
    EXPECT_EQ(back[4], 5);
    EXPECT_EQ(back[8], 9);
    EXPECT_EQ(back[1], 0);
}

TEST(Pack, Errors) {
    Datatype &real = predefined(MPI_DOUBLE);
    double values[4] = {};
    char packed[32];
    Count position = 8, size = 0;
    EXPECT_EQ(pack_at(values, 4, real, packed, 32, position).error_class, MPI_ERR_TRUNCATE);
    EXPECT_EQ(position, 8);
    EXPECT_TRUE(pack_at(values, 3, real, packed, 32, position).ok());
    EXPECT_EQ(unpack_at(packed, 32, position, values, 1, real).error_class, MPI_ERR_TRUNCATE);
    position = 33;
    EXPECT_EQ(unpack_at(packed, 32, position, values, 0, real).error_class, MPI_ERR_ARG);
    position = 0;
    EXPECT_EQ(pack_at(values, -1, real, packed, 32, position).error_class, MPI_ERR_COUNT);
    EXPECT_EQ(pack_at(values, 1, real, packed, -1, position).error_class, MPI_ERR_ARG);
    EXPECT_EQ(pack_size(INT64_MAX / 4, real, size).error_class, MPI_ERR_COUNT);
    EXPECT_EQ(pack_external_size("native", 1, real, size).error_class, MPI_ERR_ARG);
    EXPECT_EQ(pack_external_at("external32", values, 5, real, packed, 32, position).error_class, MPI_ERR_TRUNCATE);
}

} // namespace
} // namespace volley
