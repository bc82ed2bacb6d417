// SPDX-License-Identifier: BSD-3-Clause
/// Sections of arrays, as programs with mpi_f08 hand them over: a(1:100:2), a(i, :), components of derived types.
///
/// Data is what lies in the section, one element after the other. What describes one piece of data by a count and a
/// datatype gets a datatype of the section's own, so nothing is copied, whether the call blocks or not. Other calls
/// work on a copy (copies.h).
#pragma once

#include "fortran/conversion.h"

namespace volley::fortran {

inline bool is_contiguous(const Descriptor &array) {
    auto expected = static_cast<std::ptrdiff_t>(array.element_bytes);
    for (int i = 0; i < array.rank; ++i) {
        const Dimension &dimension = array.dimensions[i];
        if (dimension.extent == 0 || dimension.extent == -1) return true; // none, or of assumed size
        if (dimension.extent != 1 && dimension.stride != expected) return false;
        expected *= dimension.extent;
    }
    return true;
}

/// Whether an element of the datatype lies in one piece: a section may have the halves of a pair apart.
inline bool is_one_element(const Descriptor &array, MPI_Datatype datatype) {
    MPI_Count bytes = 0;
    return is_contiguous(array) || PMPI_Type_size_c(datatype, &bytes) != MPI_SUCCESS ||
           bytes <= static_cast<MPI_Count>(array.element_bytes);
}

/// One piece of data: what C is given as its address, count and datatype.
class Section {
  public:
    Section(const Descriptor *array, MPI_Count count, MPI_Datatype datatype)
        : address_(buffer_to_c(array->base)), count_(count), datatype_(datatype) {
        if (!is_contiguous(*array)) [[unlikely]]
            describe(*array);
    }
    Section(const Section &) = delete;
    Section &operator=(const Section &) = delete;
    ~Section() {
        if (made_) PMPI_Type_free(&datatype_); // it stays as long as operations need it
    }

    void *address() const {
        return address_;
    }
    template <class Count> Count count() const {
        return static_cast<Count>(count_);
    }
    MPI_Datatype datatype() const {
        return datatype_;
    }

  private:
    void describe(const Descriptor &array);

    void *address_;
    MPI_Count count_;
    MPI_Datatype datatype_;
    bool made_ = false;
};

/// The elements of a section copied to `to`, or from there.
void gather(const Descriptor &array, char *to);
void scatter(const Descriptor &array, const char *from);
std::size_t section_bytes(const Descriptor &array);

} // namespace volley::fortran
