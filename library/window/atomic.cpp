// SPDX-License-Identifier: BSD-3-Clause
#include "window/atomic.h"

#include "core/operation_loops.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <type_traits>

namespace volley {
namespace {

template <std::size_t bytes> struct WordOf;
template <> struct WordOf<1> {
    using Type = std::uint8_t;
};
template <> struct WordOf<2> {
    using Type = std::uint16_t;
};
template <> struct WordOf<4> {
    using Type = std::uint32_t;
};
template <> struct WordOf<8> {
    using Type = std::uint64_t;
};
template <class Type> using Word = typename WordOf<sizeof(Type)>::Type;

template <class Type> Type load(const void *place, Count i) {
    Type value;
    std::memcpy(&value, static_cast<const char *>(place) + i * static_cast<Count>(sizeof value), sizeof value);
    return value;
}

template <class Type> void store(void *place, Count i, Type value) {
    std::memcpy(static_cast<char *>(place) + i * static_cast<Count>(sizeof value), &value, sizeof value);
}

/// The value before.
template <class Operator, class Type> Word<Type> combine_one(std::atomic_ref<Word<Type>> target, Type operand) {
    constexpr bool is_integer = std::is_integral_v<Type>;
    if constexpr (is_integer && std::is_same_v<Operator, Sum>)
        return target.fetch_add(static_cast<Word<Type>>(operand));
    if constexpr (is_integer && std::is_same_v<Operator, BitAnd>)
        return target.fetch_and(static_cast<Word<Type>>(operand));
    if constexpr (is_integer && std::is_same_v<Operator, BitOr>)
        return target.fetch_or(static_cast<Word<Type>>(operand));
    if constexpr (is_integer && std::is_same_v<Operator, BitXor>)
        return target.fetch_xor(static_cast<Word<Type>>(operand));
    Word<Type> before = target.load(std::memory_order_relaxed);
    while (!target.compare_exchange_weak(before,
                                         std::bit_cast<Word<Type>>(Operator::of(operand, std::bit_cast<Type>(before)))))
        continue;
    return before;
}

template <class Operator, class Type> void combine(void *target, const void *operand, void *result, Count count) {
    auto *places = static_cast<Word<Type> *>(target);
    for (Count i = 0; i < count; i++) {
        const Word<Type> before = combine_one<Operator, Type>(std::atomic_ref(places[i]), load<Type>(operand, i));
        if (result != nullptr) store(result, i, before);
    }
}

template <class Type> void replace(void *target, const void *operand, void *result, Count count) {
    auto *places = static_cast<Type *>(target);
    for (Count i = 0; i < count; i++) {
        const Type value = load<Type>(operand, i);
        if (result == nullptr)
            std::atomic_ref(places[i]).store(value, std::memory_order_release);
        else
            store(result, i, std::atomic_ref(places[i]).exchange(value));
    }
}

template <class Type> void fetch(void *target, const void *, void *result, Count count) {
    auto *places = static_cast<Type *>(target);
    for (Count i = 0; result != nullptr && i < count; i++)
        store(result, i, std::atomic_ref(places[i]).load(std::memory_order_acquire));
}

struct AtomicKernels {
    AtomicKernel kernels[operation_numbers][elements]{};

    constexpr AtomicKernels() {
        arithmetic<Sum>(0x01);
        ordered<Minimum>(0x02);
        ordered<Maximum>(0x03);
        arithmetic<Product>(0x04);
        bitwise<BitAnd>(0x08);
        bitwise<BitOr>(0x09);
        bitwise<BitXor>(0x0a);
        logical<LogicalAnd>(0x10);
        logical<LogicalOr>(0x11);
        logical<LogicalXor>(0x12);
    }

  private:
    template <class Operator, class Type> constexpr void set(int number, Element element) {
        kernels[number][static_cast<int>(element)] = combine<Operator, Type>;
    }
    template <class Operator> constexpr void unsigned_integers(int number, Element smallest) {
        const int first = static_cast<int>(smallest);
        set<Operator, std::uint8_t>(number, static_cast<Element>(first));
        set<Operator, std::uint16_t>(number, static_cast<Element>(first + 1));
        set<Operator, std::uint32_t>(number, static_cast<Element>(first + 2));
        set<Operator, std::uint64_t>(number, static_cast<Element>(first + 3));
    }
    /// Wrapping is the same for signed and unsigned numbers, and defined for the latter.
    template <class Operator> constexpr void arithmetic(int number) {
        unsigned_integers<Operator>(number, Element::int8);
        unsigned_integers<Operator>(number, Element::uint8);
    }
    template <class Operator> constexpr void ordered(int number) {
        set<Operator, std::int8_t>(number, Element::int8);
        set<Operator, std::int16_t>(number, Element::int16);
        set<Operator, std::int32_t>(number, Element::int32);
        set<Operator, std::int64_t>(number, Element::int64);
        unsigned_integers<Operator>(number, Element::uint8);
    }
    template <class Operator> constexpr void bitwise(int number) {
        unsigned_integers<Operator>(number, Element::int8);
        unsigned_integers<Operator>(number, Element::uint8);
        set<Operator, std::uint8_t>(number, Element::byte);
    }
    template <class Operator> constexpr void logical(int number) {
        unsigned_integers<Operator>(number, Element::int8);
        unsigned_integers<Operator>(number, Element::uint8);
        unsigned_integers<Operator>(number, Element::logical8);
    }
};

constexpr AtomicKernels kernels;

/// Calls `function` with a value of the word of so many bytes.
template <class Function> auto with_word(Count bytes, Function &&function) {
    switch (bytes) {
    case 1:
        return function(std::uint8_t{});
    case 2:
        return function(std::uint16_t{});
    case 4:
        return function(std::uint32_t{});
    default:
        return function(std::uint64_t{});
    }
}

} // namespace

bool is_atomic(const Datatype &basic) {
    switch (basic.basic().kind) {
    case BasicKind::none:
    case BasicKind::floating:
    case BasicKind::extended:
    case BasicKind::complex:
    case BasicKind::extended_complex:
        return false;
    default:
        return basic.size() <= 8 && std::has_single_bit(static_cast<std::uint64_t>(basic.size()));
    }
}

AtomicKernel atomic_kernel(const Operation &operation, const Datatype &basic) {
    if (operation.number() == Operation::replace_number)
        return with_word(basic.size(), [](auto word) -> AtomicKernel { return replace<decltype(word)>; });
    if (operation.number() == Operation::no_op_number)
        return with_word(basic.size(), [](auto word) -> AtomicKernel { return fetch<decltype(word)>; });
    const Element element = element_of(basic);
    return element != Element::none ? kernels.kernels[operation.number()][static_cast<int>(element)] : nullptr;
}

void atomic_compare_and_swap(void *target, const void *compare, const void *value, void *result, Count bytes) {
    with_word(bytes, [&](auto word) {
        using Type = decltype(word);
        Type found = load<Type>(compare, 0);
        std::atomic_ref(*static_cast<Type *>(target)).compare_exchange_strong(found, load<Type>(value, 0));
        store(result, 0, found);
    });
}

} // namespace volley
