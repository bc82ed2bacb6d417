// SPDX-License-Identifier: BSD-3-Clause
#include "fortran/section.h"

namespace volley::fortran {
namespace {

/// Datatypes of a section's parts. All but the last are freed.
class SectionTypes {
  public:
    explicit SectionTypes(const Descriptor &array) : array_(array) {}
    SectionTypes(const SectionTypes &) = delete;
    SectionTypes &operator=(const SectionTypes &) = delete;
    ~SectionTypes() {
        for (MPI_Datatype &type : made_)
            if (type != result_) PMPI_Type_free(&type);
    }

    /// The first `elements` elements, and `rest` bytes of the next. `datatype` is what they consist of, without gaps.
    MPI_Datatype make(MPI_Count elements, MPI_Count rest, MPI_Datatype datatype, MPI_Count bytes) {
        const auto element_bytes = static_cast<MPI_Count>(array_.element_bytes);
        const bool fits = element_bytes % bytes == 0;
        element_ = fits ? contiguous(element_bytes / bytes, datatype) : contiguous(element_bytes, MPI_BYTE);
        Blocks blocks;
        if (elements > 0) add(blocks, elements, array_.rank - 1, 0);
        if (rest > 0)
            blocks.add(rest % bytes == 0 ? contiguous(rest / bytes, datatype) : contiguous(rest, MPI_BYTE),
                       offset_of(elements));
        return finish(structure(blocks));
    }

    /// The bytes of the section at these places, counted as if it were contiguous.
    MPI_Datatype of_bytes(const std::vector<MPI_Count> &places) {
        std::vector<MPI_Count> lengths, offsets;
        const auto element_bytes = static_cast<MPI_Count>(array_.element_bytes);
        for (const MPI_Count place : places) {
            const MPI_Count offset = offset_of(place / element_bytes) + place % element_bytes;
            if (!offsets.empty() && offsets.back() + lengths.back() == offset) {
                ++lengths.back();
                continue;
            }
            offsets.push_back(offset);
            lengths.push_back(1);
        }
        MPI_Datatype type = MPI_DATATYPE_NULL;
        PMPI_Type_create_hindexed_c(static_cast<MPI_Count>(offsets.size()), lengths.data(), offsets.data(), MPI_BYTE,
                                    &type);
        return finish(keep(type));
    }

  private:
    struct Blocks {
        std::vector<MPI_Datatype> types;
        std::vector<MPI_Count> offsets;
        void add(MPI_Datatype type, MPI_Count offset) {
            types.push_back(type);
            offsets.push_back(offset);
        }
    };

    MPI_Datatype keep(MPI_Datatype type) {
        made_.push_back(type);
        return type;
    }
    MPI_Datatype finish(MPI_Datatype type) {
        PMPI_Type_commit(&type);
        return result_ = type;
    }
    MPI_Datatype contiguous(MPI_Count count, MPI_Datatype datatype) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        PMPI_Type_contiguous_c(count, datatype, &type);
        return keep(type);
    }
    MPI_Datatype vector(MPI_Count count, MPI_Count stride, MPI_Datatype datatype) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        PMPI_Type_create_hvector_c(count, 1, stride, datatype, &type);
        return keep(type);
    }
    MPI_Datatype structure(const Blocks &blocks) {
        const std::vector<MPI_Count> lengths(blocks.types.size(), 1);
        MPI_Datatype type = MPI_DATATYPE_NULL;
        PMPI_Type_create_struct_c(static_cast<MPI_Count>(lengths.size()), lengths.data(), blocks.offsets.data(),
                                  blocks.types.data(), &type);
        return keep(type);
    }

    MPI_Count elements_below(int dimension) const {
        MPI_Count product = 1;
        for (int i = 0; i < dimension; ++i) product *= array_.dimensions[i].extent;
        return product;
    }
    MPI_Count offset_of(MPI_Count element) const {
        MPI_Count offset = 0;
        for (int i = 0; i < array_.rank; ++i) {
            const Dimension &dimension = array_.dimensions[i];
            const bool last = i == array_.rank - 1;
            offset += (last ? element : element % dimension.extent) * dimension.stride;
            element /= dimension.extent;
        }
        return offset;
    }
    /// All elements of the dimensions up to this one.
    MPI_Datatype whole(int dimension) {
        if (dimension < 0) return element_;
        const Dimension &of = array_.dimensions[dimension];
        return vector(of.extent, of.stride, whole(dimension - 1));
    }
    /// The first elements of the dimensions up to this one: whole slices, and the beginning of the next.
    void add(Blocks &blocks, MPI_Count elements, int dimension, MPI_Count offset) {
        if (dimension < 0) {
            blocks.add(element_, offset);
            return;
        }
        const MPI_Count below = elements_below(dimension), slices = elements / below, rest = elements % below;
        const MPI_Count stride = array_.dimensions[dimension].stride;
        if (slices > 0) blocks.add(vector(slices, stride, whole(dimension - 1)), offset);
        if (rest > 0) add(blocks, rest, dimension - 1, offset + slices * stride);
    }

