// SPDX-License-Identifier: BSD-3-Clause
#include "tools/report.h"

#include "boot/context_number.h"
#include "tools/connections.h"
#include "tools/dependence.h"
#include "tools/names.h"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <utility>

namespace volley::view {
namespace {

/// What of a rank's CallStatus means something now; the rest is empty.
struct TaskFields {
    std::string function;
    std::optional<int> peer, world_peer, tag, root;
    bool any_peer = false, any_tag = false;
    std::string communicator;
    std::optional<std::int64_t> count;
    std::string datatype;
    std::optional<double> seconds;
    std::vector<TaskFields> alternatives; ///< of a wait for one of several requests
};

void fill_message(TaskFields &fields, const Snapshot &snapshot, const WaitView &wait) {
    if (wait.kind != WaitKind::receive && wait.kind != WaitKind::send) return;
    fields.communicator = snapshot.communicator_name(wait.context);
    fields.any_peer = wait.peer == MPI_ANY_SOURCE;
    if (!fields.any_peer) fields.peer = wait.peer;
    if (wait.world_peer >= 0) fields.world_peer = wait.world_peer;
    fields.any_tag = wait.tag == MPI_ANY_TAG;
    if (!fields.any_tag) fields.tag = wait.tag;
    fields.datatype = datatype_name(wait.datatype);
    if (!fields.datatype.empty()) fields.count = wait.count;
}

TaskFields fields_of(const Snapshot &snapshot, const RankView &rank) {
    TaskFields fields;
    if (!rank.runs() || rank.function == 0) return fields;
    fields.function = function_name(rank.function);
    const bool waits = rank.wait.since_ns != 0;
    if (waits) fields.seconds = Snapshot::waited_seconds(rank);
    if (const auto collective = collective_of(rank)) {
        fields.communicator = snapshot.communicator_name(collective->context);
        if (collective->root >= 0) fields.root = collective->root;
        if (rank.wait.kind != WaitKind::step || is_collective(rank.function))
            fields.datatype = datatype_name(rank.wait.datatype);
        if (!fields.datatype.empty()) fields.count = rank.wait.count;
    } else if (waits) {
        fill_message(fields, snapshot, rank.wait);
        for (const WaitView &alternative : rank.wait.alternatives)
            fill_message(fields.alternatives.emplace_back(), snapshot, alternative);
    }
    return fields;
}

/// `text` of these fields, or of the alternatives: "1 or 2".
template <class Text> std::string text_of_any(const TaskFields &fields, Text &&text) {
    if (fields.alternatives.empty()) return text(fields);
    std::vector<std::string> told;
    for (const TaskFields &alternative : fields.alternatives) {
        std::string one = text(alternative);
        if (!one.empty() && std::ranges::find(told, one) == told.end()) told.push_back(std::move(one));
    }
    std::string result;
    for (const std::string &one : told) result += (result.empty() ? "" : " or ") + one;
    return result;
}

std::string tag_text(const TaskFields &fields) {
    if (fields.any_tag) return "any";
    return fields.tag ? std::to_string(*fields.tag) : "";
}

std::string peer_text(const TaskFields &fields) {
    if (fields.root) return "root " + std::to_string(*fields.root);
    if (fields.any_peer) return "any";
    if (!fields.peer) return {};
    if (!fields.world_peer || fields.world_peer == fields.peer) return std::to_string(*fields.peer);
    return std::to_string(*fields.world_peer) + " (" + std::to_string(*fields.peer) + ")";
}

/// Columns as wide as their contents. A column without any is left out; numbers stand to the right.
class Table {
  public:
    struct Column {
        const char *title;
        bool right;
    };
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    void add(std::vector<std::string> row) {
        rows_.push_back(std::move(row));
    }
    std::string text() const {
        std::vector<std::string> titles;
        for (const Column &column : columns_) titles.emplace_back(column.title);
        std::string result = line(titles);
        for (const auto &row : rows_) result += line(row);
        return result;
    }

