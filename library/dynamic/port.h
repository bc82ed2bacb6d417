// SPDX-License-Identifier: BSD-3-Clause
/// Ports: where a process waits for those of another job. A port's name, which the user passes on, has an address and
/// a secret. Whoever connects proves first that he knows the secret, as the port does (boot/proof/handshake.h); who
/// does not, or says nothing for some seconds, is disconnected.
#pragma once

#include "boot/descriptor.h"
#include "boot/job.h"
#include "boot/proof/handshake_socket.h"
#include "dynamic/link.h"
#include "transport/process.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace volley {

/// Random bytes.
Secret random_secret();

/// What a port's name says.
struct PortName {
    NetworkAddress address = {};
    std::uint16_t port = 0;
    Secret secret = {};

    [[nodiscard]] std::string text() const;
    static std::optional<PortName> of(std::string_view text);
};

class Port {
  public:
    /// Listens at an address of this host. Throws Error.
    explicit Port(const NetworkAddress &address);

    [[nodiscard]] const PortName &name() const {
        return name_;
    }
    /// Waits until somebody who knows the secret has connected; returns an empty Descriptor if `is_over` comes true
    /// before. Whoever makes it true makes one of its `descriptor` ready.
    Descriptor accept(const std::function<bool()> &is_over = {}, int descriptor = -1);

  private:
    struct Candidate {
        ResponderSocket socket;
        std::uint64_t since_ns;
        bool is_proven = false;
        std::unique_ptr<Watch> watch = {}; ///< while somebody waits for it
    };
    void take_connections();
    bool hear(Candidate &candidate);
    Descriptor choose();

    PortName name_;
    Descriptor listener_;
    std::vector<Candidate> candidates_;
};

/// Connects to a port, and waits until it is accepted there. An empty Descriptor, with errno set, if nobody listens
/// there, or somebody who does not know the secret (EKEYREJECTED), or nobody accepts in time (ETIMEDOUT).
Descriptor connect_to_port(const PortName &name, const Deadline *deadline = nullptr);

} // namespace volley
