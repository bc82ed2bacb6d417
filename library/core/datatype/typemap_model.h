// SPDX-License-Identifier: BSD-3-Clause
/// The oracle of the tests: type maps as the standard defines them, written out element by element, and random
/// datatypes that come with theirs.
#pragma once

#include "datatype.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace volley {

struct TypeMapEntry {
    Count displacement;
    BasicType basic;
};

struct TypeMap {
    std::vector<TypeMapEntry> entries;
    std::vector<Count> lb_markers, ub_markers;
    Count padded_ub = 0; ///< with the padding of structs

    void add(Count displacement, const TypeMap &part) {
        if (!part.entries.empty())
            padded_ub =
                entries.empty() ? displacement + part.padded_ub : std::max(padded_ub, displacement + part.padded_ub);
        for (TypeMapEntry entry : part.entries) entries.push_back({displacement + entry.displacement, entry.basic});
        for (Count marker : part.lb_markers) lb_markers.push_back(displacement + marker);
        for (Count marker : part.ub_markers) ub_markers.push_back(displacement + marker);
    }

    void add_block(Count displacement, Count length, const TypeMap &part) {
        for (Count i = 0; i < length; ++i) add(displacement + i * part.extent(), part);
    }

    Count true_lb() const {
        Count lb = entries.empty() ? 0 : entries.front().displacement;
        for (const TypeMapEntry &entry : entries) lb = std::min(lb, entry.displacement);
        return lb;
    }

    Count true_ub() const {
        Count ub = entries.empty() ? 0 : entries.front().displacement + entries.front().basic.size;
        for (const TypeMapEntry &entry : entries) ub = std::max(ub, entry.displacement + entry.basic.size);
        return ub;
    }

    Count lb() const {
        return lb_markers.empty() ? true_lb() : *std::min_element(lb_markers.begin(), lb_markers.end());
    }

    Count ub() const {
        if (!ub_markers.empty()) return *std::max_element(ub_markers.begin(), ub_markers.end());
        return padded_ub;
    }

    /// The end of a struct: the next element is aligned.
    void pad() {
        Count alignment = 1;
        for (const TypeMapEntry &entry : entries) alignment = std::max<Count>(alignment, entry.basic.alignment);
        Count length = padded_ub - true_lb();
        padded_ub = true_lb() + (length + alignment - 1) / alignment * alignment;
    }

    Count extent() const {
        return ub() - lb();
    }

    Count size() const {
        Count sum = 0;
        for (const TypeMapEntry &entry : entries) sum += entry.basic.size;
        return sum;
    }

    static TypeMap of(MPI_Datatype handle) {
        const Datatype &type = *Datatype::from_handle(handle);
        TypeMap map;
        if (type.basic().kind != BasicKind::none)
            map.entries.push_back({0, type.basic()});
        else
            for (Count i = 0; i < 2; ++i)
                map.entries.push_back({type.piece(i).displacement, type.piece(i).type->basic()});
        map.padded_ub = map.true_ub();
        map.pad();
        return map;
    }
};

/// A reference to a datatype that is released at the end.
class Held {
  public:
    Held() = default;
    explicit Held(Datatype *datatype) : datatype_(datatype) {}
    Held(Held &&other) noexcept : datatype_(std::exchange(other.datatype_, nullptr)) {}
    Held &operator=(Held &&other) noexcept {
        std::swap(datatype_, other.datatype_);
        return *this;
    }
    ~Held() {
        if (datatype_ != nullptr) datatype_->release();
    }

    Datatype &operator*() const {
        return *datatype_;
    }
    Datatype *operator->() const {
        return datatype_;
    }
    Datatype *get() const {
        return datatype_;
    }

  private:
    Datatype *datatype_ = nullptr;
};

inline Datatype &predefined(MPI_Datatype handle) {
    return *Datatype::from_handle(handle);
}

/// Calls a constructor and expects success: `made(make_vector, CountForm::classic, 3, 2, 4, type)`.
template <class... Parameters, class... Arguments> Held made(Outcome (*make)(Parameters...), Arguments &&...arguments) {
    Datatype *result = nullptr;
    Outcome outcome = make(std::forward<Arguments>(arguments)..., result);
    EXPECT_TRUE(outcome.ok()) << outcome.message;
    return Held(result);
}

