// SPDX-License-Identifier: BSD-3-Clause
/// A TCP connection of this rank: a socket that never blocks, what is to be written, and what has been read. One end
/// sends messages (Outgoing), the other receives them (Incoming). wire.h has the protocol.
///
/// Between processes of different jobs on one host the same bytes go through memory (shared_stream.h), and the socket
/// is a Unix socket, of which only the end matters: what has been written before is read first.
///
/// If a connection breaks while something depends on it, the job ends with a message that names both ranks. Nothing
/// depends on it once the other rank has said that it leaves. In a job that outlives ranks that fail, what depends on
/// it waits until the launcher says that the other rank has failed, and then ends with an error. Connections to a
/// process of another job also tell this one that the other job has failed: as long as the two are connected, these do
/// not break either.
#pragma once

#include "boot/descriptor.h"
#include "boot/proof/connection_attempts.h"
#include "transport/fabric/fabric.h"
#include "transport/message.h"
#include "transport/node.h"
#include "transport/tcp/frames.h"
#include "transport/tcp/grants.h"
#include "transport/tcp/handover.h"
#include "transport/tcp/published_connection.h"
#include "transport/tcp/shared_stream.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace volley {

struct Receive;
struct Send;
struct Unexpected;

/// What the kernel has counted of connections that are open.
struct TcpStatistics {
    std::uint64_t connections = 0, bytes_sent = 0, bytes_received = 0, retransmissions = 0;
};

/// The messages of a connection, and their bytes.
struct MessageCount {
    std::uint64_t messages = 0, bytes = 0;
};

/// Messages that a sender has announced, and those of them whose data is under way.
struct Backlog {
    std::size_t announced = 0, streams = 0;
};

class Connection : protected FrameHandler, private FabricUser {
  public:
    Connection(const Connection &) = delete;
    Connection &operator=(const Connection &) = delete;

    /// The socket is ready: reads and writes what is possible now. True if anything moved.
    bool serve();
    /// The same if the doorbell has rung, and the bytes go through memory.
    bool serve_memory() {
        const bool moved = receive();
        return flush() || moved;
    }

    /// The kernel has taken everything that was to be written, or the other end is gone.
    bool is_written() const {
        return writer_.is_empty() && !is_pending_ && (!fabric_ || fabric_->is_sent() || is_lost_);
    }
    /// The kernel at the other end has received all that was written.
    bool is_acknowledged() const;
    /// Adds what the kernel has counted of it, if it is open.
    void count(TcpStatistics &statistics) const;
    /// Sent, or arrived.
    const MessageCount &message_count() const {
        return message_count_;
    }
    /// The last that is said.
    void say_leaving();
    /// Says so, and ends the connection once all is written; it is gone when the other end has ended it, too.
    void end(std::uint64_t new_key);
    bool is_ending() const {
        return is_ending_;
    }
    bool is_gone() const {
        return !socket_;
    }
    bool is_acknowledged_or_lost() const {
        return is_acknowledged() || node.has_failed(peer_);
    }

  protected:
    Connection(ProcessIndex peer, std::uint64_t key, ConnectionEntry::Direction direction);
    ~Connection();

    /// Takes the socket into use: it is watched and written to from now on. With memory for the bytes, these go there.
    void use(Descriptor socket, std::unique_ptr<SharedStream> stream);
    /// There is no connection, for this reason. The first message that wants it ends the job.
    void give_up(std::string reason);
    /// There will be a connection: what is said is kept until then.
    void expect() {
        is_pending_ = true;
    }
    /// Sends a frame, or keeps it until flush(). `payload` has header.bytes bytes if there is one.
    void say(const wire::FrameHeader &header, const void *payload = nullptr);
    /// The same with a payload that stays where it is until payload_written(). False if another one is being written.
    bool say_in_place(const wire::FrameHeader &header, const char *payload);
    /// Copies what is left of the payload that is being written, which may go then. payload_written() is not called.
    void keep_payload();
    /// Writes as much as the kernel takes.
    bool flush();
    /// Tells tools how far the connection is.
    void publish();
    /// Counts a frame that is a message.
    void count(const wire::FrameHeader &header) {
        if (header.kind != wire::FrameKind::eager && header.kind != wire::FrameKind::request) return;
        message_count_.messages++;
        message_count_.bytes += header.bytes;
    }

