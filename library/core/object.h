// SPDX-License-Identifier: BSD-3-Clause
/// The objects behind handles. An opaque object's handle is its address (predefined handles are numbers below 4096).
/// The object begins with a mark of its kind, and its memory is only ever used again for objects of that kind. So
/// reading the mark tells a live handle from a stale one or one of another kind.
///
/// Objects are private to their rank and protected by the rank's lock (core/lock.h).
#pragma once

#include "core/object_numbers.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace volley {

enum class Mark : std::uint32_t {
    none = 0, ///< free memory
    communicator = 0x6d6d6f43,
    group = 0x70756f72,
    request = 0x73716552,
    message = 0x6773734d,
    operation = 0x6e70724f,
    information = 0x6f666e49,
    errhandler = 0x68727245,
    session = 0x73736553,
    file = 0x656c6946,
    window = 0x646e6957,
};

/// Handles below this address are not objects but numbers of the ABI's table.
inline constexpr std::uintptr_t first_object = 4096;

/// First base of every opaque object but Datatype, which keeps its own.
class Object {
  public:
    explicit Object(Mark mark) : mark_(mark) {}
    Object(const Object &) = delete;
    Object &operator=(const Object &) = delete;

    Mark mark() const {
        return mark_;
    }
    void retain() {
        references_++;
    }
    /// True if that was the last reference: the caller destroys the object.
    [[nodiscard]] bool release() {
        return --references_ == 0;
    }

    /// Of the place where the object lies.
    std::uint32_t place_number() const {
        return place_number_;
    }

  protected:
    ~Object() {
        mark_ = Mark::none;
    }

  private:
    template <class Type> friend class Pool;

    Mark mark_;
    std::int32_t references_ = 1;
    std::uint32_t place_number_ = 0;
};
static_assert(sizeof(Object) == object_number_offset + sizeof(std::uint32_t));

/// The object a user's handle names, or nullptr if it is null, stale or of another kind. `Type` is a final class
/// without virtual functions whose first base is Object and that names its mark `Type::kind`.
template <class Type, class Handle> Type *object_of(Handle handle) {
    auto address = reinterpret_cast<std::uintptr_t>(handle);
    if (address < first_object || address % alignof(Type) != 0) [[unlikely]]
        return nullptr;
    auto *object = reinterpret_cast<Type *>(address);
    return object->mark() == Type::kind ? object : nullptr;
}

/// Memory for objects of one type, reused only for that type and never given back.
template <class Type> class Pool {
  public:
    template <class... Arguments> Type *make(Arguments &&...arguments) {
        if (free_.empty()) grow();
        const Place place = free_.back();
        free_.pop_back();
        auto *object = new (place.memory) Type(std::forward<Arguments>(arguments)...);
        if constexpr (has_handles) object->place_number_ = place.number;
        return object;
    }

    void destroy(Type *object) {
        Place place{object, 0};
        if constexpr (has_handles) place.number = object->place_number_;
        object->~Type();
        // A compiler may drop the destructor's store to the mark as dead, since the object ends there. It must keep
        // this store.
        constexpr Mark none = Mark::none;
        std::memcpy(place.memory, &none, sizeof none);
        free_.push_back(place);
    }

  private:
    static constexpr std::size_t objects_at_once = 32;
    static constexpr bool has_handles = std::is_base_of_v<Object, Type>;

    struct Place {
        void *memory;
        std::uint32_t number;
    };

    void grow() {
        auto *memory =
            static_cast<std::byte *>(::operator new(objects_at_once * sizeof(Type), std::align_val_t{alignof(Type)}));
        std::uint32_t first = 0;
        if constexpr (has_handles)
            first = number_objects(reinterpret_cast<std::uintptr_t>(memory), objects_at_once, sizeof(Type));
        // Unused memory must not carry a live mark by chance: the allocator may hand out old contents.
        for (std::size_t i = objects_at_once; i-- > 0;) {
            std::byte *place = memory + i * sizeof(Type);
            *reinterpret_cast<std::uint32_t *>(place) = 0;
            free_.push_back({place, first + static_cast<std::uint32_t>(i)});
        }
    }

    std::vector<Place> free_;
};

} // namespace volley
