// SPDX-License-Identifier: BSD-3-Clause
/// From a datatype's tree of constructors to its plan.
///
/// Nodes are first drafted in vectors, normalised as they are made:
/// - empty parts vanish, single repetitions are their only part;
/// - adjacent blocks merge, as do blocks repeated without a gap;
/// - a repetition that continues its part's own rhythm lengthens it;
/// - a few blocks in a sequence become part of the sequence, and a sequence of blocks only becomes the most
///   regular of: vector (equal lengths and distances), index (equal lengths), list.
/// A part that occurs several times is drafted once, so a plan is never larger than the tree it is made from.
#include "access.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace volley {
namespace {

/// Parts with up to this many blocks are taken into the sequence they occur in, up to the second limit.
constexpr Count few_blocks = 16;
constexpr std::size_t longest_flattening = 4096;

struct SequenceItem {
    Count displacement;
    Count begin;
    int node;
};

struct Draft {
    PlanNode node;
    int child = -1;
    std::vector<Count> displacements;              ///< of an index or scatter
    std::vector<ListEntry> entries;                ///< of a list
    std::vector<SequenceItem> sequence;            ///< of a sequence
    Count offset = 0;                              ///< in the plan, once placed
    Count blocks = 0, runs = 0, uniform_block = 0; ///< as in DatatypePlan, once placed
};

/// A draft at a displacement; none (-1) if empty.
struct Placed {
    Count displacement = 0;
    int draft = -1;
};

class Builder {
  public:
    Placed build(const Datatype &datatype) {
        if (auto known = built_.find(&datatype); known != built_.end()) return known->second;
        Placed result;
        if (datatype.size() != 0)
            result = datatype.pieces() == 0
                         ? Placed{0, block(datatype.size())}
                         : repeat(datatype.repetitions(), datatype.repetition_stride(), unit(datatype));
        built_.emplace(&datatype, result);
        return result;
    }

    /// Writes the drafts reached from the root into one allocation; nullptr where memory is short.
    DatatypePlan *write(const Datatype &datatype, Placed root) {
        order_.clear();
        bytes_ = sizeof(DatatypePlan);
        if (root.draft < 0) root.draft = add(Draft{});
        reserve(root.draft);
        void *memory = std::calloc(1, static_cast<std::size_t>(bytes_));
        if (memory == nullptr) return nullptr;
        auto *plan = new (memory) DatatypePlan;
        plan->bytes = bytes_;
        plan->size = datatype.size();
        plan->extent = datatype.extent();
        plan->displacement = root.displacement;
        plan->root = drafts_[index(root.draft)].offset;
        plan->nodes = static_cast<Count>(order_.size());
        plan->blocks = at(root.draft).blocks;
        plan->runs = at(root.draft).runs;
        plan->uniform_block = at(root.draft).uniform_block;
        for (int draft : order_) write(static_cast<char *>(memory), at(draft));
        plan->fingerprint = fingerprint(*plan);
        return plan;
    }

  private:
    static std::size_t index(int draft) {
        return static_cast<std::size_t>(draft);
    }

    const Draft &at(int draft) const {
        return drafts_[index(draft)];
    }

    int add(Draft draft) {
        drafts_.push_back(std::move(draft));
        return static_cast<int>(drafts_.size()) - 1;
    }

    int block(Count bytes) {
        auto [known, fresh] = blocks_.try_emplace(bytes, 0);
        if (fresh) {
            Draft draft;
            draft.node.kind = NodeKind::block;
            draft.node.size = bytes;
            known->second = add(std::move(draft));
        }
        return known->second;
    }

