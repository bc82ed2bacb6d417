// SPDX-License-Identifier: BSD-3-Clause
/// Datatypes: what MPI_Type_... makes, asks and frees.
///
/// A handle of the standard ABI below 4096 names a predefined type and is looked up in one table; any other
/// is the address of a Datatype. Memory of freed datatypes is only used for new ones, so that asking about a
/// stale handle finds no datatype instead of touching foreign memory.
///
/// Copying is in copy.h, MPI_Pack and external32 in pack.h, counting elements in elements.h.
#pragma once

#include "basic.h"
#include "layout/plan.h"
#include "outcome.h"
#include "signature.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace volley {

/// Which of a function's two forms was called: that with int counts, or the one ending in _c.
enum class CountForm : std::uint8_t { classic, large };

/// An array of counts as either form passes it.
class CountArray {
  public:
    CountArray(const int *counts) : counts_(counts), form_(CountForm::classic) {}

    CountArray(const Count *counts) : counts_(counts), form_(CountForm::large) {}

    Count operator[](Count index) const {
        return form_ == CountForm::large ? static_cast<const Count *>(counts_)[index]
                                         : static_cast<const int *>(counts_)[index];
    }

    CountForm form() const {
        return form_;
    }

  private:
    const void *counts_;
    CountForm form_;
};

/// Where the data of a type lies, and how much it is. All in bytes unless said otherwise.
struct Extents {
    Count size = 0;          ///< of the data
    Count elements = 0;      ///< basic elements
    Count external_size = 0; ///< of the data in external32
    Count true_lb = 0;       ///< first byte of data
    Count true_ub = 0;       ///< one beyond the last
    Count marker_lb = 0;     ///< set by MPI_Type_create_resized, here or in a part, if `markers`
    Count marker_ub = 0;
    Count natural_ub = 0; ///< true_ub and the padding of structs, so that their next element is aligned
    std::int32_t alignment = 1;
    bool markers = false;
    Signature signature;

    constexpr Count lb() const {
        return markers ? marker_lb : true_lb;
    }

    constexpr Count ub() const {
        return markers ? marker_ub : natural_ub;
    }

    /// The most elements that a message can have and whose extent still fits a Count.
    constexpr Count most_elements() const {
        if (size == 0) return INT64_MAX;
        auto magnitude = [](Count bytes) {
            return bytes < 0 ? -static_cast<std::uint64_t>(bytes) : std::uint64_t(bytes);
        };
        const std::uint64_t longest = std::max(magnitude(ub() - lb()), magnitude(true_ub - true_lb));
        // Markers may lie so far apart that only one element fits.
        return std::min<Count>(largest_message / size,
                               longest == 0 ? INT64_MAX : std::max<Count>(INT64_MAX / longest, 1));
    }
};

/// How many arguments of each sort MPI_Type_get_contents would return.
struct Envelope {
    Count integers = 0;
    Count addresses = 0;
    Count large_counts = 0;
    Count datatypes = 0;
    int combiner = MPI_COMBINER_NAMED;
};

class Datatype;
struct PredefinedRow;

/// `length` elements of `type` at `displacement` bytes; see Datatype::piece().
struct Piece {
    Count displacement;
    Count length;
    const Datatype *type;
};

/// Made by the functions below, shared by reference counting, immutable but for name, attributes and commit.
class Datatype {
    // What every object begins with (core/object.h).
    static constexpr std::uint32_t live_mark = 0x70795444; ///< "DTyp"

    std::uint32_t mark_ = 0; ///< live_mark, or 0 in memory that waits for a new datatype
    bool predefined_ = false;
    CountForm form_ = CountForm::classic;
    std::uint16_t handle_ = 0;       ///< of a named predefined type
    std::uint32_t place_number_ = 0; ///< at object_number_offset

  public:
    /// The datatype a handle names; nullptr for MPI_DATATYPE_NULL and for what is not a datatype.
    static Datatype *from_handle(MPI_Datatype handle);

    MPI_Datatype handle() {
        return handle_ != 0 ? reinterpret_cast<MPI_Datatype>(handle_) : reinterpret_cast<MPI_Datatype>(this);
    }

    /// Predefined: may not be freed and needs no commit (named, or made by MPI_Type_create_f90_...).
    bool is_predefined() const {
        return predefined_;
    }

    /// For user's handles and for requests that use the type. Nothing happens for predefined types.
    void retain();
    void release();

    const Extents &extents() const {
        return extents_;
    }

    Count size() const {
        return extents_.size;
    }

    /// Whether a message can have this many elements: the number is not negative and not too large.
    bool can_count(Count elements) const {
        return static_cast<std::uint64_t>(elements) <= static_cast<std::uint64_t>(most_elements_);
    }

    Count lb() const {
        return extents_.lb();
    }

    Count extent() const {
        return extents_.ub() - extents_.lb();
    }

    Count true_lb() const {
        return extents_.true_lb;
    }

    Count true_extent() const {
        return extents_.true_ub - extents_.true_lb;
    }

    /// What the type is if it is one basic element; `kind` none otherwise.
    const BasicType &basic() const {
        return basic_;
    }

    /// Makes the plan. Harmless if repeated.
    Outcome commit();

    bool is_committed() const {
        return plan_.load(std::memory_order_acquire) != nullptr;
    }

