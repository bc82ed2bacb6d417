// SPDX-License-Identifier: BSD-3-Clause
/// mpitask and mpimsg, one program with two names: what a running job does, and what is sent in it and not received.
#include "tools/jobs.h"
#include "tools/report.h"
#include "tools/snapshot.h"
#include "tools/whole_job.h"
#include "tools/why.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using namespace volley;
using namespace volley::view;

constexpr int success = 0, failure = 1, usage = 2, hang_seen = 3;

constexpr const char *task_help = R"(mpitask shows what each rank of a running job does.

    mpitask [--why | --connections] [--json] [JOB]

JOB is the process id of the job's mpiexec or of any of its ranks; it may be left out if one job runs. Of a job on several
hosts all ranks are shown, on any of its hosts; one that does not answer in two seconds is named.
  --why       say for each rank that waits what it waits for, and whether the job hangs (takes 0.3 s)
  --connections
              show what ranks and their peers have sent each other by TCP or libfabric
  --json      for programs; without JOB all jobs that run
  --version, --help

PEER is the rank in MPI_COMM_WORLD, followed by that in the communicator if it is another one; "root" is that of a
collective operation. FOR is how long the rank has been waiting. A job in which nothing can move any more is
always told of.

Of connections: SENT and RECEIVED are messages; QUEUED are bytes that the peer's kernel has not confirmed, ANNOUNCED
messages that wait for their receives, RESENT segments that the kernel has sent again.

Exit status: 0; 1 if no such job runs or it may not be looked into; 2 if the command line is wrong; 3 if --why
finds that the job, or some of its ranks, hang.
)";

constexpr const char *message_help = R"(mpimsg shows the messages of a running job that are sent and not received.

    mpimsg [--all] [--json] [JOB]

JOB is the process id of the job's mpiexec or of any of its ranks; it may be left out if one job runs. Of a job on several
hosts all messages are shown, on any of its hosts; one that does not answer in two seconds is named.
  --all       also the messages that collective operations are made of
  --json      for programs; without JOB all jobs that run
  --version, --help

FROM and TO are ranks in MPI_COMM_WORLD. A message on its way lies in the memory between the two ranks; one that has
arrived was looked at by its receiver and matched no receive; FOR is since when. Of those a rank has, the first 64
are shown, and how many more there are. Messages above some kilobytes are only announced: their data stays with the
sender until they are received.

Exit status: 0; 1 if no such job runs or it may not be looked into; 2 if the command line is wrong.
)";

struct Options {
    bool messages = false; ///< mpimsg
    bool why = false;
    bool connections = false;
    bool all = false;
    bool json = false;
    std::optional<std::string> job;

    const char *name() const {
        return messages ? "mpimsg" : "mpitask";
    }
};

[[noreturn]] void refuse(const Options &options, const std::string &text) {
    std::fprintf(stderr, "%s: %s (see %s --help)\n", options.name(), text.c_str(), options.name());
    std::exit(usage);
}

[[noreturn]] void print_and_end(const std::string &text) {
    std::fputs(text.c_str(), stdout);
    std::exit(success);
}

Options read_options(int count, char **arguments) {
    Options options;
    const std::string_view path = arguments[0];
    options.messages = path.substr(path.rfind('/') + 1) == "mpimsg";
    for (int i = 1; i < count; i++) {
        const std::string_view argument = arguments[i];
        if (argument == "--help" || argument == "-h") print_and_end(options.messages ? message_help : task_help);
        if (argument == "--version") print_and_end(std::string(options.name()) + " (Volley) " VOLLEY_VERSION "\n");
        if (argument == "--json")
            options.json = true;
        else if (argument == "--why" && !options.messages)
            options.why = true;
        else if (argument == "--connections" && !options.messages)
            options.connections = true;
        else if (argument == "--all" && options.messages)
            options.all = true;
        else if (argument.starts_with("-"))
            refuse(options, "unknown option " + std::string(argument));
        else if (options.job)
            refuse(options, "more than one job is named: " + *options.job + " and " + std::string(argument));
        else
            options.job = argument;
    }
    if (options.why && options.connections) refuse(options, "--why and --connections show different things");
    return options;
}

