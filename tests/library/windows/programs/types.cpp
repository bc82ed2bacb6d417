// SPDX-License-Identifier: BSD-3-Clause
// Accumulate operations on elements of every kind: those that the processor combines, and those that it does not. All
// ranks combine into rank 0's memory at once.
#include "window.h"

#include <complex>
#include <cstring>

namespace {

MPI_Win window;
unsigned char *memory;
constexpr MPI_Aint bytes = 65536;

template <class Type> Type *begin_round(Type start, int count) {
    auto *elements = reinterpret_cast<Type *>(memory);
    MPI_Win_fence(0, window);
    for (int i = 0; i < count; i++) elements[i] = start;
    MPI_Win_fence(0, window);
    return elements;
}

/// A small number in any type.
template <class Type> Type number(int value) {
    Type made(0);
    for (int i = 0; i < value; i++) made = static_cast<Type>(made + Type(1));
    return made;
}

/// Each rank adds each element so often; sums of small numbers are exact in every type.
template <class Type> void sum(MPI_Datatype datatype, int count = 5, int rounds = 4) {
    Type *elements = begin_round(Type(0), count);
    std::vector<Type> one(static_cast<std::size_t>(count), Type(1));
    for (int i = 0; i < rounds; i++)
        MPI_Accumulate(one.data(), count, datatype, 0, 0, count, datatype, MPI_SUM, window);
    MPI_Win_fence(0, window);
    if (world_rank == 0)
        for (int i = 0; i < count; i++) CHECK(elements[i] == number<Type>(rounds * world_size));
}

template <class Type> void extremes(MPI_Datatype datatype) {
    Type *elements = begin_round(Type(50), 2);
    const Type low = static_cast<Type>(10 + world_rank), high = static_cast<Type>(100 + world_rank);
    MPI_Accumulate(&low, 1, datatype, 0, 0, 1, datatype, MPI_MIN, window);
    MPI_Accumulate(&high, 1, datatype, 0, sizeof(Type), 1, datatype, MPI_MAX, window);
    MPI_Win_fence(0, window);
    if (world_rank == 0) CHECK(elements[0] == Type(10) && elements[1] == static_cast<Type>(99 + world_size));
}

template <class Value> struct Pair {
    Value value;
    int index;
};

template <class Value> void location(MPI_Datatype datatype) {
    auto *elements = reinterpret_cast<Pair<Value> *>(memory);
    std::memset(memory, 0, 4 * sizeof *elements);
    MPI_Win_fence(0, window);
    Pair<Value> mine[4] = {}, before[4] = {};
    for (int i = 0; i < 4; i++) mine[i] = {static_cast<Value>(1 + (world_rank + i) % world_size), world_rank};
    MPI_Get_accumulate(mine, 4, datatype, before, 4, datatype, 0, 0, 4, datatype, MPI_MAXLOC, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < 4; i++) CHECK(before[i].value >= 0 && before[i].value <= static_cast<Value>(world_size));
    for (int i = 0; i < 4 && world_rank == 0; i++)
        CHECK(elements[i].value == static_cast<Value>(world_size) &&
              (elements[i].index + i) % world_size == world_size - 1);
    Pair<Value> found{}, next = {static_cast<Value>(7), 70};
    MPI_Win_fence(0, window);
    if (world_rank == world_size - 1) MPI_Fetch_and_op(&next, &found, datatype, 0, 0, MPI_REPLACE, window);
    MPI_Win_fence(0, window);
    if (world_rank == world_size - 1) CHECK(found.value == static_cast<Value>(world_size));
    if (world_rank == 0) CHECK(elements[0].value == static_cast<Value>(7) && elements[0].index == 70);
}

void bits_and_logic() {
    auto *elements = begin_round<unsigned>(0, 3);
    const unsigned bit = 1U << world_rank, all = ~0U;
    const int yes = 1;
    MPI_Accumulate(&bit, 1, MPI_UNSIGNED, 0, 0, 1, MPI_UNSIGNED, MPI_BOR, window);
    MPI_Accumulate(&all, 1, MPI_UNSIGNED, 0, 4, 1, MPI_UNSIGNED, MPI_BXOR, window);
    MPI_Accumulate(&yes, 1, MPI_INT, 0, 8, 1, MPI_INT, MPI_LOR, window);
    MPI_Win_fence(0, window);
    if (world_rank == 0) {
        CHECK(elements[0] == (1U << world_size) - 1 && elements[2] == 1);
        CHECK(elements[1] == (world_size % 2 == 1 ? all : 0));
    }
}

/// An element that is not where the processor wants it is combined all the same.
void misaligned() {
    MPI_Win_fence(0, window);
    std::memset(memory, 0, 16);
    MPI_Win_fence(0, window);
    const double one = 1;
    for (int i = 0; i < 10; i++) MPI_Accumulate(&one, 1, MPI_DOUBLE, 0, 3, 1, MPI_DOUBLE, MPI_SUM, window);
    MPI_Win_fence(0, window);
    double sum;
    std::memcpy(&sum, memory + 3, sizeof sum);
    if (world_rank == 0) CHECK(sum == 10.0 * world_size);
}

/// Elements of one type, in datatypes with holes on both sides.
void derived() {
    MPI_Datatype pairs, indexed;
    const int lengths[3] = {2, 1, 3}, places[3] = {0, 4, 7};
    MPI_Type_vector(3, 2, 3, MPI_DOUBLE, &pairs);
    MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &indexed);
    MPI_Type_commit(&pairs);
    MPI_Type_commit(&indexed);
    auto *elements = begin_round(0.0, 10);
    const double mine[8] = {1, 2, -1, 3, 4, -1, 5, 6};
    double before[10] = {};
    MPI_Get_accumulate(mine, 1, pairs, before, 1, indexed, 0, 0, 1, indexed, MPI_SUM, window);
    MPI_Win_fence(0, window);
    const double sums[10] = {1, 2, 0, 0, 3, 0, 0, 4, 5, 6};
    for (int i = 0; i < 10; i++) {
        if (world_rank == 0) CHECK(elements[i] == sums[i] * world_size);
        CHECK(sums[i] == 0 ? before[i] == 0 : before[i] >= 0 && before[i] < sums[i] * world_size);
    }
    MPI_Type_free(&pairs);
    MPI_Type_free(&indexed);
}

