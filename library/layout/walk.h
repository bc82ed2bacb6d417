// SPDX-License-Identifier: BSD-3-Clause
/// Walking a plan over a range of packed bytes. What is done with the places found is the sink's matter:
///
///     bool block(address, bytes)
///     bool vector(address, block, count, stride)
///     bool index(address, block, count, displacements)
///     bool list(address, count, entries)      entries[count] ends the last
///     bool lists(address, count, entries, repeats, stride)
///
/// Each returns false to end the walk. Addresses are numbers: a displacement may lead out of the object that
/// the buffer's pointer belongs to, and with MPI_BOTTOM it is all there is.
#pragma once

#include "layout/plan.h"

#include <algorithm>

namespace volley {

inline std::uintptr_t displaced(std::uintptr_t address, Count displacement) {
    return address + static_cast<std::uintptr_t>(displacement);
}

template <class Sink> class Walk {
  public:
    Walk(const DatatypePlan &plan, Sink &sink) : plan_(plan), sink_(sink) {}

    /// Packed bytes [from, to) of `count` elements at `buffer`.
    bool elements(std::uintptr_t buffer, Count count, Count from, Count to) {
        if (from >= to) return true;
        return range(repeated(count), displaced(buffer, plan_.displacement), from, to);
    }

  private:
    /// The node of `count` elements: the plan's root, repeated with the datatype's extent.
    PlanNode repeated(Count count) const {
        PlanNode node = plan_.node(plan_.root);
        if (count == 1) return node;
        Checked next = Checked(node.count) * node.stride;
        bool continues = !next.overflow() && next.value() == plan_.extent;
        if (node.kind == NodeKind::block && node.size == plan_.extent) {
            node.size *= count;
            return node;
        }
        if (node.kind == NodeKind::block) {
            node.kind = NodeKind::vector;
            node.block = node.size;
            node.count = count;
            node.stride = plan_.extent;
        } else if (continues && (node.kind == NodeKind::vector || node.kind == NodeKind::loop)) {
            node.count *= count;
        } else {
            node.kind = NodeKind::loop;
            node.block = node.size;
            node.count = count;
            node.stride = plan_.extent;
            node.child = plan_.root;
        }
        node.size *= count;
        return node;
    }

    bool whole(const PlanNode &node, std::uintptr_t address) {
        switch (node.kind) {
        case NodeKind::empty:
            return true;
        case NodeKind::block:
            return sink_.block(address, node.size);
        case NodeKind::vector:
            return sink_.vector(address, node.block, node.count, node.stride);
        case NodeKind::index:
            return sink_.index(address, node.block, node.count, plan_.table<Count>(node));
        case NodeKind::list:
            return sink_.list(address, node.count, plan_.table<ListEntry>(node));
        case NodeKind::loop:
            return loop(plan_.node(node.child), address, node.count, node.stride);
        case NodeKind::scatter:
            return scatter(plan_.node(node.child), address, node.count, plan_.table<Count>(node));
        case NodeKind::sequence:
            return sequence(address, node.count, plan_.table<SequenceEntry>(node));
        }
        return true;
    }

    /// The innermost kinds are handled once more here, so that the choice among them is made once and not for every
    /// repetition.
    bool loop(const PlanNode &child, std::uintptr_t address, Count count, Count stride) {
        switch (child.kind) {
        case NodeKind::vector:
            for (Count i = 0; i < count; ++i, address = displaced(address, stride))
                if (!sink_.vector(address, child.block, child.count, child.stride)) return false;
            return true;
        case NodeKind::list:
            return sink_.lists(address, child.count, plan_.table<ListEntry>(child), count, stride);
        default:
            for (Count i = 0; i < count; ++i, address = displaced(address, stride))
                if (!whole(child, address)) return false;
            return true;
        }
    }

    bool scatter(const PlanNode &child, std::uintptr_t address, Count count, const Count *displacements) {
        for (Count i = 0; i < count; ++i)
            if (!whole(child, displaced(address, displacements[i]))) return false;
        return true;
    }

    bool sequence(std::uintptr_t address, Count count, const SequenceEntry *entries) {
        for (Count i = 0; i < count; ++i)
            if (!whole(plan_.node(entries[i].child), displaced(address, entries[i].displacement))) return false;
        return true;
    }

    /// Packed bytes [from, to) of the node; not empty.
    bool range(const PlanNode &node, std::uintptr_t address, Count from, Count to) {
        if (from == 0 && to == node.size) return whole(node, address);
        switch (node.kind) {
        case NodeKind::empty:
            return true;
        case NodeKind::block:
            return sink_.block(displaced(address, from), to - from);
        case NodeKind::vector:
            return equal_parts(
                node.block, from, to,
                [&](Count i, Count begin, Count end) {
                    return sink_.block(displaced(address, i * node.stride + begin), end - begin);
                },
                [&](Count i, Count count) {
                    return sink_.vector(displaced(address, i * node.stride), node.block, count, node.stride);
                });
        case NodeKind::index: {
            const auto *displacements = plan_.table<Count>(node);
            return equal_parts(
                node.block, from, to,
                [&](Count i, Count begin, Count end) {
                    return sink_.block(displaced(address, displacements[i] + begin), end - begin);
                },
                [&](Count i, Count count) { return sink_.index(address, node.block, count, displacements + i); });
        }
        case NodeKind::loop: {
            const PlanNode &child = plan_.node(node.child);
            return equal_parts(
                node.block, from, to,
                [&](Count i, Count begin, Count end) {
                    return range(child, displaced(address, i * node.stride), begin, end);
                },
                [&](Count i, Count count) {
                    return loop(child, displaced(address, i * node.stride), count, node.stride);
                });
        }
        case NodeKind::scatter: {
            const PlanNode &child = plan_.node(node.child);
            const auto *displacements = plan_.table<Count>(node);
            return equal_parts(
                node.block, from, to,
                [&](Count i, Count begin, Count end) {
                    return range(child, displaced(address, displacements[i]), begin, end);
                },
                [&](Count i, Count count) { return scatter(child, address, count, displacements + i); });
        }
        case NodeKind::list: {
            const auto *entries = plan_.table<ListEntry>(node);
            return listed_parts(
                entries, node.count, from, to,
                [&](const ListEntry &entry, Count begin, Count end) {
                    return sink_.block(displaced(address, entry.displacement + begin), end - begin);
                },
                [&](const ListEntry *first, Count count) { return sink_.list(address, count, first); });
        }
        case NodeKind::sequence: {
            const auto *entries = plan_.table<SequenceEntry>(node);
            return listed_parts(
                entries, node.count, from, to,
                [&](const SequenceEntry &entry, Count begin, Count end) {
                    return range(plan_.node(entry.child), displaced(address, entry.displacement), begin, end);
                },
                [&](const SequenceEntry *first, Count count) { return sequence(address, count, first); });
        }
        }
        return true;
    }

    /// Splits [from, to) of parts of equal size: at most one cut part, whole ones, at most one cut part.
    template <class Cut, class Whole>
    static bool equal_parts(Count size, Count from, Count to, const Cut &cut, const Whole &whole) {
        Count first = from / size;
        Count begin = from % size;
        if (begin != 0) {
            Count end = std::min(size, begin + (to - from));
            if (!cut(first, begin, end)) return false;
            ++first;
        }
        Count last = to / size;
        if (last > first && !whole(first, last - first)) return false;
        Count end = to % size;
        return last < first || end == 0 || cut(last, 0, end);
    }

    template <class Entry, class Cut, class Whole>
    static bool listed_parts(const Entry *entries, Count count, Count from, Count to, const Cut &cut,
                             const Whole &whole) {
        auto before = [](Count position, const Entry &entry) { return position < entry.begin; };
        const Entry *first = std::upper_bound(entries, entries + count, from, before) - 1;
        const Entry *last = std::upper_bound(first, entries + count, to - 1, before) - 1;
        if (first == last && (from != first->begin || to != (last + 1)->begin))
            return cut(*first, from - first->begin, to - first->begin);
        if (from != first->begin) {
            if (!cut(*first, from - first->begin, (first + 1)->begin - first->begin)) return false;
            ++first;
        }
        bool whole_last = to == (last + 1)->begin;
        Count whole_count = last - first + (whole_last ? 1 : 0);
        if (whole_count > 0 && !whole(first, whole_count)) return false;
        return whole_last || cut(*last, 0, to - last->begin);
    }

    const DatatypePlan &plan_;
    Sink &sink_;
};

} // namespace volley
