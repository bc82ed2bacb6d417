// SPDX-License-Identifier: BSD-3-Clause
/// Encrypts what one end of a connection says, so that whoever can read or change packets on their way learns nothing,
/// and cannot change, repeat, drop or reorder anything unseen (libsodium's secretstream). The keys come from the
/// handshake (handshake.h). A recording can be read by whoever learns the secret later.
#pragma once

#include "boot/job.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace volley {

/// crypto_secretstream_xchacha20poly1305_state.
using StreamState = std::array<unsigned char, 52>;

class Sealer {
  public:
    explicit Sealer(const Secret &key);
    /// Appends to `sealed` what is to be sent for `text`.
    void seal(std::string_view text, std::string &sealed);

  private:
    StreamState state_;
    std::string head_; ///< goes before the first
};

class Unsealer {
  public:
    explicit Unsealer(const Secret &key);
    /// Takes what has come, and appends what it says to `text` as soon as a part of it is whole. False if it was not
    /// sealed with that key, or has been changed.
    bool unseal(std::string_view sealed, std::string &text);

  private:
    Secret key_;
    StreamState state_;
    bool has_begun_ = false;
    std::string arrived_;
};

} // namespace volley
