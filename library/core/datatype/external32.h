// SPDX-License-Identifier: BSD-3-Clause
/// Single elements to and from external32: big-endian two's complement and IEEE 754, without padding.
#pragma once

#include "basic.h"

namespace volley::external32 {

/// `count` elements of `type`, `stride` bytes apart in memory, to `type.external_size` bytes each.
void encode(const BasicType &type, const char *memory, Count stride, Count count, char *external);

void decode(const BasicType &type, char *memory, Count stride, Count count, const char *external);

} // namespace volley::external32
