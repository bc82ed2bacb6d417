// SPDX-License-Identifier: BSD-3-Clause
/// Attributes: integers in Fortran, pointers in C (MPI 5.0, section 19.3.7).
///
/// An attribute that Fortran attaches is in C a pointer to the integer. There is one such integer for each value that
/// was ever attached, and it stays, so that copies of an attribute, by whomever, need nobody to free it. An attribute
/// that C attaches is in Fortran the pointer as an integer.
#include "fortran/callbacks.h"
#include "fortran/entry.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace volley::fortran {
namespace {

class Values {
  public:
    void *pointer_to(MPI_Aint value) {
        const std::lock_guard lock(mutex_);
        std::unique_ptr<MPI_Aint> &place = places_[value];
        if (place == nullptr) {
            place = std::make_unique<MPI_Aint>(value);
            addresses_.insert(place.get());
        }
        return place.get();
    }
    MPI_Aint value_of(void *pointer) {
        const std::lock_guard lock(mutex_);
        return addresses_.contains(pointer) ? *static_cast<MPI_Aint *>(pointer) : reinterpret_cast<MPI_Aint>(pointer);
    }

  private:
    std::mutex mutex_;
    std::unordered_map<MPI_Aint, std::unique_ptr<MPI_Aint>> places_;
    std::unordered_set<const void *> addresses_;
};

Values &values() {
    static auto *all = new Values; // callbacks may come when the program ends
    return *all;
}

/// A predefined attribute is a pointer to an integer in C, but for the window's memory.
bool read_predefined(int keyval, void *pointer, MPI_Aint &value) {
    constexpr int integers[] = {MPI_TAG_UB,
                                MPI_IO,
                                MPI_HOST,
                                MPI_WTIME_IS_GLOBAL,
                                MPI_APPNUM,
                                MPI_LASTUSEDCODE,
                                MPI_UNIVERSE_SIZE,
                                MPI_WIN_DISP_UNIT,
                                MPI_WIN_CREATE_FLAVOR,
                                MPI_WIN_MODEL};
    if (std::ranges::find(integers, keyval) != std::end(integers))
        value = *static_cast<int *>(pointer);
    else if (keyval == MPI_WIN_SIZE)
        value = *static_cast<MPI_Aint *>(pointer);
    else
        return false;
    return true;
}

/// `Integer`: of the first version of the standard, INTEGER; otherwise INTEGER(KIND=MPI_ADDRESS_KIND).
template <class Integer, class Function, class Native>
void get_attribute(Function function, Native object, int given, Integer *attribute, int *flag, int *ierror) {
    const int keyval = c_keyval(given);
    void *pointer = nullptr;
    int found = 0;
    const int code = function(object, keyval, &pointer, &found);
    return_code(ierror, code);
    if (code != MPI_SUCCESS) return;
    *flag = logical_to_fortran(found);
    if (found == 0) return;
    MPI_Aint value = 0;
    if (!read_predefined(keyval, pointer, value)) value = values().value_of(pointer);
    *attribute = static_cast<Integer>(value);
}

template <class Native, class Integer>
int call_copy(Callback function, void *object, int keyval, void *extra_state, void *in, void *out, int *flag) {
    using Copy = void (*)(int *, int *, Integer *, Integer *, Integer *, int *, int *);
    int handle = fortran_handle<Native>(object), key = fortran_keyval(keyval);
    int code = MPI_SUCCESS, copied = 0;
    auto state = static_cast<Integer>(reinterpret_cast<MPI_Aint>(extra_state));
    auto value = static_cast<Integer>(values().value_of(in));
    Integer made = 0;
    reinterpret_cast<Copy>(function)(&handle, &key, &state, &value, &made, &copied, &code);
    *flag = logical_to_c(copied);
    if (copied != 0) *static_cast<void **>(out) = values().pointer_to(made);
    return library_code(code);
}

template <class Native, class Integer>
int call_delete(Callback function, void *object, int keyval, void *value, void *extra_state) {
    using Delete = void (*)(int *, int *, Integer *, Integer *, int *);
    int handle = fortran_handle<Native>(object), key = fortran_keyval(keyval);
    int code = MPI_SUCCESS;
    auto attribute = static_cast<Integer>(values().value_of(value));
    auto state = static_cast<Integer>(reinterpret_cast<MPI_Aint>(extra_state));
    reinterpret_cast<Delete>(function)(&handle, &key, &attribute, &state, &code);
    return library_code(code);
}

template <class Integer> void copy_nothing(int *, int *, Integer *, Integer *, Integer *, int *flag, int *ierror) {
    *flag = logical_to_fortran(0);
    *ierror = MPI_SUCCESS;
}
template <class Integer> void copy_value(int *, int *, Integer *, Integer *in, Integer *out, int *flag, int *ierror) {
    *out = *in;
    *flag = logical_to_fortran(1);
    *ierror = MPI_SUCCESS;
}

} // namespace

