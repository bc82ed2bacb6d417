// SPDX-License-Identifier: BSD-3-Clause
/// Messages by TCP, between ranks of one host: every rank takes connections at a port of 127.0.0.1 that its record
/// names, and makes one to each rank it sends messages to, with its first message (connection.h).
///
/// Any program of the machine can connect to the port. Who does not begin by showing the job's secret, or does not
/// within some seconds, is closed without a word; of those who have not shown it yet there are a few at most.
///
/// Messages of one sender arrive in the order in which they were sent. What arrives before its receive is bounded:
/// what exceeds a sender's credit waits at the sender.
#pragma once

#include "layout/copy.h"
#include "transport/tcp/connection.h"
#include "transport/tcp/sockets.h"
#include "transport/tcp/wire.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace volley {

class Tcp {
  public:
    /// Takes connections from now on. Throws Error.
    void open();
    bool enabled() const {
        return static_cast<bool>(listener_);
    }

    void start(Send &send);
    /// The send completes, cancelled or not, when its receiver has answered.
    void cancel(Send &send);
    /// A receive has been matched with the announced message of that number: it wants so many bytes.
    void fetch(Receive &receive, ProcessIndex sender, std::uint64_t number, Count wanted);
    /// A message of so many bytes that had come as bytes has been received.
    void received(ProcessIndex sender, Count bytes);
    /// Nobody will receive the announced message.
    void drop(ProcessIndex sender, std::uint64_t number);

    /// Looks at all connections. True if anything moved.
    bool progress();

    /// All that was sent is with the kernel.
    bool all_written() const;
    /// No send waits for its receiver.
    bool all_delivered() const;
    /// Waits until the kernel at the other end has all that was written: what this process has not read when it ends
    /// could make the kernel drop the rest.
    void settle();

  private:
    /// Who has connected and not said who it is.
    struct Stranger {
        Descriptor socket;
        std::uint64_t since_ns;
        std::size_t got = 0;
        unsigned char hello[sizeof(wire::Hello)] = {};
    };

    Outgoing &to(ProcessIndex process);
    bool connect_waiting();
    bool handle(std::uint64_t key);
    void accept();
    bool hear(int descriptor);
    bool greet(Stranger &stranger);
    void close_silent();
    void close(std::vector<Stranger>::iterator stranger);

    Descriptor listener_;
    std::vector<std::unique_ptr<Outgoing>> outgoing_; ///< by the receiver
    std::vector<std::unique_ptr<Incoming>> incoming_; ///< by the sender
    std::vector<ProcessIndex> waiting_;               ///< receivers that did not take connections yet
    std::vector<Stranger> strangers_;                 ///< in the order in which they came
};

extern Tcp tcp;

} // namespace volley