    /// All pieces of a type once.
    Placed unit(const Datatype &datatype) {
        Count pieces = datatype.pieces();
        if (pieces == 1) return piece_of(datatype.piece(0));
        Sequence sequence(*this);
        for (Count i = 0; i < pieces; ++i) {
            Piece piece = datatype.piece(i);
            if (piece.length == 0 || piece.type->size() == 0) continue;
            Placed child = build(*piece.type);
            Count size = piece.type->size();
            if (at(child.draft).node.kind == NodeKind::block && (piece.length == 1 || size == piece.type->extent()))
                sequence.add_block(piece.displacement + child.displacement, piece.length * size);
            else
                sequence.add(piece_of(piece));
        }
        return sequence.finish();
    }

    Placed piece_of(const Piece &piece) {
        if (piece.length == 0 || piece.type->size() == 0) return {};
        auto key = std::pair(piece.type, piece.length);
        auto [known, fresh] = pieces_.try_emplace(key);
        if (fresh) known->second = repeat(piece.length, piece.type->extent(), build(*piece.type));
        Placed placed = known->second;
        placed.displacement += piece.displacement;
        return placed;
    }

    /// `count` times the part, `stride` apart.
    Placed repeat(Count count, Count stride, Placed part) {
        if (count == 0 || part.draft < 0) return {};
        if (count == 1) return part;
        const PlanNode &child = at(part.draft).node;
        if (child.kind == NodeKind::block && stride == child.size)
            return {part.displacement, block(count * child.size)};
        Draft draft;
        PlanNode &node = draft.node;
        node = child;
        node.size = count * child.size;
        node.count = count;
        node.stride = stride;
        if (child.kind == NodeKind::block) {
            node.kind = NodeKind::vector;
            node.block = child.size;
        } else if ((child.kind == NodeKind::vector || child.kind == NodeKind::loop) &&
                   continues(child.count, child.stride, stride)) {
            node.count = count * child.count;
            node.stride = child.stride;
            draft.child = at(part.draft).child;
        } else if (joins(part.draft, count, stride)) {
            Sequence sequence(*this);
            for (Count i = 0; i < count; ++i) sequence.add({part.displacement + i * stride, part.draft});
            return sequence.finish();
        } else {
            node.kind = NodeKind::loop;
            node.block = child.size;
            node.table = 0;
            draft.child = part.draft;
        }
        return {part.displacement, add(std::move(draft))};
    }

    static bool continues(Count count, Count stride, Count outer_stride) {
        Checked next = Checked(count) * stride;
        return !next.overflow() && next.value() == outer_stride;
    }

    /// The last block of one repetition touches the first of the next, and writing them all out is cheap.
    bool joins(int part, Count count, Count stride) const {
        const Draft &draft = at(part);
        const PlanNode &node = draft.node;
        if (node.count > few_blocks || count > few_blocks * few_blocks / node.count) return false;
        switch (node.kind) {
        case NodeKind::vector:
            return (node.count - 1) * node.stride + node.block == stride;
        case NodeKind::index:
            return draft.displacements.back() + node.block == stride;
        case NodeKind::list: {
            const ListEntry &last = draft.entries[draft.entries.size() - 2];
            return last.displacement + (node.size - last.begin) == stride;
        }
        default:
            return false;
        }
    }

    /// Nodes one after another, flattened and merged as they come.
    class Sequence {
      public:
        explicit Sequence(Builder &builder) : builder_(builder) {}

        void add_block(Count displacement, Count bytes) {
            if (!items_.empty()) {
                Item &last = items_.back();
                if (last.draft < 0 && last.displacement + last.bytes == displacement) {
                    last.bytes += bytes;
                    return;
                }
            }
            items_.push_back({displacement, bytes, -1});
        }

