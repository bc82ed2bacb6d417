// SPDX-License-Identifier: BSD-3-Clause
/// Entry points with more to them than arguments.
#include "fortran/callbacks.h"
#include "fortran/entry.h"

namespace volley::fortran {
namespace {

/// Room for `length` characters and a zero, in the words of MPI_Info_get_string.
struct Room {
    explicit Room(int length) : text(static_cast<std::size_t>(std::max(length, 0)) + 1, '\0') {}
    std::string text;
};

void set_size(MPI_Info info, const char *key, int bytes) {
    PMPI_Info_set(info, key, std::to_string(bytes).c_str());
}

/// The extra state of a generalized request: the program's procedures and extra state. It goes when the request does.
struct GeneralizedRequest {
    Callback query_procedure;
    Callback free_procedure;
    Callback cancel_procedure;
    MPI_Aint extra_state;

    static int query(void *state, MPI_Status *status) {
        auto &request = *static_cast<GeneralizedRequest *>(state);
        int code = MPI_SUCCESS;
        reinterpret_cast<void (*)(MPI_Aint *, MPI_Status *, int *)>(request.query_procedure)(&request.extra_state,
                                                                                             status, &code);
        return code;
    }
    static int release(void *state) {
        const std::unique_ptr<GeneralizedRequest> request(static_cast<GeneralizedRequest *>(state));
        int code = MPI_SUCCESS;
        reinterpret_cast<void (*)(MPI_Aint *, int *)>(request->free_procedure)(&request->extra_state, &code);
        return code;
    }
    static int cancel(void *state, int complete) {
        auto &request = *static_cast<GeneralizedRequest *>(state);
        int code = MPI_SUCCESS, logical = logical_to_fortran(complete);
        reinterpret_cast<void (*)(MPI_Aint *, int *, int *)>(request.cancel_procedure)(&request.extra_state, &logical,
                                                                                       &code);
        return code;
    }
};

/// The extra state of a data representation, which stays to the end, as the representation does.
struct DataRepresentation {
    Callback read_procedure;
    Callback write_procedure;
    Callback extent_procedure;
    MPI_Aint extra_state;

