// SPDX-License-Identifier: BSD-3-Clause
#include "window/accumulate.h"

#include "transport/node.h"
#include "window/atomic.h"
#include "window/instructions.h"
#include "window/memory.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace volley {
namespace {

/// So many packed bytes are combined at once, in buffers on the stack; the lock is held for no more.
constexpr Count piece_bytes = 2048;
/// The same where they are combined where they lie.
constexpr Count plain_piece_bytes = 16384;
/// A pair takes at most twice its packed bytes in memory (MPI_SHORT_INT: 6 and 8, MPI_LONG_DOUBLE_INT: 20 and 32).
constexpr Count spread_bytes = 2 * piece_bytes;

struct alignas(64) PieceBuffer {
    char bytes[piece_bytes];
};
struct alignas(64) SpreadBuffer {
    char bytes[spread_bytes];
};

/// Packed operands of a piece: where they are, or a copy.
const char *operands(const TypedBuffer &operand, Count from, Count to, PieceBuffer &buffer) {
    if (operand.plan == nullptr) return nullptr;
    if (operand.plan->contiguous()) return contiguous_begin(operand) + from;
    pack(operand, from, to, buffer.bytes);
    return buffer.bytes;
}

/// target[i] = operand[i] op target[i] for packed elements. Those of pairs have to lie in memory as C has them.
void combine_packed(const Accumulation &accumulation, const char *operand, char *target, Count bytes) {
    Datatype &basic = accumulation.basic;
    const Reduction reduction(accumulation.operation, basic);
    const Count count = bytes / basic.size();
    SpreadBuffer in, inout;
    const TypedBuffer in_buffer{&basic.plan(), in.bytes, count}, inout_buffer{&basic.plan(), inout.bytes, count};
    unpack(in_buffer, 0, bytes, operand);
    unpack(inout_buffer, 0, bytes, target);
    reduction.fold(in.bytes, inout.bytes, count);
    pack(inout_buffer, 0, bytes, target);
}

/// One piece under the target's lock. `operand` and `result` are packed; either may be nullptr.
int combine_locked(const WindowTarget &target, const Accumulation &accumulation, Count from, Count to,
                   const char *operand, char *result) {
    PieceBuffer found;
    const std::lock_guard guard(target.part->accumulate_lock);
    const bool is_fetch = accumulation.operation.number() == Operation::no_op_number;
    const bool is_store = accumulation.operation.number() == Operation::replace_number;
    if (result != nullptr || !is_store) {
        if (int code = read_packed(target, accumulation.target, from, to, found.bytes)) return code;
        if (result != nullptr) std::memcpy(result, found.bytes, static_cast<std::size_t>(to - from));
    }
    if (is_fetch) return MPI_SUCCESS;
    if (is_store) return write_packed(target, accumulation.target, from, to, operand);
    combine_packed(accumulation, operand, found.bytes, to - from);
    return write_packed(target, accumulation.target, from, to, found.bytes);
}

/// One piece by atomic instructions, which need whole, aligned elements. Those that are not aligned are locked: an
/// element's address is the same for all who access it.
int combine_atomic(const WindowTarget &target, const Accumulation &accumulation, Count from, Count to,
                   const char *operand, char *result) {
    const AtomicKernel kernel = atomic_kernel(accumulation.operation, accumulation.basic);
    const Count size = accumulation.basic.size();
    int code = MPI_SUCCESS;
    Count done = 0;
    for_each_segment(accumulation.target, from, to, [&](char *address, Count bytes) {
        const char *in = operand != nullptr ? operand + done : nullptr;
        char *out = result != nullptr ? result + done : nullptr;
        if (reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(size) == 0)
            kernel(address, in, out, bytes / size);
        else
            code = combine_locked(target, accumulation, from + done, from + done + bytes, in, out);
        done += bytes;
        return code == MPI_SUCCESS;
    });
    return code;
}

bool is_locked(const WindowTarget &target, const Datatype &basic) {
    return target.locks_accumulates || !is_atomic(basic);
}

/// Whether these are elements side by side, where the processor wants them; or none.
bool is_plain(const TypedBuffer &buffer, const BasicType &basic) {
    return buffer.plan == nullptr ||
           (buffer.plan->contiguous() &&
            reinterpret_cast<std::uintptr_t>(contiguous_begin(buffer)) % basic.alignment == 0);
}

/// All of it is combined where it lies.
bool is_plain(const WindowTarget &target, const Accumulation &accumulation) {
    const BasicType &basic = accumulation.basic.basic();
    return target.access == Access::direct && basic.kind != BasicKind::none && is_plain(accumulation.target, basic) &&
           is_plain(accumulation.operand, basic) &&
           (accumulation.result.plan == nullptr || accumulation.result.plan->contiguous());
}

void combine_plain(const WindowTarget &target, const Accumulation &accumulation, Count from, Count to) {
    const Reduction reduction(accumulation.operation, accumulation.basic);
    const Count size = accumulation.basic.size(), step = plain_piece_bytes / size * size;
    for (Count next; from < to; from = next) {
        next = std::min(to, from + step);
        char *place = contiguous_begin(accumulation.target) + from;
        const std::lock_guard guard(target.part->accumulate_lock);
        if (accumulation.result.plan != nullptr)
            std::memcpy(contiguous_begin(accumulation.result) + from, place, static_cast<std::size_t>(next - from));
        if (accumulation.operand.plan != nullptr)
            reduction.fold(contiguous_begin(accumulation.operand) + from, place, (next - from) / size);
    }
}

/// Piece by piece, each brought together on the stack.
int accumulate_pieces(const WindowTarget &target, const Accumulation &accumulation, Count from, Count to, bool lock) {
    PieceBuffer operand_buffer, result_buffer;
    const TypedBuffer &result = accumulation.result;
    const Count step = piece_bytes / accumulation.basic.size() * accumulation.basic.size();
    for (Count next; from < to; from = next) {
        next = std::min(to, from + step);
        const char *operand = operands(accumulation.operand, from, next, operand_buffer);
        char *found = nullptr;
        const bool in_place = result.plan != nullptr && result.plan->contiguous();
        if (in_place)
            found = contiguous_begin(result) + from;
        else if (result.plan != nullptr)
            found = result_buffer.bytes;
        int code = lock ? combine_locked(target, accumulation, from, next, operand, found)
                        : combine_atomic(target, accumulation, from, next, operand, found);
        if (code != MPI_SUCCESS) return code;
        if (found != nullptr && !in_place) unpack(result, from, next, found);
    }
    return MPI_SUCCESS;
}

/// A few elements. Nothing here waits but for the lock, which those not aligned take.
int accumulate_by_instructions(const WindowTarget &target, const Accumulation &accumulation, Count from, Count to) {
    if (!is_plain(target, accumulation)) return accumulate_pieces(target, accumulation, from, to, false);
    const AtomicKernel kernel = atomic_kernel(accumulation.operation, accumulation.basic);
    auto at = [from](const TypedBuffer &buffer) {
        return buffer.plan != nullptr ? contiguous_begin(buffer) + from : nullptr;
    };
    kernel(at(accumulation.target), at(accumulation.operand), at(accumulation.result),
           (to - from) / accumulation.basic.size());
    return MPI_SUCCESS;
}

/// Notes in `found` the element that the leaves of a datatype have. False if there are several.
bool note_element(Datatype &datatype, Datatype *&found) {
    if (datatype.is_predefined()) {
        if (found == nullptr) found = &datatype;
        return is_same_element(datatype, *found);
    }
    const Datatype *last = nullptr;
    for (Count i = 0; i < datatype.pieces(); i++) {
        const Piece piece = datatype.piece(i);
        if (piece.length == 0 || piece.type == last || piece.type->size() == 0) continue;
        last = piece.type;
        if (!note_element(const_cast<Datatype &>(*piece.type), found)) return false;
    }
    return true;
}

} // namespace