    /// Adds a long payload to the writer. False if there is none.
    virtual bool next_payload() {
        return false;
    }
    /// The kernel has taken all of that payload.
    virtual void payload_written() {}
    /// The kernel has taken all that was to be written, or nobody is there to read it.
    virtual void all_written() {}
    /// A frame of any kind but data and leaving; as FrameHandler::frame().
    virtual bool take_frame(const wire::FrameHeader &header, unsigned char *payload) = 0;
    virtual Backlog backlog() const {
        return {};
    }
    /// Something still depends on this connection.
    virtual bool is_needed() const = 0;
    /// The process that sends messages through this connection, and the one that receives them.
    virtual std::pair<ProcessIndex, ProcessIndex> ends() const = 0;

    /// The launcher's record of the other rank. All ranks are on this host, whichever node they are assigned to.
    /// Precondition: the other process is of this job.
    const RankRecord &record_of_peer() const;

    [[noreturn]] void fail(const std::string &reason) const;
    /// The other rank has failed: nothing more comes, or is written.
    void close();
    void fabric_failed(const std::string &reason) final;

    const ProcessIndex peer_;
    std::uint64_t key_; ///< by which its socket is watched
    FrameWriter writer_;
    std::unique_ptr<SharedStream> stream_;  ///< carries the bytes; nullptr: the socket does
    std::unique_ptr<FabricChannel> fabric_; ///< carries all frames but those that are of the socket; or nullptr

  private:
    void take_from_fabric(const wire::FrameHeader &header, unsigned char *payload) final;
    bool introduce(const unsigned char *introduction);
    bool frame(const wire::FrameHeader &header, unsigned char *payload) final;
    bool receive();
    ssize_t read_some(std::span<const iovec> into);
    ssize_t write_some(std::span<const iovec> from);
    void look_for_end();
    bool write_what_goes();
    void write_failed();
    void write_later();
    void watch(bool writable);
    bool has_failed() const;
    void lost(const std::string &reason);
    void broken(const std::string &reason) const;
    std::string describe(const std::string &reason) const;

    PublishedConnection published_;
    MessageCount message_count_;
    Descriptor socket_;
    bool is_pending_ = false;
    bool is_ending_ = false;
    bool has_ended_ = false; ///< the socket, whose bytes go through memory
    int why_ended_ = 0;      ///< errno; 0: it was closed
    bool is_lost_ = false;
    std::string why_lost_ = "it was closed before";
    bool peer_leaves_ = false;
    int leavings_ = 0, leavings_taken_ = 0; ///< said by libfabric, and handled there
    bool reading_ = false;                  ///< what has been read is being handled
    bool watches_writable_ = false;
    bool payload_open_ = false;
    FrameReader reader_;
};

/// The connection to a rank that receives messages of this rank.
class Outgoing final : public Connection {
  public:
    Outgoing(ProcessIndex receiver, std::uint64_t key);
    /// Connects if the receiver already accepts connections. False if it does not.
    bool connect();
    /// Goes on with connecting if that is under way; otherwise as Connection::serve().
    bool serve();

    /// Sends the message at once, or announces it.
    void start(Send &send);
    /// Asks the receiver not to receive it.
    void cancel(const Send &send);
    void tell_departed(std::uint32_t context, int members);
    /// The receiver has failed: ends all sends.
    void abandon();
    /// As SharedMemory::end_sends, of messages that have only been announced.
    bool end_sends(const std::function<bool(const Send &)> &is_over, const std::function<int(const Send &)> &code_of);

    /// No message waits for its receiver.
    bool is_delivered() const {
        return announced_.empty() && streams_.empty() && halted_.empty() && in_place_ == nullptr;
    }

  private:
    /// A message whose data is under way.
    struct Stream {
        Send *send;
        std::uint64_t id;
        Count written = 0; ///< by libfabric: sent
        Count granted = 0;
        bool is_all = false; ///< no more is wanted than what is granted

        /// The receiver has granted this. False if it makes no sense.
        bool grant(const wire::FrameHeader &header);
    };

    bool take_frame(const wire::FrameHeader &header, unsigned char *payload) override;
    bool begin_data(const wire::FrameHeader &header, char *&place) override;
    void data(const unsigned char *, std::size_t) override {}
    void end_data() override {}
    bool next_payload() override;
    void payload_written() override;
    void all_written() override;
    Backlog backlog() const override;
    bool is_needed() const override;
    std::pair<ProcessIndex, ProcessIndex> ends() const override;
    bool shake_hands();
    bool hand_over();
    bool begin(Descriptor socket);
    bool pulled(const wire::FrameHeader &header);
    bool write(const Stream &stream);
    class FabricPiece;
    bool pulled_by_fabric(const wire::FrameHeader &header);
    void piece_sent(std::uint64_t id, Count bytes);
    std::uint64_t longest_eager() const;
    void send_eagerly(Send &send, std::uint64_t bytes);
    void take_over_payload();

