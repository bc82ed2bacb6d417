// SPDX-License-Identifier: BSD-3-Clause
#include "boot/proof/sealed_stream.h"

#include "boot/error.h"

#include <sodium.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace volley {
namespace {

using State = crypto_secretstream_xchacha20poly1305_state;
static_assert(sizeof(State) == sizeof(StreamState) && secret_bytes == crypto_secretstream_xchacha20poly1305_KEYBYTES);

constexpr std::size_t head_bytes = crypto_secretstream_xchacha20poly1305_HEADERBYTES;
constexpr std::size_t code_bytes = crypto_secretstream_xchacha20poly1305_ABYTES;
/// Each part has its length before it. The other end takes no more memory than for one part.
constexpr std::size_t longest_part = 64 * 1024;
using Length = std::uint32_t;

unsigned char *bytes(std::string &text, std::size_t from) {
    return reinterpret_cast<unsigned char *>(text.data()) + from;
}
const unsigned char *bytes(std::string_view text) {
    return reinterpret_cast<const unsigned char *>(text.data());
}

State load(const StreamState &from) {
    State state;
    std::memcpy(&state, from.data(), sizeof state);
    return state;
}
void store(StreamState &to, const State &state) {
    std::memcpy(to.data(), &state, sizeof state);
}

} // namespace

Sealer::Sealer(const Secret &key) : head_(head_bytes, '\0') {
    if (sodium_init() < 0) throw Error("libsodium cannot be used: the system gives it no random bytes");
    State state;
    crypto_secretstream_xchacha20poly1305_init_push(&state, bytes(head_, 0), key.data());
    store(state_, state);
}

void Sealer::seal(std::string_view text, std::string &sealed) {
    sealed += head_;
    head_.clear();
    State state = load(state_);
    while (!text.empty()) {
        const std::string_view part = text.substr(0, longest_part);
        text.remove_prefix(part.size());
        const auto length = static_cast<Length>(part.size());
        sealed.append(reinterpret_cast<const char *>(&length), sizeof length);
        const std::size_t at = sealed.size();
        sealed.resize(at + part.size() + code_bytes);
        crypto_secretstream_xchacha20poly1305_push(&state, bytes(sealed, at), nullptr, bytes(part), part.size(),
                                                   nullptr, 0, crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
    }
    store(state_, state);
}

Unsealer::Unsealer(const Secret &key) : key_(key) {}

bool Unsealer::unseal(std::string_view sealed, std::string &text) {
    arrived_ += sealed;
    std::size_t taken = 0;
    if (!has_begun_) {
        if (arrived_.size() < head_bytes) return true;
        State state;
        if (crypto_secretstream_xchacha20poly1305_init_pull(&state, bytes(arrived_, 0), key_.data()) != 0) return false;
        store(state_, state);
        has_begun_ = true;
        taken = head_bytes;
    }
    State state = load(state_);
    bool is_right = true;
    while (is_right && arrived_.size() - taken >= sizeof(Length)) {
        Length length = 0;
        std::memcpy(&length, arrived_.data() + taken, sizeof length);
        is_right = length <= longest_part;
        if (!is_right || arrived_.size() - taken - sizeof length < length + code_bytes) break;
        taken += sizeof length;
        const std::size_t at = text.size();
        text.resize(at + length);
        is_right =
            crypto_secretstream_xchacha20poly1305_pull(&state, bytes(text, at), nullptr, nullptr,
                                                       bytes(arrived_, taken), length + code_bytes, nullptr, 0) == 0;
        if (!is_right) text.resize(at);
        taken += length + code_bytes;
    }
    store(state_, state);
    arrived_.erase(0, std::min(taken, arrived_.size()));
    return is_right;
}

} // namespace volley
