// SPDX-License-Identifier: BSD-3-Clause
/// Random input for everything a rank reads from the network: the handshake, and the frames of connections whose other
/// end has proved to know the secret. What comes is mostly sensible, so that it gets far, and then is not.
///
/// Rank 0 of a job is the library as it is. Its other ranks are this test, in the same process: it connects to rank 0's
/// port, and takes connections at theirs. A frame that makes no sense may end the job, with a message; nothing else
/// may. Run with AddressSanitizer it says whether anything else happens.
///
///     VOLLEY_TEST_SECONDS   how long each test runs; 1 without it
///     VOLLEY_TEST_SEED      repeats what was drawn; printed if something is wrong
#include "boot/proof/handshake_socket.h"
#include "boot/sockets.h"
#include "core/communicator.h"
#include "core/engine.h"
#include "core/test_ranks.h"
#include "transport/tcp/tcp.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace volley {

/// Takes connections that have failed out of the rank, which would have ended with them.
struct TcpFuzz {
    static void forget(ProcessIndex process) {
        const auto index = static_cast<std::size_t>(process);
        if (index < tcp.incoming_.size()) tcp.incoming_[index].reset();
        if (index < tcp.outgoing_.size()) tcp.outgoing_[index].reset();
    }
    static std::size_t strangers() {
        return tcp.strangers_.size();
    }
    static bool has_incoming(ProcessIndex process) {
        const auto index = static_cast<std::size_t>(process);
        return index < tcp.incoming_.size() && tcp.incoming_[index];
    }
};

namespace {

/// The job would have ended.
struct JobEnded {
    std::string reason;
};

} // namespace
} // namespace volley

/// The linker gives calls of abort_job_for() in the library to this one (--wrap).
extern "C" [[noreturn]] void __wrap__ZN6volley13abort_job_forEPKc(const char *reason) {
    throw volley::JobEnded{reason};
}

namespace volley {
namespace {

constexpr auto nothing = static_cast<wire::FrameKind>(0);

using Bytes = std::vector<unsigned char>;

constexpr int ranks = 128;
constexpr int most_frames = 200; ///< of one connection
constexpr int rounds_to_settle = 4;
constexpr std::size_t most_strangers = 64 + 64 + 2 * ranks;

double seconds_to_run() {
    const char *text = std::getenv("VOLLEY_TEST_SECONDS");
    return text ? std::atof(text) : 1;
}

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    /// From 0 up to, but not including, `end`.
    std::uint64_t below(std::uint64_t end) {
        return engine_() % end;
    }
    bool one_in(std::uint64_t times) {
        return below(times) == 0;
    }
    /// Small mostly; sometimes near a limit, sometimes anything.
    std::uint64_t size(std::uint64_t limit) {
        switch (below(8)) {
        case 0:
            return limit - below(2);
        case 1:
            return limit + below(3);
        case 2:
            return engine_() >> below(64);
        default:
            return below(100);
        }
    }
    void flip_some(std::span<unsigned char> bytes) {
        if (bytes.empty() || !one_in(24)) return;
        for (std::uint64_t flips = 1 + below(3); flips > 0; flips--)
            bytes[below(bytes.size())] ^= static_cast<unsigned char>(1U << below(8));
    }

  private:
    std::mt19937_64 engine_;
};

Secret secret_of_job() {
    Secret secret;
    std::ranges::copy(node.arena->secret, secret.begin());
    return secret;
}

/// Writes what the socket takes. The other end may have closed it.
void write(const Descriptor &socket, std::span<const unsigned char> bytes, Random &random) {
    while (!bytes.empty()) {
        const std::size_t piece = random.one_in(4) ? 1 + random.below(bytes.size()) : bytes.size();
        const ssize_t put = send(socket.get(), bytes.data(), piece, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put <= 0) return;
        bytes = bytes.subspan(static_cast<std::size_t>(put));
        if (!bytes.empty()) engine.progress();
    }
}

template <class Message> std::span<unsigned char> bytes_of(Message &message) {
    return {reinterpret_cast<unsigned char *>(&message), sizeof message};
}

/// What rank 0 says, as far as those have to know it who answer sensibly.
class Listener final : public FrameHandler {
  public:
    explicit Listener(const Descriptor &socket) : socket_(socket) {}

