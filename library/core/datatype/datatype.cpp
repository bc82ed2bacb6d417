// SPDX-License-Identifier: BSD-3-Clause
/// The life of a Datatype: its memory, handle, references, name and commit.
#include "access.h"

#include "core/object_numbers.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace volley {
namespace {

/// Memory for Datatype objects, never given back, so that from_handle() may look at any address in it. Each
/// slab is twice as large as the one before; freed objects wait in a queue, the longest-freed is used first.
struct Slab {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uint32_t first_number = 0; ///< of the places in it
};

constexpr int most_slabs = 40;
constexpr std::size_t first_slab_types = 32;

constinit Slab slabs[most_slabs];
constinit std::atomic<int> slab_count{0};
constinit std::mutex slab_mutex;
constinit Datatype *oldest_free = nullptr;
constinit Datatype *newest_free = nullptr;

constinit std::mutex commit_mutex;
constinit std::atomic<void (*)(Datatype &)> attribute_release{nullptr};

} // namespace

/// The queue of free objects is linked through their `realisation_`.
struct Datatype::Access::Memory {
    static void put(Datatype &datatype) {
        datatype.realisation_ = nullptr;
        if (newest_free != nullptr)
            newest_free->realisation_ = &datatype;
        else
            oldest_free = &datatype;
        newest_free = &datatype;
    }

    static bool add_slab() {
        int count = slab_count.load(std::memory_order_relaxed);
        if (count == most_slabs) return false;
        std::size_t types = first_slab_types << count;
        void *memory = std::calloc(types, sizeof(Datatype));
        if (memory == nullptr) return false;
        auto *first = static_cast<Datatype *>(memory);
        for (std::size_t i = 0; i < types; ++i) put(*new (first + i) Datatype);
        auto begin = reinterpret_cast<std::uintptr_t>(memory);
        slabs[count] = {begin, begin + types * sizeof(Datatype), number_objects(begin, types, sizeof(Datatype))};
        slab_count.store(count + 1, std::memory_order_release);
        return true;
    }

    static Datatype *take() {
        std::lock_guard lock(slab_mutex);
        if (oldest_free == nullptr && !add_slab()) return nullptr;
        Datatype *taken = oldest_free;
        oldest_free = taken->realisation_;
        if (oldest_free == nullptr) newest_free = nullptr;
        Datatype *fresh = new (taken) Datatype;
        fresh->mark_ = live_mark;
        fresh->place_number_ = number_of(*fresh);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof" // GCC and clang know it for any class without virtual bases
        static_assert(offsetof(Datatype, place_number_) == object_number_offset);
#pragma GCC diagnostic pop
        return fresh;
    }

    static std::uint32_t number_of(const Datatype &datatype) {
        const auto address = reinterpret_cast<std::uintptr_t>(&datatype);
        int slab = slab_count.load(std::memory_order_relaxed) - 1;
        while (address < slabs[slab].begin || address >= slabs[slab].end) --slab;
        return slabs[slab].first_number + static_cast<std::uint32_t>((address - slabs[slab].begin) / sizeof(Datatype));
    }

    static void give_back(Datatype &datatype) {
        std::lock_guard lock(slab_mutex);
        put(datatype);
    }
};

Datatype *Datatype::from_handle(MPI_Datatype handle) {
    auto address = reinterpret_cast<std::uintptr_t>(handle);
    if (address < 4096) return Access::predefined(address);
    for (int i = slab_count.load(std::memory_order_acquire) - 1; i >= 0; --i) {
        if (address < slabs[i].begin || address >= slabs[i].end) continue;
        if ((address - slabs[i].begin) % sizeof(Datatype) != 0) return nullptr;
        auto *datatype = reinterpret_cast<Datatype *>(address);
        return datatype->mark_ == live_mark ? datatype : nullptr;
    }
    return nullptr;
}

void Datatype::retain() {
    if (!predefined_) references_.fetch_add(1, std::memory_order_relaxed);
}

