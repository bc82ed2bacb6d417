// SPDX-License-Identifier: BSD-3-Clause
/// The constructors of datatypes: arguments checked and recorded; subarrays and distributed arrays built from
/// simpler types.
#include "access.h"

#include <utility>

namespace volley {
namespace {

long long number(Count value) {
    return value;
}

Outcome check_count(const char *function, Count count) {
    if (count >= 0) return {};
    return failure(MPI_ERR_COUNT, "%s: count is %lld, but must not be negative", function, number(count));
}

Outcome check_block_length(const char *function, Count block_length) {
    if (block_length >= 0) return {};
    return failure(MPI_ERR_ARG, "%s: the block length is %lld, but must not be negative", function,
                   number(block_length));
}

Outcome check_block_lengths(const char *function, Count count, CountArray block_lengths) {
    for (Count i = 0; i < count; ++i)
        if (block_lengths[i] < 0)
            return failure(MPI_ERR_ARG, "%s: block length %lld is %lld, but must not be negative", function, number(i),
                           number(block_lengths[i]));
    return {};
}

/// A displacement given in elements must be one in bytes as well.
Outcome check_displacement(const char *function, Count displacement, const Datatype &old_type) {
    if (!(Checked(displacement) * old_type.extent()).overflow()) return {};
    return failure(MPI_ERR_ARG, "%s: displacement %lld times the old type's extent of %lld bytes exceeds 2^63 - 1",
                   function, number(displacement), number(old_type.extent()));
}

/// The number of arguments of count entries; too large to be allocated where it overflows.
Count entries(Count fixed, Count per_entry, Count count) {
    Checked sum = Checked(fixed) + Checked(per_entry) * count;
    return sum.overflow() ? INT64_MAX : sum.value();
}

/// A datatype under construction, given up unless finish() hands it over.
class Maker {
  public:
    /// `integers`, `addresses`: what the classic form records; the large form records all as large counts.
    Maker(int combiner, CountForm form, Count integers, Count addresses, Count datatypes) {
        Envelope envelope;
        envelope.combiner = combiner;
        envelope.datatypes = datatypes;
        if (form == CountForm::classic) {
            envelope.integers = integers;
            envelope.addresses = addresses;
        } else {
            envelope.large_counts = entries(integers, 1, addresses);
        }
        create(envelope, form);
    }

    Maker(const Envelope &envelope, CountForm form) {
        create(envelope, form);
    }

    Maker(const Maker &) = delete;
    Maker &operator=(const Maker &) = delete;

    ~Maker() {
        if (datatype_ != nullptr) datatype_->release();
    }

    Maker &put(Count argument) {
        if (datatype_ != nullptr) *next_++ = argument;
        return *this;
    }

    template <class Array> Maker &put(const Array &arguments, Count count) {
        for (Count i = 0; i < count && datatype_ != nullptr; ++i) *next_++ = arguments[i];
        return *this;
    }

    Maker &child(Datatype &child, Count index = 0) {
        if (datatype_ != nullptr) Datatype::Access::set_child(*datatype_, index, child);
        return *this;
    }

    /// Takes over the caller's reference.
    Maker &realisation(Datatype &realisation) {
        if (datatype_ != nullptr)
            Datatype::Access::set_realisation(*datatype_, realisation);
        else
            realisation.release();
        return *this;
    }

    Outcome finish(Datatype *&made) {
        if (outcome_.ok()) outcome_ = Datatype::Access::describe(*datatype_);
        if (outcome_.ok()) made = std::exchange(datatype_, nullptr);
        return std::move(outcome_);
    }

  private:
    void create(const Envelope &envelope, CountForm form) {
        outcome_ = Datatype::Access::create(envelope, form, datatype_);
        if (outcome_.ok()) next_ = Datatype::Access::arguments(*datatype_);
    }

    Datatype *datatype_ = nullptr;
    Count *next_ = nullptr;
    Outcome outcome_;
};

/// A type that is replaced step by step by one built on it. Once a step fails, the others do nothing.
class Chain {
  public:
    explicit Chain(Datatype &start) : current_(&start) {
        start.retain();
    }

    Chain(const Chain &) = delete;
    Chain &operator=(const Chain &) = delete;

    ~Chain() {
        if (current_ != nullptr) current_->release();
    }

    Datatype &current() {
        return *current_;
    }

    template <class Make> void step(Make make) {
        if (!outcome_.ok()) return;
        Datatype *made = nullptr;
        outcome_ = make(*current_, made);
        if (!outcome_.ok()) return;
        current_->release();
        current_ = made;
    }

