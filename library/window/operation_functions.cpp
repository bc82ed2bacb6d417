// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Put, MPI_Get, MPI_Accumulate and their relatives (MPI 5.0, section 12.3).
///
/// What is done by memory is done when the function returns, at the origin and at the target. What is done by messages
/// has been sent; data that come back come until the epoch ends, or a flush.
#include "core/functions.h"
#include "core/point_to_point.h"
#include "window/accumulate.h"
#include "window/atomic.h"
#include "window/instructions.h"
#include "window/memory.h"
#include "window/remote.h"
#include "window/state.h"

#include "layout/memory_copy.h"

#include <cstring>

namespace volley {
namespace {

/// One call's data in the target's memory.
struct Place {
    const WindowTarget *target = nullptr; ///< nullptr: MPI_PROC_NULL
    TypedBuffer data{nullptr, nullptr, 0};
    Count bytes = 0;
};

[[gnu::cold]] int no_epoch(const WindowState &state, int rank) {
    return fail(MPI_ERR_RMA_SYNC,
                "target_rank is %d, whose memory may not be accessed now: %s, but it must be locked, or named in "
                "MPI_Win_start, or there must be an epoch of MPI_Win_fence",
                rank, epoch_of(state));
}

[[gnu::cold]] int out_of_range(const WindowTarget &target, int rank, MPI_Aint disp, Count first, Count last) {
    return fail(MPI_ERR_RMA_RANGE,
                "target_disp %lld, times %lld bytes, and target_count lead to the bytes from %lld to %lld of rank %d's "
                "memory, which has %lld bytes",
                static_cast<long long>(disp), static_cast<long long>(target.disp_unit), static_cast<long long>(first),
                static_cast<long long>(last), rank, static_cast<long long>(target.size));
}

/// The first byte of `count` elements and one beyond the last, from their address on. The caller knows by
/// Datatype::can_count that nothing overflows.
void span_of(const Datatype &datatype, Count count, Count &first, Count &last) {
    const Count stretch = (count - 1) * datatype.extent();
    first = datatype.true_lb() + std::min<Count>(stretch, 0);
    last = datatype.true_lb() + datatype.true_extent() + std::max<Count>(stretch, 0);
}

/// Finds the data of a call, and checks that it may be accessed and lies in the window.
int locate(Window &window, int rank, MPI_Aint disp, Count count, Datatype &datatype, Place &place) {
    const WindowState &state = state_of(window);
    const WindowTarget &target = state.targets[static_cast<std::size_t>(rank)];
    if (!state.may_access(target)) [[unlikely]]
        return no_epoch(state, rank);
    place.target = &target;
    place.bytes = count * datatype.size();
    if (target.base == nullptr) { // a dynamic window, or an empty part of which no byte can be named
        if (window.predefined.flavor != MPI_WIN_FLAVOR_DYNAMIC && place.bytes > 0) [[unlikely]]
            return out_of_range(target, rank, disp, 0, place.bytes);
        place.data = {&datatype.plan(), reinterpret_cast<char *>(disp), count};
        return MPI_SUCCESS;
    }
    if (disp < 0) [[unlikely]]
        return fail(MPI_ERR_DISP, "target_disp is %lld, but must not be negative", static_cast<long long>(disp));
    Count offset, first, last;
    bool overflows = __builtin_mul_overflow(disp, target.disp_unit, &offset);
    span_of(datatype, count, first, last);
    overflows |= __builtin_add_overflow(first, offset, &first);
    overflows |= __builtin_add_overflow(last, offset, &last);
    if (place.bytes > 0 && (overflows || first < 0 || last > target.size)) [[unlikely]]
        return out_of_range(target, rank, disp, first, last);
    place.data = {&datatype.plan(), target.base + offset, count};
    return MPI_SUCCESS;
}

/// Origin (or result) and target have equal amounts of data, as one is copied into the other.
int check_amount(const char *argument, Count bytes, const Place &place) {
    if (bytes == place.bytes) [[likely]]
        return MPI_SUCCESS;
    return fail(MPI_ERR_TYPE, "the data at %s have %lld bytes, those of the target %lld: they must be equal", argument,
                static_cast<long long>(bytes), static_cast<long long>(place.bytes));
}

/// One block of memory on both sides, which is the common case.
bool is_plain(const Place &place, const TypedBuffer &buffer) {
    return place.target->access == Access::direct && place.data.plan->contiguous() && buffer.plan->contiguous();
}

int put(const TypedBuffer &source, Count bytes, int rank, MPI_Aint disp, Count count, Datatype &datatype,
        Window &window) {
    if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
    Place place;
    if (int code = locate(window, rank, disp, count, datatype, place)) [[unlikely]]
        return code;
    if (int code = check_amount("origin_addr", bytes, place)) [[unlikely]]
        return code;
    if (is_plain(place, source)) [[likely]] {
        move_memory(contiguous_begin(place.data), contiguous_begin(source), static_cast<std::size_t>(bytes));
        return MPI_SUCCESS;
    }
    if (place.target->access == Access::messages) {
        state_of(window).remote->put(rank, place.data, source, bytes);
        return MPI_SUCCESS;
    }
    return copy_to_target(*place.target, place.data, source, bytes);
}

/// The request stays nullptr if the data are there at the end.
int get(const ResultBuffer &result, int rank, MPI_Aint disp, Count count, Datatype &datatype, Window &window,
        Request **request = nullptr) {
    const TypedBuffer destination{&result.datatype->plan(), const_cast<void *>(result.address), result.count};
    const Count bytes = result.count * result.datatype->size();
    if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
    Place place;
    if (int code = locate(window, rank, disp, count, datatype, place)) [[unlikely]]
        return code;
    if (int code = check_amount("origin_addr", bytes, place)) [[unlikely]]
        return code;
    if (is_plain(place, destination)) [[likely]] {
        move_memory(contiguous_begin(destination), contiguous_begin(place.data), static_cast<std::size_t>(bytes));
        return MPI_SUCCESS;
    }
    if (place.target->access == Access::messages && bytes > 0) {
        state_of(window).remote->get(rank, place.data, result, bytes, request);
        return MPI_SUCCESS;
    }
    return copy_from_target(*place.target, place.data, destination, bytes);
}

/// What one of the accumulate functions was called with.
struct Operands {
    const void *origin;
    Count origin_count;
    Datatype *origin_type; ///< nullptr: none is used
    void *result = nullptr;
    Count result_count = 0;
    Datatype *result_type = nullptr; ///< nullptr: there is no result
};

int other_elements(const char *argument) {
    return fail(MPI_ERR_TYPE, "%s and target_datatype must consist of elements of one and the same predefined datatype",
                argument);
}

bool have_equal_elements(Datatype &one, const Datatype &element) {
    const Datatype *own = only_element_of(one);
    return own != nullptr && is_same_element(*own, element);
}

/// MPI_REPLACE and all predefined operations of reductions; MPI_NO_OP where there is a result.
int check_operation(const Operation &operation, bool has_result) {
    const bool fetches = operation.number() == Operation::no_op_number;
    if (operation.is_predefined() && (has_result || !fetches)) return MPI_SUCCESS;
    return fail(MPI_ERR_OP, "op is %s, but must be a predefined operation%s", operation.name(),
                has_result ? "" : " that changes the target's data");
}

int find_accumulation(const Operands &operands, const Place &place, Datatype &target_type, Operation &operation,
                      Datatype *&element) {
    element = only_element_of(target_type);
    if (element == nullptr) return other_elements("all elements");
    if (int code = check_applies(operation, *element)) return code;
    if (operands.origin_type != nullptr) {
        if (!have_equal_elements(*operands.origin_type, *element)) return other_elements("origin_datatype");
        if (int code = check_amount("origin_addr", operands.origin_count * operands.origin_type->size(), place))
            return code;
    }
    if (operands.result_type != nullptr) {
        if (!have_equal_elements(*operands.result_type, *element)) return other_elements("result_datatype");
        return check_amount("result_addr", operands.result_count * operands.result_type->size(), place);
    }
    return MPI_SUCCESS;
}

int accumulate(const Operands &operands, int rank, MPI_Aint disp, Count count, Datatype &datatype, Operation &operation,
               Window &window, Request **request = nullptr) {
    if (int code = check_operation(operation, operands.result_type != nullptr)) return code;
    if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
    Place place;
    if (int code = locate(window, rank, disp, count, datatype, place)) return code;
    if (place.bytes == 0) return MPI_SUCCESS;
    Datatype *element = nullptr;
    if (int code = find_accumulation(operands, place, datatype, operation, element)) return code;
    Accumulation accumulation{operation, *element, place.data};
    if (operands.origin_type != nullptr)
        accumulation.operand = {&operands.origin_type->plan(), const_cast<void *>(operands.origin),
                                operands.origin_count};
    if (operands.result_type != nullptr)
        accumulation.result = {&operands.result_type->plan(), operands.result, operands.result_count};
    if (place.target->access != Access::messages)
        return accumulate(state_of(window), *place.target, accumulation, 0, place.bytes);
    const ResultBuffer result{operands.result, operands.result_count, operands.result_type};
    state_of(window).remote->accumulate(rank, accumulation, operands.result_type != nullptr ? &result : nullptr,
                                        place.bytes, request);
    return MPI_SUCCESS;
}

/// The origin's data of MPI_Get_accumulate, which are not there with MPI_NO_OP.
int check_origin(const void *address, Count count, Datatype *&datatype, const Operation &operation) {
    if (operation.number() == Operation::no_op_number) {
        datatype = nullptr;
        return MPI_SUCCESS;
    }
    if (datatype == nullptr)
        return fail(MPI_ERR_TYPE, "origin_datatype is MPI_DATATYPE_NULL, but must be a datatype, unless op is "
                                  "MPI_NO_OP");
    if (!datatype->can_count(count)) return too_many_elements("origin_count", count, *datatype);
    if (!datatype->is_committed())
        return fail(MPI_ERR_TYPE, "origin_datatype is not committed; call MPI_Type_commit first");
    if (address == nullptr && count > 0 && datatype->is_predefined())
        return fail(MPI_ERR_BUFFER, "origin_addr is a null pointer, but must be the address of %lld elements",
                    static_cast<long long>(count));
    return MPI_SUCCESS;
}

/// Of functions with one element of a predefined type.
int check_element(const Datatype &datatype) {
    if (datatype.is_predefined()) return MPI_SUCCESS;
    return fail(MPI_ERR_TYPE, "datatype is a derived type, but must be a predefined one");
}

int check_address(const char *argument, const void *address) {
    if (address != nullptr) return MPI_SUCCESS;
    return fail(MPI_ERR_BUFFER, "%s is a null pointer", argument);
}

/// Does by one instruction what can be done so: the common case, without looking for elements in datatypes.
bool fetch_at_once(const WindowState &window, const Place &place, const Datatype &datatype, const Operation &operation,
                   const void *operand, void *result) {
    const auto address = reinterpret_cast<std::uintptr_t>(place.data.address);
    if (place.target->access != Access::direct || place.target->locks_accumulates || !is_atomic(datatype) ||
        address % static_cast<std::uintptr_t>(datatype.size()) != 0)
        return false;
    const AtomicKernel kernel = atomic_kernel(operation, datatype);
    if (kernel == nullptr) return false;
    const AtInstructions section(*window.own, *place.target->part);
    if (section) kernel(place.data.address, operand, result, 1);
    return static_cast<bool>(section);
}

/// The functions with requests belong to epochs of locks (MPI 5.0, section 12.3.5).
int check_passive(const Window &window, int rank) {
    if (window.state->is_passive() || rank == MPI_PROC_NULL) return MPI_SUCCESS;
    return fail(MPI_ERR_RMA_SYNC,
                "%s, but a function that gives a request may only be called while its target is locked",
                epoch_of(*window.state));
}

/// `made` is nullptr if all was done at once.
int give_request(int code, int rank, Request *made, MPI_Request *request) {
    if (code != MPI_SUCCESS) return code;
    if (made == nullptr) made = make_complete_request(rank == MPI_PROC_NULL ? no_process : Completion{});
    *request = made->handle();
    return MPI_SUCCESS;
}

TypedBuffer buffer_of(const void *address, Count count, const Datatype &datatype) {
    return {&datatype.plan(), const_cast<void *>(address), count};
}

} // namespace

namespace mpi {

int Put(const void *origin_addr, Count origin_count, Datatype &origin_datatype, int target_rank, MPI_Aint target_disp,
        Count target_count, Datatype &target_datatype, Window &win) {
    return put(buffer_of(origin_addr, origin_count, origin_datatype), origin_count * origin_datatype.size(),
               target_rank, target_disp, target_count, target_datatype, win);
}

int Get(void *origin_addr, Count origin_count, Datatype &origin_datatype, int target_rank, MPI_Aint target_disp,
        Count target_count, Datatype &target_datatype, Window &win) {
    return get({origin_addr, origin_count, &origin_datatype}, target_rank, target_disp, target_count, target_datatype,
               win);
}

int Accumulate(const void *origin_addr, Count origin_count, Datatype &origin_datatype, int target_rank,
               MPI_Aint target_disp, Count target_count, Datatype &target_datatype, Operation &op, Window &win) {
    return accumulate({origin_addr, origin_count, &origin_datatype}, target_rank, target_disp, target_count,
                      target_datatype, op, win);
}

int Get_accumulate(const void *origin_addr, Count origin_count, Datatype *origin_datatype, void *result_addr,
                   Count result_count, Datatype &result_datatype, int target_rank, MPI_Aint target_disp,
                   Count target_count, Datatype &target_datatype, Operation &op, Window &win) {
    if (int code = check_origin(origin_addr, origin_count, origin_datatype, op)) return code;
    return accumulate({origin_addr, origin_count, origin_datatype, result_addr, result_count, &result_datatype},
                      target_rank, target_disp, target_count, target_datatype, op, win);
}

int Fetch_and_op(const void *origin_addr, void *result_addr, Datatype &datatype, int target_rank, MPI_Aint target_disp,
                 Operation &op, Window &win) {
    if (int code = check_element(datatype)) return code;
    if (int code = check_address("result_addr", result_addr)) return code;
    Datatype *origin_type = &datatype;
    if (int code = check_origin(origin_addr, 1, origin_type, op)) return code;
    if (target_rank != MPI_PROC_NULL) {
        Place place;
        if (int code = locate(win, target_rank, target_disp, 1, datatype, place)) return code;
        if (fetch_at_once(state_of(win), place, datatype, op, origin_addr, result_addr)) return MPI_SUCCESS;
    }
    return accumulate({origin_addr, 1, origin_type, result_addr, 1, &datatype}, target_rank, target_disp, 1, datatype,
                      op, win);
}

int Compare_and_swap(const void *origin_addr, const void *compare_addr, void *result_addr, Datatype &datatype,
                     int target_rank, MPI_Aint target_disp, Window &win) {
    if (int code = check_element(datatype)) return code;
    switch (datatype.basic().kind) {
    case BasicKind::signed_integer:
    case BasicKind::unsigned_integer:
    case BasicKind::logical:
    case BasicKind::character:
    case BasicKind::wide_character:
    case BasicKind::byte:
        break;
    default:
        return fail(MPI_ERR_TYPE, "datatype is %.*s, but must be an integer, logical or byte type",
                    static_cast<int>(datatype.name().size()), datatype.name().data());
    }
    if (int code = check_address("origin_addr", origin_addr)) return code;
    if (int code = check_address("compare_addr", compare_addr)) return code;
    if (int code = check_address("result_addr", result_addr)) return code;
    if (target_rank == MPI_PROC_NULL) return MPI_SUCCESS;
    Place place;
    if (int code = locate(win, target_rank, target_disp, 1, datatype, place)) return code;
    if (place.target->access == Access::messages) {
        state_of(win).remote->compare_and_swap(target_rank, static_cast<char *>(place.data.address), datatype,
                                               compare_addr, origin_addr, {result_addr, 1, &datatype});
        return MPI_SUCCESS;
    }
    return compare_and_swap(state_of(win), *place.target, static_cast<char *>(place.data.address), datatype,
                            compare_addr, origin_addr, result_addr);
}

int Rput(const void *origin_addr, Count origin_count, Datatype &origin_datatype, int target_rank, MPI_Aint target_disp,
         Count target_count, Datatype &target_datatype, Window &win, MPI_Request *request) {
    if (int code = check_passive(win, target_rank)) return code;
    int code =
        Put(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, target_datatype, win);
    return give_request(code, target_rank, nullptr, request);
}

int Rget(void *origin_addr, Count origin_count, Datatype &origin_datatype, int target_rank, MPI_Aint target_disp,
         Count target_count, Datatype &target_datatype, Window &win, MPI_Request *request) {
    if (int code = check_passive(win, target_rank)) return code;
    Request *made = nullptr;
    int code = get({origin_addr, origin_count, &origin_datatype}, target_rank, target_disp, target_count,
                   target_datatype, win, &made);
    return give_request(code, target_rank, made, request);
}

int Raccumulate(const void *origin_addr, Count origin_count, Datatype &origin_datatype, int target_rank,
                MPI_Aint target_disp, Count target_count, Datatype &target_datatype, Operation &op, Window &win,
                MPI_Request *request) {
    if (int code = check_passive(win, target_rank)) return code;
    int code = Accumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
                          target_datatype, op, win);
    return give_request(code, target_rank, nullptr, request);
}

int Rget_accumulate(const void *origin_addr, Count origin_count, Datatype *origin_datatype, void *result_addr,
                    Count result_count, Datatype &result_datatype, int target_rank, MPI_Aint target_disp,
                    Count target_count, Datatype &target_datatype, Operation &op, Window &win, MPI_Request *request) {
    if (int code = check_passive(win, target_rank)) return code;
    if (int code = check_origin(origin_addr, origin_count, origin_datatype, op)) return code;
    Request *made = nullptr;
    int code = accumulate({origin_addr, origin_count, origin_datatype, result_addr, result_count, &result_datatype},
                          target_rank, target_disp, target_count, target_datatype, op, win, &made);
    return give_request(code, target_rank, made, request);
}

} // namespace mpi
} // namespace volley