    void listen() {
        for (;;) {
            std::array<iovec, 2> into;
            const int places = reader_.places(into);
            const ssize_t got = readv(socket_.get(), into.data(), places);
            if (got <= 0) return;
            ASSERT_TRUE(reader_.arrived(static_cast<std::size_t>(got), *this));
        }
    }
    std::vector<wire::FrameHeader> heard; ///< since somebody took them

  private:
    bool frame(const wire::FrameHeader &header, unsigned char *) override {
        heard.push_back(header);
        return true;
    }
    bool begin_data(const wire::FrameHeader &, char *&) override {
        return true;
    }
    void data(const unsigned char *, std::size_t) override {}
    void end_data() override {}

    const Descriptor &socket_;
    FrameReader reader_;
};

/// One rank that is not there, but for this.
class Peer {
  public:
    Peer(ProcessIndex rank, Random &random) : rank_(rank), random_(random) {}
    virtual ~Peer() = default;

    /// Up to so many frames. False if the job has ended because of one.
    std::uint64_t talk() {
        std::uint64_t said = 0;
        try {
            if (!meet()) return 1;
            Listener listener(socket_);
            for (; said < most_frames; said++) {
                engage();
                settle();
                listener.listen();
                for (const wire::FrameHeader &header : listener.heard) take(header);
                listener.heard.clear();
                say_one();
                settle();
            }
        } catch (const JobEnded &end) {
            EXPECT_NE(end.reason.find("the TCP connection for messages from rank"), std::string::npos) << end.reason;
        }
        TcpFuzz::forget(rank_);
        return said + 1;
    }

  protected:
    virtual bool meet() = 0;
    /// What rank 0 does meanwhile.
    virtual void engage() = 0;
    virtual void take(const wire::FrameHeader &header) = 0;
    /// The next frame; kind 0: none.
    virtual wire::FrameHeader draw() = 0;

    static void settle() {
        for (int round = 0; round < rounds_to_settle; round++) engine.progress();
    }
    std::uint64_t known(const std::vector<std::uint64_t> &ids) {
        return ids.empty() || random_.one_in(20) ? random_.size(3) : ids[random_.below(ids.size())];
    }

    const ProcessIndex rank_;
    Random &random_;
    Descriptor socket_;

  private:
    void say_one() {
        wire::FrameHeader header = draw();
        if (header.kind == nothing) return;
        const bool has_payload = header.kind == wire::FrameKind::eager || header.kind == wire::FrameKind::data;
        Bytes frame(sizeof header);
        random_.flip_some(bytes_of(header));
        // A later peer's receives would match what comes in its name, when this connection is gone.
        if (header.source > rank_ && header.source < ranks) header.source = rank_;
        std::memcpy(frame.data(), &header, sizeof header);
        if (has_payload) frame.resize(sizeof header + std::min<std::uint64_t>(header.bytes, 1 << 20), 'p');
        if (random_.one_in(100)) frame.resize(random_.below(frame.size()));
        write(socket_, frame, random_);
    }
};

/// Sends messages to rank 0.
class FalseSender final : public Peer {
  public:
    using Peer::Peer;
    ~FalseSender() override {
        // What has been matched with a message of this sender will not complete.
        for (MPI_Request &request : requests_)
            if (request != MPI_REQUEST_NULL) MPI_Cancel(&request);
    }

