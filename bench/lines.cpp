// SPDX-License-Identifier: BSD-3-Clause
/// What it costs to hand a block from one core to another again and again, in ns per cache line: the writer fills it,
/// the reader copies it to memory of its own, then the writer fills it again. The reader only reads, or it takes each
/// line over (library/transport/shm/lines.h); "where lines migrate" (library/boot/cpus.h) is what this shows.
#include "transport/shm/lines.h"
#include "pinned.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using namespace volley;

constexpr int rounds = 200, attempts = 15;

/// Of one round: ns in which the writer writes, and in which the reader copies.
struct Cost {
    double write, read;
};

unsigned char *make_block(std::size_t size) {
    auto *block = static_cast<unsigned char *>(std::aligned_alloc(4096, size));
    std::memset(block, 1, size);
    return block;
}

template <class Copy> Cost hand_over(std::size_t size, Copy &&copy) {
    unsigned char *block = make_block(size), *own = make_block(size), *copied = make_block(size);
    Cost best{1e18, 1e18};
    for (int attempt = 0; attempt < attempts; attempt++) {
        alignas(128) std::atomic<int> turn{0};
        Cost cost{0, 0};
        auto wait_for = [&](int value) {
            while (turn.load(std::memory_order_acquire) != value) __builtin_ia32_pause();
        };
        std::thread reader([&] {
            pin(1);
            for (int i = 0; i < rounds; i++) {
                wait_for(2 * i + 1);
                double start = now_ns();
                copy(copied, block, size);
                cost.read += now_ns() - start;
                turn.store(2 * i + 2, std::memory_order_release);
            }
        });
        pin(0);
        for (int i = 0; i < rounds; i++) {
            double start = now_ns();
            std::memcpy(block, own, size);
            std::atomic_thread_fence(std::memory_order_seq_cst); // until it is written
            cost.write += now_ns() - start;
            turn.store(2 * i + 1, std::memory_order_release);
            wait_for(2 * i + 2);
        }
        reader.join();
        best.write = std::min(best.write, cost.write / rounds);
        best.read = std::min(best.read, cost.read / rounds);
    }
    std::free(block);
    std::free(own);
    std::free(copied);
    return best;
}

} // namespace

int main() {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2")) {
        std::fprintf(stderr, "lines: taking over needs a processor with AVX2\n");
        return 1;
    }
#endif
    std::printf("ns per line; the library %s lines over on this processor\n",
                lines_migrate ? "takes" : "does not take");
    std::printf("%10s %22s %22s\n", "", "read only", "taken over");
    std::printf("%10s %10s %11s %10s %11s\n", "bytes", "write", "read", "write", "read");
    for (std::size_t size : {4096u, 16384u, 65536u, 262144u, 1048576u, 4194304u}) {
        auto lines = static_cast<double>(size / cache_line);
        Cost only =
            hand_over(size, [](void *to, unsigned char *from, std::size_t bytes) { std::memcpy(to, from, bytes); });
        Cost over = hand_over(size, copy_and_reclaim_lines);
        std::printf("%10zu %10.2f %11.2f %10.2f %11.2f\n", size, only.write / lines, only.read / lines,
                    over.write / lines, over.read / lines);
    }
}