void every_type() {
    sum<signed char>(MPI_SIGNED_CHAR);
    sum<unsigned short>(MPI_UNSIGNED_SHORT);
    sum<int>(MPI_INT, 3000); // several pieces
    sum<long>(MPI_LONG);
    sum<float>(MPI_FLOAT);
    sum<double>(MPI_DOUBLE, 3000);
    sum<long double>(MPI_LONG_DOUBLE, 1000);
    sum<std::complex<float>>(MPI_C_FLOAT_COMPLEX);
    sum<std::complex<double>>(MPI_C_DOUBLE_COMPLEX, 1000);
    extremes<short>(MPI_SHORT);
    extremes<long long>(MPI_LONG_LONG);
    extremes<float>(MPI_FLOAT);
    extremes<long double>(MPI_LONG_DOUBLE);
    location<float>(MPI_FLOAT_INT);
    location<double>(MPI_DOUBLE_INT);
    location<long>(MPI_LONG_INT);
    location<short>(MPI_SHORT_INT);
    location<int>(MPI_2INT);
    location<long double>(MPI_LONG_DOUBLE_INT);
    bits_and_logic();
    misaligned();
    derived();
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    alignas(16) static unsigned char own[bytes];
    memory = own;
    MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    every_type();
    MPI_Win_free(&window);
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void *>(&memory), &window);
    every_type();
    MPI_Win_free(&window);
}
