// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Type_... but for constructors, addresses, and packing (MPI 5.0, chapter 5).
#include "core/attribute.h"
#include "core/datatype/pack.h"
#include "core/error.h"
#include "core/functions.h"

#include <limits>

namespace volley {
namespace {

/// A handle that the function takes away or changes.
int bad_handle(MPI_Datatype handle) {
    return fail(MPI_ERR_TYPE, "datatype is %s, but must be a datatype",
                handle == MPI_DATATYPE_NULL ? "MPI_DATATYPE_NULL" : "none, or one that was freed");
}

/// What the functions with int counts cannot say (MPI 5.0, section 5.1.13).
int check_form(const Datatype &datatype, const char *larger_function) {
    if (datatype.envelope().large_counts == 0) return MPI_SUCCESS;
    return fail(MPI_ERR_TYPE, "datatype was made by a function with large counts; use %s", larger_function);
}

} // namespace

int mpi::Type_commit(MPI_Datatype *datatype) {
    Datatype *named = Datatype::from_handle(*datatype);
    if (named == nullptr) return bad_handle(*datatype);
    return report(named->commit());
}

int mpi::Type_free(MPI_Datatype *datatype) {
    Datatype *named = Datatype::from_handle(*datatype);
    if (named == nullptr) return bad_handle(*datatype);
    if (named->is_predefined()) {
        auto name = named->name();
        return fail(MPI_ERR_TYPE, "datatype is %.*s, which is predefined and cannot be freed",
                    static_cast<int>(name.size()), name.data());
    }
    *datatype = MPI_DATATYPE_NULL;
    return release_with_attributes(*named);
}

int mpi::Type_size(Datatype &datatype, Count &size) {
    size = datatype.size();
    return MPI_SUCCESS;
}

int mpi::Type_get_extent(Datatype &datatype, Count &lb, Count &extent) {
    lb = datatype.lb();
    extent = datatype.extent();
    return MPI_SUCCESS;
}

int mpi::Type_get_true_extent(Datatype &datatype, Count &true_lb, Count &true_extent) {
    true_lb = datatype.true_lb();
    true_extent = datatype.true_extent();
    return MPI_SUCCESS;
}

int mpi::Type_get_envelope(Datatype &datatype, int *num_integers, int *num_addresses, int *num_datatypes,
                           int *combiner) {
    if (int code = check_form(datatype, "MPI_Type_get_envelope_c")) return code;
    const Envelope &envelope = datatype.envelope();
    if (envelope.integers > std::numeric_limits<int>::max() || envelope.addresses > std::numeric_limits<int>::max() ||
        envelope.datatypes > std::numeric_limits<int>::max())
        return fail(MPI_ERR_TYPE, "datatype has more arguments than an int counts; use MPI_Type_get_envelope_c");
    *num_integers = static_cast<int>(envelope.integers);
    *num_addresses = static_cast<int>(envelope.addresses);
    *num_datatypes = static_cast<int>(envelope.datatypes);
    *combiner = envelope.combiner;
    return MPI_SUCCESS;
}

int mpi::Type_get_envelope_c(Datatype &datatype, MPI_Count *num_integers, MPI_Count *num_addresses,
                             MPI_Count *num_large_counts, MPI_Count *num_datatypes, int *combiner) {
    const Envelope &envelope = datatype.envelope();
    *num_integers = envelope.integers;
    *num_addresses = envelope.addresses;
    *num_large_counts = envelope.large_counts;
    *num_datatypes = envelope.datatypes;
    *combiner = envelope.combiner;
    return MPI_SUCCESS;
}

int mpi::Type_get_contents(Datatype &datatype, int max_integers, int max_addresses, int max_datatypes,
                           int *array_of_integers, MPI_Aint *array_of_addresses, MPI_Datatype *array_of_datatypes) {
    return report(datatype.contents(CountForm::classic, max_integers, max_addresses, 0, max_datatypes,
                                    array_of_integers, array_of_addresses, nullptr, array_of_datatypes));
}

int mpi::Type_get_contents_c(Datatype &datatype, MPI_Count max_integers, MPI_Count max_addresses,
                             MPI_Count max_large_counts, MPI_Count max_datatypes, int *array_of_integers,
                             MPI_Aint *array_of_addresses, MPI_Count *array_of_large_counts,
                             MPI_Datatype *array_of_datatypes) {
    return report(datatype.contents(CountForm::large, max_integers, max_addresses, max_large_counts, max_datatypes,
                                    array_of_integers, array_of_addresses, array_of_large_counts, array_of_datatypes));
}

int mpi::Get_address(const void *location, MPI_Aint *address) {
    *address = reinterpret_cast<MPI_Aint>(location);
    return MPI_SUCCESS;
}

// Addresses are numbers without a sign; sums and differences wrap.

MPI_Aint mpi::Aint_add(MPI_Aint base, MPI_Aint disp) {
    return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(disp));
}

MPI_Aint mpi::Aint_diff(MPI_Aint addr1, MPI_Aint addr2) {
    return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(addr1) - static_cast<std::uintptr_t>(addr2));
}

// The communicator means the representation of data on the way, which is always this machine's.

int mpi::Pack(const void *inbuf, Count incount, Datatype &datatype, void *outbuf, Count outsize, Count &position,
              Communicator &) {
    return report(pack_at(inbuf, incount, datatype, outbuf, outsize, position));
}

int mpi::Unpack(const void *inbuf, Count insize, Count &position, void *outbuf, Count outcount, Datatype &datatype,
                Communicator &) {
    return report(unpack_at(inbuf, insize, position, outbuf, outcount, datatype));
}

int mpi::Pack_size(Count incount, Datatype &datatype, Communicator &, Count &size) {
    return report(pack_size(incount, datatype, size));
}

int mpi::Pack_external(const char *datarep, const void *inbuf, Count incount, Datatype &datatype, void *outbuf,
                       Count outsize, Count &position) {
    return report(pack_external_at(datarep, inbuf, incount, datatype, outbuf, outsize, position));
}

int mpi::Unpack_external(const char *datarep, const void *inbuf, Count insize, Count &position, void *outbuf,
                         Count outcount, Datatype &datatype) {
    return report(unpack_external_at(datarep, inbuf, insize, position, outbuf, outcount, datatype));
}

int mpi::Pack_external_size(const char *datarep, Count incount, Datatype &datatype, Count &size) {
    return report(pack_external_size(datarep, incount, datatype, size));
}

} // namespace volley
