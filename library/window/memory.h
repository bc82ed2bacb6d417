// SPDX-License-Identifier: BSD-3-Clause
/// Copying to and from the memory of a target on this node, by loads and stores or by the kernel.
#pragma once

#include "layout/copy.h"
#include "window/state.h"

namespace volley {

/// `data.address` is one of the target; with `access` messages nothing here may be called. Both buffers have plans,
/// and as many packed bytes. An error code; the kernel finds addresses where no memory is.
int copy_to_target(const WindowTarget &target, const TypedBuffer &data, const TypedBuffer &source, Count bytes);
int copy_from_target(const WindowTarget &target, const TypedBuffer &data, const TypedBuffer &destination, Count bytes);

/// The same for the packed bytes [from, to) of the target's data; byte `from` is first in `packed`.
int write_packed(const WindowTarget &target, const TypedBuffer &data, Count from, Count to, const void *packed);
int read_packed(const WindowTarget &target, const TypedBuffer &data, Count from, Count to, void *packed);

/// Whether the kernel lets this process read and write that one's memory; asked once for each.
bool kernel_reaches(ProcessIndex process);

} // namespace volley
