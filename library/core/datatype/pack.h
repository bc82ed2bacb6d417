// SPDX-License-Identifier: BSD-3-Clause
/// MPI_Pack and its relatives: the machine's own representation, and external32.
///
/// Arguments are checked as the standard says; the datatype must be committed. `position` is advanced only
/// if all went well.
#pragma once

#include "datatype.h"

namespace volley {

Outcome pack_size(Count count, const Datatype &datatype, Count &bytes);
Outcome pack_at(const void *source, Count count, const Datatype &datatype, void *packed, Count packed_bytes,
                Count &position);
Outcome unpack_at(const void *packed, Count packed_bytes, Count &position, void *destination, Count count,
                  const Datatype &datatype);

// `representation` must be "external32". Integers that do not fit into their external size (long and unsigned
// long have 4 bytes there) lose their high bytes, as the standard advises.

Outcome pack_external_size(const char *representation, Count count, const Datatype &datatype, Count &bytes);
Outcome pack_external_at(const char *representation, const void *source, Count count, const Datatype &datatype,
                         void *packed, Count packed_bytes, Count &position);
Outcome unpack_external_at(const char *representation, const void *packed, Count packed_bytes, Count &position,
                           void *destination, Count count, const Datatype &datatype);

} // namespace volley