    const Descriptor &array_;
    MPI_Datatype element_ = MPI_DATATYPE_NULL;
    std::vector<MPI_Datatype> made_;
    MPI_Datatype result_ = MPI_DATATYPE_NULL;
};

/// Where the bytes of data with gaps come from, in the order in which they are sent. What is packed tells: a buffer
/// in which each byte holds a digit of its own place, and another for the next digit.
std::vector<MPI_Count> places_of(MPI_Count count, MPI_Datatype datatype, MPI_Count bytes, MPI_Count span) {
    std::vector<MPI_Count> places(static_cast<std::size_t>(bytes), 0);
    std::vector<unsigned char> digits(static_cast<std::size_t>(span)), packed(places.size());
    for (int shift = 0; shift == 0 || span >> shift != 0; shift += 8) {
        for (std::size_t i = 0; i < digits.size(); ++i) digits[i] = static_cast<unsigned char>(i >> shift);
        MPI_Count position = 0;
        PMPI_Pack_c(digits.data(), count, datatype, packed.data(), bytes, &position, MPI_COMM_SELF);
        for (std::size_t i = 0; i < places.size(); ++i) places[i] |= static_cast<MPI_Count>(packed[i]) << shift;
    }
    return places;
}

/// Calls `visit` with the offset of each element.
template <class Visit> void visit_elements(const Descriptor &array, Visit visit) {
    std::ptrdiff_t index[15] = {};
    for (int i = 0; i < array.rank; ++i)
        if (array.dimensions[i].extent <= 0) return;
    for (std::ptrdiff_t offset = 0;;) {
        visit(offset);
        int i = 0;
        for (; i < array.rank; ++i) {
            const Dimension &dimension = array.dimensions[i];
            offset += dimension.stride;
            if (++index[i] < dimension.extent) break;
            offset -= dimension.extent * dimension.stride;
            index[i] = 0;
        }
        if (i == array.rank) return;
    }
}

} // namespace

void Section::describe(const Descriptor &array) {
    MPI_Count bytes = 0, lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    // What is wrong with the arguments, the call that they are meant for says.
    if (count_ <= 0 || array.element_bytes == 0 || PMPI_Type_size_c(datatype_, &bytes) != MPI_SUCCESS || bytes <= 0 ||
        PMPI_Type_get_extent_c(datatype_, &lower, &extent) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent_c(datatype_, &true_lower, &true_extent) != MPI_SUCCESS)
        return;
    SectionTypes types(array);
    const auto element_bytes = static_cast<MPI_Count>(array.element_bytes);
    const bool has_gaps = lower != 0 || extent != bytes || true_lower != 0 || true_extent != bytes;
    if (has_gaps && true_lower >= 0) {
        const MPI_Count span = (count_ - 1) * extent + true_lower + true_extent;
        datatype_ = types.of_bytes(places_of(count_, datatype_, count_ * bytes, span));
    } else {
        const MPI_Count all = count_ * bytes;
        datatype_ = types.make(all / element_bytes, all % element_bytes, datatype_, bytes);
    }
    count_ = 1;
    made_ = true;
}

std::size_t section_bytes(const Descriptor &array) {
    std::size_t bytes = array.element_bytes;
    for (int i = 0; i < array.rank; ++i)
        bytes *= static_cast<std::size_t>(std::max<std::ptrdiff_t>(array.dimensions[i].extent, 0));
    return bytes;
}

void gather(const Descriptor &array, char *to) {
    visit_elements(array, [&](std::ptrdiff_t offset) {
        std::memcpy(to, static_cast<const char *>(array.base) + offset, array.element_bytes);
        to += array.element_bytes;
    });
}

void scatter(const Descriptor &array, const char *from) {
    visit_elements(array, [&](std::ptrdiff_t offset) {
        std::memcpy(static_cast<char *>(array.base) + offset, from, array.element_bytes);
        from += array.element_bytes;
    });
}

} // namespace volley::fortran