    template <class Count>
    int convert(Callback procedure, void *user, MPI_Datatype datatype, Count count, void *file, MPI_Offset position) {
        int handle = to_fortran(datatype), code = MPI_SUCCESS;
        reinterpret_cast<void (*)(void *, int *, Count *, void *, MPI_Offset *, MPI_Aint *, int *)>(procedure)(
            user, &handle, &count, file, &position, &extra_state, &code);
        return code;
    }
    template <class Count>
    static int read(void *user, MPI_Datatype datatype, Count count, void *file, MPI_Offset position, void *state) {
        auto &self = *static_cast<DataRepresentation *>(state);
        return self.convert(self.read_procedure, user, datatype, count, file, position);
    }
    template <class Count>
    static int write(void *user, MPI_Datatype datatype, Count count, void *file, MPI_Offset position, void *state) {
        auto &self = *static_cast<DataRepresentation *>(state);
        return self.convert(self.write_procedure, user, datatype, count, file, position);
    }
    static int extent(MPI_Datatype datatype, MPI_Aint *extent, void *state) {
        auto &self = *static_cast<DataRepresentation *>(state);
        int handle = to_fortran(datatype), code = MPI_SUCCESS;
        reinterpret_cast<void (*)(int *, MPI_Aint *, MPI_Aint *, int *)>(self.extent_procedure)(
            &handle, extent, &self.extra_state, &code);
        return code;
    }
};

} // namespace

FORTRAN_PROCEDURE(mpi_conversion_fn_null, (void *, int *, int *, void *, MPI_Offset *, MPI_Aint *, int *ierror)) {
    *ierror = MPI_ERR_CONVERSION; // never called: it stands for what C calls MPI_CONVERSION_FN_NULL
}
FORTRAN_PROCEDURE(mpi_conversion_fn_null_c,
                  (void *, int *, MPI_Count *, void *, MPI_Offset *, MPI_Aint *, int *ierror)) {
    *ierror = MPI_ERR_CONVERSION;
}

namespace {

bool is_null_conversion(Callback procedure) {
    return procedure == reinterpret_cast<Callback>(mpi_conversion_fn_null_) ||
           procedure == reinterpret_cast<Callback>(mpi_conversion_fn_null_c_);
}

template <class Count, class Function>
int register_datarep(Function function, const TextIn &name, Callback read, Callback write, Callback extent,
                     MPI_Aint extra_state) {
    auto representation = std::make_unique<DataRepresentation>(read, write, extent, extra_state);
    const int code = function(name, is_null_conversion(read) ? nullptr : DataRepresentation::read<Count>,
                              is_null_conversion(write) ? nullptr : DataRepresentation::write<Count>,
                              DataRepresentation::extent, representation.get());
    if (code == MPI_SUCCESS) static_cast<void>(representation.release());
    return code;
}

} // namespace

FORTRAN_ENTRY(mpi_register_datarep, (const char *name, Callback read, Callback write, Callback extent,
                                     const MPI_Aint *extra_state, int *ierror, std::size_t name_length)) {
    return_code(ierror, register_datarep<int>(MPI_Register_datarep, TextIn(name, name_length), read, write, extent,
                                              *extra_state));
}
FORTRAN_ALIAS(mpi_register_datarep, mpi_register_datarep_f08);

FORTRAN_ENTRY(mpi_register_datarep_c_f08, (const char *name, Callback read, Callback write, Callback extent,
                                           const MPI_Aint *extra_state, int *ierror, std::size_t name_length)) {
    return_code(ierror, register_datarep<MPI_Count>(MPI_Register_datarep_c, TextIn(name, name_length), read, write,
                                                    extent, *extra_state));
}

FORTRAN_ENTRY(mpi_grequest_start, (Callback query, Callback release, Callback cancel, const MPI_Aint *extra_state,
                                   int *request, int *ierror)) {
    auto state = std::make_unique<GeneralizedRequest>(query, release, cancel, *extra_state);
    HandleOut<MPI_Request> made(request);
    const int code = MPI_Grequest_start(GeneralizedRequest::query, GeneralizedRequest::release,
                                        GeneralizedRequest::cancel, state.get(), made);
    if (code == MPI_SUCCESS) static_cast<void>(state.release());
    return_code(ierror, code);
}
FORTRAN_ALIAS(mpi_grequest_start, mpi_grequest_start_f08);

FORTRAN_FUNCTION(double, mpi_wtime, ()) {
    return MPI_Wtime();
}
FORTRAN_ALIAS(mpi_wtime, mpi_wtime_f08);

FORTRAN_FUNCTION(double, mpi_wtick, ()) {
    return MPI_Wtick();
}
FORTRAN_ALIAS(mpi_wtick, mpi_wtick_f08);

FORTRAN_FUNCTION(MPI_Aint, mpi_aint_add, (const MPI_Aint *base, const MPI_Aint *displacement)) {
    return MPI_Aint_add(*base, *displacement);
}
FORTRAN_ALIAS(mpi_aint_add, mpi_aint_add_f08);

FORTRAN_FUNCTION(MPI_Aint, mpi_aint_diff, (const MPI_Aint *first, const MPI_Aint *second)) {
    return MPI_Aint_diff(*first, *second);
}
FORTRAN_ALIAS(mpi_aint_diff, mpi_aint_diff_f08);

FORTRAN_ENTRY(mpi_pcontrol, (const int *level)) {
    MPI_Pcontrol(*level);
}
FORTRAN_ALIAS(mpi_pcontrol, mpi_pcontrol_f08);

FORTRAN_ENTRY(mpi_info_create_env, (int *info, int *ierror)) {
    HandleOut<MPI_Info> made(info);
    return_code(ierror, MPI_Info_create_env(0, nullptr, made));
}
FORTRAN_ALIAS(mpi_info_create_env, mpi_info_create_env_f08);

FORTRAN_ENTRY(mpi_info_get, (const int *info, const char *key, const int *valuelen, char *value, int *flag, int *ierror,
                             std::size_t key_length, std::size_t value_length)) {
    Room room(*valuelen);
    int found = 0;
    const int code =
        MPI_Info_get(to_native<MPI_Info>(*info), TrimmedTextIn(key, key_length), *valuelen, room.text.data(), &found);
    return_code(ierror, code);
    if (code != MPI_SUCCESS) return;
    *flag = logical_to_fortran(found);
    if (found != 0) write_padded(value, value_length, room.text.c_str());
}
FORTRAN_ALIAS(mpi_info_get, mpi_info_get_f08);

// Lengths count a zero at the end in C, and not in Fortran.

FORTRAN_ENTRY(mpi_info_get_string, (const int *info, const char *key, int *buflen, char *value, int *flag, int *ierror,
                                    std::size_t key_length, std::size_t value_length)) {
    const int wanted =
        static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(std::max(*buflen, 0)), value_length));
    Room room(wanted);
    int found = 0, length = wanted > 0 ? wanted + 1 : 0;
    const int code = MPI_Info_get_string(to_native<MPI_Info>(*info), TrimmedTextIn(key, key_length), &length,
                                         room.text.data(), &found);
    return_code(ierror, code);
    if (code != MPI_SUCCESS) return;
    *flag = logical_to_fortran(found);
    if (found == 0) return;
    *buflen = length - 1;
    if (wanted > 0) write_padded(value, value_length, room.text.c_str());
}
FORTRAN_ALIAS(mpi_info_get_string, mpi_info_get_string_f08);

