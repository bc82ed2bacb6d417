// SPDX-License-Identifier: BSD-3-Clause
#include "file/view.h"

#include "core/datatype/typemap_model.h"
#include "file/coverage.h"

#include <cstdint>
#include <vector>

namespace volley {
namespace {

/// The offset of each of the first bytes that a view of a type map shows.
std::vector<Count> model(const TypeMap &map, Count displacement, int tiles) {
    std::vector<Count> offsets;
    for (Count tile = 0; tile < tiles; ++tile)
        for (const TypeMapEntry &entry : map.entries)
            for (Count byte = 0; byte < entry.basic.size; ++byte)
                offsets.push_back(displacement + tile * map.extent() + entry.displacement + byte);
    return offsets;
}

bool is_increasing(const std::vector<Count> &offsets) {
    return std::ranges::adjacent_find(offsets, std::greater_equal<>()) == offsets.end();
}

void expect_as_model(const View &view, const std::vector<Count> &offsets, SampleSource &source) {
    auto bytes = std::ssize(offsets);
    auto at = [&](Count position) { return offsets[static_cast<std::size_t>(position)]; };
    for (int i = 0; i < 10; ++i) {
        Count from = source.number(0, bytes), to = source.number(from, bytes);
        Count position = from;
        view.for_each_piece(from, to, [&](Count offset, Count length) {
            EXPECT_GT(length, 0);
            for (Count byte = 0; byte < length; ++byte) EXPECT_EQ(offset + byte, at(position++));
            return true;
        });
        EXPECT_EQ(position, to);
        if (from < bytes) {
            EXPECT_EQ(view.offset_of(from), at(from));
        }
    }
    if (!view.is_increasing()) return;
    for (Count offset = at(0) - 3; offset <= at(bytes - 1) + 1; offset += source.number(1, 20)) {
        Count before = std::ranges::lower_bound(offsets, offset) - offsets.begin();
        EXPECT_EQ(view.position_at(offset), before);
    }
}

TEST(View, ShowsWhatTheTypeMapSays) {
    SampleSource source(7);
    int increasing = 0;
    for (int i = 0; i < 4000; ++i) {
        Sample sample = source.sample(static_cast<int>(source.number(0, 3)));
        if (sample.map.entries.empty() || !sample.type->commit().ok()) continue;
        Count displacement = source.number(0, 5000);
        View view(displacement, sample.type->plan());
        std::vector<Count> offsets = model(sample.map, displacement, 3);
        ASSERT_EQ(view.is_increasing(), is_increasing(offsets));
        increasing += view.is_increasing();
        expect_as_model(view, offsets, source);
        if (HasFailure()) FAIL() << "sample " << i;
    }
    EXPECT_GT(increasing, 500); // not only the others were looked at
}

TEST(View, ReachesAsFarAsFilesDo) {
    constexpr Count tebibyte = Count{1} << 40;
    Held far = made(make_resized, CountForm::large, 0, tebibyte, predefined(MPI_INT));
    ASSERT_TRUE(far->commit().ok());
    View view(12, far->plan());
    EXPECT_EQ(view.offset_of(4 * Count{1000000} + 1), 12 + 1000000 * tebibyte + 1);
    EXPECT_EQ(view.position_at(12 + 1000000 * tebibyte + 1), 4 * Count{1000000} + 1);
    EXPECT_EQ(view.position_at(12 + 1000000 * tebibyte + 100), 4 * Count{1000001});
    EXPECT_TRUE(view.can_reach(4 * (INT64_MAX / tebibyte)));
    EXPECT_FALSE(view.can_reach(4 * (INT64_MAX / tebibyte + 2)));
    EXPECT_TRUE(View(0, predefined(MPI_BYTE).plan()).can_reach(INT64_MAX));
    EXPECT_FALSE(View(1, predefined(MPI_BYTE).plan()).can_reach(INT64_MAX));
    EXPECT_FALSE(View(INT64_MAX - 2, predefined(MPI_INT).plan()).can_reach(4));
}

TEST(View, PiecesInMemoryLieAsInTheFile) {
    Held pairs = made(make_vector, CountForm::large, 3, 2, 5, predefined(MPI_CHAR));
    ASSERT_TRUE(pairs->commit().ok());
    View view(100, pairs->plan());
    std::vector<char> window(20, '.');
    View::Part part = view.in_memory(3, 8, window.data(), 105); // all but the first pair's and a half
    unpack(part.buffer, part.from, part.to, "abcde");
    // Tiles are 12 bytes: pairs at 0, 5, 10, then at 12.
    EXPECT_EQ(std::string(window.begin(), window.end()), ".a...bcde...........");
}

TEST(Coverage, RunsAreWhatWasMarked) {
    std::mt19937 random(3);
    auto number = [&](Count low, Count high) { return std::uniform_int_distribution<Count>(low, high)(random); };
    Coverage coverage;
    for (int i = 0; i < 300; ++i) {
        const Count bytes = number(1, 500);
        std::vector<bool> marked(static_cast<std::size_t>(bytes));
        coverage.clear(bytes);
        for (Count marks = number(0, 12); marks > 0; --marks) {
            Count from = number(0, bytes), length = number(0, std::min<Count>(bytes - from, number(0, 200)));
            coverage.mark(from, length);
            std::fill_n(marked.begin() + from, length, true);
        }
        std::vector<bool> seen(marked.size());
        Count last = -1;
        coverage.for_each_run([&](Count from, Count length) {
            EXPECT_GT(from, last); // a gap between two runs
            std::fill_n(seen.begin() + from, length, true);
            last = from + length;
            return true;
        });
        ASSERT_EQ(seen, marked);
    }
}

} // namespace
} // namespace volley
