// SPDX-License-Identifier: BSD-3-Clause
/// How fast typed data is copied: gigabytes of data per second, and the ratio to memcpy of as many bytes in the
/// same run. A few seconds in all; arguments choose rows by a part of their name.
#include "core/datatype/datatype.h"
#include "layout/copy.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace volley {
namespace {

Count data_bytes = 1 << 20;
constexpr auto time_per_row = std::chrono::milliseconds(60);

/// Bytes per nanosecond of the fastest of many repetitions.
template <class Copy> double gigabytes_per_second(Copy copy) {
    using Clock = std::chrono::steady_clock;
    auto best = Clock::duration::max();
    for (auto end = Clock::now() + time_per_row; Clock::now() < end;) {
        auto start = Clock::now();
        copy();
        best = std::min(best, Clock::now() - start);
    }
    return static_cast<double>(data_bytes) / std::chrono::duration<double, std::nano>(best).count();
}

/// Memory on huge pages where possible, written once.
struct Buffer {
    explicit Buffer(Count bytes)
        : memory(static_cast<char *>(
              std::aligned_alloc(1 << 21, static_cast<std::size_t>((bytes + (1 << 21) - 1) >> 21 << 21)))) {
        std::memset(memory, 1, static_cast<std::size_t>(bytes));
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() {
        std::free(memory);
    }
    char *memory;
};

Datatype &take(const Outcome &outcome, Datatype *made) {
    if (!outcome.ok()) {
        std::fprintf(stderr, "%s\n", outcome.message.c_str());
        std::exit(1);
    }
    return *made;
}

Datatype &vector(Count block, Count stride) {
    Datatype *made = nullptr;
    Outcome outcome =
        make_hvector(CountForm::large, data_bytes / block, block, stride, *Datatype::from_handle(MPI_BYTE), made);
    return take(outcome, made);
}

Datatype &indexed(Count block, bool shuffled) {
    std::vector<Count> places(static_cast<std::size_t>(data_bytes / block));
    std::mt19937_64 random(1);
    Count next = 0;
    for (Count &place : places) place = next += block + static_cast<Count>(8 * (1 + random() % 2));
    if (shuffled) std::shuffle(places.begin(), places.end(), random);
    Datatype *made = nullptr;
    Outcome outcome = make_hindexed_block(CountForm::large, std::ssize(places), block, places.data(),
                                          *Datatype::from_handle(MPI_BYTE), made);
    return take(outcome, made);
}

/// An array of struct { double a; int b; /* hole */ double c; }
Datatype &structs() {
    const int lengths[] = {1, 1, 1};
    const Count places[] = {0, 8, 16};
    Datatype *types[] = {Datatype::from_handle(MPI_DOUBLE), Datatype::from_handle(MPI_INT),
                         Datatype::from_handle(MPI_DOUBLE)};
    Datatype *one = nullptr, *made = nullptr;
    take(make_struct(3, CountArray(lengths), places, types, one), one);
    Outcome outcome = make_contiguous(CountForm::large, data_bytes / 20, *one, made);
    return take(outcome, made);
}

/// The inner cube of doubles of a larger one, from either face of a halo exchange to all of it.
Datatype &cube(Count x, Count y, Count z) {
    const Count sizes[] = {130, 130, 130}, subsizes[] = {x, y, z}, starts[] = {1, 1, 1};
    Datatype *made = nullptr;
    Outcome outcome = make_subarray(3, CountArray(sizes), CountArray(subsizes), CountArray(starts), MPI_ORDER_C,
                                    *Datatype::from_handle(MPI_DOUBLE), made);
    return take(outcome, made);
}

void row(const char *name, Datatype &type, int argc, char **argv) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; ++i) wanted = wanted || std::strstr(name, argv[i]) != nullptr;
    if (!wanted) return;
    if (Outcome outcome = type.commit(); !outcome.ok()) std::exit(1);
    Count count = std::max<Count>(1, data_bytes / type.size());
    Count bytes = count * type.size();
    Count reach = type.true_lb() + (count - 1) * type.extent() + type.true_extent();
    Buffer source(reach), destination(reach), packed(bytes), plain(bytes);
    TypedBuffer from{&type.plan(), source.memory, count}, to{&type.plan(), destination.memory, count};
    double scale = static_cast<double>(bytes) / static_cast<double>(data_bytes);
    double memory = scale * gigabytes_per_second(
                                [&] { std::memcpy(plain.memory, packed.memory, static_cast<std::size_t>(bytes)); });
    double packing = scale * gigabytes_per_second([&] { pack(from, 0, bytes, packed.memory); });
    double unpacking = scale * gigabytes_per_second([&] { unpack(to, 0, bytes, packed.memory); });
    double chunks = scale * gigabytes_per_second([&] {
                        for (Count position = 0; position < bytes; position += 8192)
                            pack(from, position, std::min(position + 8192, bytes), packed.memory + position);
                    });
    double same = scale * gigabytes_per_second([&] { copy_between(from, to, 0, bytes); });
    // Another layout: blocks of 8 bytes 24 apart, or of the type's own length where that is uniform.
    Count block = type.plan().uniform_block != 0 && type.plan().uniform_block < 8192 ? type.plan().uniform_block : 8;
    Datatype *other = nullptr;
    Outcome outcome =
        make_hvector(CountForm::large, bytes / block, block, block + 16, *Datatype::from_handle(MPI_BYTE), other);
    if (!take(outcome, other).commit().ok()) std::exit(1);
    Buffer elsewhere(other->true_extent());
    TypedBuffer aside{&other->plan(), elsewhere.memory, 1};
    double different = scale * gigabytes_per_second([&] { copy_between(from, aside, 0, bytes); });
    std::printf("%-30s %7.1f %7.1f %5.2f %7.1f %5.2f %7.1f %7.1f %7.1f\n", name, memory, packing, packing / memory,
                unpacking, unpacking / memory, chunks, same, different);
}

} // namespace
} // namespace volley

