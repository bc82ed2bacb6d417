// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/shared_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>
#include <vector>

namespace volley {
namespace {

constexpr std::size_t forth_bytes = 4096, back_bytes = 1024;

/// Both ends, in one process, and how often each has been rung.
class TwoEnds : public testing::Test {
  protected:
    TwoEnds() {
        Descriptor file, bells[2];
        maker = SharedStream::make(forth_bytes, back_bytes, file);
        other = SharedStream::map(file);
        memory = SealedMemory::map(file, sizeof(SharedStreamHead));
        for (int end = 0; end < 2; end++) pages[end] = SealedMemory::make("test", sizeof(DoorbellPage), bells[end]);
        maker->introduce(OtherDoorbell(bells[1]));
        other->introduce(OtherDoorbell(bells[0]));
    }
    std::uint32_t rings(int end) {
        return reinterpret_cast<DoorbellPage *>(pages[end].address())->rings.load();
    }
    SharedStreamHead &head() {
        return *reinterpret_cast<SharedStreamHead *>(memory.address());
    }

    std::unique_ptr<SharedStream> maker, other;
    SealedMemory memory, pages[2];
};

std::size_t write(SharedStream &stream, const void *bytes, std::size_t count) {
    const iovec part{.iov_base = const_cast<void *>(bytes), .iov_len = count};
    return stream.write({&part, 1});
}

std::size_t read(SharedStream &stream, void *bytes, std::size_t count) {
    const iovec part{.iov_base = bytes, .iov_len = count};
    return stream.read({&part, 1});
}

unsigned char byte_at(std::size_t position) {
    return static_cast<unsigned char>(position * 7 + (position >> 8));
}

TEST_F(TwoEnds, BytesComeInOrderHoweverTheyAreCut) {
    std::mt19937 random(5);
    std::array<unsigned char, 700> out{}, in{};
    std::size_t sent = 0, received = 0;
    while (received < 200'000) {
        const std::size_t first = random() % 300, second = random() % 400;
        for (std::size_t i = 0; i < first + second; i++) out[i] = byte_at(sent + i);
        const iovec parts[] = {{out.data(), first}, {out.data() + first, second}};
        sent += maker->write(parts);
        const iovec places[] = {{in.data(), random() % 300}, {in.data() + 300, random() % 400}};
        const std::size_t got = other->read(places);
        for (std::size_t i = 0; i < got; i++) {
            const std::size_t place = i < places[0].iov_len ? i : 300 + i - places[0].iov_len;
            ASSERT_EQ(in[place], byte_at(received + i)) << received + i;
        }
        received += got;
        ASSERT_LE(sent - received, forth_bytes);
    }
}

TEST_F(TwoEnds, AWriterThatWaitsIsRungOnceHalfIsFree) {
    const std::vector<char> all(2 * forth_bytes);
    std::vector<char> in(forth_bytes);
    EXPECT_EQ(write(*maker, all.data(), all.size()), forth_bytes);
    EXPECT_EQ(rings(1), 1U);
    EXPECT_EQ(write(*maker, all.data(), 1), 0U);
    EXPECT_EQ(read(*other, in.data(), 100), 100U);
    EXPECT_EQ(rings(0), 0U);
    EXPECT_EQ(read(*other, in.data(), forth_bytes / 2), forth_bytes / 2);
    EXPECT_EQ(rings(0), 1U);
    EXPECT_EQ(read(*other, in.data(), in.size()), forth_bytes / 2 - 100);
    EXPECT_EQ(rings(0), 1U); // it has been told
    EXPECT_EQ(read(*other, in.data(), in.size()), 0U);
    EXPECT_EQ(write(*maker, all.data(), all.size()), forth_bytes);
}

TEST_F(TwoEnds, BothWaysAreIndependent) {
    const char forth[] = "forth", back[] = "back";
    char in[8] = "";
    EXPECT_EQ(write(*maker, forth, sizeof forth), sizeof forth);
    EXPECT_EQ(write(*other, back, sizeof back), sizeof back);
    EXPECT_EQ(read(*maker, in, sizeof in), sizeof back);
    EXPECT_STREQ(in, back);
    EXPECT_EQ(read(*other, in, sizeof in), sizeof forth);
    EXPECT_STREQ(in, forth);
}

TEST_F(TwoEnds, ThreadsMoveBytesAtTheSameTime) {
    constexpr std::size_t all = 20'000'000;
    std::thread writer([&] {
        std::vector<unsigned char> out(3000);
        for (std::size_t sent = 0; sent < all;) {
            const std::size_t count = std::min(out.size(), all - sent);
            for (std::size_t i = 0; i < count; i++) out[i] = byte_at(sent + i);
            for (std::size_t put = 0; put < count;) {
                const std::size_t some = write(*maker, out.data() + put, count - put);
                if (some == 0) std::this_thread::yield();
                put += some;
            }
            sent += count;
        }
    });
    std::vector<unsigned char> in(5000);
    std::size_t wrong = 0;
    for (std::size_t received = 0; received < all;) {
        const std::size_t got = read(*other, in.data(), in.size());
        if (got == 0) std::this_thread::yield();
        for (std::size_t i = 0; i < got; i++) wrong += in[i] != byte_at(received + i);
        received += got;
    }
    writer.join();
    EXPECT_EQ(wrong, 0U);
}

TEST_F(TwoEnds, PositionsThatCannotBeAreFound) {
    char in[8] = "";
    head().forth.written = forth_bytes + 1;
    EXPECT_EQ(read(*other, in, sizeof in), 0U);
    EXPECT_TRUE(other->is_broken());
    const std::vector<char> all(forth_bytes);
    EXPECT_EQ(write(*maker, all.data(), all.size()), forth_bytes);
    head().forth.read = forth_bytes + 1; // more than was written
    EXPECT_EQ(write(*maker, all.data(), 1), 0U);
    EXPECT_TRUE(maker->is_broken());
}

TEST_F(TwoEnds, MemoryThatMakesNoSenseIsNotTaken) {
    Descriptor file;
    const SealedMemory made = SealedMemory::make("test", sizeof(SharedStreamHead) + 96, file);
    auto &wrong = *reinterpret_cast<SharedStreamHead *>(made.address());
    EXPECT_EQ(SharedStream::map(file), nullptr); // no lengths
    wrong.forth_bytes = wrong.back_bytes = 48;
    EXPECT_EQ(SharedStream::map(file), nullptr); // no powers of two
    wrong.forth_bytes = wrong.back_bytes = 64;
    EXPECT_EQ(SharedStream::map(file), nullptr); // more than there is
    wrong.back_bytes = 32;
    EXPECT_NE(SharedStream::map(file), nullptr);
    EXPECT_EQ(SharedStream::map(Descriptor()), nullptr);
}

} // namespace
} // namespace volley