template <class... Parameters, class... Arguments>
int error_of(Outcome (*make)(Parameters...), Arguments &&...arguments) {
    Datatype *result = nullptr;
    Outcome outcome = make(std::forward<Arguments>(arguments)..., result);
    EXPECT_EQ(outcome.ok(), outcome.message.empty());
    EXPECT_EQ(result, nullptr);
    return outcome.error_class;
}

/// A datatype and what it should be.
struct Sample {
    Held type;
    TypeMap map;
};

/// Random datatypes, nested up to a depth, small enough to be written out.
class SampleSource {
  public:
    explicit SampleSource(unsigned seed) : random_(seed) {}

    Count number(Count low, Count high) {
        return std::uniform_int_distribution<Count>(low, high)(random_);
    }

    Sample sample(int depth) {
        for (;;) {
            Sample made = attempt(depth);
            if (made.map.entries.size() <= 1500 && made.map.true_ub() - made.map.true_lb() < 1 << 20 &&
                std::abs(made.map.extent()) < 1 << 20)
                return made;
        }
    }

  private:
    Sample basic() {
        static const MPI_Datatype handles[] = {MPI_CHAR,   MPI_SHORT,     MPI_INT,         MPI_DOUBLE,
                                               MPI_DOUBLE, MPI_SHORT_INT, MPI_DOUBLE_INT,  MPI_C_DOUBLE_COMPLEX,
                                               MPI_BYTE,   MPI_2INT,      MPI_LONG_DOUBLE, MPI_FLOAT};
        MPI_Datatype handle = handles[number(0, std::size(handles) - 1)];
        return {Held(&predefined(handle)), TypeMap::of(handle)};
    }

