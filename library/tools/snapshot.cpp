// SPDX-License-Identifier: BSD-3-Clause
#include "tools/snapshot.h"

#include "boot/context_number.h"
#include "boot/status_page.h"
#include "tools/process_info.h"
#include "tools/socket_counters.h"
#include "transport/node_shared.h"
#include "transport/shm/ring.h"
#include "wait/clock.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

namespace volley::view {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

/// More of anything than this is damage.
constexpr std::uint32_t most_ranks = 1 << 16;
constexpr std::uint32_t most_slots = 1 << 16;
constexpr int most_pages = 1 << 12;

std::optional<double> seconds_between(std::uint64_t earlier, std::uint64_t later) {
    return later > earlier ? static_cast<double>(later - earlier) * 1e-9 : 0.0;
}

class Reader {
  public:
    explicit Reader(int file) : file_(file) {}

    bool read(std::uint64_t offset, void *to, std::size_t bytes) const {
        return pread(file_, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
    }
    /// On the heap: what is published holds atomics, which cannot be copied. nullptr at the end of the file.
    template <class Type> std::unique_ptr<Type> read(std::uint64_t offset) const {
        auto made = std::make_unique<Type>();
        if (!read(offset, static_cast<void *>(made.get()), sizeof(Type))) return nullptr;
        return made;
    }
    template <class Type> std::unique_ptr<Type[]> read_array(std::uint64_t offset, std::size_t count) const {
        auto made = std::make_unique<Type[]>(count);
        if (!read(offset, static_cast<void *>(made.get()), count * sizeof(Type))) return nullptr;
        return made;
    }

  private:
    int file_;
};

/// Bytes of the UTF-8 character at the front; 0 if it is none, or a control character.
std::size_t character_bytes(std::string_view text) {
    const auto first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) return first >= ' ' && first != 0x7f;
    const std::size_t bytes = first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
    if (bytes == 0 || first >= 0xf8 || text.size() < bytes) return 0;
    for (std::size_t i = 1; i < bytes; i++)
        if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
    return bytes;
}

/// A name as it may be shown: what is no text (a cut character, damage) becomes '?'.
std::string printable(const char *bytes, std::size_t most) {
    std::string_view text(bytes, strnlen(bytes, most));
    std::string result;
    while (!text.empty()) {
        const std::size_t character = character_bytes(text);
        result += character == 0 ? std::string_view("?") : text.substr(0, character);
        text.remove_prefix(std::max<std::size_t>(character, 1));
    }
    return result;
}

class Look {
  public:
    Look(int file) : reader_(file) {}

    Snapshot take() {
        auto head = reader_.read<ArenaHead>(0);
        if (!head) throw Unreadable{"the job has ended"};
        const std::uint64_t magic = head->magic.load(relaxed);
        if (magic == 0) throw Unreadable{"it is just being started"};
        if (magic != arena_magic) throw Unreadable{"it belongs to another version of Volley"};
        if (head->ranks == 0 || head->ranks > most_ranks) throw Unreadable{"its memory is damaged"};
        ranks_ = head->ranks;
        result_.job = printable(head->job, sizeof head->job);
        result_.creator = creator_of(result_.job);
        result_.cpus = head->cpus;
        result_.ending = head->ending.load(relaxed) != 0;
        auto records = reader_.read_array<RankRecord>(head->records, ranks_);
        if (!records) throw Unreadable{"the job has ended"};
        taken_ns_ = clock_ns();
        result_.ranks.resize(ranks_);
        for (std::uint32_t rank = 0; rank < ranks_; rank++) take_rank(static_cast<int>(rank), records[rank]);
        auto nodes = reader_.read_array<NodeRecord>(head->node_records, std::min(head->nodes, ranks_));
        if (head->node >= 0 && nodes) take_hosts(*head, records.get(), nodes.get());
        for (std::uint32_t node = 0; nodes && node < std::min(head->nodes, ranks_); node++) {
            const std::uint64_t shared = nodes[node].shared.load(relaxed), all = head->bytes;
            if (shared != 0 && shared < all && NodeShared::footprint(ranks_) <= all - shared) take_rings(shared);
        }
        return std::move(result_);
    }

