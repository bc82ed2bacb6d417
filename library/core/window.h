// SPDX-License-Identifier: BSD-3-Clause
/// Windows: memory that a process lets others access. What a handle names, and what every kind of object has: a name,
/// attributes, an error handler, hints. How the memory is accessed is the matter of library/window.
#pragma once

#include "core/communicator.h"
#include "core/errhandler.h"
#include "core/object.h"

#include <mpi.h>

#include <string>
#include <string_view>

namespace volley {

class Attributes;
class Info;
struct WindowState;

class Window final : public Object {
  public:
    static constexpr Mark kind = Mark::window;

    /// Takes over the caller's reference to the communicator, which is the window's own.
    static Window *make(Communicator &communicator);

    /// The window a handle names; nullptr for MPI_WIN_NULL and for what is no window.
    static Window *from_handle(MPI_Win handle) {
        return object_of<Window>(handle);
    }
    MPI_Win handle() {
        return reinterpret_cast<MPI_Win>(this);
    }

    /// Of the window's processes, and for the window's messages alone. Ranks of the window are ranks of it.
    Communicator &communicator() const {
        return *communicator_;
    }
    std::string_view name() const {
        return name_;
    }
    void set_name(std::string_view name);

    /// Destroys the window, whose state is gone.
    static void destroy(Window &window);

    ErrorTarget errors;               ///< the communicator's failures are raised here, too
    Attributes *attributes = nullptr; ///< core/attribute.h
    Info *info = nullptr;             ///< hints that the program gave; nullptr: none
    WindowState *state = nullptr;     ///< window/state.h
    /// What predefined attributes point to.
    struct {
        void *base = nullptr;
        MPI_Aint size = 0;
        int disp_unit = 1;
        int flavor = 0;
        int model = MPI_WIN_UNIFIED;
    } predefined;

  private:
    friend class Pool<Window>;
    explicit Window(Communicator &communicator);
    ~Window() = default;

    Communicator *communicator_;
    std::string name_;
};

} // namespace volley