    Sample attempt(int depth) {
        if (depth == 0) return basic();
        Sample old = sample(depth - 1);
        TypeMap map;
        switch (number(0, 11)) {
        case 0: {
            Count count = number(0, 5);
            map.add_block(0, count, old.map);
            return {made(make_contiguous, CountForm::classic, count, *old.type), map};
        }
        case 1: {
            Count count = number(0, 6), length = number(0, 3), stride = number(-3, 6);
            for (Count i = 0; i < count; ++i) map.add_block(i * stride * old.map.extent(), length, old.map);
            return {made(make_vector, CountForm::large, count, length, stride, *old.type), map};
        }
        case 2: {
            Count count = number(0, 6), length = number(0, 3), stride = number(-50, 100);
            for (Count i = 0; i < count; ++i) map.add_block(i * stride, length, old.map);
            return {made(make_hvector, CountForm::classic, count, length, stride, *old.type), map};
        }
        case 3: {
            auto lengths = numbers(number(0, 5), 0, 3), displacements = numbers(std::ssize(lengths), -4, 12);
            for (std::size_t i = 0; i < lengths.size(); ++i)
                map.add_block(displacements[i] * old.map.extent(), lengths[i], old.map);
            return {made(make_indexed, std::ssize(lengths), CountArray(lengths.data()),
                         CountArray(displacements.data()), *old.type),
                    map};
        }
        case 4: {
            auto lengths = numbers(number(0, 20), 0, 2), displacements = numbers(std::ssize(lengths), -100, 300);
            for (std::size_t i = 0; i < lengths.size(); ++i) map.add_block(displacements[i], lengths[i], old.map);
            return {
                made(make_hindexed, std::ssize(lengths), CountArray(lengths.data()), displacements.data(), *old.type),
                map};
        }
        case 5: {
            std::vector<int> displacements;
            Count length = number(0, 3);
            for (Count i = number(0, 30); i > 0; --i) displacements.push_back(static_cast<int>(number(-5, 40)));
            for (int displacement : displacements) map.add_block(displacement * old.map.extent(), length, old.map);
            return {made(make_indexed_block, std::ssize(displacements), length, CountArray(displacements.data()),
                         *old.type),
                    map};
        }
        case 6: {
            auto displacements = numbers(number(0, 5), -100, 300);
            Count length = number(0, 3);
            for (Count displacement : displacements) map.add_block(displacement, length, old.map);
            return {made(make_hindexed_block, CountForm::classic, std::ssize(displacements), length,
                         displacements.data(), *old.type),
                    map};
        }
        case 7:
        case 8: {
            auto lengths = numbers(number(0, 4), 0, 3), displacements = numbers(std::ssize(lengths), -200, 400);
            std::vector<Sample> parts;
            std::vector<Datatype *> types;
            for (std::size_t i = 0; i < lengths.size(); ++i) {
                parts.push_back(number(0, 1) == 0 ? basic() : sample(depth - 1));
                types.push_back(parts.back().type.get());
                map.add_block(displacements[i], lengths[i], parts.back().map);
            }
            map.pad();
            return {
                made(make_struct, std::ssize(lengths), CountArray(lengths.data()), displacements.data(), types.data()),
                map};
        }
        case 9: {
            Count lb = number(-40, 40), extent = number(-20, 200);
            map.entries = old.map.entries;
            map.lb_markers = {lb};
            map.ub_markers = {lb + extent};
            return {made(make_resized, CountForm::classic, lb, extent, *old.type), map};
        }
        case 10: {
            int dimensions = static_cast<int>(number(1, 3));
            int order = number(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
            std::vector<int> sizes, subsizes, starts;
            for (int d = 0; d < dimensions; ++d) {
                sizes.push_back(static_cast<int>(number(1, 5)));
                subsizes.push_back(static_cast<int>(number(1, sizes.back())));
                starts.push_back(static_cast<int>(number(0, sizes.back() - subsizes.back())));
            }
            map = subarray(sizes, subsizes, starts, order, old.map);
            return {made(make_subarray, dimensions, CountArray(sizes.data()), CountArray(subsizes.data()),
                         CountArray(starts.data()), order, *old.type),
                    map};
        }
        default:
            return {made(make_dup, *old.type), old.map};
        }
    }

    std::vector<Count> numbers(Count how_many, Count low, Count high) {
        std::vector<Count> result;
        for (Count i = 0; i < how_many; ++i) result.push_back(number(low, high));
        return result;
    }

    /// Every element of the array in the order of memory, taken if it lies in the subarray.
    static TypeMap subarray(const std::vector<int> &sizes, const std::vector<int> &subsizes,
                            const std::vector<int> &starts, int order, const TypeMap &old) {
        TypeMap map;
        Count total = 1;
        for (int size : sizes) total *= size;
        for (Count element = 0; element < total; ++element) {
            Count rest = element;
            bool inside = true;
            for (std::size_t step = 0; step < sizes.size(); ++step) {
                std::size_t d = order == MPI_ORDER_FORTRAN ? step : sizes.size() - 1 - step;
                Count index = rest % sizes[d];
                rest /= sizes[d];
                inside = inside && index >= starts[d] && index < starts[d] + subsizes[d];
            }
            if (inside) map.add(element * old.extent(), old);
        }
        map.lb_markers = {0};
        map.ub_markers = {total * old.extent()};
        return map;
    }

    std::mt19937 random_;
};

/// Memory that holds exactly what `count` elements of a type reach.
class ModelBuffer {
  public:
    ModelBuffer(const TypeMap &map, Count count) : map_(map), count_(count) {
        Count low = 0, high = 0;
        for (Count i = 0; i < count && !map.entries.empty(); ++i) {
            low = std::min(low, i * map.extent() + map.true_lb());
            high = std::max(high, i * map.extent() + map.true_ub());
        }
        bytes_.resize(static_cast<std::size_t>(high - low));
        origin_ = -low;
    }

    void fill(unsigned seed) {
        for (char &byte : bytes_) {
            seed = seed * 1103515245 + 12345;
            byte = static_cast<char>(seed >> 16);
        }
    }

    /// What the user would pass.
    void *address() {
        return reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(bytes_.data()) +
                                        static_cast<std::uintptr_t>(origin_));
    }

    Count packed_bytes() const {
        return count_ * map_.size();
    }

    std::vector<char> &bytes() {
        return bytes_;
    }

    /// Where each packed byte lies in `bytes()`.
    std::vector<std::size_t> places() const {
        std::vector<std::size_t> places;
        Count extent = map_.extent();
        for (Count i = 0; i < count_; ++i)
            for (const TypeMapEntry &entry : map_.entries)
                for (Count byte = 0; byte < entry.basic.size; ++byte)
                    places.push_back(static_cast<std::size_t>(origin_ + i * extent + entry.displacement + byte));
        return places;
    }

    std::vector<char> packed() const {
        std::vector<char> packed;
        for (std::size_t place : places()) packed.push_back(bytes_[place]);
        return packed;
    }

  private:
    const TypeMap &map_;
    Count count_;
    Count origin_ = 0;
    std::vector<char> bytes_;
};

} // namespace volley