  private:
    bool meet() override {
        const auto port = static_cast<std::uint16_t>(node.own->tcp_port.load());
        const ProcessName own = processes[rank_].name, other = processes[node.rank].name;
        InitiatorSocket initiator(connect_to(loopback_address(), port), secret_of_job(),
                                  {.protocol = wire::protocol,
                                   .from_job = own.job,
                                   .to_job = other.job,
                                   .from_rank = own.rank,
                                   .to_rank = other.rank});
        HandshakeState state = HandshakeState::going_on;
        while ((state = initiator.advance()) == HandshakeState::going_on) engine.progress();
        EXPECT_EQ(state, HandshakeState::proven);
        socket_ = initiator.take();
        while (!TcpFuzz::has_incoming(rank_)) engine.progress();
        return true;
    }
    void engage() override {
        if (requests_.size() < 20 && random_.one_in(2)) {
            static std::vector<std::vector<char>> buffers; // messages may come to them as long as the process is there
            const std::size_t bytes = std::array{0, 10, 100, 20'000, 100'000}[random_.below(5)];
            MPI_Datatype type = random_.one_in(3) ? strided() : MPI_CHAR;
            buffers.emplace_back(2 * bytes + 2);
            requests_.emplace_back();
            MPI_Irecv(buffers.back().data(), static_cast<int>(bytes), type, rank_,
                      random_.one_in(2) ? MPI_ANY_TAG : static_cast<int>(random_.below(3)), MPI_COMM_WORLD,
                      &requests_.back());
        }
        for (MPI_Request &request : requests_) {
            int done = 0;
            if (request != MPI_REQUEST_NULL) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
        std::erase(requests_, MPI_REQUEST_NULL);
    }
    void take(const wire::FrameHeader &header) override {
        if (header.kind == wire::FrameKind::pull) granted_.push_back({header.id, header.bytes});
    }
    wire::FrameHeader draw() override {
        wire::FrameHeader header{.kind = static_cast<wire::FrameKind>(random_.one_in(100) ? random_.below(14) : 1),
                                 .context =
                                     random_.one_in(20) ? static_cast<std::uint32_t>(random_.below(5000)) : context(),
                                 .source = random_.one_in(40) ? static_cast<std::int32_t>(random_.size(ranks)) : rank_,
                                 .tag = static_cast<std::int32_t>(random_.below(3))};
        switch (random_.below(8)) {
        case 0:
        case 1:
            header.kind = wire::FrameKind::request;
            header.id = requested_.size() + 1;
            header.bytes = random_.one_in(2) ? 50'000 : random_.size(std::uint64_t{1} << 62);
            requested_.push_back(header.id);
            break;
        case 2:
        case 3:
            if (granted_.empty()) break;
            header.kind = wire::FrameKind::data;
            header.id = granted_.back().id;
            header.bytes = random_.one_in(20) ? random_.size(wire::largest_data)
                                              : std::min(granted_.back().bytes, wire::largest_data);
            granted_.pop_back();
            return header;
        case 4:
            header.kind = wire::FrameKind::cancel;
            header.id = known(requested_);
            break;
        case 5:
            if (!random_.one_in(10)) break;
            header.kind = random_.one_in(2) ? wire::FrameKind::departed : wire::FrameKind::leaving;
            header.bytes = random_.size(ranks);
            break;
        default:
            break;
        }
        if (header.kind == wire::FrameKind::eager)
            header.bytes = random_.one_in(30) ? random_.size(wire::largest_eager) : random_.below(500);
        if (random_.one_in(200)) header.name = random_.size(1000);
        return header;
    }
    /// Two bytes of three.
    static MPI_Datatype strided() {
        static MPI_Datatype type = [] {
            MPI_Datatype made;
            MPI_Type_create_resized(MPI_CHAR, 0, 2, &made);
            MPI_Type_commit(&made);
            return made;
        }();
        return type;
    }
    /// That of MPI_COMM_WORLD's messages.
    static std::uint32_t context() {
        return Communicator::world().context(Traffic::program);
    }

    struct Granted {
        std::uint64_t id, bytes;
    };
    std::vector<MPI_Request> requests_;
    std::vector<std::uint64_t> requested_;
    std::vector<Granted> granted_;
};

/// Receives messages of rank 0.
class FalseReceiver final : public Peer {
  public:
    FalseReceiver(ProcessIndex rank, Random &random) : Peer(rank, random) {
        std::uint16_t port = 0;
        listener_ = listen_at(loopback_address(), {}, port);
        processes[rank].record->tcp_port.store(port);
    }