int main(int argc, char **argv) {
    using namespace volley;
    for (Count bytes : {Count{1} << 20, Count{1} << 16}) {
        data_bytes = bytes;
        std::printf("%-30s %7s %7s %5s %7s %5s %7s %7s %7s   (GB/s of data, %lld KiB)\n", "type", "memcpy", "pack",
                    "ratio", "unpack", "ratio", "8 KiB", "same", "other", static_cast<long long>(bytes >> 10));
        Datatype *contiguous = nullptr;
        Outcome outcome =
            make_contiguous(CountForm::large, data_bytes / 8, *Datatype::from_handle(MPI_DOUBLE), contiguous);
        if (!outcome.ok()) return 1;
        row("contiguous", *contiguous, argc, argv);
        row("vector 1 of 2", vector(1, 2), argc, argv);
        row("vector 4 of 8", vector(4, 8), argc, argv);
        row("vector 8 of 16", vector(8, 16), argc, argv);
        row("vector 8 of 24", vector(8, 24), argc, argv);
        row("vector 8 of 1024", vector(8, 1024), argc, argv);
        row("vector 16 of 32", vector(16, 32), argc, argv);
        row("vector 20 of 32", vector(20, 32), argc, argv);
        row("vector 64 of 128", vector(64, 128), argc, argv);
        row("vector 256 of 512", vector(256, 512), argc, argv);
        row("vector 4096 of 8192", vector(4096, 8192), argc, argv);
        row("indexed 8, in order", indexed(8, false), argc, argv);
        row("indexed 8, shuffled", indexed(8, true), argc, argv);
        row("indexed 24, in order", indexed(24, false), argc, argv);
        row("struct {double, int, double}", structs(), argc, argv);
        row("pairs MPI_DOUBLE_INT", *Datatype::from_handle(MPI_DOUBLE_INT), argc, argv);
        row("cube 50^3 of 130^3", cube(50, 50, 50), argc, argv);
        row("cube face 128x128x1", cube(128, 128, 1), argc, argv);
        row("cube face 1x128x128", cube(1, 128, 128), argc, argv);
        row("cube column pairs 128x128x2", cube(128, 128, 2), argc, argv);
    }
}
