// SPDX-License-Identifier: BSD-3-Clause
/// How the two ends of a TCP connection prove to each other that they know a secret, before anything else is read. The
/// secret itself never goes over the network. The end that connects is the initiator, the other one the responder:
///
///     initiator  Introduction: who it is, whom it wants, under which secret, and a nonce
///     responder  Answer: a nonce of its own, and its proof
///     initiator  its proof
///
/// A proof is a message authentication code (libsodium's crypto_auth) under a key derived from the secret. It covers
/// the Introduction, the responder's nonce and which end gives it. So a recorded handshake is of no use later or with
/// another process, and neither end can be made to give the other's proof. What the initiator writes next goes to
/// somebody who knows the secret.
///
/// What ranks say next on the connection is not encrypted, and carries no codes: whoever can change packets on their
/// way can still change messages. Orders to node daemons are sealed (sealed_stream.h).
#pragma once

#include "boot/job.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace volley {

inline constexpr std::size_t nonce_bytes = 32;
inline constexpr std::size_t proof_bytes = 32;
inline constexpr std::size_t secret_name_bytes = 16;

using Nonce = std::array<unsigned char, nonce_bytes>;
using Proof = std::array<unsigned char, proof_bytes>;
/// Tells which of several secrets is meant, and nothing about it.
using SecretName = std::array<unsigned char, secret_name_bytes>;

/// Throws Error where nothing can be proven: the library was built without libsodium, or the system has no random
/// bytes.
void require_proofs();

SecretName name_of(const Secret &secret);
/// Compares in the same time wherever the first difference is.
bool are_equal(const SecretName &one, const SecretName &other);

/// Who connects to whom, and for what.
struct HandshakeEnds {
    std::uint64_t protocol; ///< what is spoken after the handshake
    std::uint64_t from_job = 0, to_job = 0;
    std::int32_t from_rank = 0, to_rank = 0;

    bool operator==(const HandshakeEnds &) const = default;
};

/// What seals what is said after the handshake (sealed_stream.h), if anybody wants that: a key for each direction,
/// which nobody has who does not know the secret, and no other connection has.
struct SessionKeys {
    Secret sends, receives;
};

struct Introduction {
    std::uint64_t magic;
    HandshakeEnds ends;
    SecretName secret;
    Nonce nonce;
};

struct Answer {
    Nonce nonce;
    Proof proof;
};

static_assert(sizeof(Introduction) == 88 && sizeof(Answer) == 64);

/// "VOLLEY", handshake 1.
inline constexpr std::uint64_t handshake_magic = 0x0159'454c'4c4f'5600;

/// The initiator's part, without a socket. Throws Error if the system has no random bytes.
class Initiator {
  public:
    Initiator(const Secret &secret, const HandshakeEnds &ends);
    [[nodiscard]] const Introduction &introduction() const {
        return introduction_;
    }
    /// The proof for the other end; nothing if the answer does not prove that this knows the secret.
    [[nodiscard]] std::optional<Proof> prove(const Answer &answer) const;
    /// Precondition: the answer has proven itself.
    [[nodiscard]] SessionKeys session_keys(const Answer &answer) const;

  private:
    Secret secret_;
    Introduction introduction_;
};

/// The responder's part, without a socket.
class Responder {
  public:
    Responder(const Secret &secret, const Introduction &introduction);
    [[nodiscard]] const Answer &answer() const {
        return answer_;
    }
    [[nodiscard]] bool accepts(const Proof &proof) const;
    [[nodiscard]] SessionKeys session_keys() const;

  private:
    Secret secret_;
    Introduction introduction_;
    Answer answer_;
};

} // namespace volley
