// SPDX-License-Identifier: BSD-3-Clause
/// Opening, closing and deleting files (MPI 5.0, section 14.2).
///
/// All ranks open the file, or none: rank 0 first, which creates it if it is to be created, and then the others.
#include "collective/internal.h"
#include "communicator/context_allocation.h"
#include "core/error.h"
#include "core/functions.h"
#include "file/data_access.h"
#include "file/errors.h"
#include "file/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <numeric>
#include <string>
#include <string_view>

namespace volley {
namespace {

/// What a program may write before a name, as other libraries have a way for each of these file systems.
constexpr std::array<std::string_view, 8> prefixes = {
    "ufs:", "nfs:", "xfs:", "gpfs:", "pvfs:", "lustre:", "panfs:", "testfs:"};

std::string without_prefix(std::string_view name) {
    for (std::string_view prefix : prefixes)
        if (name.starts_with(prefix)) return std::string(name.substr(prefix.size()));
    return std::string(name);
}

int check_mode(int amode) {
    constexpr int known = MPI_MODE_APPEND | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_EXCL |
                          MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL | MPI_MODE_UNIQUE_OPEN |
                          MPI_MODE_WRONLY;
    const auto ways = static_cast<unsigned>(amode & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY));
    if ((amode & ~known) != 0) return fail(MPI_ERR_AMODE, "amode is %#x, which has bits of no MPI_MODE_...", amode);
    if (std::popcount(ways) != 1)
        return fail(MPI_ERR_AMODE, "amode must have one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY");
    if ((amode & MPI_MODE_RDONLY) != 0 && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0)
        return fail(MPI_ERR_AMODE, "amode has MPI_MODE_RDONLY, and so must have neither MPI_MODE_CREATE nor "
                                   "MPI_MODE_EXCL");
    if ((amode & MPI_MODE_RDWR) != 0 && (amode & MPI_MODE_SEQUENTIAL) != 0)
        return fail(MPI_ERR_AMODE, "amode has MPI_MODE_RDWR, and so must not have MPI_MODE_SEQUENTIAL");
    return MPI_SUCCESS;
}

int open_here(File &file, bool creates) {
    int flags = O_CLOEXEC;
    if (file.has(MPI_MODE_RDONLY)) flags |= O_RDONLY;
    if (file.has(MPI_MODE_WRONLY)) flags |= O_WRONLY;
    if (file.has(MPI_MODE_RDWR)) flags |= O_RDWR;
    if (creates && file.has(MPI_MODE_CREATE)) flags |= O_CREAT;
    if (creates && file.has(MPI_MODE_CREATE) && file.has(MPI_MODE_EXCL)) flags |= O_EXCL;
    do file.descriptor = Descriptor(::open(file.name.c_str(), flags, file.hints.permissions));
    while (!file.descriptor && errno == EINTR);
    if (!file.descriptor) return file.error(errno, "cannot be opened");
    struct stat about{};
    if (fstat(file.descriptor.get(), &about) == 0 && S_ISDIR(about.st_mode))
        return file.error(EISDIR, "cannot be opened");
    return MPI_SUCCESS;
}

/// All open the file, or none.
int open_by_all(File &file, int checked) {
    Communicator &communicator = file.communicator;
    if (int code = agree_on(communicator, checked, file.amode, "amode"); code != MPI_SUCCESS) return code;
    const bool first = communicator.rank() == 0;
    int code = first ? open_here(file, true) : MPI_SUCCESS;
    std::uint64_t drawn = first && code == MPI_SUCCESS ? SharedPointer::draw(communicator) : 0;
    if (int failed = broadcast(&drawn, sizeof drawn, 0, communicator); failed != MPI_SUCCESS) return failed;
    if (drawn != 0) file.shared.open(drawn, file.name);
    if (int failed = agree(communicator, code, "it could not open the file"); failed != MPI_SUCCESS) return failed;
    if (!first) code = open_here(file, false);
    return agree(communicator, code, "it could not open the file");
}

/// With MPI_MODE_APPEND all pointers begin at the end.
int go_to_end(File &file) {
    Count end = 0;
    int code = file.size(end);
    file.position = end;
    if (code == MPI_SUCCESS && file.communicator.rank() == 0) code = file.shared.set(end);
    return agree(file.communicator, code, "it could not go to the end of the file");
}

void dispose(File &file) {
    file.shared.close(file.communicator.rank() == 0);
    File::destroy(file);
}

} // namespace

namespace mpi {

int File_open(Communicator &comm, const char *filename, int amode, Info *info, MPI_File *fh) {
    *fh = MPI_FILE_NULL;
    if (comm.is_inter()) return fail(MPI_ERR_COMM, "comm is an intercommunicator, but must be an intracommunicator");
    std::vector<int> members(static_cast<std::size_t>(comm.size()));
    std::iota(members.begin(), members.end(), 0);
    Communicator *hidden = nullptr;
    if (int code = make_subset(comm, members, hidden); code != MPI_SUCCESS) return code;
    hidden->session = comm.session;
    File &file = *File::make(*hidden, without_prefix(filename), amode);
    file.hints.take(info);
    int code = open_by_all(file, check_mode(amode));
    if (code == MPI_SUCCESS && file.has(MPI_MODE_APPEND)) code = go_to_end(file);
    if (code != MPI_SUCCESS) {
        dispose(file);
        return code;
    }
    *fh = file.handle();
    return MPI_SUCCESS;
}

int File_close(MPI_File *fh) {
    File *named = File::from_handle(*fh);
    if (named == nullptr)
        return fail(MPI_ERR_FILE, "fh is %s, but must be a file",
                    *fh == MPI_FILE_NULL ? "MPI_FILE_NULL" : "none, or one that was closed");
    File &file = *named;
    blame(file.communicator);
    if (int code = check_no_split(file); code != MPI_SUCCESS) return code;
    // After this nobody uses the file or its shared pointer.
    int code = barrier(file.communicator);
    const bool first = file.communicator.rank() == 0;
    if (first && file.has(MPI_MODE_DELETE_ON_CLOSE) && unlink(file.name.c_str()) < 0 && code == MPI_SUCCESS)
        code = file.error(errno, "cannot be deleted");
    // A network file system may say only now that there was no space.
    Descriptor descriptor = std::move(file.descriptor);
    if (descriptor && ::close(descriptor.release()) < 0 && errno != EINTR && code == MPI_SUCCESS)
        code = file.error(errno, "cannot be closed");
    code = agree(file.communicator, code, "it could not close the file");
    // The failure is the file's: its handle stays, for the error handler. It may be closed once more.
    if (code != MPI_SUCCESS) return code;
    forget_blame();
    *fh = MPI_FILE_NULL;
    dispose(file);
    return MPI_SUCCESS;
}

int File_delete(const char *filename, Info *) {
    std::string name = without_prefix(filename);
    if (unlink(name.c_str()) < 0) return file_error(errno, name, "cannot be deleted");
    return MPI_SUCCESS;
}

} // namespace mpi
} // namespace volley
