// SPDX-License-Identifier: BSD-3-Clause
/// What a bare ring costs: half a ping-pong round trip between two pinned threads, next to the limit measured
/// in the same run (a cache line handed back and forth), and messages per second one way.
#include "reach/ring.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <pthread.h>
#include <thread>
#include <vector>

namespace {

using namespace volley;

void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

double now_ns() {
    return static_cast<double>(std::chrono::steady_clock::now().time_since_epoch().count());
}

constexpr std::uint32_t slots = 64, bytes = 32768;
constexpr int repetitions = 1000, attempts = 100;

struct FreeAligned {
    void operator()(RingHead *ring) const {
        std::free(ring);
    }
};
using Ring = std::unique_ptr<RingHead, FreeAligned>;

Ring make_ring() {
    std::size_t size = RingHead::footprint(slots, bytes, 0);
    void *memory = std::aligned_alloc(4096, (size + 4095) & ~std::size_t{4095});
    std::memset(memory, 0, size);
    auto *ring = static_cast<RingHead *>(memory);
    ring->construct(slots, bytes);
    return Ring(ring);
}

void send(RingSender &ring, const void *data, std::size_t size) {
    while (!ring.send_eager({.tag = 1, .context = 2, .source = 0}, data, size)) __builtin_ia32_pause();
}

/// As a receive does it: look, compare the envelope, copy, give back.
void receive(RingReceiver &ring, void *data) {
    Slot *slot;
    while (!(slot = ring.front())) __builtin_ia32_pause();
    if (slot->tag != 1 || slot->context != 2) std::abort();
    std::memcpy(data, ring.payload(slot), slot->bytes());
    ring.release(slot);
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

double ping_pong_ns(std::size_t size) {
    Ring there = make_ring(), back = make_ring();
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

double stream_ns(std::size_t size) {
    Ring ring = make_ring();
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
    std::printf("%8s %14s %8s %18s\n", "bytes", "half round trip", "/ limit", "one way, each");
    for (std::size_t size : {1u, 8u, 40u, 64u, 256u, 1024u, 4096u, 8192u}) {
        double half = ping_pong_ns(size);
        std::printf("%8zu %12.0f ns %8.2f %15.0f ns\n", size, half, half / limit, stream_ns(size));
    }
}