FORTRAN_ENTRY(mpi_session_get_nth_pset, (const int *session, const int *info, const int *n, int *pset_len,
                                         char *pset_name, int *ierror, std::size_t pset_name_length)) {
    const int wanted =
        static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(std::max(*pset_len, 0)), pset_name_length));
    Room room(wanted);
    int length = wanted > 0 ? wanted + 1 : 0;
    const int code = MPI_Session_get_nth_pset(to_native<MPI_Session>(*session), to_native<MPI_Info>(*info), *n, &length,
                                              room.text.data());
    return_code(ierror, code);
    if (code != MPI_SUCCESS) return;
    *pset_len = length - 1;
    if (wanted > 0) write_padded(pset_name, pset_name_length, room.text.c_str());
}
FORTRAN_ALIAS(mpi_session_get_nth_pset, mpi_session_get_nth_pset_f08);

// What only Fortran has.

FORTRAN_ENTRY(mpi_sizeof_f08ts, (const Descriptor *x, int *size, int *ierror)) {
    *size = static_cast<int>(x->element_bytes);
    return_code(ierror, MPI_SUCCESS);
}

// Handles are compared by functions of this library, so that the module needs no code of its own.
#define COMPARE_HANDLES(kind)                                                                                          \
    extern "C" [[gnu::visibility("default")]] int volley_fortran_equal_##kind##_(const int *first, const int *second); \
    int volley_fortran_equal_##kind##_(const int *first, const int *second) {                                          \
        return logical_to_fortran(*first == *second);                                                                  \
    }                                                                                                                  \
    extern "C" [[gnu::visibility("default")]] int volley_fortran_unequal_##kind##_(const int *first,                   \
                                                                                   const int *second);                 \
    int volley_fortran_unequal_##kind##_(const int *first, const int *second) {                                        \
        return logical_to_fortran(*first != *second);                                                                  \
    }
COMPARE_HANDLES(comm)
COMPARE_HANDLES(group)
COMPARE_HANDLES(datatype)
COMPARE_HANDLES(op)
COMPARE_HANDLES(request)
COMPARE_HANDLES(message)
COMPARE_HANDLES(info)
COMPARE_HANDLES(errhandler)
COMPARE_HANDLES(win)
COMPARE_HANDLES(file)
COMPARE_HANDLES(session)

