// SPDX-License-Identifier: BSD-3-Clause
/// Standard output and error of the ranks: lines stay whole.
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "boot/descriptor.h"
#include "launch/clock.h"
#include "launch/hosts/channel.h"

namespace volley::launch {

/// Where text goes. Writing never blocks: text that the reader does not take yet is kept.
class Sink {
  public:
    Sink() = default;
    Sink(const Sink &) = delete;
    Sink &operator=(const Sink &) = delete;
    virtual ~Sink() = default;

    virtual void put(std::string_view text) = 0;
    /// Writes as much as goes without waiting.
    virtual void advance() {}
    /// Adds what to wait for, if there is text.
    virtual void watch(std::vector<pollfd> &) const {}
    [[nodiscard]] virtual bool empty() const = 0;
    /// Whether so much text is kept that ranks have to wait for the reader.
    [[nodiscard]] virtual bool full() const = 0;
    /// Whether the reader has gone.
    [[nodiscard]] virtual bool broken() const = 0;
    /// Whether text could not be written, though the reader is there: the disk is full, for example. It has been said.
    [[nodiscard]] virtual bool has_lost_text() const {
        return false;
    }
    [[nodiscard]] virtual bool is_terminal() const {
        return false;
    }
    /// Whether lines stay whole if ranks write to it themselves: all output is thrown away, or it is a terminal, to
    /// which C libraries write line by line, and which lets our process group write.
    [[nodiscard]] virtual bool takes_lines_directly() const {
        return false;
    }
};

/// mpiexec's own standard output or error.
class DescriptorSink final : public Sink {
  public:
    explicit DescriptorSink(int descriptor);

    void put(std::string_view text) override;
    void advance() override;
    void watch(std::vector<pollfd> &watched) const override;
    [[nodiscard]] bool empty() const override {
        return pending_.size() == written_;
    }
    [[nodiscard]] bool full() const override;
    [[nodiscard]] bool broken() const override {
        return broken_;
    }
    [[nodiscard]] bool has_lost_text() const override {
        return has_lost_text_;
    }
    [[nodiscard]] bool is_terminal() const override {
        return terminal_;
    }
    [[nodiscard]] bool takes_lines_directly() const override;

  private:
    void lose(int reason);

    int descriptor_;
    bool terminal_;
    bool null_ = false;
    bool always_ready_ = false; ///< a file
    bool broken_ = false;
    bool has_lost_text_ = false;
    std::string pending_;
    std::size_t written_ = 0; ///< of pending_
};

/// The same streams of the mpiexec that has started this node daemon.
class ChannelSink final : public Sink {
  public:
    ChannelSink(Channel &channel, int stream) : channel_(channel), stream_(stream) {}

    void put(std::string_view text) override;
    [[nodiscard]] bool empty() const override;
    [[nodiscard]] bool full() const override;
    [[nodiscard]] bool broken() const override;

  private:
    Channel &channel_;
    int stream_;
};

/// One of the two streams of one rank, as it comes out of its pipe.
class Stream {
  public:
    Stream(Descriptor pipe, std::string label, Sink &sink);

    [[nodiscard]] int descriptor() const {
        return pipe_.get();
    }
    [[nodiscard]] bool open() const {
        return static_cast<bool>(pipe_);
    }
    [[nodiscard]] Sink &sink() const {
        return sink_;
    }
    /// Reads the pipe once and passes on the lines that are complete. False if there was nothing to read.
    bool advance();
    /// When its unfinished line began to wait, if there is one.
    [[nodiscard]] std::optional<Clock::time_point> unfinished_since() const;
    /// Passes on an unfinished line.
    void flush(bool at_end);

  private:
    void take(std::string_view text);
    void put(std::string_view lines);

    Descriptor pipe_;
    std::string label_;
    Sink &sink_;
    std::string line_;       ///< unfinished
    bool continued_ = false; ///< its beginning has been passed on
    Clock::time_point since_;
};

/// Ranks write directly to mpiexec's output where their lines stay whole that way. Otherwise they write through one
/// pipe per rank and stream, from which whole lines are passed on. An unfinished line waits for its end. Where a person
/// may be reading, it waits only 0.2 seconds, as it may be a question without a newline.
class Output {
  public:
    /// `here` are the ranks of this host, of so many in the job.
    Output(const std::vector<int> &here, int ranks, bool label);
    /// In a node daemon. `person`: at mpiexec somebody may be reading.
    Output(const std::vector<int> &here, int ranks, bool label, Channel &channel, bool person);

    /// What becomes the rank's standard output and error.
    [[nodiscard]] int output_of(int rank) const;
    [[nodiscard]] int error_of(int rank) const;
    /// Once all ranks have started: closes their ends here.
    void ranks_started();

    /// A line of mpiexec's own, on standard error.
    void message(const std::string &text);

    void watch(std::vector<pollfd> &watched);
    /// When advance() is due even if nothing comes.
    [[nodiscard]] std::optional<Clock::time_point> deadline() const;
    void advance(const std::vector<pollfd> &watched);
    /// After the end of all ranks: passes on what is left in the pipes.
    void drain();
    [[nodiscard]] bool empty() const {
        return output_->empty() && error_->empty();
    }
    [[nodiscard]] bool has_lost_text() const {
        return output_->has_lost_text() || error_->has_lost_text();
    }

  private:
    void connect(const std::vector<int> &here, int ranks, bool label, Sink &sink, std::vector<Descriptor> &rank_ends);

    std::unique_ptr<Sink> output_;
    std::unique_ptr<Sink> error_;
    Channel *channel_ = nullptr;           ///< in a node daemon
    bool person_;                          ///< a terminal is involved
    std::vector<Descriptor> rank_outputs_; ///< by rank; empty: direct
    std::vector<Descriptor> rank_errors_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::size_t first_watched_ = 0;
    std::vector<Stream *> watched_;
};

} // namespace volley::launch
