// SPDX-License-Identifier: BSD-3-Clause
/// The same datatype made of other elements, as data representations of files want it.
#pragma once

#include "datatype.h"

#include <functional>

namespace volley {

/// For a predefined datatype, what takes its place; it comes with a reference.
using Substitution = std::function<Outcome(Datatype &predefined, Datatype *&made)>;

/// Calls the constructors that made `datatype` once more, from substituted elements. Displacements in elements follow
/// their new extents; those in bytes stay. `made` is committed and comes with a reference.
Outcome substitute(Datatype &datatype, const Substitution &substitution, Datatype *&made);

} // namespace volley
