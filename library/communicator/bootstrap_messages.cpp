// SPDX-License-Identifier: BSD-3-Clause
#include "communicator/bootstrap_messages.h"

#include "communicator/context_allocation.h"
#include "core/engine.h"
#include "core/error.h"
#include "core/point_to_point.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>

namespace volley {
namespace {

/// A message that was received by a thread that waits for another key with the same hash.
struct BootstrapMessage {
    ProcessIndex process;
    std::string key;
    std::vector<std::int32_t> words;
};
std::deque<BootstrapMessage> set_aside;

/// FNV-1a (Fowler, Noll, Vo), without the sign bit.
int tag_of(std::string_view key) {
    std::uint32_t hash = 2166136261U;
    for (char character : key) hash = (hash ^ static_cast<unsigned char>(character)) * 16777619U;
    return static_cast<int>(hash & static_cast<std::uint32_t>(std::numeric_limits<int>::max()));
}

Address address_of(ProcessIndex process, std::string_view key) {
    return {bootstrap_communicator(), bootstrap_communicator().local().member(process), tag_of(key),
            Traffic::collective};
}

/// The length of the key, the key, the words.
std::vector<char> encode(std::string_view key, std::span<const std::int32_t> words) {
    auto length = static_cast<std::uint32_t>(key.size());
    std::vector<char> encoded(sizeof length + key.size() + words.size_bytes());
    std::memcpy(encoded.data(), &length, sizeof length);
    std::memcpy(encoded.data() + sizeof length, key.data(), key.size());
    if (!words.empty()) std::memcpy(encoded.data() + sizeof length + key.size(), words.data(), words.size_bytes());
    return encoded;
}

BootstrapMessage decode(ProcessIndex process, const std::vector<char> &encoded) {
    std::uint32_t length = 0;
    std::memcpy(&length, encoded.data(), sizeof length);
    BootstrapMessage message{process, std::string(encoded.data() + sizeof length, length), {}};
    std::size_t before = sizeof length + length;
    message.words.resize((encoded.size() - before) / sizeof(std::int32_t));
    if (!message.words.empty()) std::memcpy(message.words.data(), encoded.data() + before, encoded.size() - before);
    return message;
}

auto find_aside(ProcessIndex process, std::string_view key) {
    return std::ranges::find_if(
        set_aside, [&](const BootstrapMessage &message) { return message.process == process && message.key == key; });
}

} // namespace

int check_one_job(const std::vector<ProcessIndex> &members) {
    if (std::ranges::none_of(members, [](ProcessIndex member) { return processes.is_of_other_job(member); }))
        return MPI_SUCCESS;
    return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                "Volley does not make this communicator of processes of several jobs: MPI_Intercomm_merge, "
                "MPI_Comm_create and MPI_Comm_split do");
}

int bootstrap_send(ProcessIndex process, std::string_view key, std::span<const std::int32_t> words) {
    std::vector<char> encoded = encode(key, words);
    return send(Data::bytes(encoded.data(), static_cast<Count>(encoded.size())), address_of(process, key));
}

int bootstrap_receive(ProcessIndex process, std::string_view key, std::vector<std::int32_t> &words) {
    Address from = address_of(process, key);
    for (;;) {
        Completion found;
        engine.wait_until([&] { return find_aside(process, key) != set_aside.end() || probe(from, found); });
        if (auto aside = find_aside(process, key); aside != set_aside.end()) {
            words = std::move(aside->words);
            set_aside.erase(aside);
            return MPI_SUCCESS;
        }
        std::vector<char> encoded(static_cast<std::size_t>(found.bytes));
        if (int code = receive(Data::bytes(encoded.data(), found.bytes), from); code != MPI_SUCCESS) return code;
        BootstrapMessage message = decode(process, encoded);
        if (message.key == key && find_aside(process, key) == set_aside.end()) {
            words = std::move(message.words);
            return MPI_SUCCESS;
        }
        set_aside.push_back(std::move(message));
        node.wake_rank(node.rank); // another thread may wait for just this
    }
}

int bootstrap_exchange(ProcessIndex process, std::string_view key, std::span<const std::int32_t> mine,
                       std::vector<std::int32_t> &theirs) {
    std::vector<char> encoded = encode(key, mine);
    Request *sent =
        start_send(Data::bytes(encoded.data(), static_cast<Count>(encoded.size())), address_of(process, key));
    int code = sent->completion.error;
    if (code == MPI_SUCCESS) code = bootstrap_receive(process, key, theirs);
    wait_for(*sent);
    if (code == MPI_SUCCESS) code = sent->finish();
    sent->dispose();
    return code;
}

int bootstrap_broadcast(const std::vector<ProcessIndex> &members, int root, int index, std::string_view key,
                        std::vector<std::int32_t> &words) {
    auto size = static_cast<int>(members.size());
    // In the tree, places count from the root.
    auto member_at = [&](int place) { return members[static_cast<std::size_t>((place + root) % size)]; };
    int own_place = (index - root + size) % size;
    if (own_place != 0)
        if (int code = bootstrap_receive(member_at(tree_parent(own_place)), key, words); code != MPI_SUCCESS)
            return code;
    for (int child : tree_children(own_place, size))
        if (int code = bootstrap_send(member_at(child), key, words); code != MPI_SUCCESS) return code;
    return MPI_SUCCESS;
}

int bootstrap_barrier(const std::vector<ProcessIndex> &members, int index, std::string_view key) {
    // Dissemination (Hensgen, Finkel, Manber 1988): after the round of distance d, a member has heard of 2 d others.
    auto size = static_cast<int>(members.size());
    std::vector<std::int32_t> nothing;
    for (int distance = 1; distance < size; distance *= 2) {
        auto member_at = [&](int place) { return members[static_cast<std::size_t>((place + size) % size)]; };
        if (int code = bootstrap_send(member_at(index + distance), key, {}); code != MPI_SUCCESS) return code;
        if (int code = bootstrap_receive(member_at(index - distance), key, nothing); code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

} // namespace volley
