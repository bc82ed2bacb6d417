// SPDX-License-Identifier: BSD-3-Clause
#include "communicator/bootstrap_messages.h"

#include "communicator/context_allocation.h"
#include "core/engine.h"
#include "core/error.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <utility>

namespace volley {
namespace {

/// A message that was received by a thread that waits for another key with the same hash.
struct BootstrapMessage {
    std::uint32_t context;
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

/// The same among the tags that the numbers of collective operations are not.
int negative_tag_of(std::string_view key) {
    return std::numeric_limits<int>::min() + tag_of(key) / 2;
}

bool is_of_several_jobs(const Communicator &communicator) {
    return communicator.local().has_other_jobs() || communicator.peer_group().has_other_jobs();
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

BootstrapMessage decode(std::uint32_t context, ProcessIndex process, const std::vector<char> &encoded) {
    std::uint32_t length = 0;
    std::memcpy(&length, encoded.data(), sizeof length);
    BootstrapMessage message{context, process, std::string(encoded.data() + sizeof length, length), {}};
    std::size_t before = sizeof length + length;
    message.words.resize((encoded.size() - before) / sizeof(std::int32_t));
    if (!message.words.empty()) std::memcpy(message.words.data(), encoded.data() + before, encoded.size() - before);
    return message;
}

auto find_aside(std::uint32_t context, ProcessIndex process, std::string_view key) {
    return std::ranges::find_if(set_aside, [&](const BootstrapMessage &message) {
        return message.context == context && message.process == process && message.key == key;
    });
}

} // namespace

int check_one_job(const std::vector<ProcessIndex> &members) {
    if (std::ranges::none_of(members, [](ProcessIndex member) { return processes.is_of_other_job(member); }))
        return MPI_SUCCESS;
    return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                "Volley does not make a communicator of groups alone if their processes are of several jobs; "
                "MPI_Comm_create_group and MPI_Intercomm_create, which get a communicator, do");
}

BootstrapChannel::BootstrapChannel(std::string key)
    : carrier_(bootstrap_communicator()), key_(std::move(key)), tag_(tag_of(key_)) {}

// The number of a communicator is the same in all processes of a job; of one that has several jobs it need not be.
BootstrapChannel::BootstrapChannel(Communicator &common, std::string key)
    : carrier_(is_of_several_jobs(common) ? common : bootstrap_communicator()),
      key_(is_of_several_jobs(common) ? std::move(key)
                                      : std::move(key) + " of " + std::to_string(common.context(Traffic::program))),
      tag_(is_of_several_jobs(common) ? negative_tag_of(key_) : tag_of(key_)) {}

Address BootstrapChannel::address_of(ProcessIndex process) const {
    return {carrier_, carrier_.peer_group().member(process), tag_, Traffic::collective};
}

int BootstrapChannel::send(ProcessIndex process, std::span<const std::int32_t> words) const {
    std::vector<char> encoded = encode(key_, words);
    return volley::send(Data::bytes(encoded.data(), static_cast<Count>(encoded.size())), address_of(process));
}

int BootstrapChannel::receive(ProcessIndex process, std::vector<std::int32_t> &words) const {
    const Address from = address_of(process);
    const std::uint32_t context = carrier_.context(Traffic::collective);
    const auto aside = [&] { return find_aside(context, process, key_); };
    for (;;) {
        Completion found;
        engine.wait_until([&] { return aside() != set_aside.end() || probe(from, found); });
        if (auto message = aside(); message != set_aside.end()) {
            words = std::move(message->words);
            set_aside.erase(message);
            return MPI_SUCCESS;
        }
        std::vector<char> encoded(static_cast<std::size_t>(found.bytes));
        if (int code = volley::receive(Data::bytes(encoded.data(), found.bytes), from); code != MPI_SUCCESS)
            return code;
        BootstrapMessage message = decode(context, process, encoded);
        if (message.key == key_ && aside() == set_aside.end()) {
            words = std::move(message.words);
            return MPI_SUCCESS;
        }
        set_aside.push_back(std::move(message));
        node.wake_rank(node.rank); // another thread may wait for just this
    }
}

int BootstrapChannel::exchange(ProcessIndex process, std::span<const std::int32_t> mine,
                               std::vector<std::int32_t> &theirs) const {
    std::vector<char> encoded = encode(key_, mine);
    Request *sent = start_send(Data::bytes(encoded.data(), static_cast<Count>(encoded.size())), address_of(process));
    int code = sent->completion.error;
    if (code == MPI_SUCCESS) code = receive(process, theirs);
    wait_for(*sent);
    if (code == MPI_SUCCESS) code = sent->finish();
    sent->dispose();
    return code;
}

int BootstrapChannel::broadcast(const std::vector<ProcessIndex> &members, int root, int index,
                                std::vector<std::int32_t> &words) const {
    auto size = static_cast<int>(members.size());
    // In the tree, places count from the root.
    auto member_at = [&](int place) { return members[static_cast<std::size_t>((place + root) % size)]; };
    int own_place = (index - root + size) % size;
    if (own_place != 0)
        if (int code = receive(member_at(tree_parent(own_place)), words); code != MPI_SUCCESS) return code;
    for (int child : tree_children(own_place, size))
        if (int code = send(member_at(child), words); code != MPI_SUCCESS) return code;
    return MPI_SUCCESS;
}

int BootstrapChannel::barrier(const std::vector<ProcessIndex> &members, int index) const {
    // Dissemination (Hensgen, Finkel, Manber 1988): after the round of distance d, a member has heard of 2 d others.
    auto size = static_cast<int>(members.size());
    std::vector<std::int32_t> nothing;
    for (int distance = 1; distance < size; distance *= 2) {
        auto member_at = [&](int place) { return members[static_cast<std::size_t>((place + size) % size)]; };
        if (int code = send(member_at(index + distance), {}); code != MPI_SUCCESS) return code;
        if (int code = receive(member_at(index - distance), nothing); code != MPI_SUCCESS) return code;
    }
    return MPI_SUCCESS;
}

} // namespace volley