        void add(Placed placed) {
            if (placed.draft < 0) return;
            const Draft &draft = builder_.at(placed.draft);
            const PlanNode &node = draft.node;
            bool flat = node.count <= few_blocks && items_.size() < longest_flattening;
            if (node.kind == NodeKind::block)
                add_block(placed.displacement, node.size);
            else if (flat && node.kind == NodeKind::vector)
                for (Count i = 0; i < node.count; ++i) add_block(placed.displacement + i * node.stride, node.block);
            else if (flat && node.kind == NodeKind::index)
                for (Count displacement : draft.displacements)
                    add_block(placed.displacement + displacement, node.block);
            else if (flat && node.kind == NodeKind::list)
                for (std::size_t i = 0; i + 1 < draft.entries.size(); ++i)
                    add_block(placed.displacement + draft.entries[i].displacement,
                              draft.entries[i + 1].begin - draft.entries[i].begin);
            else if (flat && node.kind == NodeKind::sequence)
                for (std::size_t i = 0; i + 1 < draft.sequence.size(); ++i)
                    add_node(placed.displacement + draft.sequence[i].displacement, draft.sequence[i].node);
            else
                add_node(placed.displacement, placed.draft);
        }

        Placed finish() {
            if (items_.empty()) return {};
            Count origin = items_.front().displacement;
            for (Item &item : items_) item.displacement -= origin;
            return {origin, items_.size() == 1 ? node_of(items_.front()) : most_regular()};
        }

      private:
        struct Item {
            Count displacement;
            Count bytes;
            int draft; ///< -1: a block
        };

        void add_node(Count displacement, int draft) {
            const PlanNode &node = builder_.at(draft).node;
            if (node.kind == NodeKind::block)
                add_block(displacement, node.size);
            else
                items_.push_back({displacement, node.size, draft});
        }

        int node_of(const Item &item) {
            return item.draft < 0 ? builder_.block(item.bytes) : item.draft;
        }

        int most_regular() {
            const Item &first = items_.front();
            Count stride = items_[1].displacement;
            bool blocks = true, equal = true, regular = true;
            for (std::size_t i = 0; i < items_.size(); ++i) {
                blocks = blocks && items_[i].draft < 0;
                equal = equal && items_[i].draft == first.draft && items_[i].bytes == first.bytes;
                regular = regular && (i == 0 || items_[i].displacement - items_[i - 1].displacement == stride);
            }
            auto count = static_cast<Count>(items_.size());
            if (equal && regular) return builder_.repeat(count, stride, {0, node_of(first)}).draft;

            Draft draft;
            PlanNode &node = draft.node;
            node.count = count;
            Count begin = 0;
            if (equal) {
                node.kind = blocks ? NodeKind::index : NodeKind::scatter;
                node.block = first.bytes;
                draft.child = first.draft;
                draft.displacements.reserve(items_.size());
                for (const Item &item : items_) draft.displacements.push_back(item.displacement);
                begin = count * first.bytes;
            } else if (blocks) {
                node.kind = NodeKind::list;
                draft.entries.reserve(items_.size() + 1);
                for (const Item &item : items_) {
                    draft.entries.push_back({item.displacement, begin});
                    begin += item.bytes;
                }
                draft.entries.push_back({0, begin});
            } else {
                node.kind = NodeKind::sequence;
                draft.sequence.reserve(items_.size() + 1);
                for (const Item &item : items_) {
                    draft.sequence.push_back({item.displacement, begin, node_of(item)});
                    begin += item.bytes;
                }
                draft.sequence.push_back({0, begin, -1});
            }
            node.size = begin;
            return builder_.add(std::move(draft));
        }

        Builder &builder_;
        std::vector<Item> items_;
    };

    Count take(std::size_t bytes) {
        Count offset = bytes_;
        bytes_ += static_cast<Count>(bytes);
        return offset;
    }

    void reserve(int draft_index) {
        Draft &draft = drafts_[index(draft_index)];
        if (draft.offset != 0) return;
        draft.offset = take(sizeof(PlanNode));
        order_.push_back(draft_index);
        if (!draft.displacements.empty()) draft.node.table = take(draft.displacements.size() * sizeof(Count));
        if (!draft.entries.empty()) draft.node.table = take(draft.entries.size() * sizeof(ListEntry));
        if (!draft.sequence.empty()) draft.node.table = take(draft.sequence.size() * sizeof(SequenceEntry));
        if (draft.child >= 0) reserve(draft.child);
        for (const SequenceItem &item : draft.sequence)
            if (item.node >= 0) reserve(item.node);
        measure(draft);
    }

