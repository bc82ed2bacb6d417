// SPDX-License-Identifier: BSD-3-Clause
#include "layout/copy.h"

#include "core/datatype/pack.h"
#include "core/datatype/typemap_model.h"

#include <sys/uio.h>

namespace volley {
namespace {

constexpr int samples = 4000;

struct Message {
    Sample sample;
    Count count;
    ModelBuffer buffer;

    Message(Sample made, Count elements, unsigned seed)
        : sample(std::move(made)), count(elements), buffer(sample.map, elements) {
        EXPECT_TRUE(sample.type->commit().ok());
        buffer.fill(seed);
    }

    TypedBuffer typed() {
        return {&sample.type->plan(), buffer.address(), count};
    }
};

Message random_message(SampleSource &source, unsigned seed) {
    return {source.sample(static_cast<int>(source.number(0, 4))), source.number(0, 4), seed};
}

struct Range {
    Count from, to;
};

Range random_range(SampleSource &source, Count bytes) {
    Count a = source.number(0, bytes), b = source.number(0, bytes);
    return {std::min(a, b), std::max(a, b)};
}

TEST(Copy, ExtentsOfRandomTypes) {
    SampleSource source(1);
    for (int i = 0; i < samples; ++i) {
        Sample sample = source.sample(static_cast<int>(source.number(0, 4)));
        const Datatype &type = *sample.type;
        ASSERT_EQ(type.size(), sample.map.size());
        ASSERT_EQ(type.lb(), sample.map.lb());
        ASSERT_EQ(type.extent(), sample.map.extent());
        ASSERT_EQ(type.true_lb(), sample.map.true_lb());
        ASSERT_EQ(type.true_extent(), sample.map.true_ub() - sample.map.true_lb());
        ASSERT_EQ(type.extents().elements, std::ssize(sample.map.entries));
        Signature expected;
        Count external = 0;
        for (const TypeMapEntry &entry : sample.map.entries) {
            expected = signature::concatenate(expected, signature::element(entry.basic.signature_code()));
            external += entry.basic.external_size;
        }
        ASSERT_EQ(type.extents().signature, expected);
        ASSERT_EQ(type.extents().external_size, external);
    }
}

TEST(Copy, PackRandomRanges) {
    SampleSource source(2);
    for (unsigned i = 0; i < samples; ++i) {
        Message message = random_message(source, i);
        std::vector<char> expected = message.buffer.packed();
        for (int trial = 0; trial < 4; ++trial) {
            Range range = random_range(source, message.buffer.packed_bytes());
            if (trial == 0) range = {0, message.buffer.packed_bytes()};
            std::vector<char> packed(static_cast<std::size_t>(range.to - range.from));
            pack(message.typed(), range.from, range.to, packed.data());
            ASSERT_TRUE(std::equal(packed.begin(), packed.end(), expected.begin() + range.from))
                << "sample " << i << ", bytes " << range.from << " to " << range.to;
        }
    }
}

TEST(Copy, UnpackRandomRanges) {
    SampleSource source(3);
    for (unsigned i = 0; i < samples; ++i) {
        Message message = random_message(source, i);
        Range range = random_range(source, message.buffer.packed_bytes());
        std::vector<char> packed;
        for (Count byte = range.from; byte < range.to; ++byte) packed.push_back(static_cast<char>(byte * 7 + i));
        std::vector<char> expected = message.buffer.bytes();
        std::vector<std::size_t> places = message.buffer.places();
        for (Count byte = range.from; byte < range.to; ++byte)
            expected[places[static_cast<std::size_t>(byte)]] = packed[static_cast<std::size_t>(byte - range.from)];
        unpack(message.typed(), range.from, range.to, packed.data());
        ASSERT_EQ(message.buffer.bytes(), expected) << "sample " << i;
    }
}

/// Copies a range of one message to the other, whole or in chunks, and compares with pack and unpack.
void check_copy_between(Message &from, Message &to, Range range, Count chunk) {
    std::vector<char> expected = to.buffer.bytes();
    std::vector<char> packed(static_cast<std::size_t>(range.to - range.from));
    pack(from.typed(), range.from, range.to, packed.data());
    unpack(to.typed(), range.from, range.to, packed.data());
    to.buffer.bytes().swap(expected);
    for (Count begin = range.from; begin < range.to; begin += chunk)
        copy_between(from.typed(), to.typed(), begin, std::min(begin + chunk, range.to));
    ASSERT_EQ(to.buffer.bytes(), expected);
}

TEST(Copy, BetweenDifferentTypes) {
    SampleSource source(4);
    int compared = 0;
    for (unsigned i = 0; i < samples; ++i) {
        Sample first = source.sample(static_cast<int>(source.number(0, 3)));
        Sample second = source.sample(static_cast<int>(source.number(0, 3)));
        Count a = first.map.size(), b = second.map.size();
        if (a == 0 || b == 0 || a * b > 200'000) continue;
        Message from(std::move(first), b, i), to(std::move(second), a, i + 1);
        Range range = random_range(source, a * b);
        check_copy_between(from, to, range, range.to - range.from + 1);
        check_copy_between(from, to, {0, a * b}, source.number(1, a * b));
        if (HasFatalFailure()) FAIL() << "sample " << i;
        ++compared;
    }
    EXPECT_GT(compared, samples / 4);
}

TEST(Copy, BetweenEqualTypes) {
    SampleSource source(5);
    for (unsigned i = 0; i < samples; ++i) {
        Message from = random_message(source, i);
        Sample same{Held(from.sample.type.get()), from.sample.map};
        same.type->retain();
        Message to(std::move(same), from.count, i + 1);
        Count bytes = from.buffer.packed_bytes();
        check_copy_between(from, to, random_range(source, bytes), bytes + 1);
        if (HasFatalFailure()) FAIL() << "sample " << i;
    }
}

TEST(Copy, BetweenEqualLayoutsOfDifferentPlans) {
    for (unsigned seed = 0; seed < samples / 4; ++seed) {
        // The same source of chance makes the same type twice; the second lies elsewhere.
        SampleSource one(seed), other(seed);
        Sample first = one.sample(3), second = other.sample(3);
        const Count eight[] = {8};
        TypeMap moved_map;
        moved_map.add(8, second.map);
        moved_map.lb_markers = {first.map.lb()};
        moved_map.ub_markers = {first.map.ub()};
        Held moved = made(make_hindexed_block, CountForm::large, 1, 1, eight, *second.type);
        Held resized = made(make_resized, CountForm::large, first.map.lb(), first.map.extent(), *moved);
        Message from(std::move(first), 2, seed);
        Message to({std::move(resized), moved_map}, 2, seed + 1);
        const DatatypePlan &p = *from.typed().plan, &q = *to.typed().plan;
        if (p.fingerprint != 0 && q.fingerprint != 0) {
            ASSERT_EQ(p.fingerprint, q.fingerprint);
        }
        Count bytes = from.buffer.packed_bytes();
        check_copy_between(from, to, random_range(one, bytes), bytes + 1);
        if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
}

TEST(Copy, VectorsOfManyBlockLengths) {
    for (Count block = 1; block <= 140; ++block) {
        for (Count gap : {1, 3, 16}) {
            Held byte(&predefined(MPI_BYTE));
            TypeMap map;
            Count count = 70;
            for (Count i = 0; i < count; ++i) map.add_block(i * (block + gap), block, TypeMap::of(MPI_BYTE));
            Message from({made(make_vector, CountForm::large, count, block, block + gap, *byte), map}, 2, 1);
            TypeMap wide_map;
            for (Count i = 0; i < count; ++i) wide_map.add_block(i * (block + 9), block, TypeMap::of(MPI_BYTE));
            Message to({made(make_vector, CountForm::large, count, block, block + 9, *byte), wide_map}, 2, 2);
            Count bytes = 2 * count * block;
            std::vector<char> packed(static_cast<std::size_t>(bytes));
            pack(from.typed(), 0, bytes, packed.data());
            ASSERT_EQ(packed, from.buffer.packed());
            check_copy_between(from, to, {0, bytes}, bytes);
            check_copy_between(from, to, {block / 2, bytes - 1}, 3 * block + 1);
        }
    }
}

TEST(Copy, SegmentsAreMaximalAndComplete) {
    SampleSource source(6);
    for (unsigned i = 0; i < samples; ++i) {
        Message message = random_message(source, i);
        Range range = random_range(source, message.buffer.packed_bytes());
        std::vector<char> gathered;
        char *end = nullptr;
        bool ended = for_each_segment(message.typed(), range.from, range.to, [&](char *address, Count bytes) {
            EXPECT_NE(address, end);
            EXPECT_GT(bytes, 0);
            gathered.insert(gathered.end(), address, address + bytes);
            end = address + bytes;
            return true;
        });
        ASSERT_TRUE(ended);
        std::vector<char> expected = message.buffer.packed();
        ASSERT_TRUE(
            std::equal(gathered.begin(), gathered.end(), expected.begin() + range.from, expected.begin() + range.to));
    }
}

TEST(Copy, SegmentsInBatches) {
    SampleSource source(7);
    for (unsigned i = 0; i < samples / 4; ++i) {
        Message message = random_message(source, i);
        std::vector<char> gathered;
        Count position = 0;
        while (position < message.buffer.packed_bytes()) {
            iovec segments[3];
            Count covered = 0;
            int filled = fill_segments(message.typed(), position, message.buffer.packed_bytes(), segments, 3, covered);
            ASSERT_GT(filled, 0);
            for (int s = 0; s < filled; ++s) {
                char *base = static_cast<char *>(segments[s].iov_base);
                gathered.insert(gathered.end(), base, base + segments[s].iov_len);
            }
            position += covered;
        }
        ASSERT_EQ(gathered, message.buffer.packed());
    }
}

TEST(Copy, PlanMayBeMoved) {
    SampleSource source(8);
    for (unsigned i = 0; i < samples / 4; ++i) {
        Message message = random_message(source, i);
        const DatatypePlan &plan = message.sample.type->plan();
        std::vector<Count> elsewhere(static_cast<std::size_t>(plan.bytes) / sizeof(Count));
        ASSERT_EQ(elsewhere.size() * sizeof(Count), static_cast<std::size_t>(plan.bytes));
        std::memcpy(elsewhere.data(), &plan, static_cast<std::size_t>(plan.bytes));
        TypedBuffer moved = message.typed();
        moved.plan = reinterpret_cast<const DatatypePlan *>(elsewhere.data());
        std::vector<char> packed(static_cast<std::size_t>(message.buffer.packed_bytes()));
        pack(moved, 0, message.buffer.packed_bytes(), packed.data());
        ASSERT_EQ(packed, message.buffer.packed());
    }
}

TEST(Copy, AbsoluteDisplacementsFromBottom) {
    int numbers[3] = {1, 2, 3};
    double real = 4;
    const Count lengths[] = {3, 1};
    const Count displacements[] = {reinterpret_cast<Count>(numbers), reinterpret_cast<Count>(&real)};
    Datatype *types[] = {&predefined(MPI_INT), &predefined(MPI_DOUBLE)};
    Held type = made(make_struct, 2, CountArray(lengths), displacements, types);
    ASSERT_TRUE(type->commit().ok());
    char packed[20];
    pack({&type->plan(), nullptr, 1}, 0, 20, packed);
    EXPECT_EQ(std::memcmp(packed, numbers, 12), 0);
    EXPECT_EQ(std::memcmp(packed + 12, &real, 8), 0);
}

} // namespace
} // namespace volley