  private:
    /// Ranks of other hosts have records here that say where they are.
    void take_hosts(const ArenaHead &head, const RankRecord *records, const NodeRecord *nodes) {
        const auto count = static_cast<std::int32_t>(std::min(head.nodes, ranks_));
        result_.node = head.node;
        for (std::int32_t node = 0; node < count; node++)
            result_.hosts.push_back({.name = printable(nodes[node].host, sizeof nodes[node].host),
                                     .is_seen = node == head.node,
                                     .is_silent = false});
        for (std::uint32_t rank = 0; rank < ranks_; rank++) {
            RankView &view = result_.ranks[rank];
            view.node = std::clamp(records[rank].node, 0, count - 1);
            if (view.node != head.node) view.doing = Doing::elsewhere;
        }
    }

    void take_rank(int number, const RankRecord &record) {
        RankView &rank = result_.ranks[static_cast<std::size_t>(number)];
        rank.rank = number;
        rank.taken_ns = taken_ns_;
        rank.process = record.program.load(relaxed) != 0 ? record.program.load(relaxed) : record.process;
        rank.placement = record.placement;
        rank.space = record.space;
        rank.program_base = record.program_base;
        rank.interpreter_base = record.interpreter_base;
        rank.lost_wake_ups = record.lost_wake_ups.load(relaxed);
        const CallStatus &call_status = record.call_status;
        rank.function = call_status.function.load(relaxed);
        rank.wait = wait_of(call_status);
        rank.wait.count = call_status.count.load(relaxed);
        rank.wait.datatype = call_status.datatype.load(relaxed);
        rank.wait.since_ns = call_status.since_ns.load(relaxed);
        rank.wait.collective = call_status.collective.load(relaxed);
        rank.wait.root = call_status.root.load(relaxed);
        if (rank.wait.kind == WaitKind::one_of) {
            rank.wait.requests = call_status.requests.load(relaxed);
            for (std::size_t i = 0; i < std::min<std::size_t>(rank.wait.requests, most_alternatives); i++)
                rank.wait.alternatives.push_back(wait_of(call_status.alternatives[i]));
        }
        judge(rank, record.state.load(relaxed));
        if (std::uint64_t offset = record.status_page.load(relaxed)) take_status_page(rank, offset);
        if (rank.runs()) take_connections(rank, record.connections.load(relaxed));
    }

    /// What an CallStatus and an Alternative have in common.
    template <class Published> WaitView wait_of(const Published &published) const {
        WaitView wait;
        wait.kind = published.kind.load(relaxed);
        wait.peer = published.peer.load(relaxed);
        wait.world_peer = published.world_peer.load(relaxed);
        wait.tag = published.tag.load(relaxed);
        wait.context = published.context.load(relaxed);
        if (wait.world_peer >= static_cast<int>(ranks_)) wait.world_peer = -1;
        return wait;
    }

    static void judge(RankView &rank, RankState state) {
        std::optional<ProcessInfo> process;
        if (rank.process > 0) process = process_info(rank.process);
        if (process) rank.program = process->name;
        if (state == RankState::ended || (rank.process > 0 && (!process || process->gone)))
            rank.doing = Doing::ended;
        else if (state == RankState::absent || rank.process <= 0)
            rank.doing = Doing::not_started;
        else if (process->stopped)
            rank.doing = Doing::stopped;
        else if (rank.function != 0)
            rank.doing = rank.wait.since_ns != 0 ? Doing::waiting : Doing::in_mpi;
        else if (state == RankState::finalised)
            rank.doing = Doing::finalised;
        else
            rank.doing = state == RankState::started ? Doing::before_mpi : Doing::computing;
    }

    static QueueView queue_of(const QueueStatistics &queue) {
        return {.length = queue.length.load(relaxed),
                .high_watermark = queue.high_watermark.load(relaxed),
                .searches = queue.searches.load(relaxed),
                .steps = queue.steps.load(relaxed)};
    }

