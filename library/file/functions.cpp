// SPDX-License-Identifier: BSD-3-Clause
/// Functions of files but for opening and data access (MPI 5.0, sections 14.2, 14.3, 14.5 to 14.7).
#include "core/functions.h"
#include "collective/internal.h"
#include "core/error.h"
#include "core/group.h"
#include "file/data_access.h"
#include "file/errors.h"
#include "file/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace volley {
namespace {

/// A handle for the program, of its own: it frees what it did not predefine.
int give_datatype(Datatype &datatype, MPI_Datatype *handle) {
    Datatype *given = &datatype;
    if (!datatype.is_predefined())
        if (Outcome outcome = make_dup(datatype, given); !outcome.ok()) return report(outcome);
    *handle = given->handle();
    return MPI_SUCCESS;
}

int check_committed(const char *argument, const Datatype &datatype) {
    if (datatype.is_committed()) return MPI_SUCCESS;
    return fail(MPI_ERR_TYPE, "%s is not committed; call MPI_Type_commit first", argument);
}

int check_not_sequential(const File &file) {
    if (!file.has(MPI_MODE_SEQUENTIAL)) return MPI_SUCCESS;
    return fail(MPI_ERR_UNSUPPORTED_OPERATION, "the file '%s' was opened with MPI_MODE_SEQUENTIAL", file.name.c_str());
}

/// What rank 0 does for all, once they all have come and want the same.
template <class Work> int by_first(File &file, Count value, const char *name, int checked, Work &&work) {
    if (checked == MPI_SUCCESS) checked = check_no_split(file);
    if (int code = agree_on(file.communicator, checked, value, name); code != MPI_SUCCESS) return code;
    int code = file.communicator.rank() == 0 ? work() : MPI_SUCCESS;
    return agree(file.communicator, code, name);
}

/// What giving a file another size asks of both.
int check_resize(const File &file, Count size) {
    if (size < 0) return fail(MPI_ERR_ARG, "size is %lld, but must not be negative", static_cast<long long>(size));
    if (int code = file.check_writable(); code != MPI_SUCCESS) return code;
    return check_not_sequential(file);
}

/// Where a seek leads, in bytes of the view.
int find_position(const File &file, Count offset, int whence, Count current, Count &position) {
    Checked sought = Checked(offset) * file.view->etype_bytes();
    if (whence == MPI_SEEK_CUR) sought = sought + current;
    if (whence == MPI_SEEK_END) {
        // The end of the file as the view has it: the first etype that does not lie before it.
        Count bytes = 0;
        if (int code = file.size(bytes); code != MPI_SUCCESS) return code;
        if (!file.view->is_increasing())
            return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                        "MPI_SEEK_END needs a filetype whose displacements do not decrease");
        Count etype = file.view->etype_bytes();
        Count end = file.view->shown().position_at(bytes);
        sought = sought + (end + etype - 1) / etype * etype;
    }
    if (whence != MPI_SEEK_SET && whence != MPI_SEEK_CUR && whence != MPI_SEEK_END)
        return fail(MPI_ERR_ARG, "whence is %d, but must be MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END", whence);
    if (sought.overflow() || sought.value() < 0)
        return fail(MPI_ERR_ARG, "offset is %lld, which leads to before the view's beginning, or too far",
                    static_cast<long long>(offset));
    position = sought.value();
    return MPI_SUCCESS;
}

int choose_displacement(File &file, Count &displacement) {
    if (displacement != MPI_DISPLACEMENT_CURRENT) {
        if (displacement >= 0) return MPI_SUCCESS;
        return fail(MPI_ERR_ARG, "disp is %lld, but must not be negative", static_cast<long long>(displacement));
    }
    if (!file.has(MPI_MODE_SEQUENTIAL))
        return fail(MPI_ERR_ARG, "disp is MPI_DISPLACEMENT_CURRENT, which only MPI_MODE_SEQUENTIAL allows");
    Count position = 0;
    if (int code = file.shared.get(position); code != MPI_SUCCESS) return code;
    displacement = file.view->shown().offset_of(position);
    return MPI_SUCCESS;
}

