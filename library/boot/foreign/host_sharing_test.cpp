// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/host_sharing.h"

#include "boot/error.h"
#include "boot/foreign/host_socket.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include <memory>

namespace volley {
namespace {

ino_t file_of(const Descriptor &descriptor) {
    struct stat facts = {};
    EXPECT_EQ(fstat(descriptor.get(), &facts), 0);
    return facts.st_ino;
}

TEST(HostSharing, GuestsAreGivenTheArenaAndTheirSockets) {
    HostFirst first;
    connect_on_host(first.number(), "it"); // a stranger, who says nothing, and goes
    HostGuest one(first.number(), 3, "0-1"), other(first.number(), 5, std::string(5000, '7'));
    const auto guests = first.receive_guests(2);
    ASSERT_EQ(guests.size(), 2U);
    EXPECT_EQ(guests[0].rank, 3);
    EXPECT_EQ(guests[0].processors, "0-1");
    EXPECT_EQ(guests[1].rank, 5);
    EXPECT_EQ(guests[1].processors, std::string(5000, '7'));

    const Descriptor arena(memfd_create("arena", 0));
    std::vector<Descriptor> listeners;
    for (std::size_t each = 0; each < most_addresses; each++) listeners.emplace_back(memfd_create("listener", 0));
    HostFirst::hand(guests[0], arena.get(), 0x1234, listeners);
    HostFirst::hand(guests[1], arena.get(), 0x1234, {});
    const Handed to_one = one.receive(), to_other = other.receive();
    EXPECT_EQ(to_one.address, 0x1234U);
    EXPECT_EQ(file_of(to_one.arena), file_of(arena));
    ASSERT_EQ(to_one.listeners.size(), most_addresses);
    for (std::size_t each = 0; each < most_addresses; each++)
        EXPECT_EQ(file_of(to_one.listeners[each]), file_of(listeners[each]));
    EXPECT_EQ(file_of(to_other.arena), file_of(arena));
    EXPECT_TRUE(to_other.listeners.empty());
}

TEST(HostSharing, AGuestIsToldThatTheFirstRankHasGone) {
    auto first = std::make_unique<HostFirst>();
    HostGuest guest(first->number(), 1, "0");
    first.reset();
    EXPECT_THROW(guest.receive(), Error);
    EXPECT_THROW(HostGuest(0xabcde, 1, "0"), Error);
}

} // namespace
} // namespace volley
