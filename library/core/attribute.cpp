// SPDX-License-Identifier: BSD-3-Clause
#include "core/attribute.h"

#include "core/added_errors.h"
#include "core/communicator.h"
#include "core/engine.h"
#include "core/error.h"
#include "core/functions.h"
#include "core/window.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

namespace volley {

/// The attributes of one object, in the order they were attached.
class Attributes {
  public:
    struct Entry {
        int keyval;
        void *value;
    };

    std::vector<Entry> entries;

    Entry *find(int keyval) {
        auto found = std::ranges::find(entries, keyval, &Entry::keyval);
        return found != entries.end() ? &*found : nullptr;
    }
    void remove(int keyval) {
        std::erase_if(entries, [&](const Entry &entry) { return entry.keyval == keyval; });
    }
};

namespace {

/// Keys of all kinds of objects are numbered in common, so that one of another kind is told to be wrong. The first
/// is above all predefined ones.
constexpr int first_keyval = 1024;
int next_keyval = first_keyval;

// What differs between the kinds of objects.

struct OfCommunicators {
    using Owner = Communicator;
    using Copy = MPI_Comm_copy_attr_function;
    using Delete = MPI_Comm_delete_attr_function;
    static constexpr const char *name = "communicators";

    static Attributes *get(Communicator &owner) {
        return owner.attributes;
    }
    static void put(Communicator &owner, Attributes *attributes) {
        static const bool registered = (Communicator::on_release(drop), true);
        static_cast<void>(registered);
        owner.attributes = attributes;
    }
    /// Only communicators whose making failed have attributes when they go.
    static void drop(Communicator &communicator) {
        if (communicator.attributes == nullptr) return;
        // Callbacks may use the communicator, whose last reference is gone.
        communicator.retain();
        static_cast<void>(delete_attributes(communicator));
        static_cast<void>(static_cast<Object &>(communicator).release());
        delete communicator.attributes;
        communicator.attributes = nullptr;
    }
};

struct OfDatatypes {
    using Owner = Datatype;
    using Copy = MPI_Type_copy_attr_function;
    using Delete = MPI_Type_delete_attr_function;
    static constexpr const char *name = "datatypes";

    static Attributes *get(Datatype &owner) {
        return static_cast<Attributes *>(owner.attributes.load(std::memory_order_relaxed));
    }
    static void put(Datatype &owner, Attributes *attributes) {
        static const bool registered = (Datatype::set_attribute_release(drop), true);
        static_cast<void>(registered);
        owner.attributes.store(attributes, std::memory_order_relaxed);
    }
    /// A datatype goes with its last reference.
    static void drop(Datatype &datatype);

    /// What delete callbacks returned when a datatype went.
    static inline int last_failure = MPI_SUCCESS;
};

struct OfWindows {
    using Owner = Window;
    using Copy = MPI_Win_copy_attr_function;
    using Delete = MPI_Win_delete_attr_function;
    static constexpr const char *name = "windows";