  private:
    bool meet() override {
        send_one();
        while (!socket_) {
            socket_ = accept_from(listener_);
            engine.progress();
        }
        ResponderSocket responder(std::move(socket_));
        const auto find = [](const Introduction &) { return std::optional(secret_of_job()); };
        HandshakeState state = HandshakeState::going_on;
        while ((state = responder.advance(find)) == HandshakeState::going_on) engine.progress();
        EXPECT_EQ(state, HandshakeState::proven);
        EXPECT_EQ(responder.ends().to_rank, rank_);
        socket_ = responder.take();
        return true;
    }
    void engage() override {
        if (random_.one_in(2)) send_one();
        for (MPI_Request &request : requests_) {
            int done = 0;
            if (request != MPI_REQUEST_NULL && random_.one_in(40)) MPI_Cancel(&request);
            if (request != MPI_REQUEST_NULL) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
        std::erase(requests_, MPI_REQUEST_NULL);
    }
    void send_one() {
        if (requests_.size() > 20) return;
        static const std::vector<char> buffer(2 << 20);
        const int bytes = std::array{0, 100, 16'000, 17'000, 300'000, 1'000'000}[random_.below(6)];
        requests_.emplace_back();
        MPI_Isend(buffer.data(), bytes, MPI_CHAR, rank_, 0, MPI_COMM_WORLD, &requests_.back());
    }
    void take(const wire::FrameHeader &header) override {
        if (header.kind == wire::FrameKind::eager) eager_ += wire::eager_cost(header.bytes);
        if (header.kind == wire::FrameKind::request) announced_.push_back({header.id, header.bytes, 0});
        if (header.kind == wire::FrameKind::cancel) cancelled_.push_back(header.id);
    }
    wire::FrameHeader draw() override {
        wire::FrameHeader header{.kind = wire::FrameKind::credit};
        switch (random_.below(4)) {
        case 0:
            if (eager_ == 0 && !random_.one_in(20)) break;
            header.bytes = random_.one_in(40) ? random_.size(wire::eager_credit) : std::exchange(eager_, 0);
            return header;
        case 1:
            if (cancelled_.empty() && !random_.one_in(20)) break;
            header.kind = wire::FrameKind::cancelled;
            header.id = known(cancelled_);
            return header;
        default:
            break;
        }
        header.kind = random_.one_in(200) ? static_cast<wire::FrameKind>(random_.below(14)) : wire::FrameKind::pull;
        header.id = random_.size(5);
        header.tag = static_cast<std::int32_t>(random_.below(random_.one_in(30) ? 3 : 2));
        if (random_.one_in(100)) {
            header.bytes = random_.size(100'000);
            return header;
        }
        if (announced_.empty()) return {.kind = nothing};
        Announced &message = announced_[random_.below(announced_.size())];
        message.granted += 1 + random_.below(message.bytes - message.granted);
        header.id = message.id;
        header.bytes = message.granted;
        if (message.granted == message.bytes) header.tag = 1;
        if (header.tag == 1) announced_.erase(announced_.begin() + (&message - announced_.data()));
        return header;
    }

    struct Announced {
        std::uint64_t id, bytes, granted;
    };
    Descriptor listener_;
    std::vector<MPI_Request> requests_;
    std::uint64_t eager_ = 0;
    std::vector<Announced> announced_;
    std::vector<std::uint64_t> cancelled_;
};

/// Whoever connects to the port of rank 0 and does not know the secret: neither ends the job nor comes in. Only what
/// says each part of a handshake as it should be is let in, and that is no stranger.
std::uint64_t knock(Random &random) {
    const auto port = static_cast<std::uint16_t>(node.own->tcp_port.load());
    const auto rank = static_cast<std::int32_t>(1 + random.below(ranks - 1));
    const HandshakeEnds ends = {.protocol = wire::protocol,
                                .from_job = processes[rank].name.job,
                                .to_job = processes[node.rank].name.job,
                                .from_rank = rank,
                                .to_rank = node.rank};
    const Descriptor socket = connect_to(loopback_address(), port);
    EXPECT_TRUE(socket);
    const Initiator initiator(secret_of_job(), ends);
    Introduction introduction = initiator.introduction();
    if (random.one_in(4)) random.flip_some(bytes_of(introduction));
    Bytes said(bytes_of(introduction).begin(), bytes_of(introduction).end());
    if (random.one_in(4)) said.resize(random.below(said.size() + 1));
    if (random.one_in(8)) said.resize(random.below(300), 'g');
    write(socket, said, random);
    for (int round = 0; round < rounds_to_settle; round++) engine.progress();
    Answer answer;
    if (recv(socket.get(), &answer, sizeof answer, MSG_DONTWAIT) == sizeof answer) {
        Proof proof = initiator.prove(answer).value_or(Proof{}); // of a changed introduction there is none
        proof[random.below(proof.size())] ^= static_cast<unsigned char>(1 + random.below(255));
        write(socket, {proof.data(), random.one_in(4) ? random.below(proof.size()) : proof.size()}, random);
    }
    for (int round = 0; round < rounds_to_settle; round++) engine.progress();
    EXPECT_FALSE(TcpFuzz::has_incoming(rank));
    EXPECT_LE(TcpFuzz::strangers(), most_strangers);
    // The other side of the same: who answers the rank's introduction without the secret is not believed.
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    const Descriptor other(pair[1]);
    InitiatorSocket own{Descriptor(pair[0]), secret_of_job(), ends};
    EXPECT_EQ(own.advance(), HandshakeState::going_on);
    EXPECT_EQ(recv(other.get(), &introduction, sizeof introduction, 0), static_cast<ssize_t>(sizeof introduction));
    answer = Responder(secret_of_job(), introduction).answer();
    bytes_of(answer)[random.below(sizeof answer)] ^= static_cast<unsigned char>(1 + random.below(255));
    write(other, bytes_of(answer), random);
    EXPECT_EQ(own.advance(), HandshakeState::refused);
    return 2;
}

class Fuzz : public RankTest {
  protected:
    /// Runs `body` in jobs of one lone rank, one after the other, until the time is over. It returns how many inputs
    /// there were.
    template <class Body> void repeat(Body &&body) {
        setenv("VOLLEY_TRANSPORT", "tcp", 1);
        const char *given = std::getenv("VOLLEY_TEST_SEED");
        std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
        const bool is_rank = std::getenv(environment::rank) != nullptr;
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds_to_run());
        do {
            setenv("VOLLEY_TEST_SEED", std::to_string(seed).c_str(), 1);
            SCOPED_TRACE("VOLLEY_TEST_SEED=" + std::to_string(seed));
            in_lone_rank(ranks, [&] {
                MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
                node.arena->ending.store(1); // so that a failure does not wait for the launcher to say more
                Random random(seed);
                std::printf("inputs %llu\n", static_cast<unsigned long long>(body(random)));
                std::fflush(stdout);
                _exit(HasFailure() ? 1 : 0);
            });
            seed++;
        } while (!is_rank && !given && !HasFailure() && std::chrono::steady_clock::now() < end);
        unsetenv("VOLLEY_TEST_SEED");
    }
};

template <class Kind> std::uint64_t talk_as_each(Random &random) {
    std::uint64_t inputs = 0;
    for (ProcessIndex rank = 1; rank < ranks; rank++) inputs += Kind(rank, random).talk();
    return inputs;
}

TEST_F(Fuzz, FramesOfAFalseSender) {
    repeat(talk_as_each<FalseSender>);
}

TEST_F(Fuzz, FramesOfAFalseReceiver) {
    repeat(talk_as_each<FalseReceiver>);
}

TEST_F(Fuzz, Handshakes) {
    repeat([](Random &random) {
        std::uint64_t inputs = 0;
        while (inputs < 10'000) inputs += knock(random);
        return inputs;
    });
}

} // namespace
} // namespace volley
