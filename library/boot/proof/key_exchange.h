// SPDX-License-Identifier: BSD-3-Clause
/// How two processes agree on a secret through a socket that others may listen to (X25519, libsodium's crypto_kx).
/// Whoever can change what goes through the socket can take the other's part: a handshake comes first where there is a
/// secret for one (boot/proof/handshake.h).
#pragma once

#include "boot/job.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>

namespace volley {

using PublicKey = std::array<unsigned char, 32>;

class KeyExchange {
  public:
    /// Draws a pair of keys. Throws Error if the system has no random bytes.
    KeyExchange();
    /// What the other side is told.
    [[nodiscard]] const PublicKey &public_key() const {
        return public_;
    }
    /// The same at both sides, of which one accepts. False if the other's key is none.
    [[nodiscard]] bool agree(const PublicKey &other, bool accepts, Secret &secret) const;

  private:
    PublicKey public_;
    std::array<unsigned char, 32> private_;
};

/// Opens what others have sealed for it with its public key (libsodium's sealed boxes: X25519, and a code that tells
/// whether anything was changed).
class SealKey {
  public:
    /// Draws a pair of keys. Throws Error if the system has no random bytes.
    SealKey();
    [[nodiscard]] const PublicKey &public_key() const {
        return public_;
    }
    /// Nothing if this was not sealed for this key.
    [[nodiscard]] std::optional<std::string> open(const std::string &sealed) const;

  private:
    PublicKey public_;
    std::array<unsigned char, 32> private_;
};

/// What only the owner of that key can read. Throws Error if the key is none.
std::string seal(const std::string &text, const PublicKey &key);

} // namespace volley