  private:
    std::size_t width(std::size_t column) const {
        std::size_t widest = 0;
        for (const auto &row : rows_) widest = std::max(widest, row[column].size());
        return widest == 0 ? 0 : std::max(widest, std::string_view(columns_[column].title).size());
    }
    std::string line(const std::vector<std::string> &cells) const {
        std::string result;
        for (std::size_t i = 0; i < cells.size(); i++) {
            const std::size_t wide = width(i);
            if (wide == 0) continue;
            if (!result.empty()) result += "  ";
            const std::string padding(wide - cells[i].size(), ' ');
            result += columns_[i].right ? padding + cells[i] : cells[i] + padding;
        }
        return result.substr(0, result.find_last_not_of(' ') + 1) + "\n";
    }

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

std::string number_text(const std::optional<std::int64_t> &number) {
    return number ? std::to_string(*number) : std::string();
}

bool is_programs(const MessageView &message) {
    return traffic_of(message.context) == Traffic::program;
}

/// What follows a communicator's name where a message is the library's own.
const char *traffic_text(const MessageView &message) {
    switch (traffic_of(message.context)) {
    case Traffic::program:
        return "";
    case Traffic::collective:
        return " (collective)";
    default:
        return " (partitioned)";
    }
}

void write_text_or_null(Json &json, const char *name, const std::string &text) {
    json.key(name);
    if (text.empty())
        json.null();
    else
        json.value(text);
}

void write_message_fields(Json &json, const TaskFields &fields) {
    json.key("peer");
    if (fields.any_peer)
        json.value("any");
    else
        json.value(fields.peer);
    json.member("world_peer", fields.world_peer);
    json.key("tag");
    if (fields.any_tag)
        json.value("any");
    else
        json.value(fields.tag);
    write_text_or_null(json, "communicator", fields.communicator);
}

/// How a queue has fared since the rank began; its length is told beside it.
void write_queue(Json &json, const char *name, const QueueView &queue) {
    json.key(name).begin_object();
    json.member("high_watermark", queue.high_watermark);
    json.member("searches", queue.searches);
    json.member("steps", queue.steps);
    json.end_object();
}

/// Members of one rank's object that say what it waits for.
void write_fields(Json &json, const TaskFields &fields) {
    write_text_or_null(json, "function", fields.function);
    write_message_fields(json, fields);
    json.member("root", fields.root);
    json.member("count", fields.count);
    write_text_or_null(json, "datatype", fields.datatype);
    json.member("seconds", fields.seconds);
    json.key("alternatives").begin_array();
    for (const TaskFields &alternative : fields.alternatives) {
        json.begin_object();
        write_message_fields(json, alternative);
        json.end_object();
    }
    json.end_array();
}

/// "host n3 does not answer: nothing is known of ranks 4 and 5"
std::string silence_text(const Snapshot &snapshot) {
    std::string text;
    for (std::size_t node = 0; node < snapshot.hosts.size(); node++) {
        const HostView &host = snapshot.hosts[node];
        if (host.is_seen) continue;
        std::vector<int> ranks;
        for (const RankView &rank : snapshot.ranks)
            if (rank.node == static_cast<std::int32_t>(node)) ranks.push_back(rank.rank);
        text += "host " + host.name + (host.is_silent ? " does not answer" : " cannot be asked from here") +
                ": nothing is known of " + ranks_text(ranks) + "\n";
    }
    return text;
}

} // namespace

std::string job_line(const Snapshot &snapshot) {
    const std::size_t ranks = snapshot.ranks.size(), hosts = snapshot.hosts.size();
    return "job " + std::to_string(snapshot.creator) + ": " + std::to_string(ranks) +
           (ranks == 1 ? " rank" : " ranks") + (hosts > 1 ? " on " + std::to_string(hosts) + " hosts" : "") + ", " +
           std::to_string(snapshot.cpus) + (snapshot.cpus == 1 ? " CPU" : " CPUs") +
           (snapshot.ending ? ", ending" : "");
}

std::string tasks_table(const Snapshot &snapshot) {
    Table table({{"RANK", true},
                 {"HOST", false},
                 {"PID", true},
                 {"PROGRAM", false},
                 {"STATE", false},
                 {"FUNCTION", false},
                 {"PEER", false},
                 {"TAG", true},
                 {"COMMUNICATOR", false},
                 {"COUNT", true},
                 {"DATATYPE", false},
                 {"FOR", true}});
    for (const RankView &rank : snapshot.ranks) {
        const TaskFields fields = fields_of(snapshot, rank);
        table.add({std::to_string(rank.rank), snapshot.host_of(rank),
                   rank.process > 0 ? std::to_string(rank.process) : "", rank.program, text_of(rank.doing),
                   fields.function, text_of_any(fields, peer_text), text_of_any(fields, tag_text),
                   text_of_any(fields, [](const TaskFields &one) { return one.communicator; }),
                   number_text(fields.count), fields.datatype, fields.seconds ? duration(*fields.seconds) : ""});
    }
    std::string text = table.text();
    for (const RankView &rank : snapshot.ranks)
        if (rank.lost_wake_ups > 0)
            text += "rank " + std::to_string(rank.rank) + " was not woken in time " +
                    std::to_string(rank.lost_wake_ups) + " times: this is an error of Volley\n";
    return text + silence_text(snapshot);
}

std::string messages_table(const Snapshot &snapshot, bool all) {
    Table table({{"FROM", true},
                 {"TO", true},
                 {"TAG", true},
                 {"COMMUNICATOR", false},
                 {"BYTES", true},
                 {"WHERE", false},
                 {"FOR", true}});
    bool any = false;
    for (const MessageView &message : snapshot.messages) {
        if (!all && !is_programs(message)) continue;
        any = true;
        table.add({std::to_string(message.source), std::to_string(message.destination), std::to_string(message.tag),
                   snapshot.communicator_name(message.context) + traffic_text(message), std::to_string(message.bytes),
                   std::string(message.on_its_way ? "on its way" : "arrived") +
                       (message.at_sender ? ", data at the sender" : ""),
                   message.age_seconds ? duration(*message.age_seconds) : ""});
    }
    std::string text = any ? table.text() : "no message is sent and not received\n";
    for (const RankView &rank : snapshot.ranks) {
        const auto shown =
            static_cast<std::uint32_t>(std::ranges::count_if(snapshot.messages, [&](const auto &message) {
                return message.destination == rank.rank && !message.on_its_way;
            }));
        if (rank.unexpected.length > shown)
            text += "rank " + std::to_string(rank.rank) + " has " + std::to_string(rank.unexpected.length - shown) +
                    " more that have arrived\n";
    }
    return text + silence_text(snapshot);
}

std::string connections_table(const Snapshot &snapshot) {
    Table table({{"RANK", true},
                 {"HOST", false},
                 {"PEER", true},
                 {"ON", false},
                 {"SENT", true},
                 {"BYTES", true},
                 {"RECEIVED", true},
                 {"BYTES", true},
                 {"QUEUED", true},
                 {"ANNOUNCED", true},
                 {"RESENT", true}});
    const std::vector<PeerView> peers = peers_of(snapshot);
    auto host_of = [&](int rank) { return snapshot.host_of(snapshot.ranks[static_cast<std::size_t>(rank)]); };
    for (const PeerView &peer : peers)
        table.add({std::to_string(peer.rank), host_of(peer.rank), std::to_string(peer.peer), host_of(peer.peer),
                   std::to_string(peer.messages_sent), std::to_string(peer.bytes_sent),
                   std::to_string(peer.messages_received), std::to_string(peer.bytes_received),
                   std::to_string(peer.queued), std::to_string(peer.announced),
                   peer.retransmissions ? std::to_string(*peer.retransmissions) : ""});
    return (peers.empty() ? "no rank has a connection: messages go through memory, or none has been sent\n"
                          : table.text()) +
           silence_text(snapshot);
}

void write_job(Json &json, const Snapshot &snapshot) {
    json.member("job", snapshot.job);
    json.member("pid", snapshot.creator);
    json.member("cpus", snapshot.cpus);
    json.member("ending", snapshot.ending);
    json.key("hosts").begin_array();
    for (std::size_t node = 0; node < snapshot.hosts.size(); node++) {
        json.begin_object();
        json.member("name", snapshot.hosts[node].name);
        json.member("here", static_cast<std::int32_t>(node) == snapshot.node);
        json.member("answers", snapshot.hosts[node].is_seen);
        json.end_object();
    }
    json.end_array();
}

void write_tasks(Json &json, const Snapshot &snapshot) {
    json.key("ranks").begin_array();
    for (const RankView &rank : snapshot.ranks) {
        json.begin_object();
        json.member("rank", rank.rank);
        write_text_or_null(json, "host", snapshot.host_of(rank));
        json.member("pid", rank.process);
        json.member("program", rank.program);
        json.member("state", text_of(rank.doing));
        write_fields(json, fields_of(snapshot, rank));
        json.member("posted_receives", rank.posted.length);
        json.member("unexpected_messages", rank.unexpected.length);
        write_queue(json, "posted_receive_queue", rank.posted);
        write_queue(json, "unexpected_message_queue", rank.unexpected);
        json.member("lost_wake_ups", rank.lost_wake_ups);
        json.member("placement", rank.placement == Placement::shared ? "shared" : "process");
        json.member("space", rank.space);
        json.member("program_base", rank.program_base);
        json.member("interpreter_base", rank.interpreter_base);
        json.end_object();
    }
    json.end_array();
}

void write_messages(Json &json, const Snapshot &snapshot, bool all) {
    json.key("messages").begin_array();
    for (const MessageView &message : snapshot.messages) {
        if (!all && !is_programs(message)) continue;
        json.begin_object();
        json.member("source", message.source);
        json.member("destination", message.destination);
        json.member("tag", message.tag);
        json.member("communicator", snapshot.communicator_name(message.context));
        json.member("collective", !is_programs(message));
        json.member("bytes", message.bytes);
        json.member("arrived", !message.on_its_way);
        json.member("data_at_sender", message.at_sender);
        json.member("seconds", message.age_seconds);
        json.end_object();
    }
    json.end_array();
}

void write_connections(Json &json, const Snapshot &snapshot) {
    json.key("connections").begin_array();
    for (const PeerView &peer : peers_of(snapshot)) {
        json.begin_object();
        json.member("rank", peer.rank);
        json.member("peer", peer.peer);
        json.member("messages_sent", peer.messages_sent);
        json.member("bytes_sent", peer.bytes_sent);
        json.member("messages_received", peer.messages_received);
        json.member("bytes_received", peer.bytes_received);
        json.member("bytes_queued", peer.queued);
        json.member("announced", peer.announced);
        json.member("retransmissions", peer.retransmissions);
        json.end_object();
    }
    json.end_array();
}

void write_verdict(Json &json, const Verdict &verdict) {
    json.key("why").begin_object();
    json.member("hangs", verdict.hangs());
    json.member("whole_job", verdict.whole_job);
    json.member("hung", verdict.hung);
    json.member("cycle", verdict.cycle);
    json.member("headline", verdict.headline);
    json.key("reasons").begin_array();
    for (const Reason &reason : verdict.reasons) {
        json.begin_object();
        json.member("ranks", reason.ranks);
        json.member("waits_for", reason.awaited);
        json.member("sentence", reason.sentence);
        json.end_object();
    }
    json.end_array();
    json.end_object();
}

} // namespace volley::view