    std::unique_ptr<ConnectionAttempts> attempts_; ///< while they are under way
    std::unique_ptr<Handover> handover_;           ///< the same
    int handovers_ = 0;                            ///< that have begun
    const bool is_relayed_;                        ///< the other end of the socket is the relay of this host
    bool has_started_ = false;                     ///< a message, so that it matters if the receiver is gone
    std::uint64_t last_id_ = 0;
    std::uint64_t welcome_ = 0;    ///< the receiver has said that eager messages may have so many bytes
    Send *in_place_ = nullptr;     ///< an eager message that is being written from where it lies
    std::uint64_t unreceived_ = 0; ///< cost of the eager messages that have not been received yet
    std::unordered_map<std::uint64_t, Send *> announced_;
    /// Announced messages that this end has given up: the context of each, or 0 once the receiver knows.
    std::unordered_map<std::uint64_t, std::uint32_t> withdrawn_;
    /// Eager messages of which the relay has not taken all: it takes them whatever the receiver does, and then they
    /// are on their way while this program computes.
    std::vector<Send *> untaken_;
    std::deque<Stream> streams_; ///< the data of the first is being written
    /// All that is granted has been written, and more is wanted. By libfabric: all whose data is under way.
    std::unordered_map<std::uint64_t, Stream> halted_;
    Count piece_ = 0;                ///< bytes of it that are being written
    std::vector<char> packed_;       ///< these bytes, if they do not lie in one block
    std::vector<char> packed_eager_; ///< an eager message that does not lie in one block
};

/// The connection from a rank that sends messages to this rank.
class Incoming final : public Connection, private GrantedSender {
  public:
    Incoming(ProcessIndex sender, std::uint64_t key, Descriptor socket, std::unique_ptr<SharedStream> stream);
    ~Incoming();

    /// A receive has been matched with announced message `id`: asks for the bytes it wants.
    void fetch(Receive &receive, std::uint64_t id, Count wanted);
    /// An eager message has been received.
    void give_credit(Count bytes);
    /// Nobody will receive the announced message.
    void drop(std::uint64_t id);
    /// The sender has failed: ends what waits for its data.
    void abandon();

  private:
    bool take_frame(const wire::FrameHeader &header, unsigned char *payload) override;
    bool begin_data(const wire::FrameHeader &header, char *&place) override;
    void data(const unsigned char *part, std::size_t bytes) override;
    void end_data() override;
    bool is_needed() const override;
    std::pair<ProcessIndex, ProcessIndex> ends() const override;
    /// An eager message of which not all has come.
    struct Partial {
        Arrival arrival;
        Receive *receive;   ///< it has been matched with
        Count wanted;       ///< by that receive
        unsigned char *all; ///< where it is kept; nullptr: it comes straight to its place
    };

    std::optional<Arrival> arrival_of(const wire::FrameHeader &header) const;
    bool take_cost(const wire::FrameHeader &header);
    void arrive(const Arrival &arrival, const unsigned char *payload);
    bool begin_eager(const wire::FrameHeader &header, char *&place);
    void end_eager();
    void receive_whole(Receive &receive, const unsigned char *payload, Count wanted, Count bytes);
    void cancel(std::uint64_t id);
    bool withdrawn(const wire::FrameHeader &header);
    void pull(std::uint64_t id, Count granted, bool is_all, std::uint64_t tag = 0);
    class FabricPlace;
    std::uint64_t post_places(Fetch &fetch);
    void piece_arrived(std::uint64_t id, Count from, Count bytes, const char *packed);
    void tell_granted(Fetch &fetch) override;
    void tell_alone(bool is_alone) override;

    std::uint64_t last_id_ = 0;
    std::optional<Partial> partial_;
    std::uint64_t arrived_ = 0;                            ///< cost of eager messages that have not been received
    std::uint64_t owed_ = 0;                               ///< credit not given back yet
    std::unordered_map<std::uint64_t, Unexpected *> kept_; ///< announced messages that wait for their receive
    std::unordered_map<std::uint64_t, Fetch> fetches_;
    Fetch *current_ = nullptr; ///< whose data is arriving
    Count frame_ = 0;          ///< bytes of the current data frame
    Count part_ = 0;           ///< those of them that go straight to their place
};

} // namespace volley
