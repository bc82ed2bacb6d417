// SPDX-License-Identifier: BSD-3-Clause
#include "collective/compare.h"

#include "boot/function_names.h"
#include "collective/internal.h"
#include "core/datatype/datatype.h"
#include "core/error.h"

#include <string>
#include <vector>

namespace volley {
namespace {

/// What one rank is about to do.
struct Intention {
    std::uint32_t function;
    std::int32_t root;
    Count bytes;

    bool operator==(const Intention &) const = default;
};

std::string words(int rank, const Intention &intention) {
    std::string text = "rank " + std::to_string(rank) + " calls " + std::string(function_names[intention.function]);
    if (intention.root != -1) text += " with root " + std::to_string(intention.root);
    if (intention.bytes != 0) text += " for " + std::to_string(intention.bytes) + " bytes";
    return text;
}

} // namespace

int compare_collective(Communicator &communicator, std::uint32_t function, int root, Count count,
                       MPI_Datatype datatype) {
    if (communicator.is_inter()) return MPI_SUCCESS; // roots differ there by design
    Datatype *type = Datatype::from_handle(datatype);
    Intention own{.function = function, .root = root, .bytes = type ? count * type->size() : 0};
    std::vector<Intention> all(static_cast<std::size_t>(communicator.size()));
    if (int code = allgather(&own, sizeof own, all.data(), communicator)) return code;
    for (std::size_t rank = 1; rank < all.size(); rank++)
        if (all[rank] != all[0])
            return fail(MPI_ERR_OTHER, "the ranks do not call the same: %s, but %s", words(0, all[0]).c_str(),
                        words(static_cast<int>(rank), all[rank]).c_str());
    return MPI_SUCCESS;
}

} // namespace volley
