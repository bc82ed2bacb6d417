// SPDX-License-Identifier: BSD-3-Clause
#include "launch/binding.h"

#include <algorithm>
#include <climits>
#include <string>
#include <tuple>

#include "boot/error.h"

namespace volley::launch {
namespace {

ProcessorMask mask_of(const std::vector<int> &processors) {
    constexpr int bits = sizeof(unsigned long) * CHAR_BIT;
    ProcessorMask mask(static_cast<std::size_t>(*std::ranges::max_element(processors) / bits + 1));
    for (const int processor : processors)
        mask[static_cast<std::size_t>(processor / bits)] |= 1UL << (processor % bits);
    return mask;
}

} // namespace

std::vector<std::vector<int>> share_processors(std::vector<Processor> processors, int ranks) {
    std::ranges::sort(processors, {},
                      [](const Processor &one) { return std::tuple(one.package, one.core, one.number); });
    std::vector<std::vector<int>> cores;
    for (std::size_t i = 0; i < processors.size(); ++i) {
        const bool same_core =
            i > 0 && processors[i].package == processors[i - 1].package && processors[i].core == processors[i - 1].core;
        if (!same_core) cores.emplace_back();
        cores.back().push_back(processors[i].number);
    }
    const auto wanted = static_cast<std::size_t>(ranks);
    if (cores.size() < wanted) { // some ranks have to share a core: hardware threads are given out singly
        cores.clear();
        for (const Processor &one : processors) cores.push_back({one.number});
    }
    std::vector<std::vector<int>> shares(wanted);
    for (std::size_t rank = 0; rank < wanted; ++rank) {
        const std::size_t first = rank * cores.size() / wanted; // spread over all, where the shares leave some over
        for (std::size_t core = first; core < first + cores.size() / wanted; ++core)
            shares[rank].insert(shares[rank].end(), cores[core].begin(), cores[core].end());
    }
    return shares;
}

std::vector<ProcessorMask> bind_ranks(Binding binding, int ranks) {
    if (binding == Binding::none) return {};
    std::vector<Processor> processors = allowed_processors();
    const std::size_t usable = std::min<std::size_t>(processors.size(), usable_cpus());
    if (usable < static_cast<std::size_t>(ranks)) {
        if (binding == Binding::automatic) return {};
        throw Error("cannot bind " + std::to_string(ranks) + " ranks to cores of their own: there are " +
                    std::to_string(usable) + " processors; use fewer ranks, or --bind none");
    }
    std::vector<ProcessorMask> masks;
    for (const std::vector<int> &share : share_processors(std::move(processors), ranks))
        masks.push_back(mask_of(share));
    return masks;
}

} // namespace volley::launch
