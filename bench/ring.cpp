// SPDX-License-Identifier: BSD-3-Clause
/// What a bare ring costs: half a ping-pong round trip between two pinned threads, next to the limit measured
/// in the same run (a cache line handed back and forth), and messages per second one way. Payloads lie in the ring of
/// bytes, or, as far as they may, beside their slots; the receiver copies and tidies as the library does.
#include "transport/shm/ring.h"
#include "pinned.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace volley;

constexpr std::uint32_t slots = 128, bytes = 65536, window = 8192;
constexpr int repetitions = 1000, attempts = 100;

struct FreeAligned {
    void operator()(RingHead *ring) const {
        std::free(ring);
    }
};
using Ring = std::unique_ptr<RingHead, FreeAligned>;

Ring make_ring(std::uint32_t beside) {
    std::size_t size = RingHead::footprint(slots, bytes, beside);
    void *memory = std::aligned_alloc(4096, (size + 4095) & ~std::size_t{4095});
    std::memset(memory, 0, size);
    auto *ring = static_cast<RingHead *>(memory);
    ring->construct(slots, bytes, beside, window);
    return Ring(ring);
}

void send(RingSender &ring, const void *data, std::size_t size) {
    while (!ring.send_eager({.tag = 1, .context = 2, .source = 0}, data, size)) __builtin_ia32_pause();
}

/// As a receive does it: look, compare the envelope, copy, give back.
void receive(RingReceiver &ring, void *data) {
    Slot *slot;
    while (!(slot = ring.front())) {
        ring.reclaim_room();
        __builtin_ia32_pause();
    }
    if (slot->tag != 1 || slot->context != 2) std::abort();
    if (slot->bytes() <= reclaimed_later)
        std::memcpy(data, ring.payload(slot), slot->bytes());
    else
        copy_and_reclaim(data, ring.payload(slot), slot->bytes());
    (void)ring.release(slot);
}

/// Runs `first` on CPU 0 and `second` on CPU 1; the fastest of many short attempts (other programs may interrupt
/// some), in ns per repetition.
template <typename First, typename Second> double race(First first, Second second) {
    double best = 1e18;
    for (int attempt = 0; attempt < attempts; attempt++) {
        std::atomic<int> ready{0};
        double took = 0;
        auto run = [&](int cpu, auto &body) {
            pin(cpu);
            ready.fetch_add(1);
            while (ready.load() < 2) std::this_thread::yield();
            double start = now_ns();
            body();
            return now_ns() - start;
        };
        std::thread one([&] { took = run(0, first); });
        std::thread other([&] { run(1, second); });
        one.join();
        other.join();
        best = std::min(best, took / repetitions);
    }
    return best;
}

double line_ns() {
    alignas(64) static std::atomic<int> ball;
    return race(
               [] {
                   for (int i = 0; i < repetitions; i++) {
                       ball.store(2 * i + 1, std::memory_order_release);
                       while (ball.load(std::memory_order_acquire) != 2 * i + 2) __builtin_ia32_pause();
                   }
                   ball.store(0); // for the next attempt
               },
               [] {
                   for (int i = 0; i < repetitions; i++) {
                       while (ball.load(std::memory_order_acquire) != 2 * i + 1) __builtin_ia32_pause();
                       ball.store(2 * i + 2, std::memory_order_release);
                   }
               }) /
           2;
}

double ping_pong_ns(std::size_t size, std::uint32_t beside) {
    Ring there = make_ring(beside), back = make_ring(beside);
    RingSender to(there.get()), from(back.get());
    RingReceiver here(back.get()), far(there.get());
    std::vector<char> mine(size + 1, 'a'), yours(size + 1, 'b');
    return race(
               [&] {
                   for (int i = 0; i < repetitions; i++) {
                       send(to, mine.data(), size);
                       receive(here, mine.data());
                   }
               },
               [&] {
                   for (int i = 0; i < repetitions; i++) {
                       receive(far, yours.data());
                       send(from, yours.data(), size);
                   }
               }) /
           2;
}

double stream_ns(std::size_t size, std::uint32_t beside) {
    Ring ring = make_ring(beside);
    RingSender to(ring.get());
    RingReceiver from(ring.get());
    std::vector<char> mine(size + 1, 'a'), yours(size + 1, 'b');
    return race(
        [&] {
            for (int i = 0; i < repetitions; i++) send(to, mine.data(), size);
        },
        [&] {
            for (int i = 0; i < repetitions; i++) receive(from, yours.data());
        });
}

} // namespace

int main() {
    double limit = line_ns();
    std::printf("cache line handed over: %.0f ns (the limit of a small message)\n\n", limit);
    std::printf("%8s %32s %32s\n", "", "half round trip (/ limit)", "one way, each");
    std::printf("%8s %20s %11s %20s %11s\n", "bytes", "in the ring of bytes", "beside", "in the ring of bytes",
                "beside");
    for (std::size_t size : {1u, 8u, 40u, 64u, 128u, 256u, 512u, 1024u, 4096u, 8192u}) {
        bool differ = size > inline_bytes && size <= reclaimed_later;
        std::printf("%8zu", size);
        auto show = [&](auto &&measure, double over) {
            double apart = measure(0u);
            std::printf(over > 0 ? " %11.0f ns %5.2f" : " %17.0f ns", apart, apart / over);
            if (!differ) return std::printf("%12s", "");
            double beside = measure(std::uint32_t{reclaimed_later});
            return std::printf("%9.0f ns", beside);
        };
        show([&](std::uint32_t beside) { return ping_pong_ns(size, beside); }, limit);
        show([&](std::uint32_t beside) { return stream_ns(size, beside); }, 0);
        std::printf("\n");
    }
}