int set_view(File &file, Count displacement, Datatype &etype, Datatype &filetype, const char *name) {
    if (int code = check_committed("etype", etype); code != MPI_SUCCESS) return code;
    if (int code = check_committed("filetype", filetype); code != MPI_SUCCESS) return code;
    const Representation *representation = Representation::find(name);
    if (representation == nullptr)
        return fail(MPI_ERR_UNSUPPORTED_DATAREP, "datarep is \"%s\", which was not registered", name);
    if (int code = choose_displacement(file, displacement); code != MPI_SUCCESS) return code;
    return FileView::make(displacement, etype, filetype, *representation, !file.has(MPI_MODE_RDONLY), file.view);
}

int add_representation(const char *name, const RepresentationFunctions &functions) {
    if (functions.extent == nullptr)
        return fail(MPI_ERR_ARG, "dtype_file_extent_fn is a null pointer, but must be a function");
    return Representation::add(make_representation(name, functions));
}

} // namespace

namespace mpi {

int File_set_size(File &fh, MPI_Offset size) {
    return by_first(fh, size, "size", check_resize(fh, size), [&] {
        fh.written = true;
        return ftruncate(fh.descriptor.get(), size) < 0 ? fh.error(errno, "cannot be given another size") : MPI_SUCCESS;
    });
}

int File_preallocate(File &fh, MPI_Offset size) {
    return by_first(fh, size, "size", check_resize(fh, size), [&] {
        if (size == 0) return MPI_SUCCESS;
        fh.written = true;
        int number = EINTR;
        while (number == EINTR) number = posix_fallocate(fh.descriptor.get(), 0, size);
        return number != 0 ? fh.error(number, "cannot get its space") : MPI_SUCCESS;
    });
}

int File_get_size(File &fh, MPI_Offset *size) {
    return fh.size(*size);
}

int File_get_group(File &fh, MPI_Group *group) {
    fh.communicator.local().retain();
    *group = fh.communicator.local().handle();
    return MPI_SUCCESS;
}

int File_get_amode(File &fh, int *amode) {
    *amode = fh.amode;
    return MPI_SUCCESS;
}

int File_set_info(File &fh, Info *info) {
    fh.hints.take(info);
    return agree(fh.communicator, check_no_split(fh), "it could not set hints");
}

int File_get_info(File &fh, MPI_Info *info_used) {
    Info *info = Info::make();
    fh.hints.tell(*info);
    info->set("filename", fh.name);
    *info_used = info->handle();
    return MPI_SUCCESS;
}

int File_set_view(File &fh, MPI_Offset disp, Datatype &etype, Datatype &filetype, const char *datarep, Info *info) {
    int code = check_no_split(fh);
    if (code == MPI_SUCCESS) code = set_view(fh, disp, etype, filetype, datarep);
    if (code == MPI_SUCCESS) fh.hints.take(info);
    fh.position = 0;
    // All have come, and use the shared pointer no more. They may use it again once it is reset.
    code = agree_on(fh.communicator, code, etype.extent(), "the extent of etype");
    int reset = fh.communicator.rank() == 0 ? fh.shared.set(0) : MPI_SUCCESS;
    reset = agree(fh.communicator, reset, "it could not reset the shared file pointer");
    return code != MPI_SUCCESS ? code : reset;
}

int File_get_view(File &fh, MPI_Offset *disp, MPI_Datatype *etype, MPI_Datatype *filetype, char *datarep) {
    *disp = fh.view->shown().displacement();
    std::strcpy(datarep, fh.view->representation().name().c_str());
    if (int code = give_datatype(fh.view->etype(), etype); code != MPI_SUCCESS) return code;
    return give_datatype(fh.view->filetype(), filetype);
}

int File_seek(File &fh, MPI_Offset offset, int whence) {
    if (int code = check_not_sequential(fh); code != MPI_SUCCESS) return code;
    return find_position(fh, offset, whence, fh.position, fh.position);
}

int File_get_position(File &fh, MPI_Offset *offset) {
    if (int code = check_not_sequential(fh); code != MPI_SUCCESS) return code;
    *offset = fh.position / fh.view->etype_bytes();
    return MPI_SUCCESS;
}

int File_get_byte_offset(File &fh, MPI_Offset offset, MPI_Offset *disp) {
    Count position = 0;
    if (int code = fh.view->find_etype(offset, 1, position); code != MPI_SUCCESS) return code;
    *disp = fh.view->shown().offset_of(position);
    return MPI_SUCCESS;
}

int File_seek_shared(File &fh, MPI_Offset offset, int whence) {
    Count current = 0, position = 0;
    int code = check_not_sequential(fh);
    if (code == MPI_SUCCESS) code = fh.shared.get(current);
    if (code == MPI_SUCCESS) code = find_position(fh, offset, whence, current, position);
    return by_first(fh, offset, "offset", code, [&] { return fh.shared.set(position); });
}

int File_get_position_shared(File &fh, MPI_Offset *offset) {
    if (int code = check_not_sequential(fh); code != MPI_SUCCESS) return code;
    Count position = 0;
    if (int code = fh.shared.get(position); code != MPI_SUCCESS) return code;
    *offset = position / fh.view->etype_bytes();
    return MPI_SUCCESS;
}

int File_get_type_extent(File &fh, Datatype &datatype, Count &extent) {
    Datatype *placed = nullptr;
    if (int code = fh.view->representation().in_file(datatype, placed); code != MPI_SUCCESS) return code;
    extent = placed->extent();
    placed->release();
    return MPI_SUCCESS;
}

int File_set_atomicity(File &fh, int flag) {
    int code = agree_on(fh.communicator, check_no_split(fh), flag != 0, "flag");
    if (code == MPI_SUCCESS) fh.atomic = flag != 0;
    return code;
}

int File_get_atomicity(File &fh, int *flag) {
    *flag = fh.atomic;
    return MPI_SUCCESS;
}

int File_sync(File &fh) {
    int code = check_no_split(fh);
    if (code == MPI_SUCCESS && fh.written) {
        int failed = -1;
        while ((failed = fsync(fh.descriptor.get())) < 0 && errno == EINTR) {}
        // What has no storage behind it, as a pipe, has nothing to be synchronised.
        if (failed < 0 && errno != EINVAL) code = fh.error(errno, "cannot be synchronised");
        fh.written = code != MPI_SUCCESS;
    }
    return agree(fh.communicator, code, "it could not synchronise the file");
}

int File_set_errhandler(File *file, Errhandler &errhandler) {
    if (!errhandler.fits(Mark::file))
        return fail(MPI_ERR_ARG, "errhandler was made for another kind of object, but must be one for a file");
    replace_errhandler((file != nullptr ? file->target : File::no_file()).errhandler, errhandler);
    return MPI_SUCCESS;
}

int File_get_errhandler(File *file, MPI_Errhandler *errhandler) {
    Errhandler &found = *(file != nullptr ? file->target : File::no_file()).errhandler;
    found.retain();
    *errhandler = found.handle();
    return MPI_SUCCESS;
}

int File_call_errhandler(File *fh, int errorcode) {
    raise(fh != nullptr ? fh->target : File::no_file(), errorcode);
    return MPI_SUCCESS;
}

int Register_datarep(const char *datarep, MPI_Datarep_conversion_function *read_conversion_fn,
                     MPI_Datarep_conversion_function *write_conversion_fn,
                     MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state) {
    return add_representation(datarep, {.read = read_conversion_fn,
                                        .write = write_conversion_fn,
                                        .extent = dtype_file_extent_fn,
                                        .extra_state = extra_state});
}

int Register_datarep_c(const char *datarep, MPI_Datarep_conversion_function_c *read_conversion_fn,
                       MPI_Datarep_conversion_function_c *write_conversion_fn,
                       MPI_Datarep_extent_function *dtype_file_extent_fn, void *extra_state) {
    return add_representation(datarep, {.read_large = read_conversion_fn,
                                        .write_large = write_conversion_fn,
                                        .extent = dtype_file_extent_fn,
                                        .extra_state = extra_state});
}

} // namespace mpi
} // namespace volley
