// SPDX-License-Identifier: BSD-3-Clause
#include "transport/tcp/frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace volley {
namespace {

using wire::FrameHeader;
using wire::FrameKind;

/// Writes down what arrives. Data of even numbers goes straight to its place.
struct Protocol final : FrameHandler {
    bool frame(const FrameHeader &header, unsigned char *payload) override {
        text += std::to_string(static_cast<int>(header.kind)) + ":" + std::to_string(header.id) + ":" +
                std::to_string(header.tag);
        if (header.kind == FrameKind::eager) text += ":" + std::string(reinterpret_cast<char *>(payload), header.bytes);
        text += "\n";
        return header.tag != refused;
    }
    bool begin_data(const FrameHeader &header, char *&place) override {
        text += "data " + std::to_string(header.id) + ":";
        straight.assign(header.bytes, '?');
        parts.clear();
        is_straight = header.id % 2 == 0;
        if (is_straight) place = straight.data();
        return true;
    }
    void data(const unsigned char *part, std::size_t bytes) override {
        parts.append(reinterpret_cast<const char *>(part), bytes);
    }
    void end_data() override {
        text += (is_straight ? straight : parts) + "\n";
    }

    static constexpr int refused = 99;
    std::string text, straight, parts;
    bool is_straight = false;
};

/// All that a writer has, in pieces of so many bytes.
std::string stream_of(FrameWriter &writer, std::size_t piece) {
    std::string stream;
    while (!writer.is_empty()) {
        std::array<iovec, 3> from;
        int count = writer.gather(from);
        std::string all;
        for (int i = 0; i < count; i++) {
            auto &[begin, bytes] = from[static_cast<std::size_t>(i)];
            all.append(static_cast<char *>(begin), bytes);
        }
        std::size_t bytes = std::min(piece, all.size());
        stream += all.substr(0, bytes);
        writer.written(bytes);
    }
    return stream;
}

/// False if the reader found fault with it.
bool feed(FrameReader &reader, const std::string &stream, FrameHandler &handler) {
    for (std::size_t done = 0; done < stream.size();) {
        std::array<iovec, 2> into;
        int count = reader.places(into);
        std::size_t filled = 0;
        for (int i = 0; i < count; i++) {
            auto &[begin, bytes] = into[static_cast<std::size_t>(i)];
            std::size_t part = std::min(bytes, stream.size() - done);
            std::memcpy(begin, stream.data() + done, part);
            done += part;
            filled += part;
        }
        if (!reader.arrived(filled, handler)) return false;
    }
    return true;
}

void fill(FrameWriter &writer) {
    writer.add({.kind = FrameKind::eager, .tag = 1, .bytes = 5}, "hello");
    writer.add({.kind = FrameKind::eager, .tag = 2, .bytes = 0});
    writer.add({.kind = FrameKind::request, .tag = 3, .bytes = 7, .id = 1});
    writer.add_in_place({.kind = FrameKind::data, .bytes = 7, .id = 1}, "in part");
    writer.add({.kind = FrameKind::cancel, .id = 2});
    writer.add({.kind = FrameKind::data, .bytes = 11, .id = 4}, "straight to");
    writer.add({.kind = FrameKind::credit, .bytes = 3});
}

const std::string expected = "1:0:1:hello\n1:0:2:\n2:1:3\ndata 1:in part\n4:2:0\ndata 4:straight to\n6:0:0\n";

TEST(Frames, ArriveHoweverTheStreamIsCut) {
    FrameWriter writer;
    fill(writer);
    const std::string stream = stream_of(writer, 1000);
    for (std::size_t cut = 0; cut <= stream.size(); cut++) {
        for (std::size_t second = cut; second <= stream.size(); second++) {
            Protocol seen;
            FrameReader reader;
            EXPECT_TRUE(feed(reader, stream.substr(0, cut), seen));
            EXPECT_TRUE(feed(reader, stream.substr(cut, second - cut), seen));
            EXPECT_TRUE(feed(reader, stream.substr(second), seen));
            ASSERT_EQ(seen.text, expected) << "cut at " << cut << " and " << second;
            EXPECT_TRUE(reader.is_between_frames());
        }
    }
}

TEST(Frames, AreTheSameHoweverTheyAreWritten) {
    FrameWriter whole;
    fill(whole);
    const std::string stream = stream_of(whole, 1000);
    for (std::size_t piece = 1; piece < stream.size(); piece++) {
        FrameWriter writer;
        fill(writer);
        ASSERT_EQ(stream_of(writer, piece), stream) << "in pieces of " << piece;
    }
}

TEST(Frames, LongStreamsPassThroughTheBuffer) {
    FrameWriter writer;
    const std::string longest(wire::largest_eager, 'x');
    const int frames = 50;
    for (int i = 0; i < frames; i++)
        writer.add({.kind = FrameKind::eager, .tag = i, .bytes = longest.size()}, longest.data());
    Protocol seen;
    FrameReader reader;
    EXPECT_TRUE(feed(reader, stream_of(writer, 777), seen));
    EXPECT_EQ(std::ranges::count(seen.text, '\n'), frames);
}

/// Where the reader wants its next bytes.
void *place_of(FrameReader &reader) {
    std::array<iovec, 2> into;
    reader.places(into);
    return into[0].iov_base;
}

TEST(Frames, IdleReadersHaveNoBufferOfTheirOwn) {
    FrameWriter writer;
    writer.add({.kind = FrameKind::eager, .tag = 1, .bytes = 5}, "hello");
    const std::string stream = stream_of(writer, 1000);
    Protocol seen;
    FrameReader one, other;
    EXPECT_TRUE(feed(one, stream, seen));
    void *const buffer = place_of(other);
    other.nothing_came();
    EXPECT_EQ(place_of(one), buffer);
    one.nothing_came();
    // Part of a frame stays where it is.
    EXPECT_TRUE(feed(one, stream.substr(0, 3), seen));
    EXPECT_NE(place_of(other), buffer);
    other.nothing_came();
    EXPECT_TRUE(feed(one, stream.substr(3), seen));
    EXPECT_EQ(seen.text, "1:0:1:hello\n1:0:1:hello\n");
}

TEST(Frames, WhatMakesNoSenseIsRefused) {
    auto is_taken = [](const FrameHeader &header) {
        FrameWriter writer;
        writer.add(header);
        Protocol seen;
        FrameReader reader;
        return feed(reader, stream_of(writer, 1000), seen);
    };
    EXPECT_FALSE(is_taken({.kind = static_cast<FrameKind>(0)}));
    EXPECT_FALSE(is_taken({.kind = static_cast<FrameKind>(8)}));
    EXPECT_FALSE(is_taken({.kind = FrameKind::eager, .bytes = wire::largest_eager + 1}));
    EXPECT_FALSE(is_taken({.kind = FrameKind::data, .bytes = wire::largest_data + 1, .id = 1}));
    EXPECT_FALSE(is_taken({.kind = FrameKind::data, .bytes = 0, .id = 1}));
    EXPECT_FALSE(is_taken({.kind = FrameKind::request, .bytes = ~0ULL, .id = 1}));
    EXPECT_FALSE(is_taken({.kind = FrameKind::request, .bytes = 1}));
    EXPECT_FALSE(is_taken({.kind = FrameKind::credit, .bytes = wire::eager_credit + 1}));
    EXPECT_FALSE(is_taken({.kind = FrameKind::request, .tag = Protocol::refused, .bytes = 1, .id = 1}));
    EXPECT_TRUE(is_taken({.kind = FrameKind::request, .bytes = 1, .id = 1}));
}

TEST(Frames, WhoReadsLittleAheadTakesShorterMessagesInParts) {
    constexpr std::size_t whole = wire::longest_whole_in_memory;
    for (std::size_t piece : {1UL, 100UL, 5000UL}) {
        Protocol seen;
        FrameReader reader;
        reader.read_little_ahead();
        FrameWriter writer;
        const std::string shorter(whole, 'a'), longer(whole + 1, 'b');
        writer.add({.kind = FrameKind::eager, .bytes = shorter.size()}, shorter.data());
        writer.add({.kind = FrameKind::eager, .bytes = longer.size(), .id = 2}, longer.data());
        writer.add({.kind = FrameKind::eager, .bytes = longer.size(), .id = 3}, longer.data());
        EXPECT_TRUE(feed(reader, stream_of(writer, piece), seen));
        EXPECT_EQ(seen.text, "1:0:0:" + shorter + "\ndata 2:" + longer + "\ndata 3:" + longer + "\n");
        EXPECT_EQ(reader.frames(), 3U);
        EXPECT_TRUE(reader.is_between_frames());
    }
}

} // namespace
} // namespace volley
