// SPDX-License-Identifier: BSD-3-Clause
#include "boot/proof/handshake.h"

#include "boot/error.h"

#include <sodium.h>

#include <type_traits>

namespace volley {
namespace {

static_assert(secret_bytes == crypto_kdf_KEYBYTES && proof_bytes == crypto_auth_BYTES);

enum class Role : std::uint64_t { initiator = 1, responder = 2 };

/// What a proof covers.
struct Statement {
    Introduction introduction;
    Nonce answer;
    Role role;
};
static_assert(std::has_unique_object_representations_v<Statement>);

/// Must come before anything else of libsodium.
void begin() {
    if (sodium_init() < 0) throw Error("libsodium cannot be used: the system gives it no random bytes");
}

/// A secret is used for different purposes, each with a key of its own.
enum class Purpose : std::uint64_t { name = 1, proof = 2, session = 3 };

template <std::size_t bytes> std::array<unsigned char, bytes> derive(const Secret &secret, Purpose purpose) {
    std::array<unsigned char, bytes> key;
    crypto_kdf_derive_from_key(key.data(), key.size(), static_cast<std::uint64_t>(purpose), "Volley  ", secret.data());
    return key;
}

Nonce draw_nonce() {
    Nonce nonce;
    randombytes_buf(nonce.data(), nonce.size());
    return nonce;
}

const unsigned char *bytes_of(const Statement &statement) {
    return reinterpret_cast<const unsigned char *>(&statement);
}

Proof prove(const Secret &secret, const Statement &statement) {
    Proof proof;
    const auto key = derive<crypto_auth_KEYBYTES>(secret, Purpose::proof);
    crypto_auth(proof.data(), bytes_of(statement), sizeof statement, key.data());
    return proof;
}

bool is_proven(const Secret &secret, const Statement &statement, const Proof &proof) {
    const auto key = derive<crypto_auth_KEYBYTES>(secret, Purpose::proof);
    return crypto_auth_verify(proof.data(), bytes_of(statement), sizeof statement, key.data()) == 0;
}

/// The key of what `sender` says after the handshake: a pseudo-random function of what both ends have drawn.
Secret session_key(const Secret &secret, const Introduction &introduction, const Nonce &answer, Role sender) {
    static_assert(crypto_auth_BYTES == secret_bytes);
    const Statement statement = {introduction, answer, sender};
    const auto key = derive<crypto_auth_KEYBYTES>(secret, Purpose::session);
    Secret made;
    crypto_auth(made.data(), bytes_of(statement), sizeof statement, key.data());
    return made;
}

} // namespace

void require_proofs() {
    begin();
}

SecretName name_of(const Secret &secret) {
    begin();
    return derive<secret_name_bytes>(secret, Purpose::name);
}

bool are_equal(const SecretName &one, const SecretName &other) {
    return sodium_memcmp(one.data(), other.data(), one.size()) == 0;
}

Initiator::Initiator(const Secret &secret, const HandshakeEnds &ends)
    : secret_(secret), introduction_{.magic = handshake_magic, .ends = ends, .secret = name_of(secret), .nonce = {}} {
    introduction_.nonce = draw_nonce();
}

std::optional<Proof> Initiator::prove(const Answer &answer) const {
    if (!is_proven(secret_, {introduction_, answer.nonce, Role::responder}, answer.proof)) return std::nullopt;
    return volley::prove(secret_, {introduction_, answer.nonce, Role::initiator});
}

SessionKeys Initiator::session_keys(const Answer &answer) const {
    return {.sends = session_key(secret_, introduction_, answer.nonce, Role::initiator),
            .receives = session_key(secret_, introduction_, answer.nonce, Role::responder)};
}

Responder::Responder(const Secret &secret, const Introduction &introduction)
    : secret_(secret), introduction_(introduction) {
    begin();
    answer_.nonce = draw_nonce();
    answer_.proof = prove(secret_, {introduction_, answer_.nonce, Role::responder});
}

bool Responder::accepts(const Proof &proof) const {
    return is_proven(secret_, {introduction_, answer_.nonce, Role::initiator}, proof);
}

SessionKeys Responder::session_keys() const {
    return {.sends = session_key(secret_, introduction_, answer_.nonce, Role::responder),
            .receives = session_key(secret_, introduction_, answer_.nonce, Role::initiator)};
}

} // namespace volley
