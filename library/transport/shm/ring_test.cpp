// SPDX-License-Identifier: BSD-3-Clause
#include "ring.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace volley {
namespace {

struct FreeAligned {
    void operator()(RingHead *ring) const {
        std::free(ring);
    }
};

std::unique_ptr<RingHead, FreeAligned> make_ring(std::uint32_t slots, std::uint32_t bytes,
                                                 std::uint32_t span_limit = ~0u, std::uint32_t beside = 0) {
    std::size_t size = RingHead::footprint(slots, bytes, beside);
    void *memory = std::aligned_alloc(cache_line, size);
    std::memset(memory, 0, size);
    auto *ring = static_cast<RingHead *>(memory);
    ring->construct(slots, bytes, beside, span_limit);
    return std::unique_ptr<RingHead, FreeAligned>(ring);
}

std::vector<unsigned char> message(std::size_t size, unsigned seed) {
    std::vector<unsigned char> bytes(size);
    for (std::size_t i = 0; i < size; i++) bytes[i] = static_cast<unsigned char>(i * 31 + seed * 17 + (i >> 8));
    return bytes;
}

std::vector<unsigned char> contents(const RingReceiver &ring, Slot *slot) {
    const unsigned char *from = ring.payload(slot);
    return {from, from + slot->bytes()};
}

/// With payloads up to so many bytes beside their slots.
class RingBeside : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Bytes, RingBeside, testing::Values(0, 64, 256));

TEST(Ring, AnEmptyRingHasNoFront) {
    auto ring = make_ring(8, 1024);
    EXPECT_EQ(RingReceiver(ring.get()).front(), nullptr);
}

TEST(Ring, OnlyFreeRoomIsOwnedAhead) {
    auto ring = make_ring(8, 4096);
    RingSender sender(ring.get());
    RingReceiver receiver(ring.get());
    auto sent = message(1000, 1);
    auto send = [&] { return sender.send_eager({.tag = 0, .context = 0, .source = 0}, sent.data(), sent.size()); };
    ASSERT_TRUE(send());
    EXPECT_TRUE(sender.prefetch_some(prefetched_when_idle)) << "the rest of as large a message";
    EXPECT_TRUE(sender.prefetch_some(prefetched_when_idle));
    EXPECT_FALSE(sender.prefetch_some(prefetched_when_idle));
    while (send()) {} // the last took what was free
    for (int i = 0; i < 10; i++)
        EXPECT_TRUE(sender.prefetch_some(prefetched_when_idle)) << "what has not been received stays where it is";
    Slot *slot = receiver.front();
    ASSERT_EQ(contents(receiver, slot), sent);
    (void)receiver.release(slot);
    EXPECT_TRUE(sender.prefetch_some(prefetched_when_idle));
    EXPECT_TRUE(sender.prefetch_some(prefetched_when_idle));
    EXPECT_FALSE(sender.prefetch_some(prefetched_when_idle)) << "all of it";
}

TEST(Ring, AReceiverThatIsCloseBehindKeepsItSmall) {
    auto ring = make_ring(8, 65536, 8192);
    RingSender sender(ring.get());
    RingReceiver receiver(ring.get());
    for (unsigned i = 0; i < 1000; i++) {
        auto sent = message(1000, i);
        ASSERT_TRUE(sender.send_eager({.tag = 0, .context = 0, .source = 0}, sent.data(), sent.size()));
        Slot *slot = receiver.front();
        ASSERT_EQ(contents(receiver, slot), sent);
        EXPECT_LE(receiver.payload(slot) + 1000, ring->payload(0) + 8192) << "message " << i;
        (void)receiver.release(slot);
    }
}

TEST_P(RingBeside, AReceiverMayFallBehindAndComeClose) {
    auto ring = make_ring(64, 32768, 8192, GetParam());
    RingSender sender(ring.get());
    RingReceiver receiver(ring.get());
    std::minstd_rand random(1);
    unsigned sent = 0, received = 0, behind = 0; // messages; the receiver is to be behind by so many
    auto bytes_of = [](unsigned number) { return static_cast<std::size_t>(std::minstd_rand(number + 1)() % 8193); };
    while (received < 20000) {
        if (random() % 100 == 0) behind = static_cast<unsigned>(random() % 40);
        auto next = message(bytes_of(sent), sent);
        bool room = sender.send_eager({.tag = 0, .context = 0, .source = 0}, next.data(), next.size());
        ASSERT_TRUE(room || sent > received) << "all has been received, and there is no room";
        sent += room;
        while (sent > received + behind || (!room && sent > received)) {
            Slot *slot = receiver.front();
            ASSERT_EQ(contents(receiver, slot), message(bytes_of(received), received));
            (void)receiver.release(slot);
            received++;
            room = true;
        }
    }
}

