// SPDX-License-Identifier: BSD-3-Clause
#include "collective/area.h"

namespace volley {

CollectiveArea *make_area(int) {
    return nullptr;
}

} // namespace volley