    void take_status_page(RankView &rank, std::uint64_t offset) {
        auto status_page = reader_.read<StatusPage>(offset);
        if (!status_page) return;
        rank.thread_level = status_page->thread_level.load(relaxed);
        rank.posted = queue_of(status_page->posted);
        rank.unexpected = queue_of(status_page->unexpected);
        for (const UnexpectedEntry &message : status_page->messages) {
            const std::uint64_t arrived = message.arrived_ns.load(relaxed);
            const int source = message.source.load(relaxed);
            if (arrived == 0 || !is_rank(source)) continue;
            result_.messages.push_back({.source = source,
                                        .destination = rank.rank,
                                        .tag = message.tag.load(relaxed),
                                        .context = message.context.load(relaxed),
                                        .bytes = message.bytes.load(relaxed),
                                        .age_seconds = seconds_between(arrived, taken_ns_),
                                        .on_its_way = false,
                                        .at_sender = message.at_sender.load(relaxed) != 0});
        }
        take_communicators(rank, status_page->communicators);
        std::uint64_t next = status_page->communicators.next.load(relaxed);
        for (int pages = 0; next != 0 && pages < most_pages; pages++) {
            auto page = reader_.read<CommunicatorPage>(next);
            if (!page) return;
            take_communicators(rank, *page);
            next = page->next.load(relaxed);
        }
    }

    static void take_communicators(RankView &rank, const CommunicatorPage &page) {
        for (const CommunicatorEntry &entry : page.communicators) {
            if (entry.size.load(relaxed) <= 0) continue;
            rank.communicators.push_back({.context = entry.context.load(relaxed),
                                          .size = entry.size.load(relaxed),
                                          .rank = entry.rank.load(relaxed),
                                          .own_group = entry.own_group.load(relaxed),
                                          .peer_group = entry.peer_group.load(relaxed),
                                          .collectives = entry.collectives.load(relaxed),
                                          .rounds = entry.rounds.load(relaxed),
                                          .name = printable(entry.name.data(), entry.name.size())});
        }
    }

    void take_connections(RankView &rank, std::uint64_t next) {
        for (int pages = 0; next != 0 && pages < most_pages; pages++) {
            auto page = reader_.read<ConnectionPage>(next);
            if (!page) return;
            for (const ConnectionEntry &entry : page->connections) take_connection(rank, entry);
            next = page->next.load(relaxed);
        }
    }

    void take_connection(RankView &rank, const ConnectionEntry &entry) {
        using Direction = ConnectionEntry::Direction;
        const Direction direction = entry.direction.load(relaxed);
        const int peer = entry.peer.load(relaxed);
        if ((direction != Direction::to_peer && direction != Direction::from_peer) || !is_rank(peer)) return;
        ConnectionView connection{.rank = rank.rank,
                                  .peer = peer,
                                  .is_senders = direction == Direction::to_peer,
                                  .messages = entry.messages.load(relaxed),
                                  .bytes = entry.bytes.load(relaxed),
                                  .frames_said = entry.frames_said.load(relaxed),
                                  .frames_handled = entry.frames_handled.load(relaxed),
                                  .queued = entry.queued.load(relaxed),
                                  .announced = entry.announced.load(relaxed),
                                  .streams = entry.streams.load(relaxed),
                                  .unacknowledged = {},
                                  .unread = {},
                                  .retransmissions = {}};
        if (!sockets_) sockets_ = read_socket_counters();
        if (const auto socket = sockets_->find(entry.socket.load(relaxed)); socket != sockets_->end()) {
            connection.unacknowledged = socket->second.unacknowledged;
            connection.unread = socket->second.unread;
            connection.retransmissions = socket->second.retransmissions;
        }
        rank.traffic += connection.frames_handled;
        result_.connections.push_back(connection);
    }

