// SPDX-License-Identifier: BSD-3-Clause
/// A schedule: what one rank has to do in a collective operation, as messages, copies and reductions in rounds.
///
/// An algorithm is a function that appends steps to a Schedule. The steps of a round begin in their order: messages are
/// started, local work is done at once. The next round begins when all messages of the current round are complete.
/// Blocking, non-blocking and persistent forms run the same schedule.
///
/// All messages of an operation have its number on the communicator as their tag, so that operations under way at the
/// same time do not mix. Between two ranks, an operation's messages must be received in the order they are sent.
#pragma once

#include "core/communicator.h"
#include "core/datatype/datatype.h"
#include "core/engine.h"
#include "core/operation.h"
#include "core/request.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace volley {

/// Whose ranks `peer` counts: the communicator's peers, or the local group of an intercommunicator.
enum class Scope : std::uint8_t { peers = 0, local = 1 };

/// Typed data in memory.
struct Block {
    char *address = nullptr;
    Count count = 0;
    Datatype *type = nullptr;

    Count bytes() const {
        return count * type->size();
    }
};

/// Which form of a collective operation a schedule is for.
enum class Form : std::uint8_t { blocking, nonblocking, persistent };

class Schedule final : public Request, public ProgressHook {
  public:
    /// A blocking operation has its schedule as a local variable. The other forms call make(), and the schedule is
    /// disposed of like any request. `name` must live as long as the program.
    Schedule(const char *name, Communicator &communicator, Form form);
    ~Schedule() override;
    static Schedule *make(const char *name, Communicator &communicator, Form form);

    // Steps. Messages with MPI_PROC_NULL are left out.
    void send(const Block &block, int peer, Scope scope = Scope::peers, SendMode mode = SendMode::standard);
    void receive(const Block &block, int peer, Scope scope = Scope::peers);
    /// Blocks of different numbers of bytes give MPI_ERR_TRUNCATE.
    void copy(const Block &from, const Block &to);
    /// With the operation of reduce_by(): inout = in op inout; out = a op b.
    void fold(const void *in, void *inout, Count count);
    void join(const void *a, const void *b, void *out, Count count);
    /// Local work of another layer, which returns an error code. It may append steps, of its own round and of later
    /// ones: where what is to be done follows from what others have sent.
    void call(std::function<int()> work);
    void end_round();

    void reduce_by(Operation &operation, Datatype &datatype);
    const Reduction &reduction() const {
        return *reduction_;
    }

    /// What is published while this rank waits: the root or MPI_ANY_SOURCE, and the count and datatype the user passed.
    void is_about(int root, Count count, MPI_Datatype datatype);

    /// Memory that lives as long as the schedule, aligned to a cache line.
    char *temporary(Count bytes);
    /// Memory for `count` elements, to be used as a buffer of that type.
    char *temporary(Count count, const Datatype &type);

    /// Runs the whole schedule of a blocking operation. Returns an error code.
    int run();

    // Request
    int start() override;
    const char *name() const override {
        return name_;
    }
    WaitingFor about() const override {
        return about_;
    }

    // ProgressHook
    void progress() override;

  protected:
    void destroy() override;

  private:
    friend class Pool<Schedule>;

    enum class Kind : std::uint8_t { send, receive, copy, fold, join, call, end_of_round };

    struct Step {
        Kind kind;
        Scope scope = Scope::peers;
        int peer = MPI_PROC_NULL;
        Block from{}, to{};
        const void *second = nullptr; ///< operand of a join
        std::size_t work = 0;         ///< of a call, among the workspace's
        SendMode mode = SendMode::standard;
    };

    /// Memory that is kept for the next schedule.
    struct Workspace {
        std::vector<Step> steps;
        std::vector<Request *> pending;
        std::vector<Datatype *> kept;
        std::vector<std::function<int()>> work;
        std::vector<std::unique_ptr<char[]>> temporaries;
        std::unique_ptr<char[]> scratch;
        std::size_t scratch_bytes = 0;
        std::size_t scratch_used = 0;
        std::size_t scratch_wanted = 0;

        void clear();
    };

    /// Workspaces that no schedule uses: in all there are as many as there ever were operations at once.
    static std::vector<std::unique_ptr<Workspace>> &spare();
    static std::unique_ptr<Workspace> take_workspace();
    static void put_back(std::unique_ptr<Workspace> workspace);

    void keep(Datatype &type);
    /// Draws the tags, and returns to the first step.
    void rewind();
    /// Begins the next round; false if there is none.
    bool begin_round();
    void begin(const Step &step);
    /// Sends or receives the only message of a round of a blocking operation.
    bool do_single_message();
    bool is_single_message() const;
    /// Removes completed requests from the list of pending ones; true if none is left.
    bool reap();
    void note(int code);
    bool is_cut_short() const;
    /// Progresses until it has to wait for messages; true if everything is done.
    bool move();

    struct Carrier {
        Communicator *communicator = nullptr;
        int tag = 0;
    };

    const char *name_;
    Form form_;
    bool moving_ = false;
    std::unique_ptr<Workspace> workspace_;
    std::size_t next_ = 0; ///< step
    Carrier carriers_[2];
    std::optional<Reduction> reduction_;
    WaitingFor about_;
};

} // namespace volley
