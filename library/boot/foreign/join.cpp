// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/join.h"

#include "boot/arena.h"
#include "boot/cpus.h"
#include "boot/error.h"
#include "boot/foreign/host_card.h"
#include "boot/foreign/host_sharing.h"
#include "boot/proof/key_exchange.h"
#include "boot/settings.h"
#include "boot/sockets.h"
#include "boot/text.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace volley {
namespace {

/// A launcher that knows of a failure ends this process. What follows from it is said only if that takes longer.
constexpr timespec longest_wait_for_end{.tv_sec = 3, .tv_nsec = 0};

constexpr const char *card_key = "card", *identity_key = "identity", *ports_key = "ports", *secret_key = "secret";

/// Which ranks are on which host. Hosts are numbered in the order of their first ranks.
struct Spread {
    std::vector<std::int32_t> node_of; ///< by rank
    std::vector<int> firsts;           ///< by node: its first rank

    [[nodiscard]] std::int32_t node(int rank) const {
        return node_of[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] int first_beside(int rank) const {
        return firsts[static_cast<std::size_t>(node(rank))];
    }
    [[nodiscard]] bool is_on_several_hosts() const {
        return firsts.size() > 1;
    }
    [[nodiscard]] std::vector<int> ranks_on(std::int32_t node) const {
        std::vector<int> ranks;
        for (std::size_t rank = 0; rank < node_of.size(); rank++)
            if (node_of[rank] == node) ranks.push_back(static_cast<int>(rank));
        return ranks;
    }
};

/// From anything that is equal for ranks of one host.
template <class Mark> Spread spread_by(const std::vector<Mark> &marks) {
    Spread spread;
    std::map<Mark, std::int32_t> numbers;
    for (std::size_t rank = 0; rank < marks.size(); rank++) {
        const auto [found, is_new] = numbers.try_emplace(marks[rank], static_cast<std::int32_t>(numbers.size()));
        if (is_new) spread.firsts.push_back(static_cast<int>(rank));
        spread.node_of.push_back(found->second);
    }
    return spread;
}

/// The launcher knows, or else each rank says where it is.
Spread find_spread(ForeignLauncher &launcher) {
    if (const auto hosts = launcher.hosts()) return spread_by(*hosts);
    launcher.publish(identity_key, std::to_string(host_identity()));
    launcher.fence();
    std::vector<std::string> identities;
    for (int rank = 0; rank < launcher.ranks(); rank++) identities.push_back(launcher.read(identity_key, rank));
    return spread_by(identities);
}

/// Where a launcher does not know how ranks are spread, it says that each has a host of its own (Slurm, with
/// --distribution=arbitrary). Their cards tell: by node, and from now on for the nodes that there are.
Spread join_lonely_ranks(const Spread &claimed, std::vector<HostCard> &cards) {
    std::vector<std::uint64_t> marks;
    for (const std::int32_t node : claimed.node_of) {
        const bool is_lonely = std::ranges::count(claimed.node_of, node) == 1;
        marks.push_back(is_lonely ? cards[static_cast<std::size_t>(node)].identity : static_cast<std::uint64_t>(node));
    }
    Spread spread = spread_by(marks);
    std::vector<HostCard> left;
    for (const int first : spread.firsts) left.push_back(cards[static_cast<std::size_t>(claimed.node(first))]);
    cards = std::move(left);
    return spread;
}

std::string ports_text(const std::vector<std::uint16_t> &ports) {
    std::string bytes;
    for (const std::uint16_t port : ports) bytes += {static_cast<char>(port >> 8), static_cast<char>(port & 0xff)};
    return to_hexadecimal(bytes);
}

std::vector<std::uint16_t> read_ports(const std::string &text, std::size_t count) {
    const auto bytes = from_hexadecimal(text);
    if (!bytes || bytes->size() != 2 * count) throw Error("\"" + text + "\" are not the ports of another host's ranks");
    std::vector<std::uint16_t> ports;
    for (std::size_t at = 0; at < bytes->size(); at += 2)
        ports.push_back(static_cast<std::uint16_t>(static_cast<unsigned char>((*bytes)[at]) << 8 |
                                                   static_cast<unsigned char>((*bytes)[at + 1])));
    return ports;
}

/// The part of a host's first rank.
class First {
  public:
    explicit First(ForeignLauncher &launcher) : launcher_(launcher) {}

