// SPDX-License-Identifier: BSD-3-Clause
/// The functions that make or find datatypes (MPI 5.0, sections 5.1 and 19.1).
#include "core/attribute.h"
#include "core/error.h"
#include "core/functions.h"

#include <vector>

namespace volley {
namespace {

/// The handle of what a constructor made, whose one reference becomes the handle's. By reference, since `made` is set
/// while the arguments are evaluated.
int give(const Outcome &outcome, Datatype *const &made, MPI_Datatype *handle) {
    if (!outcome.ok()) return report(outcome);
    *handle = made != nullptr ? made->handle() : MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

} // namespace

int mpi::Type_contiguous(CountForm form, Count count, Datatype &oldtype, MPI_Datatype *newtype) {
    Datatype *made = nullptr;
    return give(make_contiguous(form, count, oldtype, made), made, newtype);
}

int mpi::Type_vector(CountForm form, Count count, Count blocklength, Count stride, Datatype &oldtype,
                     MPI_Datatype *newtype) {
    Datatype *made = nullptr;
    return give(make_vector(form, count, blocklength, stride, oldtype, made), made, newtype);
}

int mpi::Type_create_hvector(CountForm form, Count count, Count blocklength, Count stride, Datatype &oldtype,
                             MPI_Datatype *newtype) {
    Datatype *made = nullptr;
    return give(make_hvector(form, count, blocklength, stride, oldtype, made), made, newtype);
}

int mpi::Type_indexed(Count count, CountArray array_of_blocklengths, CountArray array_of_displacements,
                      Datatype &oldtype, MPI_Datatype *newtype) {
    Datatype *made = nullptr;
    return give(make_indexed(count, array_of_blocklengths, array_of_displacements, oldtype, made), made, newtype);
}

int mpi::Type_create_hindexed(Count count, CountArray array_of_blocklengths, const Count *array_of_displacements,
                              Datatype &oldtype, MPI_Datatype *newtype) {
    Datatype *made = nullptr;
    return give(make_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, made), made, newtype);
}

int mpi::Type_create_indexed_block(Count count, Count blocklength, CountArray array_of_displacements, Datatype &oldtype,
                                   MPI_Datatype *newtype) {
    Datatype *made = nullptr;
    return give(make_indexed_block(count, blocklength, array_of_displacements, oldtype, made), made, newtype);
}

int mpi::Type_create_hindexed_block(CountForm form, Count count, Count blocklength, const Count *array_of_displacements,
                                    Datatype &oldtype, MPI_Datatype *newtype) {
    Datatype *made = nullptr;
    return give(make_hindexed_block(form, count, blocklength, array_of_displacements, oldtype, made), made, newtype);
}

int mpi::Type_create_struct(Count count, CountArray array_of_blocklengths, const Count *array_of_displacements,
                            const MPI_Datatype *array_of_types, MPI_Datatype *newtype) {
    if (count < 0) return fail(MPI_ERR_COUNT, "count is %lld, but must not be negative", static_cast<long long>(count));
    std::vector<Datatype *> types(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < types.size(); ++i) {
        types[i] = Datatype::from_handle(array_of_types[i]);
        if (types[i] == nullptr)
            return fail(MPI_ERR_TYPE, "array_of_types[%zu] is %s, but must be a datatype", i,
                        array_of_types[i] == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL" : "none, or one that was freed");
    }
    Datatype *made = nullptr;
    return give(make_struct(count, array_of_blocklengths, array_of_displacements, types.data(), made), made, newtype);
}

int mpi::Type_create_resized(CountForm form, Datatype &oldtype, Count lb, Count extent, MPI_Datatype *newtype) {
    Datatype *made = nullptr;
    return give(make_resized(form, lb, extent, oldtype, made), made, newtype);
}

int mpi::Type_create_subarray(int ndims, CountArray array_of_sizes, CountArray array_of_subsizes,
                              CountArray array_of_starts, int order, Datatype &oldtype, MPI_Datatype *newtype) {
    Datatype *made = nullptr;
    return give(make_subarray(ndims, array_of_sizes, array_of_subsizes, array_of_starts, order, oldtype, made), made,
                newtype);
}

int mpi::Type_create_darray(int size, int rank, int ndims, CountArray array_of_gsizes, const int *array_of_distribs,
                            const int *array_of_dargs, const int *array_of_psizes, int order, Datatype &oldtype,
                            MPI_Datatype *newtype) {
    Datatype *made = nullptr;
    return give(make_darray(size, rank, ndims, array_of_gsizes, array_of_distribs, array_of_dargs, array_of_psizes,
                            order, oldtype, made),
                made, newtype);
}

int mpi::Type_dup(Datatype &oldtype, MPI_Datatype *newtype) {
    *newtype = MPI_DATATYPE_NULL;
    Datatype *made = nullptr;
    if (int code = report(make_dup(oldtype, made))) return code;
    if (int code = copy_attributes(oldtype, *made)) {
        made->release();
        return code;
    }
    *newtype = made->handle();
    return MPI_SUCCESS;
}

int mpi::Type_create_f90_real(int p, int r, MPI_Datatype *newtype) {
    Datatype *found = nullptr;
    return give(find_f90_real(p, r, found), found, newtype);
}

int mpi::Type_create_f90_complex(int p, int r, MPI_Datatype *newtype) {
    Datatype *found = nullptr;
    return give(find_f90_complex(p, r, found), found, newtype);
}

int mpi::Type_create_f90_integer(int r, MPI_Datatype *newtype) {
    Datatype *found = nullptr;
    return give(find_f90_integer(r, found), found, newtype);
}

int mpi::Type_match_size(int typeclass, int size, MPI_Datatype *datatype) {
    Datatype *found = nullptr;
    return give(find_by_size(typeclass, size, found), found, datatype);
}

int mpi::Type_get_value_index(Datatype &value_type, Datatype &index_type, MPI_Datatype *pair_type) {
    Datatype *found = nullptr;
    return give(find_value_index(value_type, index_type, found), found, pair_type);
}

} // namespace volley