    /// Of a committed type.
    const DatatypePlan &plan() const {
        return *plan_.load(std::memory_order_acquire);
    }

    /// Any number of elements is one block of memory. Only known of committed types.
    bool is_contiguous() const {
        return is_committed() && plan().contiguous();
    }

    int combiner() const {
        return envelope_.combiner;
    }

    /// Which form made it: contents of a type made by a _c function can only be had by MPI_Type_get_contents_c.
    CountForm form() const {
        return form_;
    }

    const Envelope &envelope() const {
        return envelope_;
    }

    std::string_view name() const;
    /// Cut to MPI_MAX_OBJECT_NAME - 1 bytes.
    void set_name(std::string_view name);

    /// The type map is `repetitions` times, `repetition_stride` bytes apart, all pieces in order.
    Count repetitions() const;
    Count repetition_stride() const;
    Count pieces() const;
    Piece piece(Count index) const;

    /// Belongs to the attribute layer, which is called with the datatype when it is destroyed if this is not empty.
    std::atomic<void *> attributes{nullptr};
    static void set_attribute_release(void (*release)(Datatype &datatype));

    /// Copies the arguments the type was made with. Each array must hold what the envelope says; datatypes
    /// come retained.
    Outcome contents(CountForm form, Count max_integers, Count max_addresses, Count max_large_counts,
                     Count max_datatypes, int *integers, MPI_Aint *addresses, Count *large_counts,
                     MPI_Datatype *datatypes);

    struct Access; ///< what construct.cpp and predefined.cpp need, in access.h

  private:
    constexpr Datatype() = default;
    constexpr Datatype(const PredefinedRow &row, const Extents &extents, Count second_displacement,
                       const DatatypePlan &plan);
    ~Datatype() = default;
    void destroy();

    std::int32_t nesting_ = 0;
    std::atomic<std::int32_t> references_{1};
    BasicType basic_;
    Count most_elements_ = 0; ///< of extents_
    Extents extents_;
    Envelope envelope_;
    std::uint16_t pair_[2] = {0, 0}; ///< handles of the two elements of a predefined pair
    Count second_displacement_ = 0;  ///< of a pair's second element
    /// Integers, then addresses, then large counts, in the order MPI_Type_get_contents returns them.
    Count *arguments_ = nullptr;
    Datatype **children_ = nullptr;   ///< the datatypes MPI_Type_get_contents returns
    Datatype *realisation_ = nullptr; ///< subarray, darray: the same data made of simpler types
    std::atomic<const DatatypePlan *> plan_{nullptr};
    bool plan_borrowed_ = false; ///< of a dup, from its original
    std::array<char, MPI_MAX_OBJECT_NAME> name_{};
};

/// MPI_BYTE, as which packed data are described.
Datatype &byte_datatype();

/// Types nested deeper than this are refused: walking them recurses.
inline constexpr int deepest_nesting = 1000;

// The constructors. Arguments are checked (MPI_ERR_COUNT for counts, MPI_ERR_ARG for the rest), except that
// `old_type` is a datatype. On success `made` is a new, uncommitted datatype with one reference.

Outcome make_contiguous(CountForm form, Count count, Datatype &old_type, Datatype *&made);
Outcome make_vector(CountForm form, Count count, Count block_length, Count stride, Datatype &old_type, Datatype *&made);
Outcome make_hvector(CountForm form, Count count, Count block_length, Count stride_bytes, Datatype &old_type,
                     Datatype *&made);
Outcome make_indexed(Count count, CountArray block_lengths, CountArray displacements, Datatype &old_type,
                     Datatype *&made);
/// The form is that of `block_lengths`; MPI_Aint displacements of the classic form are 64 bits wide as well.
Outcome make_hindexed(Count count, CountArray block_lengths, const Count *displacements_bytes, Datatype &old_type,
                      Datatype *&made);
Outcome make_indexed_block(Count count, Count block_length, CountArray displacements, Datatype &old_type,
                           Datatype *&made);
Outcome make_hindexed_block(CountForm form, Count count, Count block_length, const Count *displacements_bytes,
                            Datatype &old_type, Datatype *&made);
Outcome make_struct(Count count, CountArray block_lengths, const Count *displacements_bytes, Datatype *const *old_types,
                    Datatype *&made);
Outcome make_resized(CountForm form, Count lb, Count extent, Datatype &old_type, Datatype *&made);
Outcome make_subarray(int dimensions, CountArray sizes, CountArray subsizes, CountArray starts, int order,
                      Datatype &old_type, Datatype *&made);
Outcome make_darray(int processes, int rank, int dimensions, CountArray global_sizes, const int *distributions,
                    const int *distribution_arguments, const int *process_sizes, int order, Datatype &old_type,
                    Datatype *&made);
/// Committed if the original is; name and attributes are not copied.
Outcome make_dup(Datatype &old_type, Datatype *&made);

// These find or make predefined types, which are not the caller's to release.

Outcome find_f90_real(int precision, int range, Datatype *&found);
Outcome find_f90_complex(int precision, int range, Datatype *&found);
Outcome find_f90_integer(int range, Datatype *&found);
Outcome find_by_size(int type_class, int size_bytes, Datatype *&found);
/// `found` is nullptr (MPI_DATATYPE_NULL) where no such pair is predefined.
Outcome find_value_index(Datatype &value_type, Datatype &index_type, Datatype *&found);

} // namespace volley
