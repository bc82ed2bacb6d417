// SPDX-License-Identifier: BSD-3-Clause
/// Data representations: how data looks in a file (MPI 5.0, section 14.5).
///
/// "native" and "internal" are the memory's own. In "external32", and in those that programs register, the elements of
/// a datatype have sizes of their own, so that datatypes that describe places in the file are made again from elements
/// of these sizes.
#pragma once

#include "core/callbacks.h"
#include "core/datatype/datatype.h"

#include <mpi.h>

#include <memory>
#include <string>
#include <string_view>

namespace volley {

class Representation {
  public:
    virtual ~Representation() = default;

    /// nullptr if there is none of that name.
    static const Representation *find(std::string_view name);
    /// Registers what a program defines. Returns an error code.
    static int add(std::unique_ptr<Representation> made);

    const std::string &name() const {
        return name_;
    }
    /// Data is in files as in memory: none of the functions below is needed.
    virtual bool is_native() const {
        return false;
    }
    /// How many bytes a basic element, or a pair, has in the file. Returns an error code.
    virtual int element_bytes(Datatype &predefined, Count &bytes) const = 0;
    /// From memory to `external`, which has room for all, and back.
    virtual int write(const void *memory, Count count, Datatype &datatype, char *external) const = 0;
    virtual int read(const char *external, void *memory, Count count, Datatype &datatype) const = 0;

    /// How many bytes the data of one `datatype` has in the file.
    int file_bytes(Datatype &datatype, Count &bytes) const;
    /// The datatype with each element as many bytes as it has in the file: places in the file follow from it. It comes
    /// with a reference, committed.
    int in_file(Datatype &datatype, Datatype *&made) const;

  protected:
    explicit Representation(std::string name) : name_(std::move(name)) {}

  private:
    std::string name_;
};

/// Of either form of MPI_Register_datarep.
struct RepresentationFunctions {
    MPI_Datarep_conversion_function *read = nullptr;
    MPI_Datarep_conversion_function *write = nullptr;
    MPI_Datarep_conversion_function_c *read_large = nullptr;
    MPI_Datarep_conversion_function_c *write_large = nullptr;
    MPI_Datarep_extent_function *extent = nullptr;
    void *extra_state = nullptr;
};

std::unique_ptr<Representation> make_representation(std::string name, const RepresentationFunctions &functions);

} // namespace volley