// The predefined callbacks. Those of C stand for them where they are handed to MPI.
#define PREDEFINED_CALLBACKS(prefix, Integer)                                                                          \
    FORTRAN_PROCEDURE(prefix##null_copy_fn, (int *object, int *keyval, Integer *extra_state, Integer *in,              \
                                             Integer *out, int *flag, int *ierror)) {                                  \
        copy_nothing(object, keyval, extra_state, in, out, flag, ierror);                                              \
    }                                                                                                                  \
    FORTRAN_PROCEDURE(prefix##dup_fn, (int *object, int *keyval, Integer *extra_state, Integer *in, Integer *out,      \
                                       int *flag, int *ierror)) {                                                      \
        copy_value(object, keyval, extra_state, in, out, flag, ierror);                                                \
    }                                                                                                                  \
    FORTRAN_PROCEDURE(prefix##null_delete_fn, (int *, int *, Integer *, Integer *, int *ierror)) {                     \
        *ierror = MPI_SUCCESS;                                                                                         \
    }
PREDEFINED_CALLBACKS(mpi_comm_, MPI_Aint)
PREDEFINED_CALLBACKS(mpi_type_, MPI_Aint)
PREDEFINED_CALLBACKS(mpi_win_, MPI_Aint)
PREDEFINED_CALLBACKS(mpi_, int)

namespace {

template <class Function, class Procedure>
Function *copy_function(Callback given, Procedure *null_copy, Procedure *dup) {
    if (given == reinterpret_cast<Callback>(null_copy)) return nullptr;
    // What C calls MPI_COMM_DUP_FN and others.
    if (given == reinterpret_cast<Callback>(dup)) return reinterpret_cast<Function *>(std::intptr_t{1});
    return reinterpret_cast<Function *>(given);
}
template <class Function, class Procedure> Function *delete_function(Callback given, Procedure *null_delete) {
    return given == reinterpret_cast<Callback>(null_delete) ? nullptr : reinterpret_cast<Function *>(given);
}

} // namespace

#define ATTRIBUTES_OF(kind, Kind, handle)                                                                              \
    FORTRAN_ENTRY(mpi_##kind##_create_keyval,                                                                          \
                  (Callback copy, Callback remove, int *keyval, const MPI_Aint *extra_state, int *ierror)) {           \
        const int code = MPI_##Kind##_create_keyval(                                                                   \
            copy_function<MPI_##Kind##_copy_attr_function>(copy, mpi_##kind##_null_copy_fn_, mpi_##kind##_dup_fn_),    \
            delete_function<MPI_##Kind##_delete_attr_function>(remove, mpi_##kind##_null_delete_fn_), keyval,          \
            reinterpret_cast<void *>(*extra_state));                                                                   \
        if (code == MPI_SUCCESS) call_keyval_by(*keyval, call_copy<handle, MPI_Aint>, call_delete<handle, MPI_Aint>);  \
        return_code(ierror, code);                                                                                     \
    }                                                                                                                  \
    FORTRAN_ALIAS(mpi_##kind##_create_keyval, mpi_##kind##_create_keyval_f08);                                         \
    FORTRAN_ENTRY(mpi_##kind##_get_attr,                                                                               \
                  (const int *object, const int *keyval, MPI_Aint *attribute, int *flag, int *ierror)) {               \
        get_attribute(MPI_##Kind##_get_attr, to_native<handle>(*object), *keyval, attribute, flag, ierror);            \
    }                                                                                                                  \
    FORTRAN_ALIAS(mpi_##kind##_get_attr, mpi_##kind##_get_attr_f08);                                                   \
    FORTRAN_ENTRY(mpi_##kind##_set_attr,                                                                               \
                  (const int *object, const int *keyval, const MPI_Aint *attribute, int *ierror)) {                    \
        return_code(ierror,                                                                                            \
                    MPI_##Kind##_set_attr(to_native<handle>(*object), *keyval, values().pointer_to(*attribute)));      \
    }                                                                                                                  \
    FORTRAN_ALIAS(mpi_##kind##_set_attr, mpi_##kind##_set_attr_f08);

ATTRIBUTES_OF(comm, Comm, MPI_Comm)
ATTRIBUTES_OF(type, Type, MPI_Datatype)
ATTRIBUTES_OF(win, Win, MPI_Win)

// Of the first version of the standard.

FORTRAN_ENTRY(mpi_keyval_create, (Callback copy, Callback remove, int *keyval, const int *extra_state, int *ierror)) {
    const int code = MPI_Keyval_create(copy_function<MPI_Copy_function>(copy, mpi_null_copy_fn_, mpi_dup_fn_),
                                       delete_function<MPI_Delete_function>(remove, mpi_null_delete_fn_), keyval,
                                       reinterpret_cast<void *>(static_cast<MPI_Aint>(*extra_state)));
    if (code == MPI_SUCCESS) call_keyval_by(*keyval, call_copy<MPI_Comm, int>, call_delete<MPI_Comm, int>);
    return_code(ierror, code);
}

FORTRAN_ENTRY(mpi_attr_get, (const int *comm, const int *keyval, int *attribute, int *flag, int *ierror)) {
    get_attribute(MPI_Attr_get, to_native<MPI_Comm>(*comm), *keyval, attribute, flag, ierror);
}

FORTRAN_ENTRY(mpi_attr_put, (const int *comm, const int *keyval, const int *attribute, int *ierror)) {
    return_code(ierror, MPI_Attr_put(to_native<MPI_Comm>(*comm), *keyval, values().pointer_to(*attribute)));
}

} // namespace volley::fortran