TEST_P(RingBeside, ASenderWithoutRoomIsToBeWokenOnceAQuarterIsFree) {
    auto ring = make_ring(64, 32768, 8192, GetParam());
    RingSender sender(ring.get());
    RingReceiver receiver(ring.get());
    std::minstd_rand random(7);
    std::vector<unsigned char> data(8192);
    for (int round = 0; round < 20000; round++) {
        auto size = static_cast<std::size_t>(random() % 4 == 0 ? random() % 8193 : random() % 300);
        auto send = [&] { return sender.send_eager({.tag = 0, .context = 0, .source = 0}, data.data(), size); };
        bool sent = send();
        // A sender that sleeps looks again only when it is to be woken.
        for (bool woken = false; !sent; woken = false) {
            for (Slot *slot; !woken && (slot = receiver.front());) woken = receiver.release(slot);
            ASSERT_TRUE(woken) << "the ring is empty, and its sender was not woken; round " << round;
            sent = send();
        }
        for (auto taken = random() % 3; taken > 0; taken--)
            if (Slot *slot = receiver.front()) (void)receiver.release(slot);
    }
}

TEST_P(RingBeside, EverySizeUpToTheEagerLimitArrivesWhole) {
    auto ring = make_ring(16, 4096, ~0u, GetParam());
    RingSender sender(ring.get());
    RingReceiver receiver(ring.get());
    for (std::size_t size = 0; size <= sender.eager_limit(); size++) {
        auto sent = message(size, static_cast<unsigned>(size));
        ASSERT_TRUE(sender.send_eager({.tag = 5, .context = 6, .source = 7}, sent.data(), size)) << size;
        Slot *slot = receiver.front();
        ASSERT_NE(slot, nullptr) << size;
        EXPECT_EQ(slot->tag, 5);
        EXPECT_EQ(slot->context, 6u);
        EXPECT_EQ(slot->source, 7);
        ASSERT_EQ(contents(receiver, slot), sent) << size;
        (void)receiver.release(slot);
    }
}

TEST(Ring, WhatLiesBesideASlotIsNeverTakenForAMessage) {
    auto ring = make_ring(16, 4096, ~0u, 256);
    RingSender sender(ring.get());
    RingReceiver receiver(ring.get());
    std::minstd_rand random(1);
    std::uint64_t position = 0;
    for (int i = 0; i < 10000; i++) {
        // Lines full of the turn that their place will have the next time round.
        std::vector<std::uint32_t> turns(16 * (1 + random() % 4));
        for (std::size_t at = 0; at < turns.size(); at++)
            turns[at] = Slot::turn_of(position + 1 + at / 16 + ring->slots);
        ASSERT_TRUE(sender.send_eager({}, turns.data(), turns.size() * sizeof turns[0]));
        Slot *slot = receiver.front();
        ASSERT_NE(slot, nullptr);
        ASSERT_EQ(slot->kind(), MessageKind::beside) << "the receiver is close behind";
        ASSERT_EQ(std::memcmp(receiver.payload(slot), turns.data(), slot->bytes()), 0);
        position += slot->span();
        (void)receiver.release(slot);
        ASSERT_EQ(receiver.front(), nullptr) << "message " << i;
    }
}

TEST(Ring, AReceiverThatIsNotCloseFindsPayloadsInTheRingOfBytes) {
    auto ring = make_ring(16, 4096, ~0u, 256);
    RingSender sender(ring.get());
    auto sent = message(200, 1);
    int messages = 0;
    while (sender.send_eager({}, sent.data(), sent.size())) messages++;
    // Of four lines and the slot each: one beside while half of the slots are free, the others of one slot each.
    EXPECT_EQ(messages, 12);
    RingReceiver receiver(ring.get());
    for (int i = 0; i < messages; i++) {
        Slot *slot = receiver.front();
        ASSERT_NE(slot, nullptr);
        EXPECT_EQ(slot->kind(), i == 0 ? MessageKind::beside : MessageKind::eager);
        EXPECT_EQ(contents(receiver, slot), sent);
        (void)receiver.release(slot);
    }
    EXPECT_EQ(receiver.front(), nullptr);
}