    void hvector(Count count, Count stride) {
        step([&](Datatype &old, Datatype *&made) {
            return make_hvector(CountForm::large, count, 1, stride, old, made);
        });
    }

    void displaced(Count displacement) {
        if (displacement == 0) return;
        step([&](Datatype &old, Datatype *&made) {
            return make_hindexed_block(CountForm::large, 1, 1, &displacement, old, made);
        });
    }

    void resized(Count extent) {
        step([&](Datatype &old, Datatype *&made) { return make_resized(CountForm::large, 0, extent, old, made); });
    }

    Outcome finish(Datatype *&made) {
        if (outcome_.ok()) made = std::exchange(current_, nullptr);
        return std::move(outcome_);
    }

  private:
    Datatype *current_;
    Outcome outcome_;
};

} // namespace

Outcome make_contiguous(CountForm form, Count count, Datatype &old_type, Datatype *&made) {
    if (Outcome bad = check_count("MPI_Type_contiguous", count); !bad.ok()) return bad;
    return Maker(MPI_COMBINER_CONTIGUOUS, form, 1, 0, 1).put(count).child(old_type).finish(made);
}

Outcome make_vector(CountForm form, Count count, Count block_length, Count stride, Datatype &old_type,
                    Datatype *&made) {
    const char *function = "MPI_Type_vector";
    if (Outcome bad = check_count(function, count); !bad.ok()) return bad;
    if (Outcome bad = check_block_length(function, block_length); !bad.ok()) return bad;
    if (Outcome bad = check_displacement(function, stride, old_type); !bad.ok()) return bad;
    return Maker(MPI_COMBINER_VECTOR, form, 3, 0, 1)
        .put(count)
        .put(block_length)
        .put(stride)
        .child(old_type)
        .finish(made);
}

Outcome make_hvector(CountForm form, Count count, Count block_length, Count stride_bytes, Datatype &old_type,
                     Datatype *&made) {
    const char *function = "MPI_Type_create_hvector";
    if (Outcome bad = check_count(function, count); !bad.ok()) return bad;
    if (Outcome bad = check_block_length(function, block_length); !bad.ok()) return bad;
    return Maker(MPI_COMBINER_HVECTOR, form, 2, 1, 1)
        .put(count)
        .put(block_length)
        .put(stride_bytes)
        .child(old_type)
        .finish(made);
}

Outcome make_indexed(Count count, CountArray block_lengths, CountArray displacements, Datatype &old_type,
                     Datatype *&made) {
    const char *function = "MPI_Type_indexed";
    if (Outcome bad = check_count(function, count); !bad.ok()) return bad;
    if (Outcome bad = check_block_lengths(function, count, block_lengths); !bad.ok()) return bad;
    for (Count i = 0; i < count; ++i)
        if (Outcome bad = check_displacement(function, displacements[i], old_type); !bad.ok()) return bad;
    return Maker(MPI_COMBINER_INDEXED, block_lengths.form(), entries(1, 2, count), 0, 1)
        .put(count)
        .put(block_lengths, count)
        .put(displacements, count)
        .child(old_type)
        .finish(made);
}

Outcome make_hindexed(Count count, CountArray block_lengths, const Count *displacements_bytes, Datatype &old_type,
                      Datatype *&made) {
    const char *function = "MPI_Type_create_hindexed";
    if (Outcome bad = check_count(function, count); !bad.ok()) return bad;
    if (Outcome bad = check_block_lengths(function, count, block_lengths); !bad.ok()) return bad;
    return Maker(MPI_COMBINER_HINDEXED, block_lengths.form(), entries(1, 1, count), count, 1)
        .put(count)
        .put(block_lengths, count)
        .put(displacements_bytes, count)
        .child(old_type)
        .finish(made);
}

Outcome make_indexed_block(Count count, Count block_length, CountArray displacements, Datatype &old_type,
                           Datatype *&made) {
    const char *function = "MPI_Type_create_indexed_block";
    if (Outcome bad = check_count(function, count); !bad.ok()) return bad;
    if (Outcome bad = check_block_length(function, block_length); !bad.ok()) return bad;
    for (Count i = 0; i < count; ++i)
        if (Outcome bad = check_displacement(function, displacements[i], old_type); !bad.ok()) return bad;
    return Maker(MPI_COMBINER_INDEXED_BLOCK, displacements.form(), entries(2, 1, count), 0, 1)
        .put(count)
        .put(block_length)
        .put(displacements, count)
        .child(old_type)
        .finish(made);
}

Outcome make_hindexed_block(CountForm form, Count count, Count block_length, const Count *displacements_bytes,
                            Datatype &old_type, Datatype *&made) {
    const char *function = "MPI_Type_create_hindexed_block";
    if (Outcome bad = check_count(function, count); !bad.ok()) return bad;
    if (Outcome bad = check_block_length(function, block_length); !bad.ok()) return bad;
    return Maker(MPI_COMBINER_HINDEXED_BLOCK, form, 2, count, 1)
        .put(count)
        .put(block_length)
        .put(displacements_bytes, count)
        .child(old_type)
        .finish(made);
}

Outcome make_struct(Count count, CountArray block_lengths, const Count *displacements_bytes, Datatype *const *old_types,
                    Datatype *&made) {
    const char *function = "MPI_Type_create_struct";
    if (Outcome bad = check_count(function, count); !bad.ok()) return bad;
    if (Outcome bad = check_block_lengths(function, count, block_lengths); !bad.ok()) return bad;
    Maker maker(MPI_COMBINER_STRUCT, block_lengths.form(), entries(1, 1, count), count, count);
    maker.put(count).put(block_lengths, count).put(displacements_bytes, count);
    for (Count i = 0; i < count; ++i) maker.child(*old_types[i], i);
    return maker.finish(made);
}

Outcome make_resized(CountForm form, Count lb, Count extent, Datatype &old_type, Datatype *&made) {
    return Maker(MPI_COMBINER_RESIZED, form, 0, 2, 1).put(lb).put(extent).child(old_type).finish(made);
}

Outcome make_dup(Datatype &old_type, Datatype *&made) {
    Outcome outcome = Maker(MPI_COMBINER_DUP, CountForm::classic, 0, 0, 1).child(old_type).finish(made);
    if (outcome.ok()) Datatype::Access::borrow_plan(*made, old_type);
    return outcome;
}

namespace {

Outcome check_order(const char *function, int order) {
    if (order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN) return {};
    return failure(MPI_ERR_ARG, "%s: order is %d, but must be MPI_ORDER_C (%d) or MPI_ORDER_FORTRAN (%d)", function,
                   order, MPI_ORDER_C, MPI_ORDER_FORTRAN);
}

Outcome check_dimensions(const char *function, int dimensions) {
    if (dimensions >= 1) return {};
    return failure(MPI_ERR_ARG, "%s: the number of dimensions is %d, but must be positive", function, dimensions);
}

/// The dimensions from the one whose neighbours are adjacent in memory to the slowest.
int dimension_at(int step, int dimensions, int order) {
    return order == MPI_ORDER_FORTRAN ? step : dimensions - 1 - step;
}

Outcome array_too_large(const char *function) {
    return failure(MPI_ERR_ARG, "%s: the whole array exceeds 2^63 - 1 bytes", function);
}

} // namespace

Outcome make_subarray(int dimensions, CountArray sizes, CountArray subsizes, CountArray starts, int order,
                      Datatype &old_type, Datatype *&made) {
    const char *function = "MPI_Type_create_subarray";
    if (Outcome bad = check_dimensions(function, dimensions); !bad.ok()) return bad;
    if (Outcome bad = check_order(function, order); !bad.ok()) return bad;
    for (int d = 0; d < dimensions; ++d) {
        if (sizes[d] < 1)
            return failure(MPI_ERR_ARG, "%s: size %d is %lld, but must be positive", function, d, number(sizes[d]));
        if (subsizes[d] < 1 || subsizes[d] > sizes[d])
            return failure(MPI_ERR_ARG, "%s: subsize %d is %lld, but must be from 1 to %lld", function, d,
                           number(subsizes[d]), number(sizes[d]));
        if (starts[d] < 0 || starts[d] > sizes[d] - subsizes[d])
            return failure(MPI_ERR_ARG, "%s: start %d is %lld, but must be from 0 to %lld for a subsize of %lld",
                           function, d, number(starts[d]), number(sizes[d] - subsizes[d]), number(subsizes[d]));
    }

    Chain chain(old_type);
    Checked stride = old_type.extent();
    Checked displacement;
    for (int step = 0; step < dimensions; ++step) {
        int d = dimension_at(step, dimensions, order);
        chain.hvector(subsizes[d], stride.value());
        displacement = displacement + stride * starts[d];
        stride = stride * sizes[d];
        if (stride.overflow() || displacement.overflow()) return array_too_large(function);
    }
    chain.displaced(displacement.value());
    chain.resized(stride.value());
    Datatype *realisation = nullptr;
    if (Outcome bad = chain.finish(realisation); !bad.ok()) return bad;

    Envelope envelope;
    envelope.combiner = MPI_COMBINER_SUBARRAY;
    envelope.datatypes = 1;
    bool classic = sizes.form() == CountForm::classic;
    envelope.integers = classic ? 2 + 3 * Count{dimensions} : 2;
    envelope.large_counts = classic ? 0 : 3 * Count{dimensions};
    Maker maker(envelope, sizes.form());
    maker.put(dimensions);
    if (!classic) maker.put(order);
    maker.put(sizes, dimensions).put(subsizes, dimensions).put(starts, dimensions);
    if (classic) maker.put(order);
    return maker.child(old_type).realisation(*realisation).finish(made);
}

namespace {

/// The part of one dimension of a distributed array that belongs to one process: blocks of `block` elements
/// that begin at `first` and then every `cycle`; the last may be shorter.
struct Share {
    Count first = 0;
    Count block = 0;
    Count cycle = 0;
    Count full_blocks = 0;
    Count last_block = 0; ///< elements in the block after the full ones
};

Outcome share_of(int dimension, Count global_size, int distribution, int argument, int processes, int coordinate,
                 Share &share) {
    const char *function = "MPI_Type_create_darray";
    if (global_size < 1)
        return failure(MPI_ERR_ARG, "%s: global size %d is %lld, but must be positive", function, dimension,
                       number(global_size));
    if (argument != MPI_DISTRIBUTE_DFLT_DARG && argument < 1 && distribution != MPI_DISTRIBUTE_NONE)
        return failure(MPI_ERR_ARG,
                       "%s: distribution argument %d is %d, but must be positive or MPI_DISTRIBUTE_DFLT_DARG (%d)",
                       function, dimension, argument, MPI_DISTRIBUTE_DFLT_DARG);
    switch (distribution) {
    case MPI_DISTRIBUTE_NONE:
        if (processes != 1)
            return failure(MPI_ERR_ARG, "%s: dimension %d is not distributed, so its process size must be 1, not %d",
                           function, dimension, processes);
        share.block = global_size;
        break;
    case MPI_DISTRIBUTE_BLOCK:
        share.block = argument != MPI_DISTRIBUTE_DFLT_DARG
                          ? argument
                          : global_size / processes + (global_size % processes != 0 ? 1 : 0);
        if (share.block < global_size / processes + (global_size % processes != 0 ? 1 : 0))
            return failure(MPI_ERR_ARG, "%s: %d blocks of %lld cannot hold the %lld elements of dimension %d", function,
                           processes, number(share.block), number(global_size), dimension);
        break;
    case MPI_DISTRIBUTE_CYCLIC:
        share.block = argument != MPI_DISTRIBUTE_DFLT_DARG ? argument : 1;
        break;
    default:
        return failure(MPI_ERR_ARG, "%s: distribution %d is %d, but must be MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE",
                       function, dimension, distribution);
    }
    // Positions that overflow lie beyond the array.
    Checked first = Checked(share.block) * coordinate;
    Checked cycle = Checked(share.block) * processes;
    if (first.overflow() || first.value() >= global_size) return {};
    share.first = first.value();
    share.cycle = cycle.overflow() ? global_size : cycle.value();
    Count rest = global_size - share.first;
    share.full_blocks = rest / share.cycle;
    Count tail = rest % share.cycle;
    if (tail >= share.block)
        ++share.full_blocks;
    else
        share.last_block = tail;
    return {};
}

} // namespace

Outcome make_darray(int processes, int rank, int dimensions, CountArray global_sizes, const int *distributions,
                    const int *distribution_arguments, const int *process_sizes, int order, Datatype &old_type,
                    Datatype *&made) {
    const char *function = "MPI_Type_create_darray";
    if (Outcome bad = check_dimensions(function, dimensions); !bad.ok()) return bad;
    if (Outcome bad = check_order(function, order); !bad.ok()) return bad;
    if (processes < 1) return failure(MPI_ERR_ARG, "%s: the size is %d, but must be positive", function, processes);
    if (rank < 0 || rank >= processes)
        return failure(MPI_ERR_RANK, "%s: the rank is %d, but must be from 0 to %d", function, rank, processes - 1);
    Checked grid = 1;
    for (int d = 0; d < dimensions; ++d) {
        if (process_sizes[d] < 1)
            return failure(MPI_ERR_ARG, "%s: process size %d is %d, but must be positive", function, d,
                           process_sizes[d]);
        grid = grid * process_sizes[d];
    }
    if (grid.overflow() || grid.value() != processes)
        return failure(MPI_ERR_ARG, "%s: the process sizes multiply to %lld, but the size is %d", function,
                       number(grid.value()), processes);

    // The grid of processes is row-major, whatever the order of the array. The last dimension's coordinate
    // is the rank modulo its size.
    Chain chain(old_type);
    Checked stride = old_type.extent();
    for (int step = 0; step < dimensions; ++step) {
        int d = dimension_at(step, dimensions, order);
        int slower = rank;
        for (int i = dimensions - 1; i > d; --i) slower /= process_sizes[i];
        Share share;
        if (Outcome bad = share_of(d, global_sizes[d], distributions[d], distribution_arguments[d], process_sizes[d],
                                   slower % process_sizes[d], share);
            !bad.ok())
            return bad;
        Count element = stride.value();
        stride = stride * global_sizes[d];
        if (stride.overflow()) return array_too_large(function);
        chain.step([&](Datatype &old, Datatype *&result) -> Outcome {
            Chain full(old), last(old);
            full.hvector(share.block, element);
            full.hvector(share.full_blocks, share.full_blocks > 1 ? share.cycle * element : 0);
            last.hvector(share.last_block, element);
            Datatype *parts[2] = {nullptr, nullptr};
            Outcome outcome = full.finish(parts[0]);
            if (outcome.ok()) outcome = last.finish(parts[1]);
            if (outcome.ok()) {
                const Count lengths[2] = {1, 1};
                const Count displacements[2] = {
                    share.first * element,
                    share.last_block != 0 ? (share.first + share.full_blocks * share.cycle) * element : 0};
                outcome = make_struct(2, lengths, displacements, parts, result);
            }
            for (Datatype *part : parts)
                if (part != nullptr) part->release();
            return outcome;
        });
    }
    chain.resized(stride.value());
    Datatype *realisation = nullptr;
    if (Outcome bad = chain.finish(realisation); !bad.ok()) return bad;

    Envelope envelope;
    envelope.combiner = MPI_COMBINER_DARRAY;
    envelope.datatypes = 1;
    bool classic = global_sizes.form() == CountForm::classic;
    envelope.integers = (classic ? 4 : 3) * Count{dimensions} + 4;
    envelope.large_counts = classic ? 0 : dimensions;
    Maker maker(envelope, global_sizes.form());
    maker.put(processes).put(rank).put(dimensions);
    if (classic) maker.put(global_sizes, dimensions);
    maker.put(distributions, dimensions).put(distribution_arguments, dimensions).put(process_sizes, dimensions);
    maker.put(order);
    if (!classic) maker.put(global_sizes, dimensions);
    return maker.child(old_type).realisation(*realisation).finish(made);
}

Outcome Datatype::contents(CountForm form, Count max_integers, Count max_addresses, Count max_large_counts,
                           Count max_datatypes, int *integers, MPI_Aint *addresses, Count *large_counts,
                           MPI_Datatype *datatypes) {
    const char *function = form == CountForm::classic ? "MPI_Type_get_contents" : "MPI_Type_get_contents_c";
    if (combiner() == MPI_COMBINER_NAMED)
        return failure(MPI_ERR_TYPE, "%s: %s is a named predefined type and has no contents", function, name_.data());
    if (form == CountForm::classic && form_ == CountForm::large)
        return failure(MPI_ERR_TYPE, "%s: the type was made with large counts; ask MPI_Type_get_contents_c", function);
    struct {
        const char *what;
        Count room, needed;
    } rooms[] = {{"integers", max_integers, envelope_.integers},
                 {"addresses", max_addresses, envelope_.addresses},
                 {"large counts", max_large_counts, envelope_.large_counts},
                 {"datatypes", max_datatypes, envelope_.datatypes}};
    for (const auto &[what, room, needed] : rooms)
        if (room < needed)
            return failure(MPI_ERR_ARG, "%s: there is room for %lld %s, but the type has %lld", function, number(room),
                           what, number(needed));
    const Count *next = arguments_;
    for (Count i = 0; i < envelope_.integers; ++i) integers[i] = static_cast<int>(*next++);
    for (Count i = 0; i < envelope_.addresses; ++i) addresses[i] = *next++;
    for (Count i = 0; i < envelope_.large_counts; ++i) large_counts[i] = *next++;
    for (Count i = 0; i < envelope_.datatypes; ++i) {
        children_[i]->retain();
        datatypes[i] = children_[i]->handle();
    }
    return {};
}

} // namespace volley
