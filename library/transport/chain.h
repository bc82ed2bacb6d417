// SPDX-License-Identifier: BSD-3-Clause
/// Chains through objects that they do not own, and a table that finds a chain by its key. Nothing is allocated for an
/// object, since it carries the links itself.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace volley {

/// An object's place in a doubly linked chain.
template <class Item> struct Links {
    Item *previous = nullptr, *next = nullptr;
};

template <class Item, Links<Item> Item::*links> class Chain {
  public:
    Item *first() const {
        return first_;
    }
    static Item *after(const Item &item) {
        return (item.*links).next;
    }
    void append(Item &item) {
        (item.*links) = {last_, nullptr};
        put_back(item);
    }
    void prepend(Item &item) {
        (item.*links) = {nullptr, first_};
        put_back(item);
    }
    /// The item keeps its links, for put_back().
    void remove(Item &item) {
        auto [previous, next] = item.*links;
        if (previous)
            (previous->*links).next = next;
        else
            first_ = next;
        if (next)
            (next->*links).previous = previous;
        else
            last_ = previous;
    }
    /// Undoes remove(), if nothing has been done to the chain since.
    void put_back(Item &item) {
        auto [previous, next] = item.*links;
        if (previous)
            (previous->*links).next = &item;
        else
            first_ = &item;
        if (next)
            (next->*links).previous = &item;
        else
            last_ = &item;
    }

  private:
    Item *first_ = nullptr, *last_ = nullptr;
};

/// Chains by key. Open addressing with linear probing, at most half full; it grows and shrinks with the number of
/// keys by doubling and halving, so that a single insertion or removal may move all keys, and the average one about
/// two. Without items it owns no memory.
template <class Item, Links<Item> Item::*links> class ChainTable {
  public:
    struct Key {
        int source, tag;
        bool operator==(const Key &) const = default;
    };

    /// Number of items.
    std::size_t size() const {
        return size_;
    }
    /// Places for keys, of which at most half are used.
    std::size_t capacity() const {
        return places_.size();
    }
    /// The first item with this key, or nullptr. Adds the number of places it looked at to `steps`.
    Item *first(Key key, std::uint64_t &steps) const {
        std::size_t at = home(key);
        for (steps++; places_[at].chain.first() && places_[at].key != key; steps++) at = next(at);
        return places_[at].chain.first();
    }
    void append(Key key, Item &item) {
        chain(key).append(item);
    }
    void prepend(Key key, Item &item) {
        chain(key).prepend(item);
    }
    void remove(Key key, Item &item) {
        size_--;
        std::size_t at = find(key);
        places_[at].chain.remove(item);
        if (places_[at].chain.first()) return;
        close(at);
        if (--keys_ * most_times_too_large < places_.size() && places_.size() > fewest_places)
            resize(places_.size() / 2);
    }
    /// Forgets all items, whose links are void then.
    void clear() {
        places_ = std::vector<Place>(); // an empty list would leave it its memory
        keys_ = size_ = 0;
    }

  private:
    struct Place {
        Key key{};
        Chain<Item, links> chain; ///< empty: the place is free
    };

    /// These take 1.5 KiB, a fraction of what a page table or a ring costs. A smaller table would only have to grow at
    /// once.
    static constexpr std::size_t fewest_places = 64;
    /// The table halves only when it is so much too large, so that it does not at once have to double again.
    static constexpr std::size_t most_times_too_large = 8;

    /// Fibonacci hashing twice: a single multiplication would put sources, the upper half, where regular tags are.
    std::size_t home(Key key) const {
        constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
        std::uint64_t mixed = static_cast<std::uint32_t>(key.source) * golden;
        mixed = (mixed ^ mixed >> 32 ^ static_cast<std::uint32_t>(key.tag)) * golden;
        return mixed >> shift_;
    }
    std::size_t next(std::size_t at) const {
        return (at + 1) & (places_.size() - 1);
    }
    /// Where the key is, or the free place where it is to be.
    std::size_t find(Key key) const {
        std::size_t at = home(key);
        while (places_[at].chain.first() && places_[at].key != key) at = next(at);
        return at;
    }
    /// The chain for an item that is about to be added.
    Chain<Item, links> &chain(Key key) {
        if (2 * (keys_ + 1) > places_.size()) resize(places_.empty() ? fewest_places : 2 * places_.size());
        Place &place = places_[find(key)];
        if (!place.chain.first()) {
            place.key = key;
            keys_++;
        }
        size_++;
        return place.chain;
    }
    /// Closes a place whose chain has become empty: the places behind it, up to the next free one, move up as far as
    /// they may.
    void close(std::size_t hole) {
        const std::size_t mask = places_.size() - 1;
        for (std::size_t at = next(hole); places_[at].chain.first(); at = next(at)) {
            if (((at - home(places_[at].key)) & mask) < ((at - hole) & mask)) continue;
            places_[hole] = std::exchange(places_[at], {});
            hole = at;
        }
    }
    void resize(std::size_t places) {
        std::vector<Place> old = std::exchange(places_, std::vector<Place>(places));
        shift_ = 64 - std::countr_zero(places);
        for (const Place &place : old)
            if (place.chain.first()) places_[find(place.key)] = place;
    }

    std::size_t size_ = 0, keys_ = 0;
    std::vector<Place> places_; ///< none, or a power of two
    int shift_ = 0;
};

} // namespace volley