    /// Up to the first fence.
    void introduce(bool on_several_hosts) {
        std::string key;
        if (on_several_hosts) {
            key_.emplace();
            key.assign(key_->public_key().begin(), key_->public_key().end());
        }
        launcher_.publish(card_key, own_card(guests_.number(), key, read_settings().interface).encode());
        launcher_.fence();
    }

    /// After it. `cards` are those of all hosts, if there are several.
    JobPlace join(const Spread &spread, std::vector<HostCard> cards) {
        spread_ = spread;
        cards_ = std::move(cards);
        node_ = spread_.node(launcher_.rank());
        here_ = spread_.ranks_on(node_);
        if (spread_.is_on_several_hosts()) {
            choose();
            publish_ports();
            if (launcher_.rank() == 0) publish_secret();
            launcher_.fence();
            learn_secret();
        }
        auto *arena = new Arena(layout()); // as long as the process
        for (const int rank : here_) {
            arena->record(rank).placement = Placement::process;
            arena->record(rank).state = RankState::started;
        }
        if (spread_.is_on_several_hosts()) tell_where_all_are(*arena);
        share(*arena);
        JobPlace place{.arena = arena->head(), .rank = launcher_.rank(), .ranks = launcher_.ranks()};
        if (!listeners_.empty()) place.listeners = std::move(listeners_.front()); // the first rank is the first here
        return place;
    }

  private:
    /// All hosts find out the same here, also what is wrong: rank 0 says it and ends the job, for which others wait.
    void choose() {
        std::vector<HostAddresses> addresses;
        try {
            for (const HostCard &card : cards_) {
                check_same_library(cards_.front(), card);
                addresses.push_back(card.addresses);
            }
            addresses_ = addresses_for_ranks(addresses, "");
        } catch (const Error &) {
            if (launcher_.rank() != 0) launcher_.fence();
            throw;
        }
    }

    [[nodiscard]] const std::vector<HostAddress> &addresses_here() const {
        return addresses_[static_cast<std::size_t>(node_)];
    }

    void publish_ports() {
        std::vector<std::uint16_t> ports;
        std::vector<NetworkAddress> own;
        for (const HostAddress &address : addresses_here()) own.push_back(address.address);
        for (std::size_t rank = 0; rank < here_.size(); rank++)
            listeners_.push_back(listen_at(own, read_settings().port_range, ports.emplace_back()));
        launcher_.publish(ports_key, ports_text(ports));
    }

    void publish_secret() {
        secret_ = draw_secret();
        std::string sealed;
        for (const HostCard &card : cards_) {
            PublicKey key{};
            if (card.public_key.size() != key.size()) throw Error("host " + card.addresses.name + " has sent no key");
            std::copy(card.public_key.begin(), card.public_key.end(), key.begin());
            sealed += seal(secret_, key);
        }
        launcher_.publish(secret_key, to_hexadecimal(sealed));
    }

    void learn_secret() {
        if (launcher_.rank() == 0) return;
        const std::string all = from_hexadecimal(launcher_.read(secret_key, 0)).value_or("");
        const std::size_t bytes = all.size() / cards_.size();
        const auto opened = key_->open(all.substr(static_cast<std::size_t>(node_) * bytes, bytes));
        if (!opened || opened->size() != secret_bytes)
            throw Error("what rank 0 has published is not the job's secret, sealed for this host");
        secret_ = *opened;
    }

    [[nodiscard]] JobLayout layout() const {
        if (!spread_.is_on_several_hosts()) return JobLayout::one_host(launcher_.ranks());
        return {.node_of = spread_.node_of, .own = node_, .name = {}, .secret = secret_};
    }

    void tell_where_all_are(const Arena &arena) {
        for (std::size_t node = 0; node < cards_.size(); node++) {
            NodeRecord &record = arena.node(static_cast<int>(node));
            cards_[node].addresses.name.copy(record.host, host_name_bytes - 1);
            std::ranges::copy(in_order_of_trial(addresses_here(), addresses_[node]), record.addresses);
            const std::vector<int> ranks = spread_.ranks_on(static_cast<std::int32_t>(node));
            const auto ports = read_ports(launcher_.read(ports_key, spread_.firsts[node]), ranks.size());
            for (std::size_t place = 0; place < ranks.size(); place++)
                arena.record(ranks[place]).tcp_port = ports[place];
        }
    }

