// SPDX-License-Identifier: BSD-3-Clause
#include "launch/hosts/flow.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "boot/descriptor.h"

namespace volley::launch {
namespace {

std::pair<Descriptor, Descriptor> connected() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Bytes that tell their place.
std::string pattern(std::size_t bytes) {
    std::string text(bytes, '\0');
    for (std::size_t place = 0; place < bytes; place++) text[place] = static_cast<char>(place * 31 + place / 251);
    return text;
}

/// The sender writes into `sender`, the flow reads from `source`; and so on.
class FlowTest : public testing::Test {
  protected:
    FlowTest() {
        std::tie(sender, source) = connected();
        std::tie(destination, receiver) = connected();
    }

    std::size_t send_some(std::string_view bytes) {
        const ssize_t put = send(sender.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        return put > 0 ? static_cast<std::size_t>(put) : 0;
    }
    bool read() {
        return flow.read(source.get(), destination.get(), scratch);
    }
    /// What there is for the receiver; `ended`: and no more will come.
    std::string receive(bool *ended = nullptr) {
        std::string all;
        std::array<char, 4096> part{};
        ssize_t got = 0;
        while ((got = recv(receiver.get(), part.data(), part.size(), 0)) > 0)
            all.append(part.data(), static_cast<std::size_t>(got));
        if (ended != nullptr) *ended = got == 0;
        return all;
    }

    Descriptor sender, source, destination, receiver;
    std::array<char, 8192> scratch{};
    Flow flow;
};

TEST_F(FlowTest, CarriesBytesAndTheEnd) {
    send_some("abc");
    EXPECT_TRUE(read());
    EXPECT_FALSE(read()) << "nothing more has come";
    EXPECT_FALSE(flow.wants_to_write());
    bool ended = true;
    EXPECT_EQ(receive(&ended), "abc");
    EXPECT_FALSE(ended);
    send_some("d");
    sender.reset();
    while (read()) {}
    EXPECT_TRUE(flow.is_over());
    EXPECT_EQ(receive(&ended), "d");
    EXPECT_TRUE(ended);
}

TEST_F(FlowTest, KeepsWhatTheDestinationDoesNotTakeUpToALimit) {
    const std::string sent = pattern(3 * Flow::most_kept);
    std::size_t put = 0;
    std::string received;
    const auto fill = [&] {
        for (std::size_t before = sent.size(); before != put;) {
            before = put;
            put += send_some(std::string_view(sent).substr(put));
            while (read()) {}
        }
    };
    fill();
    EXPECT_FALSE(flow.wants_to_read()) << "the sender has to wait";
    EXPECT_GE(put, Flow::most_kept);
    EXPECT_LT(put, 2 * Flow::most_kept);
    while (put < sent.size() || flow.wants_to_write()) {
        received += receive();
        flow.write(destination.get());
        fill();
    }
    sender.reset();
    while (read()) {}
    received += receive();
    EXPECT_TRUE(received == sent);
    EXPECT_TRUE(flow.is_over());
}

TEST_F(FlowTest, KeepsWhatComesBeforeThereIsADestination) {
    send_some("early");
    sender.reset();
    while (flow.read(source.get(), -1, scratch)) {}
    EXPECT_FALSE(flow.is_over());
    flow.write(destination.get());
    EXPECT_TRUE(flow.is_over());
    bool ended = false;
    EXPECT_EQ(receive(&ended), "early");
    EXPECT_TRUE(ended);
}

TEST_F(FlowTest, DropsWhatNobodyWillReceive) {
    receiver.reset();
    const std::string sent = pattern(2 * Flow::most_kept);
    for (std::size_t put = 0; put < sent.size();) {
        put += send_some(std::string_view(sent).substr(put));
        while (read()) {}
        ASSERT_TRUE(flow.wants_to_read());
    }
    sender.reset();
    while (read()) {}
    EXPECT_TRUE(flow.is_over());
}

} // namespace
} // namespace volley::launch
