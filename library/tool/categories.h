// SPDX-License-Identifier: BSD-3-Clause
/// Categories: variables and events by what they are about. The first contains all others, and is in none.
#pragma once

namespace volley::tool {

enum class Category : int { all, messages, transports, waiting, collectives, memory, testing };

} // namespace volley::tool