    /// Launchers may bind each rank to processors of its own: the ranks of a host may use all of these together.
    static void count_processors(ArenaHead &arena, const std::vector<HostFirst::Guest> &guests) {
        if (read_settings().cpus) return;
        std::vector<std::string> lists = {allowed_list()};
        for (const HostFirst::Guest &guest : guests) lists.push_back(guest.processors);
        const UsableTogether together = usable_together(lists);
        arena.cpus = together.cpus;
        arena.cores = together.cores;
    }

    void share(const Arena &arena) {
        const std::vector<HostFirst::Guest> guests = guests_.receive_guests(here_.size() - 1);
        count_processors(*arena.head(), guests);
        const std::vector<Descriptor> none;
        for (const HostFirst::Guest &guest : guests) {
            const auto place = std::ranges::find(here_, guest.rank) - here_.begin();
            if (place == static_cast<std::ptrdiff_t>(here_.size()))
                throw Error("a rank of another host came to this one");
            const auto number = static_cast<std::size_t>(place);
            HostFirst::hand(guest, arena.descriptor(), arena.address(), listeners_.empty() ? none : listeners_[number]);
            if (!listeners_.empty()) listeners_[number].clear();
        }
    }

    ForeignLauncher &launcher_;
    HostFirst guests_;
    Spread spread_;
    std::int32_t node_ = 0;
    std::vector<int> here_;                           ///< the ranks of this host
    std::optional<SealKey> key_;                      ///< if there are several hosts, as what follows
    std::vector<HostCard> cards_;                     ///< by node
    std::vector<std::vector<HostAddress>> addresses_; ///< by node
    std::vector<std::vector<Descriptor>> listeners_;  ///< of the ranks of this host
    std::string secret_;
};

/// The part of the others, after the first fence. `card` is that of their host.
JobPlace join_first(ForeignLauncher &launcher, int first, const HostCard &card, bool on_several_hosts) {
    const HostCard own = own_card(0, "", "");
    check_same_library(card, own);
    if (card.identity != own.identity)
        throw Error("the launcher says that ranks " + std::to_string(first) + " and " +
                    std::to_string(launcher.rank()) + " are on one host, but they see other networks or processes (" +
                    card.addresses.name + ", " + own.addresses.name +
                    "): do not give each rank a container with namespaces of its own");
    HostGuest guest(card.socket, launcher.rank(), allowed_list());
    if (on_several_hosts) launcher.fence();
    Handed handed = guest.receive();
    JobPlace place{
        .arena = map_as_others(handed.arena.get(), handed.address), .rank = launcher.rank(), .ranks = launcher.ranks()};
    place.listeners = std::move(handed.listeners);
    return place;
}

JobPlace join(ForeignLauncher &launcher) {
    if (read_settings().carrier() == Transport::daemon)
        throw Error(
            "the environment variable VOLLEY_TRANSPORT is daemon, but under another launcher than mpiexec there "
            "is no process beside the ranks that could carry their messages: do not set it, or start the job "
            "with mpiexec --transport daemon");
    Spread spread = find_spread(launcher);
    const int rank = launcher.rank();
    const auto card_of = [&](int first) { return HostCard::decode(launcher.read(card_key, first)); };
    if (const int first = spread.first_beside(rank); first != rank) {
        launcher.fence();
        return join_first(launcher, first, card_of(first), spread.is_on_several_hosts());
    }
    First part(launcher);
    part.introduce(spread.is_on_several_hosts());
    std::vector<HostCard> cards;
    if (spread.is_on_several_hosts()) {
        for (const int first : spread.firsts) cards.push_back(card_of(first));
        spread = join_lonely_ranks(spread, cards);
    }
    if (const int first = spread.first_beside(rank); first != rank)
        return join_first(launcher, first, cards[static_cast<std::size_t>(spread.node(rank))],
                          spread.is_on_several_hosts());
    return part.join(spread, std::move(cards));
}

} // namespace

JobPlace join_foreign(ForeignLauncher &launcher) try {
    JobPlace place = join(launcher);
    place.application = launcher.application();
    RankRecord &record = rank_records(place.arena)[place.rank];
    record.process = getpid();
    record.application = place.application;
    return place;
} catch (const Gone &) {
    nanosleep(&longest_wait_for_end, nullptr);
    throw;
}

} // namespace volley
