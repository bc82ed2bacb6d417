// SPDX-License-Identifier: BSD-3-Clause
#include "file/file.h"

#include "core/error.h"
#include "file/errors.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace volley {
namespace {

Pool<File> pool;

} // namespace

FileView::FileView()
    : etype_(&byte_datatype()), filetype_(&byte_datatype()), placed_(&byte_datatype()),
      representation_(Representation::find("native")), shown_(0, byte_datatype().plan()) {}

FileView::~FileView() {
    etype_->release();
    filetype_->release();
    placed_->release();
}

FileView::FileView(Datatype &etype, Datatype &filetype, Datatype &placed, const Representation &representation,
                   const View &shown)
    : etype_(&etype), filetype_(&filetype), placed_(&placed), representation_(&representation),
      increasing_(shown.is_increasing()), shown_(shown) {
    etype_->retain();
    filetype_->retain();
}

int FileView::make(Count displacement, Datatype &etype, Datatype &filetype, const Representation &representation,
                   bool for_writing, std::shared_ptr<const FileView> &made) {
    if (etype.size() == 0) return fail(MPI_ERR_ARG, "etype has no data, and so nothing can be counted in it");
    if (filetype.size() % etype.size() != 0)
        return fail(MPI_ERR_ARG, "filetype has %lld bytes, but must be made of etypes, which have %lld",
                    static_cast<long long>(filetype.size()), static_cast<long long>(etype.size()));
    Datatype *placed = nullptr;
    if (int code = representation.in_file(filetype, placed); code != MPI_SUCCESS) return code;
    const std::shared_ptr<FileView> view(
        new FileView(etype, filetype, *placed, representation, View(displacement, placed->plan())));
    if (int code = representation.file_bytes(etype, view->etype_bytes_); code != MPI_SUCCESS) return code;
    if (displacement < 0 || (placed->size() > 0 && placed->true_lb() < 0))
        return fail(MPI_ERR_ARG, "the view begins at %lld, but must not begin before the file",
                    static_cast<long long>(displacement < 0 ? displacement : displacement + placed->true_lb()));
    // Tiles may overlap: a program that uses only the first never writes where two do.
    if (!view->increasing_ && for_writing && !view->shown().is_increasing(1))
        return fail(MPI_ERR_ARG,
                    "filetype overlaps itself or has displacements that decrease, which a file that may be "
                    "written does not allow");
    made = view;
    return MPI_SUCCESS;
}

int FileView::find_etype(Count offset, Count bytes, Count &position) const {
    const Checked begin = Checked(offset) * etype_bytes_, end = begin + bytes;
    if (offset < 0 || end.overflow() || !shown_.can_reach(end.value()))
        return fail(MPI_ERR_ARG, "offset is %lld, but must be from 0 to what a file can have",
                    static_cast<long long>(offset));
    position = begin.value();
    return MPI_SUCCESS;
}

File::File(Communicator &among, std::string file_name, int mode)
    : Object(kind), communicator(among), name(std::move(file_name)), amode(mode),
      target{Mark::file, handle(), "the file '" + name + "'", no_file().errhandler} {
    target.errhandler->retain();
    communicator.error_target = &target;
    communicator.set_name(name);
}

File::~File() {
    communicator.error_target = nullptr;
    Communicator::release(communicator);
    Errhandler::release(*target.errhandler);
}

File *File::make(Communicator &communicator, std::string name, int amode) {
    return pool.make(communicator, std::move(name), amode);
}

void File::destroy(File &file) {
    pool.destroy(&file);
}

ErrorTarget &File::no_file() {
    static ErrorTarget target{Mark::file, MPI_FILE_NULL, "", &Errhandler::errors_return()};
    return target;
}

int File::check_writable() const {
    if (!has(MPI_MODE_RDONLY)) return MPI_SUCCESS;
    return fail(MPI_ERR_READ_ONLY, "the file '%s' was opened with MPI_MODE_RDONLY", name.c_str());
}

int File::size(Count &bytes) const {
    struct stat about{};
    if (fstat(descriptor.get(), &about) < 0) return error(errno, "cannot tell its size");
    bytes = about.st_size;
    return MPI_SUCCESS;
}

int File::error(int number, const char *doing) const {
    return file_error(number, name, doing);
}

} // namespace volley
