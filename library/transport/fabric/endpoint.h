// SPDX-License-Identifier: BSD-3-Clause
/// A rank's endpoint of libfabric (https://ofiwg.github.io/libfabric): reliable datagrams (FI_EP_RDM) and tagged data,
/// whatever the network is. libfabric's drivers, its *providers*, know InfiniBand, EFA, Slingshot, Omni-Path, and TCP.
///
/// The library is opened when the first rank asks for it (dlopen), so that one build serves hosts with and without it.
/// What is used of it all providers of reliable datagrams have; of the order of messages nothing is assumed.
///
/// All functions are called with the rank's lock, but may_sleep().
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace volley {

/// What libfabric calls another endpoint (fi_addr_t).
using FabricAddress = std::uint64_t;

/// Something that libfabric does for the caller. It stays where it is until one of the two functions is called, which
/// happens once, and may destroy it.
class FabricOperation {
  public:
    FabricOperation() = default;
    FabricOperation(const FabricOperation &) = delete;
    FabricOperation &operator=(const FabricOperation &) = delete;

    /// It is done; of a receive, with so many bytes.
    virtual void completed(std::size_t bytes) = 0;
    virtual void failed(const std::string &reason) = 0;

  protected:
    ~FabricOperation() = default;

  private:
    friend class FabricEndpoint;
    /// Libfabric keeps notes in it (FI_CONTEXT2), and hands it back.
    struct Context {
        void *notes[8];
        FabricOperation *operation;
    } context_{};
};

/// Takes the messages that arrive.
class FabricReceiver {
  public:
    /// Valid during the call.
    virtual void arrived(unsigned char *message, std::size_t bytes) = 0;
    virtual void failed(const std::string &reason) = 0;

  protected:
    ~FabricReceiver() = default;
};

class FabricEndpoint {
  public:
    /// Messages are at most so long. `own` is this host's address in the network between hosts, in digits, for
    /// providers that have such addresses. Throws Error.
    FabricEndpoint(const std::string &own, std::size_t longest_message, FabricReceiver &receiver);
    ~FabricEndpoint();
    FabricEndpoint(const FabricEndpoint &) = delete;
    FabricEndpoint &operator=(const FabricEndpoint &) = delete;

    const std::string &provider() const {
        return provider_;
    }
    /// Its address, for find() of others with the same provider.
    const std::vector<unsigned char> &address() const {
        return address_;
    }
    /// Throws Error.
    FabricAddress find(const std::vector<unsigned char> &address);

    /// Messages arrive whole, at the other's FabricReceiver, in any order. The bytes stay where they are until the
    /// operation is completed, that is, libfabric has taken them.
    void send(FabricAddress to, const void *bytes, std::size_t count, FabricOperation &operation);
    /// Data goes straight into the place that the other has posted with the same tag.
    void send_tagged(FabricAddress to, const void *bytes, std::size_t count, std::uint64_t tag,
                     FabricOperation &operation);
    void receive_tagged(void *place, std::size_t count, std::uint64_t tag, FabricOperation &operation);

    /// Completes what is done. True if there was something.
    bool progress();
    /// Is ready when there is something to complete; -1 if the provider has no such thing.
    int descriptor() const {
        return descriptor_;
    }
    /// Whether a thread that waits for the descriptor will be woken. If not, progress() has to be called again.
    bool may_sleep();

  private:
    struct Objects;
    class Buffer;
    enum class Kind : std::uint8_t { message, tagged_data, tagged_place, buffer };
    struct Posting {
        Kind kind;
        FabricAddress to;
        void *bytes;
        std::size_t count;
        std::uint64_t tag;
        FabricOperation *operation;
    };

    void open(const std::string &own);
    void post(const Posting &posting);
    bool try_to_post(const Posting &posting);
    bool post_waiting();
    bool take_error();

    std::unique_ptr<Objects> objects_;
    FabricReceiver &receiver_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::deque<Posting> waiting_; ///< libfabric had no room for these
    std::atomic<bool> has_to_post_ = false;
    std::string provider_;
    std::vector<unsigned char> address_;
    int descriptor_ = -1;
};

} // namespace volley
