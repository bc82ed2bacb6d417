// SPDX-License-Identifier: BSD-3-Clause
#include "boot/proof/key_exchange.h"

#include "boot/error.h"

#include <sodium.h>

namespace volley {

static_assert(crypto_kx_PUBLICKEYBYTES == 32 && crypto_kx_SECRETKEYBYTES == 32 &&
              crypto_kx_SESSIONKEYBYTES == secret_bytes);

namespace {

/// Must come before anything else of libsodium.
void begin() {
    if (sodium_init() < 0) throw Error("libsodium cannot be used: the system gives it no random bytes");
}

const unsigned char *bytes_of(const std::string &text) {
    return reinterpret_cast<const unsigned char *>(text.data());
}

unsigned char *bytes_of(std::string &text) {
    return reinterpret_cast<unsigned char *>(text.data());
}

} // namespace

KeyExchange::KeyExchange() {
    begin();
    crypto_kx_keypair(public_.data(), private_.data());
}

bool KeyExchange::agree(const PublicKey &other, bool accepts, Secret &secret) const {
    Secret unused; // one key for each direction: the one from the accepting side serves
    if (accepts)
        return crypto_kx_server_session_keys(unused.data(), secret.data(), public_.data(), private_.data(),
                                             other.data()) == 0;
    return crypto_kx_client_session_keys(secret.data(), unused.data(), public_.data(), private_.data(), other.data()) ==
           0;
}

static_assert(crypto_box_PUBLICKEYBYTES == 32 && crypto_box_SECRETKEYBYTES == 32);

SealKey::SealKey() {
    begin();
    crypto_box_keypair(public_.data(), private_.data());
}

std::optional<std::string> SealKey::open(const std::string &sealed) const {
    if (sealed.size() < crypto_box_SEALBYTES) return std::nullopt;
    std::string text(sealed.size() - crypto_box_SEALBYTES, '\0');
    if (crypto_box_seal_open(bytes_of(text), bytes_of(sealed), sealed.size(), public_.data(), private_.data()) != 0)
        return std::nullopt;
    return text;
}

std::string seal(const std::string &text, const PublicKey &key) {
    begin();
    std::string sealed(text.size() + crypto_box_SEALBYTES, '\0');
    if (crypto_box_seal(bytes_of(sealed), bytes_of(text), text.size(), key.data()) != 0)
        throw Error("another host's public key is none");
    return sealed;
}

} // namespace volley