    /// Counts blocks; those of the parts are known.
    void measure(Draft &draft) {
        const PlanNode &node = draft.node;
        switch (node.kind) {
        case NodeKind::empty:
            break;
        case NodeKind::block:
            draft.blocks = draft.runs = 1;
            draft.uniform_block = node.size;
            break;
        case NodeKind::vector:
        case NodeKind::index:
            draft.blocks = node.count;
            draft.runs = node.kind == NodeKind::vector ? 1 : node.count;
            draft.uniform_block = node.block;
            break;
        case NodeKind::list:
            draft.blocks = draft.runs = node.count;
            break;
        case NodeKind::loop:
        case NodeKind::scatter:
            draft.blocks = node.count * at(draft.child).blocks;
            draft.runs = node.count * at(draft.child).runs;
            draft.uniform_block = at(draft.child).uniform_block;
            break;
        case NodeKind::sequence:
            draft.uniform_block = at(draft.sequence.front().node).uniform_block;
            for (std::size_t i = 0; i + 1 < draft.sequence.size(); ++i) {
                const Draft &part = at(draft.sequence[i].node);
                draft.blocks += part.blocks;
                draft.runs += part.runs;
                if (part.uniform_block != draft.uniform_block) draft.uniform_block = 0;
            }
            break;
        }
    }

    /// A hash of all that determines the layout: size, extent, nodes and tables.
    static std::uint64_t fingerprint(const DatatypePlan &plan) {
        auto mix = [](std::uint64_t hash, std::uint64_t word) {
            hash = (hash ^ word) * 0x9e37'79b9'7f4a'7c15;
            return hash ^ hash >> 32;
        };
        std::uint64_t hash =
            mix(mix(1, static_cast<std::uint64_t>(plan.size)), static_cast<std::uint64_t>(plan.extent));
        const char *bytes = reinterpret_cast<const char *>(&plan);
        for (Count offset = sizeof plan; offset < plan.bytes; offset += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, bytes + offset, 8);
            hash = mix(hash, word);
        }
        return hash | 1;
    }

    void write(char *memory, const Draft &draft) const {
        PlanNode node = draft.node;
        if (draft.child >= 0) node.child = at(draft.child).offset;
        std::memcpy(memory + draft.offset, &node, sizeof node);
        char *table = memory + node.table;
        if (!draft.displacements.empty())
            std::memcpy(table, draft.displacements.data(), draft.displacements.size() * sizeof(Count));
        if (!draft.entries.empty()) std::memcpy(table, draft.entries.data(), draft.entries.size() * sizeof(ListEntry));
        for (const SequenceItem &item : draft.sequence) {
            SequenceEntry entry{item.displacement, item.begin, item.node >= 0 ? at(item.node).offset : 0};
            std::memcpy(table, &entry, sizeof entry);
            table += sizeof entry;
        }
    }

    std::vector<Draft> drafts_;
    std::unordered_map<const Datatype *, Placed> built_;
    std::map<std::pair<const Datatype *, Count>, Placed> pieces_;
    std::map<Count, int> blocks_;
    std::vector<int> order_;
    Count bytes_ = 0;
};

} // namespace

Outcome build_plan(const Datatype &datatype, const DatatypePlan *&plan) {
    try {
        Builder builder;
        plan = builder.write(datatype, builder.build(datatype));
    } catch (const std::bad_alloc &) {
        plan = nullptr;
    }
    if (plan == nullptr) return failure(MPI_ERR_NO_MEM, "MPI_Type_commit: no memory for the datatype's plan");
    return {};
}

void free_plan(const DatatypePlan *plan) {
    std::free(const_cast<DatatypePlan *>(plan));
}

} // namespace volley
