// SPDX-License-Identifier: BSD-3-Clause
/// What the test programs of collective operations share: layouts of data, the three forms of a call, and checks
/// against values that every rank can compute by itself.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

inline int world_rank = 0, world_size = 1;

/// Drawn alike on all ranks, as long as all draw equally often.
inline std::mt19937 common(12345);

inline int draw(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(common);
}

[[noreturn]] inline void stop(const std::string &text) {
    std::fprintf(stderr, "rank %d: %s\n", world_rank, text.c_str());
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

/// One element has two ints, wherever they lie.
struct Layout {
    const char *name;
    MPI_Datatype type;
    int first, second; ///< places of the ints
    int extent;        ///< ints
};

inline std::vector<Layout> layouts;

inline void make_layouts() {
    auto add = [](const char *name, int first, int second, int extent) {
        int lengths[] = {1, 1};
        MPI_Aint places[] = {first * 4, second * 4};
        MPI_Datatype pair, resized;
        MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &pair);
        MPI_Type_create_resized(pair, 0, extent * 4, &resized);
        MPI_Type_commit(&resized);
        MPI_Type_free(&pair);
        layouts.push_back({name, resized, first, second, extent});
    };
    MPI_Datatype plain;
    MPI_Type_contiguous(2, MPI_INT, &plain);
    MPI_Type_commit(&plain);
    layouts.push_back({"contiguous", plain, 0, 1, 2});
    add("strided", 0, 2, 3);
    add("reversed", 1, 0, 2);
    add("offset", 3, 1, 4);
}

inline const Layout &any_layout() {
    return layouts[static_cast<std::size_t>(draw(0, static_cast<int>(layouts.size()) - 1))];
}

inline constexpr int untouched = -77777;

/// Memory for `elements` of a layout; ints are numbered in the order of the type map.
class Buffer {
  public:
    Buffer() = default;
    Buffer(const Layout &layout, int elements) : layout_(&layout) {
        memory_.assign(static_cast<std::size_t>(layout.extent * elements + 4), untouched);
    }
    void *data() {
        return memory_.data();
    }
    void clear() {
        memory_.assign(memory_.size(), untouched);
    }
    int &at(int i) {
        int place = i / 2 * layout_->extent + (i % 2 == 0 ? layout_->first : layout_->second);
        return memory_[static_cast<std::size_t>(place)];
    }
    const Layout &layout() const {
        return *layout_;
    }

  private:
    const Layout *layout_ = nullptr;
    std::vector<int> memory_;
};

enum class Form { blocking, nonblocking, persistent };

inline Form any_form() {
    return static_cast<Form>(draw(0, 2));
}

inline const char *name_of(Form form) {
    return form == Form::blocking ? "blocking" : form == Form::nonblocking ? "non-blocking" : "persistent";
}

/// One call in one form. `prepare` fills buffers, `verify` looks at the result; a persistent one is used three times.
inline void perform(Form form, const std::function<void()> &prepare, const std::function<void()> &blocking,
                    const std::function<void(MPI_Request *)> &nonblocking,
                    const std::function<void(MPI_Request *)> &persistent, const std::function<void()> &verify) {
    prepare();
    MPI_Request request = MPI_REQUEST_NULL;
    if (form == Form::blocking) blocking();
    if (form == Form::nonblocking) {
        nonblocking(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (request != MPI_REQUEST_NULL) stop("the request is not null after MPI_Wait");
    }
    if (form == Form::persistent) {
        persistent(&request);
        for (int repetition = 0; repetition < 3; ++repetition) {
            if (repetition > 0) {
                verify();
                prepare();
            }
            MPI_Start(&request);
            if (repetition == 1) {
                int done = 0;
                while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            } else {
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
        }
        MPI_Request_free(&request);
    }
    verify();
}

inline void expect(int seen, int wanted, const std::string &where, int index) {
    if (seen != wanted)
        stop(where + ": element " + std::to_string(index) + " is " + std::to_string(seen) + ", expected " +
             std::to_string(wanted));
}

/// Elements per block: mostly few, sometimes many.
inline int any_count() {
    switch (draw(0, 9)) {
    case 0:
        return 0;
    case 1:
        return draw(3000, 9000);
    case 2:
        return draw(20000, 30000);
    case 3:
    case 4:
        return draw(50, 700);
    default:
        return draw(1, 20);
    }
}

inline void begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    make_layouts();
    if (*argc > 1) common.seed(static_cast<unsigned>(std::atoi((*argv)[1])));
}

inline void end() {
    for (Layout &layout : layouts) MPI_Type_free(&layout.type);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) std::puts("good");
    MPI_Finalize();
}