TEST(Ring, AFullRingRefusesAndTakesAgainOnceRoomIsGivenBack) {
    auto ring = make_ring(8, 1024);
    RingSender sender(ring.get());
    RingReceiver receiver(ring.get());
    for (unsigned i = 0; i < 8; i++) ASSERT_TRUE(sender.send_eager({}, &i, sizeof i));
    unsigned more = 8;
    EXPECT_FALSE(sender.send_eager({}, &more, sizeof more));
    for (unsigned i = 0; i < 8; i++) {
        Slot *slot = receiver.front();
        ASSERT_NE(slot, nullptr);
        unsigned value;
        std::memcpy(&value, receiver.payload(slot), sizeof value);
        EXPECT_EQ(value, i);
        (void)receiver.release(slot);
    }
    EXPECT_EQ(receiver.front(), nullptr);
    EXPECT_TRUE(sender.send_eager({}, &more, sizeof more));
    EXPECT_NE(receiver.front(), nullptr);
}

TEST_P(RingBeside, LargestMessagesNeverWaitForRoomThatIsFree) {
    // Whatever was sent before, an emptied ring takes a message of the eager limit: unpublished room and the
    // piece skipped at the ring's end must never add up to a refusal for ever.
    std::mt19937 random(1);
    auto ring = make_ring(16, 1024, ~0u, GetParam());
    RingSender sender(ring.get());
    RingReceiver receiver(ring.get());
    std::vector<unsigned char> data(sender.eager_limit());
    for (int i = 0; i < 20000; i++) {
        std::size_t size = random() % (data.size() + 1);
        ASSERT_TRUE(sender.send_eager({}, data.data(), size)) << i;
        (void)receiver.release(receiver.front());
        ASSERT_TRUE(sender.send_eager({}, data.data(), data.size())) << i;
        (void)receiver.release(receiver.front());
    }
}

TEST(Ring, AnAnnouncedMessageCarriesAddressAndTransfer) {
    auto ring = make_ring(8, 1024);
    RingSender sender(ring.get());
    RingReceiver receiver(ring.get());
    char buffer[4];
    ASSERT_TRUE(sender.send_request({.tag = 1, .context = 2, .source = 3}, buffer, std::size_t{1} << 40, 4096));
    Slot *slot = receiver.front();
    ASSERT_NE(slot, nullptr);
    EXPECT_EQ(slot->kind(), MessageKind::request);
    EXPECT_EQ(slot->bytes(), std::uint64_t{1} << 40);
    EXPECT_EQ(slot->request.address, reinterpret_cast<std::uint64_t>(buffer));
    EXPECT_EQ(slot->request.rendezvous, 4096u);
}

TEST(Ring, AReceiverThatWasLateIsGivenAChanceNowAndThen) {
    RingSender sender;
    EXPECT_FALSE(sender.expects_delay());
    sender.late(100000);
    int chances = 0;
    for (int message = 0; message < 64; message++) chances += !sender.expects_delay();
    EXPECT_EQ(chances, 4);
    sender.in_time();
    EXPECT_FALSE(sender.expects_delay());
}

TEST_P(RingBeside, TwoThreadsExchangeInOrderWithoutLossOrDamage) {
    constexpr unsigned messages = 100000;
    auto ring = make_ring(16, 4096, ~0u, GetParam());
    std::thread producer([&] {
        std::mt19937 random(2);
        RingSender sender(ring.get());
        for (unsigned i = 0; i < messages; i++) {
            auto data = message(random() % 3 ? random() % 41 : random() % sender.eager_limit(), i);
            while (
                !sender.send_eager({.tag = static_cast<int>(i), .context = 0, .source = 0}, data.data(), data.size()))
                std::this_thread::yield();
        }
    });
    std::mt19937 random(2);
    RingReceiver receiver(ring.get());
    bool right = true;
    for (unsigned i = 0; i < messages; i++) {
        Slot *slot;
        while (!(slot = receiver.front())) std::this_thread::yield();
        std::size_t size = random() % 3 ? random() % 41 : random() % 1024;
        right = right && slot->tag == static_cast<int>(i) && contents(receiver, slot) == message(size, i);
        (void)receiver.release(slot);
    }
    producer.join();
    EXPECT_TRUE(right);
}

} // namespace
} // namespace volley