    void take_rings(std::uint64_t shared) {
        for (std::uint32_t receiver = 0; receiver < ranks_; receiver++) {
            const std::uint64_t inbox = shared + sizeof(NodeShared) + receiver * Inbox::footprint(ranks_);
            auto rings = reader_.read_array<std::uint64_t>(inbox + sizeof(Inbox), ranks_);
            if (!rings) return;
            for (std::uint32_t sender = 0; sender < ranks_; sender++)
                if (rings[sender] != 0) take_ring(static_cast<int>(sender), result_.ranks[receiver], rings[sender]);
        }
    }

    void take_ring(int sender, RankView &receiver, std::uint64_t offset) {
        auto head = reader_.read<RingHead>(offset);
        if (!head || head->slots == 0 || head->slots > most_slots || (head->slots & (head->slots - 1)) != 0) return;
        const std::uint64_t taken = head->taken.load(relaxed);
        receiver.traffic += taken;
        for (std::uint64_t position = taken, span; position < taken + head->slots; position += span) {
            auto slot = reader_.read<Slot>(offset + sizeof(RingHead) + (position & (head->slots - 1)) * sizeof(Slot));
            if (!slot || slot->turn.load(relaxed) != Slot::turn_of(position)) return;
            span = slot->span();
            result_.messages.push_back({.source = sender,
                                        .destination = receiver.rank,
                                        .tag = slot->tag,
                                        .context = slot->context,
                                        .bytes = static_cast<std::int64_t>(slot->bytes()),
                                        .age_seconds = std::nullopt,
                                        .on_its_way = true,
                                        .at_sender = slot->kind() == MessageKind::request});
        }
    }

    bool is_rank(int number) const {
        return number >= 0 && number < static_cast<int>(ranks_);
    }

    Reader reader_;
    std::uint32_t ranks_ = 0;
    std::uint64_t taken_ns_ = 0;
    std::optional<std::unordered_map<std::uint64_t, SocketCounters>> sockets_; ///< once a rank has connections
    Snapshot result_;
};

} // namespace

const char *text_of(Doing doing) {
    switch (doing) {
    case Doing::not_started:
        return "not started";
    case Doing::elsewhere:
        return "on another host";
    case Doing::silent:
        return "no answer";
    case Doing::before_mpi:
        return "before MPI";
    case Doing::computing:
        return "computing";
    case Doing::in_mpi:
        return "in MPI";
    case Doing::waiting:
        return "waiting";
    case Doing::stopped:
        return "stopped";
    case Doing::finalised:
        return "finalised";
    case Doing::ended:
        break;
    }
    return "ended";
}

double Snapshot::waited_seconds(const RankView &rank) {
    return *seconds_between(rank.wait.since_ns, rank.taken_ns);
}

std::string Snapshot::host_of(const RankView &rank) const {
    return rank.node >= 0 && rank.node < static_cast<std::int32_t>(hosts.size())
               ? hosts[static_cast<std::size_t>(rank.node)].name
               : std::string();
}

const CommunicatorView *Snapshot::communicator(const RankView &rank, std::uint32_t context) {
    for (const CommunicatorView &entry : rank.communicators)
        if (entry.context == communicator_of(context)) return &entry;
    return nullptr;
}

std::string Snapshot::communicator_name(std::uint32_t context) const {
    for (const RankView &rank : ranks)
        if (const CommunicatorView *entry = communicator(rank, context); entry && !entry->name.empty())
            return entry->name;
    return "communicator #" + std::to_string(communicator_of(context));
}

std::vector<int> Snapshot::members(const RankView &rank, std::uint32_t context, bool peers) const {
    std::vector<int> found;
    const CommunicatorView *own = communicator(rank, context);
    if (!own) return found;
    const int group = peers ? own->peer_group : own->own_group;
    for (const RankView &other : ranks)
        if (const CommunicatorView *entry = communicator(other, context); entry && entry->own_group == group)
            found.push_back(other.rank);
    if (!peers && static_cast<int>(found.size()) >= own->size) return found;
    for (const RankView &other : ranks)
        if (!other.is_seen()) found.push_back(other.rank);
    return found;
}

Snapshot look(int arena_file) {
    return Look(arena_file).take();
}

} // namespace volley::view
