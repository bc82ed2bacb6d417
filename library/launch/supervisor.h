// SPDX-License-Identifier: BSD-3-Clause
/// The job while it runs: input, output, signals, and the ends of its ranks.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <vector>

#include "boot/arena.h"
#include "launch/further_jobs.h"
#include "launch/hosts/look_desk.h"
#include "launch/hosts/recovery_desk.h"
#include "launch/hosts/relay_process.h"
#include "launch/hosts/silence.h"
#include "launch/input.h"
#include "launch/output.h"
#include "launch/plan.h"
#include "launch/process_group.h"
#include "launch/signals.h"
#include "tools/snapshot.h"

namespace volley::launch {

/// Guarantees: the job ends when its last rank has ended. If a rank ends in a way that leaves others waiting for it,
/// the job ends within a second, with one message. The job's status is that of the first rank that failed.
///
/// A job that outlives ranks that fail (ArenaHead::recovery) goes on instead: the others are told, by words in the
/// arena and by waking them; mpiexec tells node daemons of those of other hosts. Its status is that of the ranks that
/// did not fail, if there are any.
class Supervisor {
  public:
    /// `hosts` are the processes that are placing ranks.
    Supervisor(const Plan &plan, Arena &arena, const Signals &signals, const ProcessGroup &group, Input &input,
               Output &output, std::vector<pid_t> hosts);

    /// In a node daemon: takes the orders of mpiexec, and tells it what happens. The job ends here if mpiexec is gone.
    /// `beats`: mpiexec says now and then that it is there; if it does not, `silence` tells whether it is gone.
    void obey(Channel &channel, bool beats, Silence silence);

    /// Takes care of the jobs that ranks ask for, too. nullptr: there are none.
    void carry(FurtherJobs *further) {
        further_ = further;
    }

    /// Takes care of the process that carries messages, too: ends it once all ranks have ended, and the job if it ends
    /// before. nullptr: there is none.
    void carry(RelayProcess *relay) {
        relay_ = relay;
    }

    /// Takes care of what ranks ask other hosts for, too. nullptr: there are none.
    void carry(RecoveryDesk *desk) {
        desk_ = desk;
    }

    /// Takes care of what tools ask, too. nullptr: none can ask.
    void carry(LookDesk *looks) {
        looks_ = looks;
    }

    /// Ends the job if it is not over by then, with a message and the status that timeout(1) has for it.
    void end_after(std::chrono::seconds time);

    /// Returns mpiexec's exit status once no process of the job is left.
    int run();

  private:
    void wait();
    [[nodiscard]] int timeout_ms() const;
    void take_signals();
    void take_orders();
    void take_order(const Frame &order);
    void check_mpiexec();
    void pass_on(int number);
    void reap();
    void host_ended(pid_t host, int wait_status);
    void relay_ended(int wait_status);
    void take_notes();
    [[nodiscard]] bool is_relaying();
    void rank_ended(int rank, int wait_status);
    void judge_end(int rank, RankState state, int wait_status);
    bool outlives(int rank, RankState state, int wait_status);
    void note_failures(const std::vector<std::uint32_t> &ranks, Failure failure);
    void wake_ranks();
    void abort_ranks(int by);
    void abort_elsewhere(int by);
    void check_waiting_for_lost();
    void check_time();
    void tell_look(std::int32_t question);
    void begin_view();
    void end_view();
    void note_status(int status);
    /// Because of that rank; `why`, if it is to be said, is a line of mpiexec's.
    void end_job(int rank, int status, const std::string &why);
    void end_ranks(int rank);
    [[nodiscard]] std::string describe(int rank) const;
    void signal_all(int number) const;
    void finish_output();
    [[nodiscard]] std::optional<int> rank_of(pid_t process) const;
    [[nodiscard]] bool is_running(int rank) const;
    [[nodiscard]] bool any_running() const;

    const Plan &plan_;
    Arena &arena_;
    const Signals &signals_;
    const ProcessGroup &group_;
    Input &input_;
    Output &output_;
    std::vector<pid_t> rank_hosts_;
    std::vector<bool> ended_;       ///< by rank; the arena's states could be overwritten by a wild rank
    std::vector<int> held_signals_; ///< until all ranks are there to get them
    std::vector<pollfd> watched_;
    std::optional<int> status_;   ///< of the first rank that failed
    std::optional<int> outlived_; ///< that status, where the job has gone on
    bool any_survived_ = false;   ///< a rank has ended that had not failed
    std::vector<pid_t> aborted_;  ///< by MPI_Abort of a part of the ranks: they have a moment to end by themselves
    std::optional<Clock::time_point> kill_aborted_at_;
    std::vector<int> asked_to_end_; ///< signals from outside that are to end the job
    bool ending_ = false;
    std::optional<Clock::time_point> give_up_at_; ///< and the seconds until then, when it was said
    std::chrono::seconds time_given_{};
    std::optional<Clock::time_point> kill_at_;
    /// A rank that ended before MPI_Init.
    struct Lost {
        int rank;
        int status; ///< mpiexec's, should this end the job
        std::string text;
    };
    std::optional<Lost> lost_;
    FurtherJobs *further_ = nullptr;
    RelayProcess *relay_ = nullptr;
    RecoveryDesk *desk_ = nullptr;
    LookDesk *looks_ = nullptr;
    Channel *channel_ = nullptr;
    bool beats_ = false, may_beat_ = false;
    Silence silence_;                          ///< of mpiexec
    Clock::time_point said_;                   ///< when a frame was sent
    std::optional<view::Snapshot> first_look_; ///< after a view_signal
    Clock::time_point second_look_at_;
};

} // namespace volley::launch
