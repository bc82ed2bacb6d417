// SPDX-License-Identifier: BSD-3-Clause
/// Programs built for other MPIs run with a face of this one: a library of that MPI's name and binary interface. The
/// dynamic linker of a rank finds it first, since the environment says so; no file of the system is changed.
#pragma once

#include <string>
#include <vector>

#include "launch/linked_mpi.h"

namespace volley::launch {

/// Where this installation has its faces; empty if it has none.
std::string faces_folder();

/// Whether there is a face with the name of that library.
bool has_face(const std::string &library);

/// Lets programs find the faces, those that the program starts or, as Python does, loads later as well.
void offer_faces(std::vector<std::string> &environment);

/// Loads faces before everything else.
void preload_faces(std::vector<std::string> &environment, const std::vector<std::string> &libraries);

/// The faces that a program needs preloaded, since its RPATH leads to other libraries of their names.
std::vector<std::string> faces_behind_run_path(const std::vector<LinkedMpi> &found);

/// Throws Error if the program at `path` (`seen` from here) is linked with an MPI that has no face, or with two whose
/// interfaces differ. The libraries of the one it is linked with otherwise, C's first; empty if there is none.
std::vector<LinkedMpi> check_linked_mpis(const std::string &path, const std::string &seen,
                                         const std::vector<std::string> &environment);

} // namespace volley::launch