int accumulate(const WindowState &window, const WindowTarget &target, const Accumulation &accumulation, Count from,
               Count to) {
    if (!is_locked(target, accumulation.basic)) {
        if (to - from >= array_elements * accumulation.basic.size())
            change_to_lock(window, *target.part);
        else if (const AtInstructions section(*window.own, *target.part); section)
            return accumulate_by_instructions(target, accumulation, from, to);
    }
    if (!is_plain(target, accumulation)) return accumulate_pieces(target, accumulation, from, to, true);
    combine_plain(target, accumulation, from, to);
    return MPI_SUCCESS;
}

int compare_and_swap(const WindowState &window, const WindowTarget &target, char *address, Datatype &basic,
                     const void *compare, const void *value, void *result) {
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(basic.size()) == 0;
    if (!is_locked(target, basic) && is_aligned) {
        if (const AtInstructions section(*window.own, *target.part); section) {
            atomic_compare_and_swap(address, compare, value, result, basic.size());
            return MPI_SUCCESS;
        }
    }
    const TypedBuffer data{&basic.plan(), address, 1};
    const auto bytes = static_cast<std::size_t>(basic.size());
    alignas(16) char found[32];
    const std::lock_guard guard(target.part->accumulate_lock);
    if (int code = read_packed(target, data, 0, basic.size(), found)) return code;
    const bool equal = std::memcmp(found, compare, bytes) == 0;
    if (equal)
        if (int code = write_packed(target, data, 0, basic.size(), value)) return code;
    std::memcpy(result, found, bytes);
    return MPI_SUCCESS;
}

bool is_same_element(const Datatype &one, const Datatype &other) {
    const BasicType &a = one.basic(), &b = other.basic();
    return &one == &other || (a.kind == b.kind && a.size == b.size && a.kind != BasicKind::none);
}

Datatype *only_element_of(Datatype &datatype) {
    if (datatype.is_predefined()) return &datatype;
    Datatype *found = nullptr;
    return note_element(datatype, found) ? found : nullptr;
}

} // namespace volley
