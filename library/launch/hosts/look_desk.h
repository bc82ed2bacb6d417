// SPDX-License-Identifier: BSD-3-Clause
/// Where mpitask and mpimsg ask what the ranks of other hosts do (boot/look_request.h): in each node daemon, which
/// passes the question on to mpiexec, and in mpiexec itself, which asks the daemons (looks.h).
///
/// One tool at a time is served; the others wait in the system's queue. Nothing here waits for a tool, or keeps more
/// for it than one answer.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "boot/descriptor.h"
#include "boot/job.h"
#include "boot/look_request.h"
#include "launch/clock.h"

namespace volley::launch {

class LookDesk {
  public:
    /// `secret` is the job's, `node` what ArenaHead::node says beside the socket's number. Throws Error.
    LookDesk(std::string secret, std::int32_t node);

    /// For ArenaHead::look_socket.
    [[nodiscard]] std::uint32_t socket() const {
        return number_;
    }
    void watch(std::vector<pollfd> &watched) const;
    /// By when advance() is to be called, whatever has come.
    [[nodiscard]] std::optional<Clock::time_point> deadline() const;
    /// True if a tool has asked. Then answer() follows for each node that is asked, and finish().
    bool advance();
    /// What the ranks of a node do; nothing: it has not answered.
    void answer(std::int32_t node, std::string_view text);
    void finish();

  private:
    void accept();
    void drop();
    bool take_request();
    void write_some();
    void put(const LookPart &part, std::string_view text);

    std::string secret_;
    std::int32_t node_;
    std::uint32_t number_ = 0;
    Descriptor listener_;
    Descriptor tool_; ///< that is served
    Clock::time_point until_;
    bool asked_ = false;    ///< it has said what it wants
    bool finished_ = false; ///< all of the answer is in pending_
    bool dropped_ = false;  ///< the tool is gone, and the answer to it still under way
    std::string pending_;
    std::size_t written_ = 0; ///< of pending_
};

} // namespace volley::launch
