// SPDX-License-Identifier: BSD-3-Clause
/// MPI_File_read... and MPI_File_write... (MPI 5.0, section 14.4).
#include "core/functions.h"
#include "file/data_access.h"

namespace volley::mpi {
namespace {

Passage reading(File &file, void *buffer, Count count, Datatype &datatype) {
    return {file, Direction::read, buffer, count, datatype};
}

Passage writing(File &file, const void *buffer, Count count, Datatype &datatype) {
    return {file, Direction::write, const_cast<void *>(buffer), count, datatype};
}

} // namespace

// With an explicit offset.

int File_read_at(File &fh, MPI_Offset offset, void *buf, Count count, Datatype &datatype, MPI_Status *status) {
    return access(reading(fh, buf, count, datatype), Place::at(offset), status);
}

int File_write_at(File &fh, MPI_Offset offset, const void *buf, Count count, Datatype &datatype, MPI_Status *status) {
    return access(writing(fh, buf, count, datatype), Place::at(offset), status);
}

int File_iread_at(File &fh, MPI_Offset offset, void *buf, Count count, Datatype &datatype, MPI_Request *request) {
    return start_access(reading(fh, buf, count, datatype), Place::at(offset), request, "MPI_File_iread_at");
}

int File_iwrite_at(File &fh, MPI_Offset offset, const void *buf, Count count, Datatype &datatype,
                   MPI_Request *request) {
    return start_access(writing(fh, buf, count, datatype), Place::at(offset), request, "MPI_File_iwrite_at");
}

int File_read_at_all(File &fh, MPI_Offset offset, void *buf, Count count, Datatype &datatype, MPI_Status *status) {
    return access_all(reading(fh, buf, count, datatype), Place::at(offset), status, "MPI_File_read_at_all");
}

int File_write_at_all(File &fh, MPI_Offset offset, const void *buf, Count count, Datatype &datatype,
                      MPI_Status *status) {
    return access_all(writing(fh, buf, count, datatype), Place::at(offset), status, "MPI_File_write_at_all");
}

int File_iread_at_all(File &fh, MPI_Offset offset, void *buf, Count count, Datatype &datatype, MPI_Request *request) {
    return start_access_all(reading(fh, buf, count, datatype), Place::at(offset), request, "MPI_File_iread_at_all");
}

int File_iwrite_at_all(File &fh, MPI_Offset offset, const void *buf, Count count, Datatype &datatype,
                       MPI_Request *request) {
    return start_access_all(writing(fh, buf, count, datatype), Place::at(offset), request, "MPI_File_iwrite_at_all");
}

int File_read_at_all_begin(File &fh, MPI_Offset offset, void *buf, Count count, Datatype &datatype) {
    return begin_access_all(reading(fh, buf, count, datatype), Place::at(offset), "MPI_File_read_at_all_begin");
}

int File_read_at_all_end(File &fh, void *buf, MPI_Status *status) {
    return end_access_all(fh, buf, status, "MPI_File_read_at_all_begin");
}

int File_write_at_all_begin(File &fh, MPI_Offset offset, const void *buf, Count count, Datatype &datatype) {
    return begin_access_all(writing(fh, buf, count, datatype), Place::at(offset), "MPI_File_write_at_all_begin");
}

int File_write_at_all_end(File &fh, const void *buf, MPI_Status *status) {
    return end_access_all(fh, buf, status, "MPI_File_write_at_all_begin");
}

// At the individual file pointer.

int File_read(File &fh, void *buf, Count count, Datatype &datatype, MPI_Status *status) {
    return access(reading(fh, buf, count, datatype), Place::individual(), status);
}

int File_write(File &fh, const void *buf, Count count, Datatype &datatype, MPI_Status *status) {
    return access(writing(fh, buf, count, datatype), Place::individual(), status);
}

int File_iread(File &fh, void *buf, Count count, Datatype &datatype, MPI_Request *request) {
    return start_access(reading(fh, buf, count, datatype), Place::individual(), request, "MPI_File_iread");
}

int File_iwrite(File &fh, const void *buf, Count count, Datatype &datatype, MPI_Request *request) {
    return start_access(writing(fh, buf, count, datatype), Place::individual(), request, "MPI_File_iwrite");
}

int File_read_all(File &fh, void *buf, Count count, Datatype &datatype, MPI_Status *status) {
    return access_all(reading(fh, buf, count, datatype), Place::individual(), status, "MPI_File_read_all");
}

int File_write_all(File &fh, const void *buf, Count count, Datatype &datatype, MPI_Status *status) {
    return access_all(writing(fh, buf, count, datatype), Place::individual(), status, "MPI_File_write_all");
}

int File_iread_all(File &fh, void *buf, Count count, Datatype &datatype, MPI_Request *request) {
    return start_access_all(reading(fh, buf, count, datatype), Place::individual(), request, "MPI_File_iread_all");
}

int File_iwrite_all(File &fh, const void *buf, Count count, Datatype &datatype, MPI_Request *request) {
    return start_access_all(writing(fh, buf, count, datatype), Place::individual(), request, "MPI_File_iwrite_all");
}

int File_read_all_begin(File &fh, void *buf, Count count, Datatype &datatype) {
    return begin_access_all(reading(fh, buf, count, datatype), Place::individual(), "MPI_File_read_all_begin");
}

int File_read_all_end(File &fh, void *buf, MPI_Status *status) {
    return end_access_all(fh, buf, status, "MPI_File_read_all_begin");
}

int File_write_all_begin(File &fh, const void *buf, Count count, Datatype &datatype) {
    return begin_access_all(writing(fh, buf, count, datatype), Place::individual(), "MPI_File_write_all_begin");
}

int File_write_all_end(File &fh, const void *buf, MPI_Status *status) {
    return end_access_all(fh, buf, status, "MPI_File_write_all_begin");
}

// At the shared file pointer.

int File_read_shared(File &fh, void *buf, Count count, Datatype &datatype, MPI_Status *status) {
    return access(reading(fh, buf, count, datatype), Place::shared(), status);
}

int File_write_shared(File &fh, const void *buf, Count count, Datatype &datatype, MPI_Status *status) {
    return access(writing(fh, buf, count, datatype), Place::shared(), status);
}

int File_iread_shared(File &fh, void *buf, Count count, Datatype &datatype, MPI_Request *request) {
    return start_access(reading(fh, buf, count, datatype), Place::shared(), request, "MPI_File_iread_shared");
}

int File_iwrite_shared(File &fh, const void *buf, Count count, Datatype &datatype, MPI_Request *request) {
    return start_access(writing(fh, buf, count, datatype), Place::shared(), request, "MPI_File_iwrite_shared");
}

int File_read_ordered(File &fh, void *buf, Count count, Datatype &datatype, MPI_Status *status) {
    return access_all(reading(fh, buf, count, datatype), Place::shared(), status, "MPI_File_read_ordered");
}

int File_write_ordered(File &fh, const void *buf, Count count, Datatype &datatype, MPI_Status *status) {
    return access_all(writing(fh, buf, count, datatype), Place::shared(), status, "MPI_File_write_ordered");
}

int File_read_ordered_begin(File &fh, void *buf, Count count, Datatype &datatype) {
    return begin_access_all(reading(fh, buf, count, datatype), Place::shared(), "MPI_File_read_ordered_begin");
}

int File_read_ordered_end(File &fh, void *buf, MPI_Status *status) {
    return end_access_all(fh, buf, status, "MPI_File_read_ordered_begin");
}

int File_write_ordered_begin(File &fh, const void *buf, Count count, Datatype &datatype) {
    return begin_access_all(writing(fh, buf, count, datatype), Place::shared(), "MPI_File_write_ordered_begin");
}

int File_write_ordered_end(File &fh, const void *buf, MPI_Status *status) {
    return end_access_all(fh, buf, status, "MPI_File_write_ordered_begin");
}

} // namespace volley::mpi