void Datatype::release() {
    if (!predefined_ && references_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
}

void Datatype::destroy() {
    if (attributes.load(std::memory_order_relaxed) != nullptr)
        if (auto *release_attributes = attribute_release.load()) release_attributes(*this);
    if (!plan_borrowed_) free_plan(plan_.load(std::memory_order_relaxed));
    for (Count i = 0; i < envelope_.datatypes; ++i)
        if (children_[i] != nullptr) children_[i]->release();
    if (realisation_ != nullptr) realisation_->release();
    std::free(arguments_);
    std::free(children_);
    mark_ = 0;
    Access::Memory::give_back(*this);
}

void Datatype::set_attribute_release(void (*release)(Datatype &)) {
    attribute_release.store(release);
}

Outcome Datatype::commit() {
    if (is_committed()) return {};
    std::lock_guard lock(commit_mutex);
    if (is_committed()) return {};
    const DatatypePlan *plan = nullptr;
    Outcome outcome = build_plan(*this, plan);
    if (outcome.ok()) plan_.store(plan, std::memory_order_release);
    return outcome;
}

std::string_view Datatype::name() const {
    return name_.data();
}

void Datatype::set_name(std::string_view name) {
    name = name.substr(0, name_.size() - 1);
    std::memcpy(name_.data(), name.data(), name.size());
    name_[name.size()] = '\0';
}

Outcome Datatype::Access::create(const Envelope &envelope, CountForm form, Datatype *&made) {
    Datatype *datatype = Memory::take();
    if (datatype != nullptr) {
        Checked arguments = Checked(envelope.integers) + envelope.addresses + envelope.large_counts;
        datatype->form_ = form;
        datatype->envelope_ = envelope;
        if (!arguments.overflow())
            datatype->arguments_ =
                static_cast<Count *>(std::calloc(static_cast<std::size_t>(arguments.value()) + 1, sizeof(Count)));
        datatype->children_ =
            static_cast<Datatype **>(std::calloc(static_cast<std::size_t>(envelope.datatypes) + 1, sizeof(Datatype *)));
        if (datatype->arguments_ != nullptr && datatype->children_ != nullptr) {
            made = datatype;
            return {};
        }
        datatype->envelope_.datatypes = 0;
        datatype->release();
    }
    return failure(MPI_ERR_NO_MEM, "no memory for a datatype with %lld entries",
                   static_cast<long long>(envelope.integers + envelope.large_counts));
}

void Datatype::Access::set_child(Datatype &datatype, Count index, Datatype &child) {
    child.retain();
    datatype.children_[index] = &child;
}

void Datatype::Access::borrow_plan(Datatype &datatype, Datatype &owner) {
    if (!owner.is_committed()) return;
    datatype.plan_borrowed_ = true;
    datatype.plan_.store(&owner.plan(), std::memory_order_release);
}

// How each combiner's arguments describe its type map. Subarrays, distributed arrays and Fortran's
// parameterised types stand for their realisation.

Count Datatype::repetitions() const {
    bool vector = envelope_.combiner == MPI_COMBINER_VECTOR || envelope_.combiner == MPI_COMBINER_HVECTOR;
    return vector ? arguments_[0] : 1;
}

Count Datatype::repetition_stride() const {
    if (envelope_.combiner == MPI_COMBINER_VECTOR) return arguments_[2] * children_[0]->extent();
    if (envelope_.combiner == MPI_COMBINER_HVECTOR) return arguments_[2];
    return 0;
}

Count Datatype::pieces() const {
    switch (envelope_.combiner) {
    case MPI_COMBINER_NAMED:
        return basic_.kind == BasicKind::none ? 2 : 0;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return arguments_[0];
    default:
        return 1;
    }
}

Piece Datatype::piece(Count index) const {
    const Count *arguments = arguments_;
    switch (envelope_.combiner) {
    case MPI_COMBINER_NAMED:
        return {index == 0 ? 0 : second_displacement_, 1, Access::predefined(pair_[index])};
    case MPI_COMBINER_CONTIGUOUS:
        return {0, arguments[0], children_[0]};
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return {0, arguments[1], children_[0]};
    case MPI_COMBINER_INDEXED:
        return {arguments[1 + arguments[0] + index] * children_[0]->extent(), arguments[1 + index], children_[0]};
    case MPI_COMBINER_HINDEXED:
        return {arguments[1 + arguments[0] + index], arguments[1 + index], children_[0]};
    case MPI_COMBINER_INDEXED_BLOCK:
        return {arguments[2 + index] * children_[0]->extent(), arguments[1], children_[0]};
    case MPI_COMBINER_HINDEXED_BLOCK:
        return {arguments[2 + index], arguments[1], children_[0]};
    case MPI_COMBINER_STRUCT:
        return {arguments[1 + arguments[0] + index], arguments[1 + index], children_[index]};
    default: // dup, resized
        return {0, 1, realisation_ != nullptr ? realisation_ : children_[0]};
    }
}

namespace {

/// Adds up the extents of a type from copies of its parts.
class ExtentsSum {
  public:
    /// `copies` of `part`, the first at `displacement`, each `stride` bytes after the one before.
    void add(const Extents &part, Checked displacement, Count stride, Count copies) {
        if (copies == 0 || (part.elements == 0 && !part.markers)) return;
        Checked last = displacement + Checked(copies - 1) * stride;
        Checked low = stride < 0 ? last : displacement;
        Checked high = stride < 0 ? displacement : last;
        size_ = size_ + Checked(copies) * part.size;
        elements_ = elements_ + Checked(copies) * part.elements;
        external_size_ = external_size_ + Checked(copies) * part.external_size;
        if (part.elements != 0) {
            widen(true_lb_, true_ub_, data_, low + part.true_lb, high + part.true_ub);
            Checked ignored;
            widen(ignored, natural_ub_, data_, 0, high + part.natural_ub);
            data_ = true;
            if (part.alignment > alignment_) alignment_ = part.alignment;
        }
        if (part.markers) {
            widen(marker_lb_, marker_ub_, markers_, low + part.marker_lb, high + part.marker_ub);
            markers_ = true;
        }
        overflow_ = overflow_ || last.overflow() || size_.overflow() || elements_.overflow() ||
                    external_size_.overflow() || true_lb_.overflow() || true_ub_.overflow() || marker_lb_.overflow() ||
                    marker_ub_.overflow();
        if (!overflow_) signature_ = signature::concatenate(signature_, signature::repeat(part.signature, copies));
    }

    /// `padded`: so that the next element is aligned. The standard (MPI 5.0 §5.1.6) pads every type; MPICH and Open MPI
    /// only structs, and count the padding in their parts, and programs rely on that.
    bool finish(Extents &extents, bool padded) const {
        Checked length = natural_ub_ - true_lb_;
        Count rest = padded ? length.value() % alignment_ : 0;
        Checked natural_ub = natural_ub_ + (rest != 0 ? alignment_ - rest : 0);
        bool overflow = overflow_ || length.overflow() || natural_ub.overflow() || (natural_ub - true_lb_).overflow() ||
                        (marker_ub_ - marker_lb_).overflow();
        if (overflow) return false;
        extents.size = size_.value();
        extents.elements = elements_.value();
        extents.external_size = external_size_.value();
        extents.true_lb = true_lb_.value();
        extents.true_ub = true_ub_.value();
        extents.marker_lb = marker_lb_.value();
        extents.marker_ub = marker_ub_.value();
        extents.natural_ub = natural_ub.value();
        extents.alignment = alignment_;
        extents.markers = markers_;
        extents.signature = signature_;
        return true;
    }

  private:
    static void widen(Checked &lb, Checked &ub, bool not_first, Checked low, Checked high) {
        // An overflow in a bound that is not taken is one all the same: hand it on.
        lb = !not_first || low.value() < lb.value() || low.overflow() ? low : lb;
        ub = !not_first || high.value() > ub.value() || high.overflow() ? high : ub;
    }

    Checked size_, elements_, external_size_, true_lb_, true_ub_, natural_ub_, marker_lb_, marker_ub_;
    Signature signature_;
    std::int32_t alignment_ = 1;
    bool data_ = false;
    bool markers_ = false;
    bool overflow_ = false;
};

} // namespace

Outcome Datatype::Access::describe(Datatype &datatype) {
    int nesting = datatype.realisation_ != nullptr ? datatype.realisation_->nesting_ : 0;
    for (Count i = 0; i < datatype.envelope_.datatypes; ++i)
        if (datatype.children_[i]->nesting_ > nesting) nesting = datatype.children_[i]->nesting_;
    datatype.nesting_ = nesting + 1;
    if (datatype.nesting_ > deepest_nesting)
        return failure(MPI_ERR_TYPE, "a datatype nested more than %d levels deep; build it from fewer constructors",
                       deepest_nesting);

    // Displacements in elements were checked not to overflow by the constructors.
    bool padded = datatype.envelope_.combiner == MPI_COMBINER_STRUCT;
    ExtentsSum sum;
    for (Count i = 0, pieces = datatype.pieces(); i < pieces; ++i) {
        Piece piece = datatype.piece(i);
        sum.add(piece.type->extents_, piece.displacement, piece.type->extent(), piece.length);
    }
    Extents unit;
    bool fits = sum.finish(unit, padded);
    if (fits && datatype.repetitions() != 1) {
        ExtentsSum repeated;
        repeated.add(unit, 0, datatype.repetition_stride(), datatype.repetitions());
        fits = repeated.finish(unit, false);
    }
    if (!fits)
        return failure(MPI_ERR_COUNT, "the datatype would be larger than MPI_Count can tell: its size, extent or one "
                                      "of its displacements exceeds 2^63 - 1 bytes");
    if (datatype.envelope_.combiner == MPI_COMBINER_RESIZED) {
        Checked ub = Checked(datatype.arguments_[0]) + datatype.arguments_[1];
        if (ub.overflow())
            return failure(MPI_ERR_ARG, "MPI_Type_create_resized: lower bound %lld plus extent %lld exceeds 2^63 - 1",
                           static_cast<long long>(datatype.arguments_[0]),
                           static_cast<long long>(datatype.arguments_[1]));
        unit.markers = true;
        unit.marker_lb = datatype.arguments_[0];
        unit.marker_ub = ub.value();
    }
    datatype.extents_ = unit;
    datatype.most_elements_ = unit.most_elements();
    return {};
}

Datatype &byte_datatype() {
    static Datatype &byte = *Datatype::from_handle(MPI_BYTE);
    return byte;
}

} // namespace volley
