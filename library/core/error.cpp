// SPDX-License-Identifier: BSD-3-Clause
#include "core/error.h"

#include "core/added_errors.h"
#include "core/datatype/datatype.h"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>

namespace volley {
namespace {

constexpr int class_bits = 7;
/// Slot 0 means: no sentence. With all others used, codes stay below MPI_ERR_LASTCODE.
constexpr int sentence_slots = 127;
static_assert((sentence_slots << class_bits | MPI_ERR_ABI) < MPI_ERR_LASTCODE);

struct Sentence {
    int code = MPI_SUCCESS;
    std::array<char, MPI_MAX_ERROR_STRING> text{};
};

std::array<Sentence, sentence_slots> sentences;
int last_slot = 0;

/// Where the sentence of the next code goes, and that code.
Sentence &next_sentence(int error_class) {
    last_slot = last_slot % sentence_slots + 1;
    Sentence &sentence = sentences[static_cast<std::size_t>(last_slot - 1)];
    sentence.code = last_slot << class_bits | error_class;
    return sentence;
}

/// By class; what MPI_Error_string says of a bare class.
constexpr std::array<ErrorClass, MPI_ERR_ABI + 1> classes = {{
    {"MPI_SUCCESS", "no error"},
    {"MPI_ERR_BUFFER", "invalid buffer pointer"},
    {"MPI_ERR_COUNT", "invalid count"},
    {"MPI_ERR_TYPE", "invalid datatype"},
    {"MPI_ERR_TAG", "invalid tag"},
    {"MPI_ERR_COMM", "invalid communicator"},
    {"MPI_ERR_RANK", "invalid rank"},
    {"MPI_ERR_REQUEST", "invalid request"},
    {"MPI_ERR_ROOT", "invalid root"},
    {"MPI_ERR_GROUP", "invalid group"},
    {"MPI_ERR_OP", "invalid reduction operation"},
    {"MPI_ERR_TOPOLOGY", "invalid topology"},
    {"MPI_ERR_DIMS", "invalid dimension"},
    {"MPI_ERR_ARG", "invalid argument"},
    {"MPI_ERR_UNKNOWN", "unknown error"},
    {"MPI_ERR_TRUNCATE", "message truncated: the receive buffer is too small"},
    {"MPI_ERR_OTHER", "an error of no other class"},
    {"MPI_ERR_INTERN", "internal error of the MPI library"},
    {"MPI_ERR_PENDING", "operation still pending"},
    {"MPI_ERR_IN_STATUS", "the error codes are in the statuses"},
    {"MPI_ERR_ACCESS", "permission denied"},
    {"MPI_ERR_AMODE", "invalid access mode of a file"},
    {"MPI_ERR_ASSERT", "invalid assertion"},
    {"MPI_ERR_BAD_FILE", "invalid file name"},
    {"MPI_ERR_BASE", "invalid base address"},
    {"MPI_ERR_CONVERSION", "error in a conversion of data"},
    {"MPI_ERR_DISP", "invalid displacement"},
    {"MPI_ERR_DUP_DATAREP", "data representation already defined"},
    {"MPI_ERR_FILE_EXISTS", "file exists"},
    {"MPI_ERR_FILE_IN_USE", "file in use"},
    {"MPI_ERR_FILE", "invalid file"},
    {"MPI_ERR_INFO_KEY", "invalid key of an info object"},
    {"MPI_ERR_INFO_NOKEY", "no such key in the info object"},
    {"MPI_ERR_INFO_VALUE", "invalid value in an info object"},
    {"MPI_ERR_INFO", "invalid info object"},
    {"MPI_ERR_IO", "input or output failed"},
    {"MPI_ERR_KEYVAL", "invalid attribute key"},
    {"MPI_ERR_LOCKTYPE", "invalid kind of lock"},
    {"MPI_ERR_NAME", "name not published"},
    {"MPI_ERR_NO_MEM", "out of memory"},
    {"MPI_ERR_NOT_SAME", "argument or order of calls not the same in all processes"},
    {"MPI_ERR_NO_SPACE", "no space left"},
    {"MPI_ERR_NO_SUCH_FILE", "no such file"},
    {"MPI_ERR_PORT", "invalid port name"},
    {"MPI_ERR_QUOTA", "quota exceeded"},
    {"MPI_ERR_READ_ONLY", "file is read-only"},
    {"MPI_ERR_RMA_ATTACH", "memory cannot be attached to the window"},
    {"MPI_ERR_RMA_CONFLICT", "conflicting accesses to a window"},
    {"MPI_ERR_RMA_RANGE", "memory outside of the window"},
    {"MPI_ERR_RMA_SHARED", "memory cannot be shared"},
    {"MPI_ERR_RMA_SYNC", "wrong synchronisation of a window"},
    {"MPI_ERR_SERVICE", "invalid service name"},
    {"MPI_ERR_SIZE", "invalid size"},
    {"MPI_ERR_SPAWN", "processes could not be started"},
    {"MPI_ERR_UNSUPPORTED_DATAREP", "data representation not supported"},
    {"MPI_ERR_UNSUPPORTED_OPERATION", "operation not supported"},
    {"MPI_ERR_WIN", "invalid window"},
    {"MPI_ERR_RMA_FLAVOR", "wrong kind of window"},
    {"MPI_ERR_PROC_ABORTED", "a process ended abnormally"},
    {"MPI_ERR_VALUE_TOO_LARGE", "value too large for its variable"},
    {"MPI_ERR_SESSION", "invalid session"},
    {"MPI_ERR_ERRHANDLER", "invalid error handler"},
    {"MPI_ERR_ABI", "problem of the binary interface"},
}};

constexpr std::array<ErrorClass, 3> recovery_classes = {{
    {"MPIX_ERR_PROC_FAILED", "a process has failed"},
    {"MPIX_ERR_PROC_FAILED_PENDING", "a process has failed, and the operation is still pending"},
    {"MPIX_ERR_REVOKED", "the communicator was revoked"},
}};
static_assert((sentence_slots << class_bits | MPIX_ERR_REVOKED) < MPI_ERR_LASTCODE);

constexpr std::array<ErrorClass, 18> tool_classes = {{
    {"MPI_T_ERR_CANNOT_INIT", "the tool interface cannot be initialised"},
    {"MPI_T_ERR_NOT_ACCESSIBLE", "not accessible"},
    {"MPI_T_ERR_NOT_INITIALIZED", "the tool interface is not initialised"},
    {"MPI_T_ERR_NOT_SUPPORTED", "not supported"},
    {"MPI_T_ERR_MEMORY", "out of memory"},
    {"MPI_T_ERR_INVALID", "invalid argument"},
    {"MPI_T_ERR_INVALID_INDEX", "invalid index"},
    {"MPI_T_ERR_INVALID_ITEM", "invalid item"},
    {"MPI_T_ERR_INVALID_SESSION", "invalid session"},
    {"MPI_T_ERR_INVALID_HANDLE", "invalid handle"},
    {"MPI_T_ERR_INVALID_NAME", "invalid name"},
    {"MPI_T_ERR_OUT_OF_HANDLES", "out of handles"},
    {"MPI_T_ERR_OUT_OF_SESSIONS", "out of sessions"},
    {"MPI_T_ERR_CVAR_SET_NOT_NOW", "the variable cannot be set at this time"},
    {"MPI_T_ERR_CVAR_SET_NEVER", "the variable cannot be set"},
    {"MPI_T_ERR_PVAR_NO_WRITE", "the variable cannot be written"},
    {"MPI_T_ERR_PVAR_NO_STARTSTOP", "the variable cannot be started and stopped"},
    {"MPI_T_ERR_PVAR_NO_ATOMIC", "the variable cannot be read and written at once"},
}};
static_assert(MPI_T_ERR_PVAR_NO_ATOMIC - MPI_T_ERR_CANNOT_INIT + 1 == tool_classes.size());

} // namespace

int fail(int error_class, const char *format, ...) {
    Sentence &sentence = next_sentence(error_class);
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(sentence.text.data(), sentence.text.size(), format, arguments);
    va_end(arguments);
    return sentence.code;
}

int report(const Outcome &outcome) {
    if (outcome.ok()) return MPI_SUCCESS;
    return fail(outcome.error_class, "%s", outcome.message.c_str());
}

int out_of_memory() {
    return fail(MPI_ERR_NO_MEM, "this process has no memory left for what the function needs: free some, or raise its "
                                "limit (ulimit -v)");
}

int too_many_elements(const char *argument, Count count, const Datatype &datatype) {
    return fail(MPI_ERR_COUNT,
                "%s is %lld, but so many elements of %lld bytes, with an extent of %lld, exceed 2^56 - 1 bytes",
                argument, static_cast<long long>(count), static_cast<long long>(datatype.size()),
                static_cast<long long>(datatype.extent()));
}

const char *sentence_of(int code) {
    int slot = code >> class_bits;
    if (slot < 1 || slot > sentence_slots) return "";
    const Sentence &sentence = sentences[static_cast<std::size_t>(slot - 1)];
    return sentence.code == code ? sentence.text.data() : "";
}

ErrorClass describe_error_class(int error_class) {
    if (error_class >= 0 && error_class < static_cast<int>(classes.size()))
        return classes[static_cast<std::size_t>(error_class)];
    int recovery = error_class - MPIX_ERR_PROC_FAILED;
    if (recovery >= 0 && recovery < static_cast<int>(recovery_classes.size()))
        return recovery_classes[static_cast<std::size_t>(recovery)];
    int tool = error_class - MPI_T_ERR_CANNOT_INIT;
    if (tool >= 0 && tool < static_cast<int>(tool_classes.size())) return tool_classes[static_cast<std::size_t>(tool)];
    return {nullptr, nullptr};
}

int class_of_any_code(int code) {
    if (describe_error_class(code).name != nullptr) return code;
    if (code > MPI_ERR_LASTCODE) return class_of_added_code(code);
    if (code < 0 || describe_error_class(error_class_of(code)).name == nullptr) return MPI_ERR_UNKNOWN;
    return error_class_of(code);
}

bool error_string(int code, char *text) {
    constexpr std::size_t room = MPI_MAX_ERROR_STRING;
    if (code > MPI_ERR_LASTCODE) {
        const std::string *added = text_of_added_error(code);
        std::snprintf(text, room, "%s", added != nullptr ? added->c_str() : "");
        return added != nullptr;
    }
    int error_class = class_of_any_code(code);
    ErrorClass described = describe_error_class(error_class);
    const char *sentence = sentence_of(code);
    if (*sentence != '\0')
        std::snprintf(text, room, "%s: %s", described.name, sentence);
    else
        std::snprintf(text, room, "%s: %s", described.name, described.sentence);
    return code >= 0 && (error_class != MPI_ERR_UNKNOWN || (code & ((1 << class_bits) - 1)) == MPI_ERR_UNKNOWN);
}

} // namespace volley
