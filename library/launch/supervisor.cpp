// SPDX-License-Identifier: BSD-3-Clause
#include "launch/supervisor.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>

#include "boot/error.h"
#include "launch/ending.h"
#include "launch/hosts/messages.h"
#include "tools/report.h"
#include "tools/snapshot_parts.h"
#include "tools/why.h"
#include "wait/descriptors.h"

namespace volley::launch {
namespace {

/// Between SIGTERM and SIGKILL: time to clean up, and less than the second in which a job has to end.
constexpr std::chrono::milliseconds grace{400};
/// How often to look whether ranks wait for one that ended before MPI_Init.
constexpr std::chrono::milliseconds lost_interval{100};

/// As timeout(1) has it.
constexpr int timed_out = 124;

/// Ranks sleep on their word of the arena; they may be in other address spaces, so no private futex.
void wake(RankRecord &record) {
    record.wake.fetch_add(1);
    syscall(SYS_futex, &record.wake, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// The same for a rank that may sleep on descriptors, as it does once it is connected with other jobs.
void wake_anywhere(RankRecord &record) {
    wake(record);
    if (const std::uint32_t number = record.wake_up_socket; number != 0 && descriptors.open_to_wake())
        descriptors.wake_up(number);
}

} // namespace

Supervisor::Supervisor(const Plan &plan, Arena &arena, const Signals &signals, const ProcessGroup &group, Input &input,
                       Output &output, std::vector<pid_t> hosts)
    : plan_(plan), arena_(arena), signals_(signals), group_(group), input_(input), output_(output),
      rank_hosts_(std::move(hosts)), ended_(static_cast<std::size_t>(plan.ranks()), true) {
    for (const int rank : plan.here) ended_[static_cast<std::size_t>(rank)] = false;
}

void Supervisor::obey(Channel &channel, bool beats, Silence silence) {
    channel_ = &channel;
    beats_ = may_beat_ = beats;
    silence_ = std::move(silence);
    silence_.heard();
    said_ = Clock::now();
}

void Supervisor::end_after(std::chrono::seconds time) {
    time_given_ = time;
    give_up_at_ = Clock::now() + time;
}

void Supervisor::check_time() {
    if (!give_up_at_ || Clock::now() < *give_up_at_) return;
    give_up_at_.reset();
    if (further_ != nullptr) further_->signal(SIGTERM);
    end_job(0, timed_out,
            "the job has taken longer than the " + std::to_string(time_given_.count()) +
                " seconds of --timeout, and is ended");
}

int Supervisor::run() {
    while (any_running() || (further_ != nullptr && further_->any_running()) || is_relaying()) {
        wait();
        take_signals();
        if (desk_ != nullptr) desk_->advance(*channel_);
        if (looks_ != nullptr && looks_->advance()) channel_->send(FrameKind::ask_hosts);
        if (channel_ != nullptr) take_orders();
        check_time();
        if (lost_ && !ending_) check_waiting_for_lost();
        if (first_look_ && Clock::now() >= second_look_at_) end_view();
        if (kill_at_ && Clock::now() >= *kill_at_) {
            signal_all(SIGKILL);
            kill_at_.reset();
        }
        if (kill_aborted_at_ && Clock::now() >= *kill_aborted_at_) {
            for (const pid_t process : std::exchange(aborted_, {})) kill(process, SIGKILL);
            kill_aborted_at_.reset();
        }
    }
    ProcessGroup::end_all(group_.id());
    finish_output();
    if (output_.has_lost_text()) note_status(static_cast<int>(ExitStatus::failure));
    if (!any_survived_ && outlived_ && channel_ == nullptr) note_status(*outlived_);
    return status_.value_or(static_cast<int>(ExitStatus::success));
}

void Supervisor::wait() {
    watched_.clear();
    watched_.push_back({signals_.descriptor(), POLLIN, 0});
    input_.watch(watched_);
    output_.watch(watched_);
    if (channel_ != nullptr) channel_->watch(watched_);
    if (beats_) silence_.watch(watched_);
    if (further_ != nullptr) further_->watch(watched_);
    if (relay_ != nullptr) relay_->watch(watched_);
    if (desk_ != nullptr) desk_->watch(watched_);
    if (looks_ != nullptr) looks_->watch(watched_);
    poll(watched_.data(), watched_.size(), timeout_ms());
    if (further_ != nullptr) further_->advance();
    if (relay_ != nullptr) take_notes();
    input_.advance();
    output_.advance(watched_);
}

int Supervisor::timeout_ms() const {
    const auto now = Clock::now();
    auto until = Clock::time_point::max();
    if (kill_at_) until = std::min(until, *kill_at_);
    if (kill_aborted_at_) until = std::min(until, *kill_aborted_at_);
    if (give_up_at_) until = std::min(until, *give_up_at_);
    if (const auto deadline = output_.deadline()) until = std::min(until, *deadline);
    if (lost_ && !ending_) until = std::min(until, now + lost_interval);
    if (first_look_) until = std::min(until, second_look_at_);
    if (looks_ != nullptr) until = std::min(until, looks_->deadline().value_or(until));
    if (beats_ && !ending_) until = std::min(until, said_ + beat_interval);
    if (until == Clock::time_point::max()) return -1;
    return milliseconds_until(until);
}

void Supervisor::take_signals() {
    while (const auto number = signals_.take()) {
        if (*number == SIGCHLD)
            reap();
        else if (*number == view_signal)
            begin_view();
        else if (rank_hosts_.empty())
            pass_on(*number);
        else
            held_signals_.push_back(*number);
    }
    if (rank_hosts_.empty())
        for (const int number : std::exchange(held_signals_, {})) pass_on(number);
}

void Supervisor::take_orders() {
    channel_->advance();
    while (const auto order = channel_->next()) {
        silence_.heard();
        take_order(*order);
    }
    if (const int bytes = input_.passed_on(); bytes > 0) channel_->send(FrameKind::input_taken, bytes);
    check_mpiexec();
}

void Supervisor::take_order(const Frame &order) {
    switch (order.kind) {
    case FrameKind::signal:
        if (order.number == SIGTSTP) beats_ = false; // mpiexec stops, too
        if (order.number == SIGCONT) beats_ = may_beat_;
        if (rank_hosts_.empty())
            pass_on(order.number);
        else
            held_signals_.push_back(order.number);
        break;
    case FrameKind::end:
        if (!ending_) end_ranks(order.number);
        break;
    case FrameKind::lost_elsewhere:
        if (!lost_) lost_ = {-1, order.number, order.payload};
        break;
    case FrameKind::input:
        input_.feed(order.payload);
        break;
    case FrameKind::look:
        tell_look(order.number);
        break;
    case FrameKind::host_looked:
        if (looks_ != nullptr) looks_->answer(order.number, order.payload);
        break;
    case FrameKind::hosts_looked:
        if (looks_ != nullptr) looks_->finish();
        break;
    case FrameKind::ranks_failed:
        note_failures(RanksMessage::decode(order.payload).ranks, static_cast<Failure>(order.number));
        break;
    case FrameKind::ranks_aborted:
        for (const std::uint32_t rank : RanksMessage::decode(order.payload).ranks)
            if (rank < arena_.head()->ranks)
                arena_.record(static_cast<int>(rank)).to_abort = static_cast<std::uint32_t>(order.number) + 1;
        abort_ranks(order.number);
        break;
    default: // alive
        if (desk_ != nullptr && desk_->take(order)) wake_ranks();
        break;
    }
}

void Supervisor::check_mpiexec() {
    const auto now = Clock::now();
    if (channel_->closed() || (beats_ && silence_.look() == Presence::gone)) {
        beats_ = false;
        ending_ = true;
        signal_all(SIGKILL);
    } else if (beats_ && now - said_ >= beat_interval) {
        channel_->send(FrameKind::alive);
        said_ = now;
    }
}

void Supervisor::pass_on(int number) {
    const bool again = std::find(asked_to_end_.begin(), asked_to_end_.end(), number) != asked_to_end_.end();
    if (asks_to_end(number)) asked_to_end_.push_back(number);
    signal_all(again ? SIGKILL : number);
    if (further_ != nullptr) further_->signal(number);
    if (number == SIGCONT) input_.resume();
    if (number == SIGTSTP && channel_ == nullptr)
        kill(getpid(), SIGSTOP); // continued by a SIGCONT, which is passed on next
}

/// The group has also what ranks have started; a rank may have left it.
void Supervisor::signal_all(int number) const {
    group_.signal(number);
    for (const int rank : plan_.here) {
        const pid_t process = arena_.record(rank).process;
        if (is_running(rank) && process > 0 && getpgid(process) != group_.id()) kill(process, number);
    }
}

void Supervisor::reap() {
    int wait_status = 0;
    for (pid_t process = waitpid(-1, &wait_status, WNOHANG); process > 0;
         process = waitpid(-1, &wait_status, WNOHANG)) {
        if (std::find(rank_hosts_.begin(), rank_hosts_.end(), process) != rank_hosts_.end())
            host_ended(process, wait_status);
        else if (const auto rank = rank_of(process))
            rank_ended(*rank, wait_status);
        else if (further_ != nullptr && further_->ended(process))
            note_status(shell_status(wait_status));
        else if (relay_ != nullptr && relay_->ended(process))
            relay_ended(wait_status);
        // Otherwise an orphan of a rank.
    }
}

void Supervisor::host_ended(pid_t host, int wait_status) {
    std::erase(rank_hosts_, host);
    if (shell_status(wait_status) == 0) return;
    std::string why;
    if (WIFSIGNALED(wait_status) && asked_to_end_.empty())
        why = "the process that places ranks was ended by signal " + std::to_string(WTERMSIG(wait_status)) + " (" +
              signal_name(WTERMSIG(wait_status)) + ")";
    if (!ending_) end_job(0, static_cast<int>(ExitStatus::failure), why);
    signal_all(SIGKILL);
}

/// Without it what is under way is lost.
void Supervisor::relay_ended(int wait_status) {
    take_notes();
    if (ending_ || (shell_status(wait_status) == 0 && relay_->is_told_to_end())) return;
    std::string why = relay_->reason();
    if (WIFSIGNALED(wait_status))
        why = "the process that carries messages" + (plan_.hosts.empty() ? "" : " on " + plan_.host()) +
              " was ended by signal " + std::to_string(WTERMSIG(wait_status)) + " (" +
              signal_name(WTERMSIG(wait_status)) + ")";
    end_job(0, static_cast<int>(ExitStatus::failure), asked_to_end_.empty() ? why + "; the job ends" : "");
}

void Supervisor::take_notes() {
    while (const auto note = relay_->take_note()) output_.message(*note);
}

/// Once all ranks have ended: whether what they have sent is still on its way. Its end, of which SIGCHLD tells, is
/// waited for.
bool Supervisor::is_relaying() {
    if (relay_ == nullptr || !relay_->is_running()) return false;
    if (ending_ || !asked_to_end_.empty())
        relay_->kill();
    else if (!relay_->is_told_to_end())
        relay_->finish();
    return true;
}

void Supervisor::rank_ended(int rank, int wait_status) {
    RankRecord &record = arena_.record(rank);
    ended_[static_cast<std::size_t>(rank)] = true;
    record.exit_status = wait_status;
    const RankState state = record.state.exchange(RankState::ended);
    std::erase(aborted_, record.process);
    if (!ending_ && outlives(rank, state, wait_status)) return;
    any_survived_ = true;
    if (!ending_) judge_end(rank, state, wait_status);
    note_status(shell_status(wait_status));
}

/// Whether the job goes on without this rank, which has failed.
bool Supervisor::outlives(int rank, RankState state, int wait_status) {
    const ArenaHead &head = *arena_.head();
    if (head.recovery == 0 || head.ending != 0 || !ends_job(state) || !asked_to_end_.empty()) return false;
    RankRecord &record = arena_.record(rank);
    const std::uint32_t aborted_by = record.to_abort;
    const bool by_itself = aborted_by == static_cast<std::uint32_t>(rank) + 1;
    std::string text = describe_end(describe(rank), record, state, wait_status);
    if (by_itself)
        text = describe(rank) + " called MPI_Abort for a part of the ranks, with code " +
               std::to_string(WEXITSTATUS(wait_status));
    else if (aborted_by != 0)
        text = describe(rank) + " was aborted by rank " + std::to_string(aborted_by - 1);
    output_.message(text + "; the job goes on");
    if (!outlived_) outlived_ = std::max(shell_status(wait_status), static_cast<int>(ExitStatus::failure));
    const Failure failure = aborted_by != 0 ? Failure::aborted : Failure::failed;
    // mpiexec hears of it before it hears of anything that the others do because of it.
    if (channel_ != nullptr)
        channel_->send(FrameKind::rank_failed, static_cast<std::int32_t>(failure),
                       RanksMessage{{static_cast<std::uint32_t>(rank)}, *outlived_}.encode());
    note_failures({static_cast<std::uint32_t>(rank)}, failure);
    if (by_itself) abort_ranks(rank);
    if (by_itself && channel_ != nullptr) abort_elsewhere(rank);
    return true;
}

/// The processes are gone: what they have written is all they will ever write. Whoever reads the new count of incidents
/// sees which ranks they were, and nobody sleeps on without having read it.
void Supervisor::note_failures(const std::vector<std::uint32_t> &ranks, Failure failure) {
    for (const std::uint32_t rank : ranks)
        if (rank < arena_.head()->ranks) arena_.record(static_cast<int>(rank)).failure = failure;
    arena_.head()->incidents.fetch_add(1);
    wake_ranks();
}

void Supervisor::wake_ranks() {
    for (const int rank : plan_.here)
        if (is_running(rank)) wake_anywhere(arena_.record(rank));
}

/// Tells mpiexec of ranks of other hosts that this one has aborted.
void Supervisor::abort_elsewhere(int by) {
    RanksMessage message;
    for (int rank = 0; rank < plan_.ranks(); rank++)
        if (arena_.record(rank).to_abort == static_cast<std::uint32_t>(by) + 1 &&
            std::ranges::find(plan_.here, rank) == plan_.here.end())
            message.ranks.push_back(static_cast<std::uint32_t>(rank));
    if (!message.ranks.empty()) channel_->send(FrameKind::abort_ranks, by, message.encode());
}

/// Ends the ranks that this one has aborted together with itself.
void Supervisor::abort_ranks(int by) {
    for (const int rank : plan_.here) {
        const RankRecord &record = arena_.record(rank);
        if (!is_running(rank) || record.to_abort != static_cast<std::uint32_t>(by) + 1) continue;
        kill(record.process, SIGTERM);
        kill(record.process, SIGCONT);
        aborted_.push_back(record.process);
    }
    if (!aborted_.empty()) kill_aborted_at_ = Clock::now() + grace;
}

void Supervisor::judge_end(int rank, RankState state, int wait_status) {
    ArenaHead &head = *arena_.head();
    if (const std::uint32_t ending = head.ending; ending != 0 && ending <= head.ranks) {
        const int aborting = static_cast<int>(ending) - 1;
        const int code = head.abort_code;
        end_job(aborting, abort_status(code),
                describe(aborting) + " called MPI_Abort with code " + std::to_string(code));
        return;
    }
    const bool untold = asked_to_end_.empty(); // a user who pressed Ctrl-C knows why ranks end
    if (ends_job(state)) {
        const bool alone = plan_.ranks() == 1;
        const std::string why = describe_end(describe(rank), arena_.record(rank), state, wait_status);
        end_job(rank, std::max(shell_status(wait_status), static_cast<int>(ExitStatus::failure)),
                untold ? why + (alone ? "" : "; the job ends") : "");
        return;
    }
    if (WIFSIGNALED(wait_status) && untold)
        output_.message(describe_end(describe(rank), arena_.record(rank), RankState::ended, wait_status));
    if (state == RankState::started && !lost_) {
        lost_ = {rank, std::max(shell_status(wait_status), static_cast<int>(ExitStatus::failure)),
                 describe_end(describe(rank), arena_.record(rank), RankState::started, wait_status)};
        if (channel_ != nullptr) channel_->send(FrameKind::lost, lost_->status, lost_->text);
    }
}

/// A rank may end before MPI_Init if its program does not use MPI. If the others do, they would wait for it in
/// MPI_Init.
void Supervisor::check_waiting_for_lost() {
    for (const int rank : plan_.here) {
        if (!is_running(rank)) continue;
        const RankRecord &record = arena_.record(rank);
        const RankState state = record.state;
        if (state != RankState::initialised && (state != RankState::started || record.call_status.function == 0))
            continue;
        const std::string why = lost_->text + ", while rank " + std::to_string(rank) + " is in MPI; the job ends";
        end_job(std::max(lost_->rank, 0), lost_->status, asked_to_end_.empty() ? why : "");
        return;
    }
}

void Supervisor::tell_look(std::int32_t question) {
    std::string seen; // nothing: this host has no answer
    try {
        seen = view::encode_part(view::look(arena_.descriptor()));
    } catch (const view::Unreadable &) {}
    channel_->send(FrameKind::looked, question, seen);
}

void Supervisor::begin_view() {
    if (first_look_) return; // the answer is under way
    try {
        first_look_ = view::look(arena_.descriptor());
        second_look_at_ = Clock::now() + view::between_looks;
    } catch (const view::Unreadable &problem) {
        output_.message("cannot say what the job does: " + problem.reason);
    }
}

/// What mpitask would print, with the reasons of all ranks that wait.
void Supervisor::end_view() {
    const view::Snapshot earlier = std::move(*first_look_);
    first_look_.reset();
    try {
        const view::Snapshot now = view::look(arena_.descriptor());
        std::string text =
            view::job_line(now) + "\n" + view::tasks_table(now) + "\n" + view::explain(earlier, now).text();
        text.pop_back();
        output_.message(text);
    } catch (const view::Unreadable &problem) {
        output_.message("cannot say what the job does: " + problem.reason);
    }
}

void Supervisor::note_status(int status) {
    if (status != 0 && !status_) status_ = status;
}

/// With several hosts the reason goes with the news, in one frame: of those that several hosts have, mpiexec says one.
void Supervisor::end_job(int rank, int status, const std::string &why) {
    note_status(status);
    if (channel_ != nullptr)
        channel_->send(FrameKind::failed, status_.value_or(0), FailedMessage{rank, why}.encode());
    else if (!why.empty())
        output_.message(why);
    end_ranks(rank);
}

void Supervisor::end_ranks(int rank) {
    ending_ = true;
    std::uint32_t nobody = 0;
    arena_.head()->ending.compare_exchange_strong(nobody, static_cast<std::uint32_t>(rank) + 1);
    for (const int other : plan_.here)
        if (is_running(other)) wake(arena_.record(other));
    signal_all(SIGTERM);
    signal_all(SIGCONT); // stopped ranks could not end
    kill_at_ = Clock::now() + grace;
}

/// Waits for a slow reader of the output, but not against the user's will.
void Supervisor::finish_output() {
    output_.drain();
    while (!output_.empty()) {
        watched_.clear();
        watched_.push_back({signals_.descriptor(), POLLIN, 0});
        output_.watch(watched_);
        if (channel_ != nullptr) channel_->watch(watched_);
        poll(watched_.data(), watched_.size(), -1);
        if (channel_ != nullptr) channel_->advance();
        output_.advance(watched_);
        while (const auto number = signals_.take())
            if (asks_to_end(*number)) return;
    }
}

std::optional<int> Supervisor::rank_of(pid_t process) const {
    for (const int rank : plan_.here)
        if (is_running(rank) && arena_.record(rank).process == process) return rank;
    return std::nullopt;
}

bool Supervisor::is_running(int rank) const {
    return !ended_[static_cast<std::size_t>(rank)];
}

bool Supervisor::any_running() const {
    if (!rank_hosts_.empty()) return true;
    // A rank without a process was not started, because its host failed.
    for (const int rank : plan_.here)
        if (is_running(rank) && arena_.record(rank).process != 0) return true;
    return false;
}

std::string Supervisor::describe(int rank) const {
    return describe_rank(rank, plan_.of_rank(rank).program.path, plan_.host(), arena_.record(rank));
}

} // namespace volley::launch
