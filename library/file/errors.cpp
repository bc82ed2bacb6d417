// SPDX-License-Identifier: BSD-3-Clause
#include "file/errors.h"

#include "collective/internal.h"
#include "core/error.h"

#include <array>
#include <cerrno>
#include <cstring>

namespace volley {
namespace {

int class_of_errno(int number) {
    switch (number) {
    case ENOENT:
        return MPI_ERR_NO_SUCH_FILE;
    case EEXIST:
        return MPI_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM:
        return MPI_ERR_ACCESS;
    case EROFS:
        return MPI_ERR_READ_ONLY;
    case ENOSPC:
        return MPI_ERR_NO_SPACE;
    case EDQUOT:
        return MPI_ERR_QUOTA;
    case EBUSY:
    case ETXTBSY:
        return MPI_ERR_FILE_IN_USE;
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
        return MPI_ERR_BAD_FILE;
    case ENOMEM:
        return MPI_ERR_NO_MEM;
    case EOPNOTSUPP:
    case ENOSYS:
        return MPI_ERR_UNSUPPORTED_OPERATION;
    default:
        return MPI_ERR_IO;
    }
}

/// What a failure is among those of all ranks: the first rank's is the largest.
Count weight(const Communicator &communicator, int code) {
    return code == MPI_SUCCESS ? 0 : Count{communicator.size() - communicator.rank()} << 32 | class_of_any_code(code);
}

int heaviest(const Communicator &communicator, int code, Count weight, const char *what) {
    if (code != MPI_SUCCESS || weight == 0) return code;
    return fail(static_cast<int>(weight & 0xffff'ffff), "rank %d has failed: %s",
                communicator.size() - static_cast<int>(weight >> 32), what);
}

} // namespace

int file_error(int number, const std::string &name, const char *doing) {
    std::array<char, 128> text{};
    return fail(class_of_errno(number), "the file '%s' %s: %s", name.c_str(), doing,
                strerror_r(number, text.data(), text.size()));
}

int agree(Communicator &communicator, int code, const char *what) {
    Count worst = weight(communicator, code);
    if (int failed = allreduce_max(&worst, 1, communicator); failed != MPI_SUCCESS) return failed;
    return heaviest(communicator, code, worst, what);
}

int agree_on(Communicator &communicator, int code, Count value, const char *what) {
    std::array<Count, 3> all = {weight(communicator, code), value, -value};
    if (int failed = allreduce_max(all.data(), all.size(), communicator); failed != MPI_SUCCESS) return failed;
    if (code != MPI_SUCCESS || all[0] != 0) return heaviest(communicator, code, all[0], what);
    if (all[1] == -all[2]) return MPI_SUCCESS;
    return fail(MPI_ERR_NOT_SAME, "%s is %lld, but must be the same on all ranks, which have up to %lld", what,
                static_cast<long long>(value), static_cast<long long>(all[1]));
}

} // namespace volley
