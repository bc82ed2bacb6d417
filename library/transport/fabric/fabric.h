// SPDX-License-Identifier: BSD-3-Clause
/// Messages by libfabric: with `mpiexec --transport fabric` the frames of a connection (transport/tcp/wire.h) go by
/// this rank's endpoint (endpoint.h) instead of the connection's socket.
///
/// The socket stays. By it the two ends prove who they are, tell each other their endpoints' addresses, and notice when
/// the other has ended. Each draws a *token* for the connection, with which the messages of the other begin: an
/// endpoint takes messages from anybody who has its address, and those without a known token are dropped.
///
/// Messages also have a number, since libfabric may deliver them in any order; frames are handled in the order of their
/// numbers. The data of announced messages goes piece by piece from buffer to buffer, each with a tag that the receiver
/// has chosen: it has posted the place before it says that the piece may come.
#pragma once

#include "transport/fabric/endpoint.h"
#include "transport/tcp/wire.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace volley {

/// A connection whose frames go by libfabric.
class FabricUser {
  public:
    /// A frame of any kind but data; `payload` is that of an eager message, valid during the call.
    virtual void take_from_fabric(const wire::FrameHeader &header, unsigned char *payload) = 0;
    virtual void fabric_failed(const std::string &reason) = 0;

  protected:
    ~FabricUser() = default;
};

/// What a connection sends and receives by libfabric.
class FabricChannel {
  public:
    /// What goes before the payload of a message.
    static constexpr std::size_t head_bytes = 16 + sizeof(wire::FrameHeader);

    explicit FabricChannel(FabricUser &user);
    ~FabricChannel();
    FabricChannel(const FabricChannel &) = delete;
    FabricChannel &operator=(const FabricChannel &) = delete;

    /// What the other end has to know.
    wire::FabricIntroduction introduction() const;
    /// What the other end has said. Frames are sent from now on, those said before first. False if it makes no sense;
    /// throws Error if the two cannot reach each other.
    bool introduce(const wire::FabricIntroduction &other);

    /// Sends a frame. `payload` has header.bytes bytes if there is one.
    void say(const wire::FrameHeader &header, const void *payload = nullptr);
    void send_data(const void *bytes, std::size_t count, std::uint64_t tag, FabricOperation &operation);

    /// How many frames have been said, and how many that came have been handed to the connection.
    std::uint64_t frames_said() const {
        return sent_ + waiting_.size();
    }
    std::uint64_t frames_taken() const {
        return taken_;
    }
    /// libfabric has taken all that was said.
    bool is_sent() const {
        return waiting_.empty() && under_way_ == 0;
    }

  private:
    friend class Fabric;
    struct Message;

    void send(std::unique_ptr<Message> message);
    bool arrived(unsigned char *message, std::size_t bytes);
    bool take(unsigned char *message, std::size_t bytes);

    FabricUser &user_;
    const std::uint64_t token_; ///< of what the other end sends
    std::uint64_t other_token_ = 0;
    bool is_introduced_ = false;
    FabricAddress other_ = 0;
    std::uint64_t sent_ = 0, taken_ = 0;                        ///< messages, of which the numbers count
    std::vector<std::unique_ptr<Message>> waiting_;             ///< until the other end is known
    std::map<std::uint64_t, std::vector<unsigned char>> early_; ///< came before others, by their numbers
    int under_way_ = 0;
};

class Fabric final : private FabricReceiver {
  public:
    /// Connections use libfabric from now on. Throws Error.
    void open();
    bool enabled() const {
        return endpoint_ != nullptr;
    }
    FabricEndpoint &endpoint() {
        return *endpoint_;
    }
    bool progress() {
        return endpoint_->progress();
    }
    /// A tag that no place of this rank has had.
    std::uint64_t new_tag() {
        return next_tag_++;
    }

  private:
    friend class FabricChannel;

    void arrived(unsigned char *message, std::size_t bytes) override;
    void failed(const std::string &reason) override;

    std::unique_ptr<FabricEndpoint> endpoint_;
    std::unordered_map<std::uint64_t, FabricChannel *> channels_; ///< by token
    std::uint64_t next_tag_ = 0;
};

/// Outlives static destructors, as what libfabric writes to must.
extern Fabric &fabric;

} // namespace volley
