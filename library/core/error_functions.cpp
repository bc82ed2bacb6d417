// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Error_class, MPI_Error_string, and what programs add to them.
#include "core/added_errors.h"
#include "core/error.h"
#include "core/functions.h"

#include <cstring>
#include <map>

namespace volley {
namespace {

struct AddedError {
    int error_class; ///< its own value for a class
    std::string text;
};

/// Classes and codes, by value. Numbers are not used again, so that an old one never gets a new meaning.
std::map<int, AddedError> added_errors;
int last_used = MPI_ERR_LASTCODE;

AddedError *find_added(int code) {
    auto found = added_errors.find(code);
    return found != added_errors.end() ? &found->second : nullptr;
}

int no_added(const char *argument, int value, const char *kind) {
    return fail(MPI_ERR_ARG, "%s is %d, but must be an %s that this program has added", argument, value, kind);
}

/// Removes a class or code; its text must be gone before.
int remove(const char *argument, int value) {
    if (!find_added(value)->text.empty())
        return fail(MPI_ERR_OTHER, "%s %d still has a string; call MPI_Remove_error_string first", argument, value);
    added_errors.erase(value);
    return MPI_SUCCESS;
}

} // namespace

int class_of_added_code(int code) {
    AddedError *added = find_added(code);
    return added != nullptr ? added->error_class : MPI_ERR_UNKNOWN;
}

const std::string *text_of_added_error(int code) {
    AddedError *added = find_added(code);
    return added != nullptr ? &added->text : nullptr;
}

int *last_used_code() {
    return &last_used;
}

int mpi::Error_class(int errorcode, int *errorclass) {
    *errorclass = class_of_any_code(errorcode);
    return MPI_SUCCESS;
}

int mpi::Error_string(int errorcode, char *string, int *resultlen) {
    bool known = error_string(errorcode, string);
    *resultlen = static_cast<int>(std::strlen(string));
    if (!known) return fail(MPI_ERR_ARG, "errorcode is %d, but nothing has returned such a code", errorcode);
    return MPI_SUCCESS;
}

int mpi::Add_error_class(int *errorclass) {
    ++last_used;
    added_errors[last_used] = {last_used, ""};
    *errorclass = last_used;
    return MPI_SUCCESS;
}

int mpi::Add_error_code(int errorclass, int *errorcode) {
    AddedError *added = find_added(errorclass);
    bool is_class = added != nullptr ? added->error_class == errorclass
                                     : errorclass > 0 && describe_error_class(errorclass).name != nullptr;
    if (!is_class) return fail(MPI_ERR_ARG, "errorclass is %d, which is no error class", errorclass);
    ++last_used;
    added_errors[last_used] = {errorclass, ""};
    *errorcode = last_used;
    return MPI_SUCCESS;
}

int mpi::Add_error_string(int errorcode, const char *string) {
    AddedError *added = find_added(errorcode);
    if (added == nullptr) return no_added("errorcode", errorcode, "error code or class");
    added->text.assign(string, strnlen(string, MPI_MAX_ERROR_STRING - 1));
    return MPI_SUCCESS;
}

int mpi::Remove_error_class(int errorclass) {
    AddedError *added = find_added(errorclass);
    if (added == nullptr || added->error_class != errorclass) return no_added("errorclass", errorclass, "error class");
    for (const auto &[code, other] : added_errors)
        if (other.error_class == errorclass && code != errorclass)
            return fail(MPI_ERR_OTHER, "errorclass %d still has the error code %d; remove that first", errorclass,
                        code);
    return remove("errorclass", errorclass);
}

int mpi::Remove_error_code(int errorcode) {
    AddedError *added = find_added(errorcode);
    if (added == nullptr || added->error_class == errorcode) return no_added("errorcode", errorcode, "error code");
    return remove("errorcode", errorcode);
}

int mpi::Remove_error_string(int errorcode) {
    AddedError *added = find_added(errorcode);
    if (added == nullptr) return no_added("errorcode", errorcode, "error code or class");
    added->text.clear();
    return MPI_SUCCESS;
}

} // namespace volley
