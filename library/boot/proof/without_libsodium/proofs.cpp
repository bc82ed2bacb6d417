// SPDX-License-Identifier: BSD-3-Clause
/// What stands for boot/proof/handshake.cpp, key_exchange.cpp and sealed_stream.cpp where libsodium was missing when
/// the library was built: ranks that share memory need neither, and nobody is let in without a proof.
#include "boot/error.h"
#include "boot/proof/handshake.h"
#include "boot/proof/key_exchange.h"
#include "boot/proof/sealed_stream.h"

namespace volley {
namespace {

[[noreturn]] void refuse() {
    throw Error(
        "this Volley was built without libsodium, by which ranks prove by TCP who they are: ranks of one host can "
        "share memory, but there are no connections to others. Install libsodium (apt-get install libsodium-dev, "
        "dnf install libsodium-static) and build Volley again");
}

} // namespace

void require_proofs() {
    refuse();
}

SecretName name_of(const Secret &) {
    refuse();
}

bool are_equal(const SecretName &, const SecretName &) {
    refuse();
}

Initiator::Initiator(const Secret &, const HandshakeEnds &) {
    refuse();
}

std::optional<Proof> Initiator::prove(const Answer &) const {
    refuse();
}

SessionKeys Initiator::session_keys(const Answer &) const {
    refuse();
}

Responder::Responder(const Secret &, const Introduction &) {
    refuse();
}

bool Responder::accepts(const Proof &) const {
    refuse();
}

SessionKeys Responder::session_keys() const {
    refuse();
}

Sealer::Sealer(const Secret &) {
    refuse();
}

void Sealer::seal(std::string_view, std::string &) {
    refuse();
}

Unsealer::Unsealer(const Secret &) {
    refuse();
}

bool Unsealer::unseal(std::string_view, std::string &) {
    refuse();
}

KeyExchange::KeyExchange() {
    refuse();
}

bool KeyExchange::agree(const PublicKey &, bool, Secret &) const {
    refuse();
}

SealKey::SealKey() {
    refuse();
}

std::optional<std::string> SealKey::open(const std::string &) const {
    refuse();
}

std::string seal(const std::string &, const PublicKey &) {
    refuse();
}

} // namespace volley