    static Attributes *get(Window &owner) {
        return owner.attributes;
    }
    static void put(Window &owner, Attributes *attributes) {
        owner.attributes = attributes;
    }
};

/// The keys of one kind of object, and what is done with attributes under them.
template <class Kind> class Keyvals {
  public:
    using Owner = typename Kind::Owner;
    using Copy = typename Kind::Copy;
    using Delete = typename Kind::Delete;

    static int create(Copy *copy, Delete *remove, int *keyval, void *extra_state) {
        keyvals[next_keyval] = {copy, remove, extra_state, 0, false, nullptr, nullptr};
        *keyval = next_keyval++;
        return MPI_SUCCESS;
    }

    static void call_by(int keyval, CopyAttributeCaller copy, DeleteAttributeCaller remove) {
        if (Keyval *found = find(keyval); found != nullptr) {
            found->copy_caller = copy;
            found->delete_caller = remove;
        }
    }

    static int free(const char *argument, int *keyval) {
        Keyval *found = find(*keyval);
        if (found == nullptr) return invalid(argument, *keyval);
        found->freed = true;
        forget_if_unused(*keyval, *found);
        *keyval = MPI_KEYVAL_INVALID;
        return MPI_SUCCESS;
    }

    static int set(Owner &owner, const char *argument, int keyval, void *value) {
        Keyval *found = find(keyval);
        if (found == nullptr) return invalid(argument, keyval);
        Attributes *attributes = Kind::get(owner);
        if (attributes != nullptr && attributes->find(keyval) != nullptr)
            if (int code = remove(owner, keyval)) return code;
        attach(owner, keyval, value);
        return MPI_SUCCESS;
    }

    static int get(Owner &owner, const char *argument, int keyval, void *value, int *flag) {
        if (!is_usable(keyval)) return invalid(argument, keyval);
        Attributes *attributes = Kind::get(owner);
        Attributes::Entry *entry = attributes != nullptr ? attributes->find(keyval) : nullptr;
        *flag = entry != nullptr;
        if (entry != nullptr) *static_cast<void **>(value) = entry->value;
        return MPI_SUCCESS;
    }

    static int erase(Owner &owner, const char *argument, int keyval) {
        if (!is_usable(keyval)) return invalid(argument, keyval);
        Attributes *attributes = Kind::get(owner);
        if (attributes == nullptr || attributes->find(keyval) == nullptr)
            return fail(MPI_ERR_KEYVAL, "%s is %d, under which no attribute is attached to be deleted", argument,
                        keyval);
        return remove(owner, keyval);
    }

    static int copy_all(Owner &from, Owner &to) {
        Attributes *attributes = Kind::get(from);
        if (attributes == nullptr) return MPI_SUCCESS;
        // A callback may attach or delete attributes, so the list is a copy made before the first callback.
        const std::vector<Attributes::Entry> entries = attributes->entries;
        for (const Attributes::Entry &entry : entries)
            if (int code = copy_one(from, to, entry)) return code;
        return MPI_SUCCESS;
    }

    static int delete_all(Owner &owner) {
        Attributes *attributes = Kind::get(owner);
        int first_failure = MPI_SUCCESS;
        while (attributes != nullptr && !attributes->entries.empty()) {
            int keyval = attributes->entries.back().keyval;
            if (int code = remove(owner, keyval)) {
                if (first_failure == MPI_SUCCESS) first_failure = code;
                detach(owner, keyval);
            }
        }
        return first_failure;
    }

  private:
    struct Keyval {
        Copy *copy = nullptr;
        Delete *remove = nullptr;
        void *extra_state = nullptr;
        int attributes = 0; ///< attached under this key; it lives on for them when it is freed
        bool freed = false;
        CopyAttributeCaller copy_caller = nullptr; ///< of `copy`, if that is not to be called with our handles
        DeleteAttributeCaller delete_caller = nullptr;

        int call_copy(Owner &owner, int number, void *value, void **copied, int *flag) const {
            if (copy_caller != nullptr)
                return copy_caller(reinterpret_cast<Callback>(copy), owner.handle(), number, extra_state, value, copied,
                                   flag);
            return copy(owner.handle(), number, extra_state, value, copied, flag);
        }
        int call_delete(Owner &owner, int number, void *value) const {
            if (delete_caller != nullptr)
                return delete_caller(reinterpret_cast<Callback>(remove), owner.handle(), number, value, extra_state);
            return remove(owner.handle(), number, value, extra_state);
        }
    };

    static inline std::map<int, Keyval> keyvals;

    /// For attributes that there are: a key that was freed serves them until the last of them goes (section 7.7.2).
    static bool is_usable(int keyval) {
        return keyvals.contains(keyval);
    }

    /// One that attributes may still be attached under.
    static Keyval *find(int keyval) {
        auto found = keyvals.find(keyval);
        return found != keyvals.end() && !found->second.freed ? &found->second : nullptr;
    }

    static int invalid(const char *argument, int keyval) {
        if (keyval == MPI_KEYVAL_INVALID)
            return fail(MPI_ERR_KEYVAL, "%s is MPI_KEYVAL_INVALID, but must be a key", argument);
        if (keyval >= MPI_TAG_UB && keyval < first_keyval)
            return fail(MPI_ERR_KEYVAL, "%s is %d, a predefined key, which a program cannot use so", argument, keyval);
        return fail(MPI_ERR_KEYVAL, "%s is %d, but must be a key for %s that has been created and not freed", argument,
                    keyval, Kind::name);
    }

    static void forget_if_unused(int number, const Keyval &keyval) {
        if (keyval.freed && keyval.attributes == 0) keyvals.erase(number);
    }

    static void attach(Owner &owner, int keyval, void *value) {
        Attributes *attributes = Kind::get(owner);
        if (attributes == nullptr) {
            attributes = new Attributes;
            Kind::put(owner, attributes);
        }
        attributes->entries.push_back({keyval, value});
        keyvals.at(keyval).attributes++;
    }

    /// If the callback agrees.
    static int remove(Owner &owner, int number) {
        const Keyval keyval = keyvals.at(number);
        void *value = Kind::get(owner)->find(number)->value;
        if (keyval.remove != nullptr)
            if (int code = keyval.call_delete(owner, number, value)) return code;
        detach(owner, number);
        return MPI_SUCCESS;
    }

    static void detach(Owner &owner, int number) {
        Attributes *attributes = Kind::get(owner);
        if (attributes->find(number) == nullptr) return; // the callback has done so
        attributes->remove(number);
        Keyval &keyval = keyvals.at(number);
        keyval.attributes--;
        forget_if_unused(number, keyval);
    }

    static int copy_one(Owner &from, Owner &to, const Attributes::Entry &entry) {
        auto found = keyvals.find(entry.keyval);
        if (found == keyvals.end()) return MPI_SUCCESS; // deleted by the callback of another
        const Keyval keyval = found->second;
        // MPI_..._NULL_COPY_FN is 0, MPI_..._DUP_FN is 1.
        if (keyval.copy == nullptr) return MPI_SUCCESS;
        void *value = entry.value;
        if (reinterpret_cast<std::uintptr_t>(keyval.copy) != 1) {
            void *copied = nullptr;
            int flag = 0;
            int code = keyval.call_copy(from, entry.keyval, value, &copied, &flag);
            if (code != MPI_SUCCESS || !flag) return code;
            value = copied;
        }
        attach(to, entry.keyval, value);
        return MPI_SUCCESS;
    }
};

using CommunicatorKeyvals = Keyvals<OfCommunicators>;
using DatatypeKeyvals = Keyvals<OfDatatypes>;
using WindowKeyvals = Keyvals<OfWindows>;

void OfDatatypes::drop(Datatype &datatype) {
    last_failure = DatatypeKeyvals::delete_all(datatype);
    delete get(datatype);
    datatype.attributes.store(nullptr, std::memory_order_relaxed);
}

/// The address of a predefined attribute's value, or nullptr (MPI 5.0, section 9.1.2).
int *predefined_attribute(int keyval) {
    static int tag_ub = std::numeric_limits<int>::max();
    static int host = MPI_PROC_NULL;
    static int io = MPI_ANY_SOURCE;
    static int wtime_is_global = 1; // MPI_Wtime is CLOCK_MONOTONIC, one for all ranks of a machine
    static int universe_size, application;
    switch (keyval) {
    case MPI_TAG_UB:
        return &tag_ub;
    case MPI_HOST:
        return &host;
    case MPI_IO:
        return &io;
    case MPI_WTIME_IS_GLOBAL:
        return &wtime_is_global;
    case MPI_UNIVERSE_SIZE:
        universe_size = std::max(node.universe_size, processes.ranks());
        return &universe_size;
    case MPI_APPNUM:
        application = node.application;
        return &application;
    case MPI_LASTUSEDCODE:
        return last_used_code();
    default:
        return nullptr;
    }
}

} // namespace

int copy_attributes(Communicator &from, Communicator &to) {
    return CommunicatorKeyvals::copy_all(from, to);
}

int copy_attributes(Datatype &from, Datatype &to) {
    return DatatypeKeyvals::copy_all(from, to);
}

int delete_attributes(Communicator &communicator) {
    return CommunicatorKeyvals::delete_all(communicator);
}

int delete_attributes(Window &window) {
    return WindowKeyvals::delete_all(window);
}

void forget_attributes(Window &window) {
    delete window.attributes;
    window.attributes = nullptr;
}

int release_with_attributes(Datatype &datatype) {
    OfDatatypes::last_failure = MPI_SUCCESS;
    datatype.release();
    return OfDatatypes::last_failure;
}

int mpi::Comm_create_keyval(MPI_Comm_copy_attr_function *comm_copy_attr_fn,
                            MPI_Comm_delete_attr_function *comm_delete_attr_fn, int *comm_keyval, void *extra_state) {
    return CommunicatorKeyvals::create(comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, extra_state);
}

int mpi::Comm_free_keyval(int *comm_keyval) {
    return CommunicatorKeyvals::free("comm_keyval", comm_keyval);
}

int mpi::Comm_set_attr(Communicator &comm, int comm_keyval, void *attribute_val) {
    return CommunicatorKeyvals::set(comm, "comm_keyval", comm_keyval, attribute_val);
}

int mpi::Comm_get_attr(Communicator &comm, int comm_keyval, void *attribute_val, int *flag) {
    if (int *value = predefined_attribute(comm_keyval)) {
        *static_cast<int **>(attribute_val) = value;
        *flag = 1;
        return MPI_SUCCESS;
    }
    return CommunicatorKeyvals::get(comm, "comm_keyval", comm_keyval, attribute_val, flag);
}

int mpi::Comm_delete_attr(Communicator &comm, int comm_keyval) {
    return CommunicatorKeyvals::erase(comm, "comm_keyval", comm_keyval);
}

int mpi::Type_create_keyval(MPI_Type_copy_attr_function *type_copy_attr_fn,
                            MPI_Type_delete_attr_function *type_delete_attr_fn, int *type_keyval, void *extra_state) {
    return DatatypeKeyvals::create(type_copy_attr_fn, type_delete_attr_fn, type_keyval, extra_state);
}

int mpi::Type_free_keyval(int *type_keyval) {
    return DatatypeKeyvals::free("type_keyval", type_keyval);
}

int mpi::Type_set_attr(Datatype &datatype, int type_keyval, void *attribute_val) {
    return DatatypeKeyvals::set(datatype, "type_keyval", type_keyval, attribute_val);
}

int mpi::Type_get_attr(Datatype &datatype, int type_keyval, void *attribute_val, int *flag) {
    return DatatypeKeyvals::get(datatype, "type_keyval", type_keyval, attribute_val, flag);
}

int mpi::Type_delete_attr(Datatype &datatype, int type_keyval) {
    return DatatypeKeyvals::erase(datatype, "type_keyval", type_keyval);
}

int mpi::Win_create_keyval(MPI_Win_copy_attr_function *win_copy_attr_fn,
                           MPI_Win_delete_attr_function *win_delete_attr_fn, int *win_keyval, void *extra_state) {
    return WindowKeyvals::create(win_copy_attr_fn, win_delete_attr_fn, win_keyval, extra_state);
}

int mpi::Win_free_keyval(int *win_keyval) {
    return WindowKeyvals::free("win_keyval", win_keyval);
}

int mpi::Win_set_attr(Window &win, int win_keyval, void *attribute_val) {
    return WindowKeyvals::set(win, "win_keyval", win_keyval, attribute_val);
}

int mpi::Win_get_attr(Window &win, int win_keyval, void *attribute_val, int *flag) {
    void *value = nullptr;
    switch (win_keyval) {
    case MPI_WIN_BASE: // the address itself
        value = win.predefined.base;
        break;
    case MPI_WIN_SIZE:
        value = &win.predefined.size;
        break;
    case MPI_WIN_DISP_UNIT:
        value = &win.predefined.disp_unit;
        break;
    case MPI_WIN_CREATE_FLAVOR:
        value = &win.predefined.flavor;
        break;
    case MPI_WIN_MODEL:
        value = &win.predefined.model;
        break;
    default:
        return WindowKeyvals::get(win, "win_keyval", win_keyval, attribute_val, flag);
    }
    *static_cast<void **>(attribute_val) = value;
    *flag = 1;
    return MPI_SUCCESS;
}

int mpi::Win_delete_attr(Window &win, int win_keyval) {
    return WindowKeyvals::erase(win, "win_keyval", win_keyval);
}

void call_keyval_by(int keyval, CopyAttributeCaller copy, DeleteAttributeCaller remove) {
    // Keys of all kinds of objects are numbered in common.
    CommunicatorKeyvals::call_by(keyval, copy, remove);
    DatatypeKeyvals::call_by(keyval, copy, remove);
    WindowKeyvals::call_by(keyval, copy, remove);
}

} // namespace volley