FORTRAN_ENTRY(mpi_f_sync_reg, (void *)) {}
FORTRAN_ENTRY(mpi_f_sync_reg_f08ts, (const Descriptor *)) {}

FORTRAN_ENTRY(mpi_status_f2f08, (const MPI_Status *f_status, MPI_Status *f08_status, int *ierror)) {
    *f08_status = *f_status;
    return_code(ierror, MPI_SUCCESS);
}
FORTRAN_ALIAS(mpi_status_f2f08, mpi_status_f2f08_f08);

FORTRAN_ENTRY(mpi_status_f082f, (const MPI_Status *f08_status, MPI_Status *f_status, int *ierror)) {
    *f_status = *f08_status;
    return_code(ierror, MPI_SUCCESS);
}
FORTRAN_ALIAS(mpi_status_f082f, mpi_status_f082f_f08);

int refuse_section(MPI_Comm comm) {
    PMPI_Comm_call_errhandler(comm, MPI_ERR_BUFFER);
    return MPI_ERR_BUFFER;
}

int refuse_section(MPI_Win win) {
    PMPI_Win_call_errhandler(win, MPI_ERR_BUFFER);
    return MPI_ERR_BUFFER;
}

int peers(int comm) {
    const auto native = to_native<MPI_Comm>(comm);
    int inter = 0, count = 0;
    if (PMPI_Comm_test_inter(native, &inter) != MPI_SUCCESS) return 0;
    if (inter != 0)
        PMPI_Comm_remote_size(native, &count);
    else
        PMPI_Comm_size(native, &count);
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
    if (PMPI_Topo_test(comm, &topology) != MPI_SUCCESS) return count;
    if (topology == MPI_CART) {
        PMPI_Cartdim_get(comm, &count.in);
        count.in = count.out = 2 * count.in;
    } else if (topology == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &count.in);
        count.out = count.in;
    } else if (topology == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &count.in, &count.out, &weighted);
    }
    return count;
}

} // namespace

int sources(int comm) {
    return neighbours(to_native<MPI_Comm>(comm)).in;
}

int destinations(int comm) {
    return neighbours(to_native<MPI_Comm>(comm)).out;
}

int dimensions(int comm) {
    int count = 0;
    PMPI_Cartdim_get(to_native<MPI_Comm>(comm), &count);
    return count;
}

void tell_about_fortran() {
    MPI_Info info = MPI_INFO_NULL;
    PMPI_Abi_get_fortran_info(&info);
    if (info == MPI_INFO_NULL) {
        PMPI_Info_create(&info);
        set_size(info, "mpi_logical_size", 4);
        set_size(info, "mpi_integer_size", 4);
        set_size(info, "mpi_real_size", 4);
        set_size(info, "mpi_double_precision_size", 8);
        for (const char *type : {"logical1", "logical2", "logical4", "logical8", "logical16", "integer1", "integer2",
                                 "integer4", "integer8", "integer16", "real4", "real8", "real16", "complex8",
                                 "complex16", "complex32", "double_complex"})
            PMPI_Info_set(info, ("mpi_" + std::string(type) + "_supported").c_str(), "true");
        for (const char *type : {"real2", "complex4"})
            PMPI_Info_set(info, ("mpi_" + std::string(type) + "_supported").c_str(), "false");
        PMPI_Abi_set_fortran_info(info);
    }
    PMPI_Info_free(&info);
    int logical_true = logical_to_fortran(1), logical_false = logical_to_fortran(0), is_set = 0;
    int known_true = 0, known_false = 0;
    PMPI_Abi_get_fortran_booleans(sizeof(int), &known_true, &known_false, &is_set);
    if (is_set == 0) PMPI_Abi_set_fortran_booleans(sizeof(int), &logical_true, &logical_false);
}

} // namespace volley::fortran