std::string programs_of(const Snapshot &snapshot) {
    std::vector<std::string> names;
    for (const RankView &rank : snapshot.ranks)
        if (!rank.program.empty() && (names.empty() || names.back() != rank.program)) names.push_back(rank.program);
    std::string text;
    for (const std::string &name : names) text += (text.empty() ? "" : " ") + name;
    return text;
}

/// Two looks, if the first or the user gives reason for a second.
struct Seen {
    Snapshot snapshot;
    std::optional<Verdict> verdict;
};

Seen look_closely(const Job &job, bool asked) {
    Seen seen{look_everywhere(job), std::nullopt};
    if (!asked && !may_hang(seen.snapshot)) return seen;
    std::this_thread::sleep_for(between_looks);
    Snapshot second = look_everywhere(job);
    seen.verdict = explain(seen.snapshot, second);
    seen.snapshot = std::move(second);
    return seen;
}

int show(const Job &job, const Options &options) {
    if (options.messages) {
        const Snapshot snapshot = look_everywhere(job);
        std::fputs((job_line(snapshot) + "\n" + messages_table(snapshot, options.all)).c_str(), stdout);
        return success;
    }
    if (options.connections) {
        const Snapshot snapshot = look_everywhere(job);
        std::fputs((job_line(snapshot) + "\n" + connections_table(snapshot)).c_str(), stdout);
        return success;
    }
    const Seen seen = look_closely(job, options.why);
    const bool hangs = seen.verdict && seen.verdict->hangs();
    std::string text;
    if (!options.why) text = job_line(seen.snapshot) + "\n" + tasks_table(seen.snapshot);
    if (hangs && !options.why) text += "\n";
    if (options.why || hangs) text += seen.verdict->text();
    std::fputs(text.c_str(), stdout);
    return options.why && hangs ? hang_seen : success;
}

/// Jobs that have just ended are left out.
int show_json(const Search &search, const Options &options) {
    Json json;
    const bool is_one_look = options.messages || options.connections;
    int status = success;
    json.begin_object();
    json.key("jobs").begin_array();
    for (const Job &job : search.jobs) {
        try {
            const Seen seen = is_one_look ? Seen{look_everywhere(job), std::nullopt} : look_closely(job, options.why);
            json.begin_object();
            write_job(json, seen.snapshot);
            if (options.messages)
                write_messages(json, seen.snapshot, options.all);
            else if (options.connections)
                write_connections(json, seen.snapshot);
            else
                write_tasks(json, seen.snapshot);
            if (seen.verdict) write_verdict(json, *seen.verdict);
            json.end_object();
            if (options.why && seen.verdict->hangs()) status = hang_seen;
        } catch (const Unreadable &problem) {
            if (search.jobs.size() == 1) throw;
        }
    }
    json.end_array();
    json.end_object();
    std::puts(json.text().c_str());
    return status;
}

int list(const Search &search, const Options &options) {
    std::printf("%zu jobs of Volley run here; name one: %s JOB\n", search.jobs.size(), options.name());
    std::printf("%10s  %5s  %s\n", "JOB", "RANKS", "PROGRAM");
    for (const Job &job : search.jobs) {
        try {
            const Snapshot snapshot = look_here(job);
            std::printf("%10d  %5zu  %s\n", static_cast<int>(job.creator), snapshot.ranks.size(),
                        programs_of(snapshot).c_str());
        } catch (const Unreadable &problem) {
            std::printf("%10d  %5s  (%s)\n", static_cast<int>(job.creator), "", problem.reason.c_str());
        }
    }
    return success;
}

int run(const Options &options) {
    Search search = find_jobs();
    if (options.job) choose(search, *options.job);
    if (search.jobs.empty()) {
        std::string reason = "no running job of Volley found";
        if (search.forbidden > 0)
            reason += "; " + std::to_string(search.forbidden) +
                      " processes of other users could not be looked into (root sees all)";
        throw Unreadable{reason};
    }
    if (options.json) return show_json(search, options);
    return search.jobs.size() == 1 ? show(search.jobs.front(), options) : list(search, options);
}

} // namespace

int main(int count, char **arguments) {
    const Options options = read_options(count, arguments);
    try {
        return run(options);
    } catch (const Unreadable &problem) {
        std::fprintf(stderr, "%s: %s\n", options.name(), problem.reason.c_str());
    } catch (const std::exception &problem) {
        std::fprintf(stderr, "%s: %s\n", options.name(), problem.what());
    }
    return failure;
}
