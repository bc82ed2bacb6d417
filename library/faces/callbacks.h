// SPDX-License-Identifier: BSD-3-Clause
/// The library calls these instead of a program's callbacks, and they call the program's with its interface's handles.
/// Included after a face's handles.h.
#pragma once

#include "core/callbacks.h"
#include "faces/entry.h"

#include <numeric>

namespace volley::faces {

inline void call_operation(Callback function, void *in, void *inout, MPI_Count count, MPI_Datatype datatype) {
    int length = static_cast<int>(count);
    Face<MPI_Datatype> handle = to_face(datatype);
    reinterpret_cast<void (*)(void *, void *, int *, Face<MPI_Datatype> *)>(function)(in, inout, &length, &handle);
}

inline void call_large_operation(Callback function, void *in, void *inout, MPI_Count count, MPI_Datatype datatype) {
    Face<MPI_Datatype> handle = to_face(datatype);
    reinterpret_cast<void (*)(void *, void *, MPI_Count *, Face<MPI_Datatype> *)>(function)(in, inout, &count, &handle);
}

template <class Native> int call_errhandler(Callback function, void *handle, int code) {
    Face<Native> object = to_face(*static_cast<Native *>(handle));
    const int converted = code_to_face(code);
    int returned = converted;
    reinterpret_cast<void (*)(Face<Native> *, int *, ...)>(function)(&object, &returned);
    return returned == converted ? code : code_to_native(returned);
}

template <class Native>
int call_copy(Callback function, void *object, int keyval, void *extra_state, void *in, void *out, int *flag) {
    return code_to_native(reinterpret_cast<int (*)(Face<Native>, int, void *, void *, void *, int *)>(function)(
        to_face(static_cast<Native>(object)), keyval_to_face(keyval), extra_state, in, out, flag));
}

template <class Native> int call_delete(Callback function, void *object, int keyval, void *value, void *extra_state) {
    return code_to_native(reinterpret_cast<int (*)(Face<Native>, int, void *, void *)>(function)(
        to_face(static_cast<Native>(object)), keyval_to_face(keyval), value, extra_state));
}

/// The extra state of a generalized request: the program's functions and extra state. It goes when the request does.
struct GeneralizedRequest {
    Callback query_function;
    Callback free_function;
    Callback cancel_function;
    void *extra_state;

    static int query(void *state, MPI_Status *status) {
        const auto &request = *static_cast<GeneralizedRequest *>(state);
        if (request.query_function == nullptr) return MPI_SUCCESS;
        Status converted;
        write_status(converted, *status);
        converted.MPI_ERROR = MPI_SUCCESS;
        const int code =
            reinterpret_cast<int (*)(void *, Status *)>(request.query_function)(request.extra_state, &converted);
        read_status(*status, converted);
        return code_to_native(code);
    }
    static int release(void *state) {
        const std::unique_ptr<GeneralizedRequest> request(static_cast<GeneralizedRequest *>(state));
        if (request->free_function == nullptr) return MPI_SUCCESS;
        return code_to_native(reinterpret_cast<int (*)(void *)>(request->free_function)(request->extra_state));
    }
    static int cancel(void *state, int complete) {
        const auto &request = *static_cast<GeneralizedRequest *>(state);
        if (request.cancel_function == nullptr) return MPI_SUCCESS;
        return code_to_native(
            reinterpret_cast<int (*)(void *, int)>(request.cancel_function)(request.extra_state, complete));
    }
};

/// The extra state of a data representation of files: the program's functions and extra state. It is there for good, as
/// the representation is.
struct DataRepresentation {
    Callback read_function;
    Callback write_function;
    Callback extent_function;
    void *extra_state;

    template <class Count>
    static int read(void *memory, MPI_Datatype datatype, Count count, void *external, MPI_Offset position,
                    void *state) {
        const auto &own = *static_cast<DataRepresentation *>(state);
        return own.convert(own.read_function, memory, datatype, count, external, position);
    }
    template <class Count>
    static int write(void *memory, MPI_Datatype datatype, Count count, void *external, MPI_Offset position,
                     void *state) {
        const auto &own = *static_cast<DataRepresentation *>(state);
        return own.convert(own.write_function, memory, datatype, count, external, position);
    }
    static int extent(MPI_Datatype datatype, MPI_Aint *bytes, void *state) {
        const auto &own = *static_cast<DataRepresentation *>(state);
        return code_to_native(reinterpret_cast<int (*)(Face<MPI_Datatype>, MPI_Aint *, void *)>(own.extent_function)(
            to_face(datatype), bytes, own.extra_state));
    }

  private:
    template <class Count>
    int convert(Callback function, void *memory, MPI_Datatype datatype, Count count, void *external,
                MPI_Offset position) const {
        using Conversion = int (*)(void *, Face<MPI_Datatype>, Count, void *, MPI_Offset, void *);
        return code_to_native(
            reinterpret_cast<Conversion>(function)(memory, to_face(datatype), count, external, position, extra_state));
    }
};

/// What the library gives as the value of a predefined attribute, with the values that the interface has.
void convert_attribute(int keyval, void *attribute_value);

/// The integers with which a datatype was made: some are constants.
void convert_contents(MPI_Datatype datatype, int *integers);

// How long arrays of datatypes are, in collective operations with one for each peer.
int peers(Face<MPI_Comm> comm);
int sources(Face<MPI_Comm> comm);
int destinations(Face<MPI_Comm> comm);

inline MPI_Count sum(const int *numbers, int count) {
    return numbers != nullptr && count > 0 ? std::accumulate(numbers, numbers + count, MPI_Count{0}) : 0;
}

} // namespace volley::faces
