// SPDX-License-Identifier: BSD-3-Clause
/// MPICH's handles are 32-bit integers, but for files. Its own predefined ones say in their bits what they are; handles
/// of objects that programs make are chosen here: both upper bits set, and below them the object's number.
#pragma once

#include "core/object_numbers.h"
#include "faces/conversion.h"
#include "values.h"

namespace volley::faces {

template <class Native> struct FaceHandle {
    using Type = int;
};
template <> struct FaceHandle<MPI_File> {
    using Type = void *;
};

inline constexpr std::uint32_t first_made_handle = 0xc0000000;

/// Predefined handles of one kind by some of their bits, which are different for each.
class PredefinedHandles {
  public:
    template <std::size_t Count> consteval explicit PredefinedHandles(const Predefined (&handles)[Count]) {
        for (const Predefined &handle : handles) {
            if (table_[slot(handle.face)].native != 0) throw "two handles in one slot";
            table_[slot(handle.face)] = handle;
        }
    }
    /// 0 if it is none of them.
    constexpr std::uintptr_t native(int handle) const {
        const Predefined &found = table_[slot(handle)];
        return found.face == handle ? found.native : 0;
    }

  private:
    static constexpr std::size_t slot(int handle) {
        const auto bits = static_cast<std::uint32_t>(handle);
        return (bits & 0x7f) | (bits >> 30 << 7);
    }
    Predefined table_[512] = {};
};

template <class Native> extern const PredefinedHandles predefined;
template <> inline constexpr PredefinedHandles predefined<MPI_Comm>{predefined_communicator};
template <> inline constexpr PredefinedHandles predefined<MPI_Group>{predefined_group};
template <> inline constexpr PredefinedHandles predefined<MPI_Datatype>{predefined_datatype};
template <> inline constexpr PredefinedHandles predefined<MPI_Op>{predefined_operation};
template <> inline constexpr PredefinedHandles predefined<MPI_Request>{predefined_request};
template <> inline constexpr PredefinedHandles predefined<MPI_Message>{predefined_message};
template <> inline constexpr PredefinedHandles predefined<MPI_Info>{predefined_info};
template <> inline constexpr PredefinedHandles predefined<MPI_Errhandler>{predefined_errhandler};
template <> inline constexpr PredefinedHandles predefined<MPI_Win>{predefined_window};
template <> inline constexpr PredefinedHandles predefined<MPI_Session>{predefined_session};

/// All of them, by the library's numbers, which no two have in common.
class HandlesByNumber {
  public:
    consteval HandlesByNumber() {
        add(predefined_communicator);
        add(predefined_group);
        add(predefined_datatype);
        add(predefined_operation);
        add(predefined_request);
        add(predefined_message);
        add(predefined_info);
        add(predefined_errhandler);
        add(predefined_window);
        add(predefined_session);
    }
    constexpr int operator[](std::uintptr_t number) const {
        return number < std::size(handles_) ? handles_[number] : 0;
    }

  private:
    template <std::size_t Count> consteval void add(const Predefined (&handles)[Count]) {
        for (const Predefined &handle : handles) handles_[handle.native] = handle.face;
    }
    int handles_[768] = {};
};
inline constexpr HandlesByNumber handle_by_number;

inline constexpr std::uintptr_t first_object_address = 4096;

template <class Native> Native to_native(Face<Native> handle) {
    const auto bits = static_cast<std::uint32_t>(handle);
    if (bits >= first_made_handle) return reinterpret_cast<Native>(numbered_object(bits - first_made_handle));
    return reinterpret_cast<Native>(predefined<Native>.native(handle));
}
template <> inline MPI_File to_native<MPI_File>(void *handle) {
    return handle == nullptr ? MPI_FILE_NULL : static_cast<MPI_File>(handle);
}

template <class Native> Face<Native> to_face(Native handle) {
    const auto address = reinterpret_cast<std::uintptr_t>(handle);
    if (address < first_object_address) return handle_by_number[address];
    return static_cast<int>(first_made_handle + number_of_object(address));
}
template <> inline void *to_face<MPI_File>(MPI_File handle) {
    return handle == MPI_FILE_NULL ? nullptr : handle;
}

struct Status {
    int count_low;
    int count_high_and_cancelled; ///< the count's upper bits above the flag
    int MPI_SOURCE;
    int MPI_TAG;
    int MPI_ERROR;
};

inline bool is_ignored(const Status *status) {
    return reinterpret_cast<std::intptr_t>(status) == face_MPI_STATUS_IGNORE;
}
inline void write_count(Status &status, MPI_Count bytes, bool cancelled) {
    status.count_low = static_cast<int>(bytes);
    status.count_high_and_cancelled = static_cast<int>((bytes >> 32) << 1) | static_cast<int>(cancelled);
}
inline MPI_Count count_of(const Status &status) {
    return static_cast<MPI_Count>(status.count_high_and_cancelled >> 1) << 32 |
           static_cast<std::uint32_t>(status.count_low);
}
inline bool cancelled_of(const Status &status) {
    return (status.count_high_and_cancelled & 1) != 0;
}

/// MPI_IN_PLACE and MPI_BUFFER_AUTOMATIC are the last addresses that there are.
template <class Pointer> Pointer buffer_to_native(Pointer buffer) {
    const auto address = reinterpret_cast<std::intptr_t>(buffer);
    if (address == face_MPI_IN_PLACE) [[unlikely]]
        return static_cast<Pointer>(MPI_IN_PLACE);
    if (address == face_MPI_BUFFER_AUTOMATIC) [[unlikely]]
        return static_cast<Pointer>(MPI_BUFFER_AUTOMATIC);
    return buffer;
}

/// The name of a datatype that the library has under another name.
inline void rename_datatype(int datatype, char *name) {
    const char *other = other_datatype_name(datatype);
    if (other != nullptr && std::strncmp(name, "MPI_", 4) == 0) std::strcpy(name, other);
}

/// What a buffer was attached as.
inline void buffer_to_face(void *place) {
    auto &buffer = *static_cast<void **>(place);
    if (buffer == MPI_BUFFER_AUTOMATIC) buffer = reinterpret_cast<void *>(face_MPI_BUFFER_AUTOMATIC);
}

} // namespace volley::faces

// Programs read these variables, and pass what is in them.
extern "C" [[gnu::visibility("default")]] int *const MPICH_UNWEIGHTED __asm__("MPI_UNWEIGHTED");
extern "C" [[gnu::visibility("default")]] int *const MPICH_WEIGHTS_EMPTY __asm__("MPI_WEIGHTS_EMPTY");

namespace volley::faces {

inline const int *weights_to_native(const int *weights) {
    if (weights == MPICH_UNWEIGHTED) return MPI_UNWEIGHTED;
    if (weights == MPICH_WEIGHTS_EMPTY) return MPI_WEIGHTS_EMPTY;
    return weights;
}
inline int *weights_to_native(int *weights) {
    return const_cast<int *>(weights_to_native(static_cast<const int *>(weights)));
}

} // namespace volley::faces

#include "faces/codes.h"
#include "faces/statuses.h"
