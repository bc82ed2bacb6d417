// SPDX-License-Identifier: BSD-3-Clause
/// Files that a program has opened (MPI 5.0, chapter 14).
///
/// Each rank has a descriptor of its own, and a hidden communicator of all that have opened the file together. What
/// the program accesses goes through a view (view.h).
#pragma once

#include "boot/descriptor.h"
#include "core/communicator.h"
#include "core/datatype/datatype.h"
#include "core/errhandler.h"
#include "file/hints.h"
#include "file/representation.h"
#include "file/shared_pointer.h"
#include "file/view.h"

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>

namespace volley {

class Request;

/// A view as the program has set it, with the datatypes it is made of. It never changes: accesses share it.
class FileView {
  public:
    /// What a file has before MPI_File_set_view: its bytes.
    FileView();
    FileView(const FileView &) = delete;
    FileView &operator=(const FileView &) = delete;
    ~FileView();

    /// Of what MPI_File_set_view passes. Returns an error code, and leaves `made` as it was if that is not MPI_SUCCESS.
    static int make(Count displacement, Datatype &etype, Datatype &filetype, const Representation &representation,
                    bool for_writing, std::shared_ptr<const FileView> &made);

    Datatype &etype() const {
        return *etype_;
    }
    Datatype &filetype() const {
        return *filetype_;
    }
    const Representation &representation() const {
        return *representation_;
    }
    /// In the file: positions of accesses are multiples of it.
    Count etype_bytes() const {
        return etype_bytes_;
    }
    const View &shown() const {
        return shown_;
    }
    bool is_increasing() const {
        return increasing_;
    }
    /// The position of etype number `offset`, an error if the view cannot reach `bytes` of it in any file.
    int find_etype(Count offset, Count bytes, Count &position) const;

  private:
    /// Takes over the reference to `placed`.
    FileView(Datatype &etype, Datatype &filetype, Datatype &placed, const Representation &representation,
             const View &shown);

    Datatype *etype_, *filetype_;
    Datatype *placed_; ///< the filetype with the sizes that elements have in the file
    const Representation *representation_;
    Count etype_bytes_ = 1;
    bool increasing_ = true;
    View shown_;
};

/// A collective access between its ..._begin and ..._end.
struct SplitAccess {
    Request *request = nullptr;   ///< nullptr: there is none
    const char *begun = nullptr;  ///< the function that began it
    const void *buffer = nullptr; ///< as it was passed
};

class File final : public Object {
  public:
    static constexpr Mark kind = Mark::file;

    /// Takes over the communicator's reference.
    static File *make(Communicator &communicator, std::string name, int amode);
    /// Closes the descriptor, and gives everything back.
    static void destroy(File &file);

    /// nullptr for MPI_FILE_NULL and for what is no file.
    static File *from_handle(MPI_File handle) {
        return object_of<File>(handle);
    }
    MPI_File handle() {
        return reinterpret_cast<MPI_File>(this);
    }

    /// Where failures go that are of no file: MPI_FILE_NULL's error handler, which new files get as well.
    static ErrorTarget &no_file();

    bool has(int mode) const {
        return (amode & mode) != 0;
    }
    /// An error code if the program may not write.
    int check_writable() const;
    /// The size of the file, in bytes. Returns an error code.
    int size(Count &bytes) const;
    /// An error code for a value of errno.
    int error(int number, const char *doing) const;

    Communicator &communicator;
    const std::string name; ///< without the prefix of a file system
    const int amode;
    ErrorTarget target;
    Descriptor descriptor;
    FileHints hints;
    std::shared_ptr<const FileView> view = std::make_shared<FileView>();
    Count position = 0; ///< of the individual file pointer, in bytes of the view
    SharedPointer shared;
    bool atomic = false;
    bool written = false; ///< by this rank, since it was last synchronised
    SplitAccess split;

  private:
    friend class Pool<File>;
    File(Communicator &among, std::string file_name, int mode);
    ~File();
};

} // namespace volley
