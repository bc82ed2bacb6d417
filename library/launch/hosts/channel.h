// SPDX-License-Identifier: BSD-3-Clause
/// What mpiexec and its node daemons say to each other: frames, through two descriptors.
///
/// mpiexec starts one node daemon per host (node_daemon.h), through an agent such as ssh, whose standard input and
/// output are the channel. So it needs no port, and whoever can start programs on the host, and nobody else, can take
/// part. Where daemons stay from job to job (resident_daemon.h), the channel is a connection by TCP, and is sealed.
#pragma once

#include <poll.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "boot/descriptor.h"
#include "boot/proof/handshake.h"
#include "boot/proof/sealed_stream.h"

namespace volley::launch {

enum class FrameKind : std::uint32_t {
    // From the node daemon.
    hello = 1,   ///< what it is (messages.h)
    ports,       ///< where its ranks take connections
    output,      ///< text of a rank: whole lines; `number` is 1 or 2, as the stream's descriptor
    message,     ///< a line of mpiexec's own about a rank
    refused,     ///< the ranks of this host cannot be started; `number` is the exit status, the payload the reason
    failed,      ///< a rank has failed, and so the job (messages.h); `number` is the exit status
    lost,        ///< a rank has ended before MPI_Init; `number` is the exit status, the payload says so in words
    input_taken, ///< so many bytes of standard input (`number`) have been passed on
    ended,       ///< no process of the job is left on the host; `number` is the exit status
    // The same, for recovery from failures (recovery_desk.h).
    rank_failed,  ///< one has ended early, and the job goes on (messages.h); `number` is its Failure
    revoke,       ///< a rank has revoked the communicator with context `number`
    contribution, ///< of a rank, to an agreement (boot/recovery_request.h)
    abort_ranks,  ///< rank `number` has aborted ranks of other hosts together with itself (messages.h)
    // The same, for tools (look_desk.h).
    ask_hosts, ///< what do the ranks of other hosts do?
    looked,    ///< what those of this host do (tools/snapshot_parts.h); `number` is that of the question
    // From mpiexec.
    job = 100,      ///< what to run (messages.h)
    start,          ///< where all ranks take connections
    signal,         ///< pass on signal `number`
    end,            ///< the job ends, because of rank `number`
    lost_elsewhere, ///< as lost, of another host
    input,          ///< bytes of standard input for rank 0; none: its end
    file,           ///< a file of that name follows (preload.h); `number` is its mode
    file_bytes,     ///< more of it
    ranks_failed,   ///< of any host (messages.h); `number` is their Failure
    revoked,        ///< the communicator with context `number`
    decided,        ///< an agreement (boot/recovery_request.h)
    ranks_aborted,  ///< as abort_ranks
    look,           ///< what do the ranks of this host do? `number` is that of the question
    host_looked,    ///< what those of node `number` do; nothing: it has not answered
    hosts_looked,   ///< that was all of the answer
    // Both.
    alive = 200, ///< nothing but that
    // To a resident daemon (resident_daemon.h), which answers with one of the same kind.
    boot = 300, ///< where it is to listen (messages.h)
    booted,     ///< the whole set of daemons (messages.h); its start is over
    run_job,    ///< become the node daemon of a job: it says hello, and all above follows
    describe,   ///< say what you do
    clean,      ///< end all jobs
    halt,       ///< end
};

struct Frame {
    FrameKind kind;
    std::int32_t number;
    std::string payload;
};

/// Never blocks. What the other side does not take yet is kept.
class Channel {
  public:
    /// Both are made non-blocking. `begins_with` is what the other side says before its first frame; all before it (the
    /// greetings of a login shell) is put aside.
    Channel(Descriptor from, Descriptor to, std::string_view begins_with);
    /// A connection whose ends have proven who they are: all is sealed with these keys.
    Channel(Descriptor socket, const SessionKeys &keys);

    /// What the other side says first from now on, as above.
    void begins_with(std::string_view text) {
        begins_with_ = text;
        begun_ = false;
    }
    void say(std::string_view text);
    void send(FrameKind kind, std::int32_t number = 0, std::string_view payload = {});
    /// The next frame that has come.
    std::optional<Frame> next();

    void watch(std::vector<pollfd> &watched) const;
    /// Reads and writes what goes without waiting.
    void advance();
    /// The other side is gone, or says what makes no sense. Frames that came before can still be taken.
    [[nodiscard]] bool closed() const {
        return !from_;
    }
    /// Bytes that are still to be written.
    [[nodiscard]] std::size_t pending() const {
        return pending_.size() - written_;
    }
    /// Reads no more until told otherwise: its output cannot be passed on.
    void pause(bool paused) {
        paused_ = paused;
    }
    [[nodiscard]] bool paused() const {
        return paused_;
    }
    void close();
    /// The descriptor from which it reads; for a connection, the socket.
    [[nodiscard]] int descriptor() const {
        return from_.get();
    }
    /// What came before the first frame.
    [[nodiscard]] const std::string &noise() const {
        return noise_;
    }

  private:
    void put(std::string_view text);
    bool take_over(std::string_view text);
    void read_some();
    void write_some();
    bool find_beginning();

    Descriptor from_, to_;
    std::string begins_with_;
    bool begun_;
    bool paused_ = false;
    std::string noise_;
    std::string arrived_;
    std::size_t taken_ = 0; ///< of arrived_
    std::string pending_;
    std::size_t written_ = 0; ///< of pending_
    struct Seal {
        Sealer sealer;
        Unsealer unsealer;
    };
    std::unique_ptr<Seal> seal_; ///< nothing: what is said goes as it is
};

} // namespace volley::launch
