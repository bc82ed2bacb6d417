// SPDX-License-Identifier: BSD-3-Clause
/// What generated entry points need beside conversions of single arguments, and entry points that are no conversion.
/// Compiled for each face.
#include FACE_HANDLES

#include "faces/callbacks.h"
#include "faces/entry.h"

#include <algorithm>
#include <string>

namespace volley::faces {

DECLARE_NATIVE(MPI_Cartdim_get);
DECLARE_NATIVE(MPI_Comm_remote_size);
DECLARE_NATIVE(MPI_Comm_size);
DECLARE_NATIVE(MPI_Comm_test_inter);
DECLARE_NATIVE(MPI_Dist_graph_neighbors_count);
DECLARE_NATIVE(MPI_Error_class);
DECLARE_NATIVE(MPI_Error_string);
DECLARE_NATIVE(MPI_Get_library_version);
DECLARE_NATIVE(MPI_Graph_neighbors_count);
DECLARE_NATIVE(MPI_Comm_rank);
DECLARE_NATIVE(MPI_Pcontrol);
DECLARE_NATIVE(MPI_Topo_test);
DECLARE_NATIVE(MPI_Type_get_envelope_c);

void convert_attribute(int keyval, void *attribute_value) {
    static int values[2]; // of MPI_HOST, MPI_IO: the same for all communicators
    static int last_used_code;
    static thread_local int flavor, model; // of the window asked for last
    auto *&value = *static_cast<int **>(attribute_value);
    switch (keyval_to_native(keyval)) {
    case MPI_HOST:
        values[0] = wildcard_rank_to_face(*value);
        value = &values[0];
        break;
    case MPI_IO:
        values[1] = wildcard_rank_to_face(*value);
        value = &values[1];
        break;
    case MPI_LASTUSEDCODE:
        last_used_code = code_to_face(*value);
        value = &last_used_code;
        break;
    case MPI_WIN_CREATE_FLAVOR:
        flavor = window_flavor_to_face(*value);
        value = &flavor;
        break;
    case MPI_WIN_MODEL:
        model = window_model_to_face(*value);
        value = &model;
        break;
    default:
        break;
    }
}

void convert_contents(MPI_Datatype datatype, int *integers) {
    MPI_Count integer_count = 0, addresses = 0, large_counts = 0, datatypes = 0;
    int combiner = MPI_COMBINER_NAMED;
    if (NATIVE(MPI_Type_get_envelope_c)(datatype, &integer_count, &addresses, &large_counts, &datatypes, &combiner) !=
        MPI_SUCCESS)
        return;
    if (combiner != MPI_COMBINER_SUBARRAY && combiner != MPI_COMBINER_DARRAY) return;
    int &order = integers[integer_count - 1];
    order = order_to_face(order);
    if (combiner == MPI_COMBINER_SUBARRAY) return;
    // Size, rank, number of dimensions; for each dimension its size, if that is no large count, its distribution and
    // the distribution's argument.
    const int dimensions = integers[2];
    int *distributions = integers + 3 + (large_counts == 0 ? dimensions : 0);
    std::transform(distributions, distributions + dimensions, distributions, distribution_to_face);
    int *arguments = distributions + dimensions;
    std::transform(arguments, arguments + dimensions, arguments, distribution_argument_to_face);
}

int peers(Face<MPI_Comm> comm) {
    const auto native = to_native<MPI_Comm>(comm);
    int inter = 0, count = 0;
    if (NATIVE(MPI_Comm_test_inter)(native, &inter) != MPI_SUCCESS) return 0;
    if (inter != 0)
        NATIVE(MPI_Comm_remote_size)(native, &count);
    else
        NATIVE(MPI_Comm_size)(native, &count);
    return count;
}

namespace {

struct Neighbours {
    int in = 0;
    int out = 0;
};

Neighbours neighbours(MPI_Comm comm) {
    Neighbours count;
    int topology = MPI_UNDEFINED, rank = 0, weighted = 0;
    if (NATIVE(MPI_Topo_test)(comm, &topology) != MPI_SUCCESS) return count;
    if (topology == MPI_CART) {
        NATIVE(MPI_Cartdim_get)(comm, &count.in);
        count.in *= 2;
        count.out = count.in;
    } else if (topology == MPI_GRAPH) {
        NATIVE(MPI_Comm_rank)(comm, &rank);
        NATIVE(MPI_Graph_neighbors_count)(comm, rank, &count.in);
        count.out = count.in;
    } else if (topology == MPI_DIST_GRAPH) {
        NATIVE(MPI_Dist_graph_neighbors_count)(comm, &count.in, &count.out, &weighted);
    }
    return count;
}

} // namespace

int sources(Face<MPI_Comm> comm) {
    return neighbours(to_native<MPI_Comm>(comm)).in;
}

int destinations(Face<MPI_Comm> comm) {
    return neighbours(to_native<MPI_Comm>(comm)).out;
}

/// This is not the standard's ABI.
FACE_ENTRY(int, MPI_Abi_get_version, (int *abi_major, int *abi_minor)) {
    if (abi_major != nullptr) *abi_major = -1;
    if (abi_minor != nullptr) *abi_minor = -1;
    return MPI_SUCCESS;
}

FACE_ENTRY(int, MPI_Get_version, (int *version, int *subversion)) {
    if (version != nullptr) *version = face_version;
    if (subversion != nullptr) *subversion = face_subversion;
    return MPI_SUCCESS;
}

// Classes that only the interface has are never returned; programs ask for their names nevertheless.

FACE_ENTRY(int, MPI_Error_class, (int errorcode, int *errorclass)) {
    if (other_class_name(errorcode) != nullptr && errorclass != nullptr) {
        *errorclass = errorcode;
        return MPI_SUCCESS;
    }
    IntOut<code_to_face> errorclass_(errorclass);
    return code_to_face(NATIVE(MPI_Error_class)(code_to_native(errorcode), errorclass_));
}

FACE_ENTRY(int, MPI_Error_string, (int errorcode, char *string, int *resultlen)) {
    StringOut<MPI_MAX_ERROR_STRING, face_MPI_MAX_ERROR_STRING> text(string, resultlen);
    if (const char *name = other_class_name(errorcode); name != nullptr && string != nullptr) {
        std::strcpy(text, name);
        return MPI_SUCCESS;
    }
    return code_to_face(NATIVE(MPI_Error_string)(code_to_native(errorcode), text, resultlen));
}

FACE_ENTRY(int, MPI_Get_library_version, (char *version, int *resultlen)) {
    StringOut<MPI_MAX_LIBRARY_VERSION_STRING, face_MPI_MAX_LIBRARY_VERSION_STRING> text(version, resultlen);
    const int code = NATIVE(MPI_Get_library_version)(text, resultlen);
    if (code == MPI_SUCCESS) std::strcat(text, (std::string(" (by ") + face_title + "'s binary interface)").c_str());
    return code_to_face(code);
}

FACE_ENTRY(int, MPI_Pcontrol, (const int level, ...)) {
    return NATIVE(MPI_Pcontrol)(level);
}

} // namespace volley::faces
