// SPDX-License-Identifier: BSD-3-Clause
#include "boot/key_exchange.h"

#include "boot/error.h"

#include <sodium.h>

namespace volley {

static_assert(crypto_kx_PUBLICKEYBYTES == 32 && crypto_kx_SECRETKEYBYTES == 32 &&
              crypto_kx_SESSIONKEYBYTES == secret_bytes);

KeyExchange::KeyExchange() {
    if (sodium_init() < 0) throw Error("libsodium cannot be used: the system gives it no random bytes");
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

} // namespace volley
