// SPDX-License-Identifier: BSD-3-Clause
// A random program of window operations, compared with a serial model: which ranks do what to whom, with which
// synchronisation, follows from a seed that all ranks have. In each round each integer of a target belongs to one
// origin; those that all share are only added to, so that the order does not matter.
#include "window.h"

#include <algorithm>
#include <cstdlib>

namespace {

constexpr int shared_count = 8, own_count = 40;

struct Model {
    explicit Model(int ranks) : memory(static_cast<std::size_t>(ranks), std::vector<long long>(size_of(ranks))) {}
    static std::size_t size_of(int ranks) {
        return static_cast<std::size_t>(shared_count + ranks * own_count);
    }
    long long &at(int rank, int index) {
        return memory[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
    }
    std::vector<std::vector<long long>> memory;
};

enum class Synchronisation { fence, post, lock, lock_all };

/// One origin's operations on one target within a round, in order. Every rank computes all of them; the origin also
/// calls them.
class Operations {
  public:
    Operations(IntegerWindow &window, Model &model, std::mt19937 &random)
        : window_(window), model_(model), random_(random) {}

    void run(int origin, int target, bool passive) {
        // Operations of an epoch without flushes are not ordered.
        const int count = passive ? draw(1, 6) : 1;
        for (int i = 0; i < count; i++) one(origin, target, passive);
        if (origin == world_rank && passive) MPI_Win_flush(target, window_.window);
    }
    /// After the epoch: what operations have brought.
    void check() {
        for (const Expected &each : expected_) CHECK(*each.got == each.wanted);
        expected_.clear();
        buffers_.clear();
    }

  private:
    struct Expected {
        const long long *got;
        long long wanted;
    };

    int draw(int least, int most) {
        return std::uniform_int_distribution<int>(least, most)(random_);
    }
    long long *buffer(int count) {
        buffers_.push_back(std::make_unique<long long[]>(static_cast<std::size_t>(count)));
        return buffers_.back().get();
    }

    void one(int origin, int target, bool passive) {
        const int kind = draw(0, 6), stride = draw(1, 3), length = draw(1, 8);
        const int first = shared_count + origin * own_count + draw(0, own_count - stride * length);
        const int seed = draw(0, 1000);
        const bool mine = origin == world_rank;
        long long *values = buffer(length + 1), *got = buffer(length);
        for (int i = 0; i < length; i++) values[i] = seed + 13 * i;
        MPI_Datatype strided;
        MPI_Type_vector(length, 1, stride, MPI_LONG_LONG, &strided);
        MPI_Type_commit(&strided);
        auto place = [&](int i) -> long long & { return model_.at(target, first + i * stride); };
        const MPI_Aint disp = window_.at(target, first);
        if (mine) call(kind, values, got, length, target, disp, strided, passive);
        for (int i = 0; i < length; i++) {
            long long &there = place(i);
            if (mine && (kind == 1 || kind == 3 || kind == 4)) expected_.push_back({got + i, there});
            if (kind == 0 || kind == 4) there = values[i];
            if (kind == 2) there = std::max(there, values[i]);
            if (kind == 3) there ^= values[i];
        }
        if (kind == 5) model_.at(target, seed % shared_count) += seed;
        if (kind == 5 && mine)
            MPI_Accumulate(values, 1, MPI_LONG_LONG, target, window_.at(target, seed % shared_count), 1, MPI_LONG_LONG,
                           MPI_SUM, window_.window);
        if (kind == 6) {
            long long &there = place(0);
            const long long wrong = seed % 2;
            if (mine) {
                values[length] = there + wrong; // to be compared with
                MPI_Compare_and_swap(values, values + length, got, MPI_LONG_LONG, target, disp, window_.window);
                expected_.push_back({got, there});
            }
            if (wrong == 0) there = values[0];
        }
        MPI_Type_free(&strided);
    }

    void call(int kind, long long *values, long long *got, int length, int target, MPI_Aint disp, MPI_Datatype strided,
              bool passive) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Win window = window_.window;
        // MPI orders accumulate operations, and nothing else within an epoch.
        const bool ordered = kind >= 2;
        if (!ordered && passive) MPI_Win_flush(target, window);
        switch (kind) {
        case 0:
            if (passive)
                MPI_Rput(values, length, MPI_LONG_LONG, target, disp, 1, strided, window, &request);
            else
                MPI_Put(values, length, MPI_LONG_LONG, target, disp, 1, strided, window);
            break;
        case 1:
            if (passive)
                MPI_Rget(got, length, MPI_LONG_LONG, target, disp, 1, strided, window, &request);
            else
                MPI_Get(got, length, MPI_LONG_LONG, target, disp, 1, strided, window);
            break;
        case 2:
            MPI_Accumulate(values, length, MPI_LONG_LONG, target, disp, 1, strided, MPI_MAX, window);
            break;
        case 3: // and brings what was there before
        case 4:
            MPI_Get_accumulate(values, length, MPI_LONG_LONG, got, length, MPI_LONG_LONG, target, disp, 1, strided,
                               kind == 3 ? MPI_BXOR : MPI_REPLACE, window);
            break;
        default:
            break;
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (!ordered && passive) MPI_Win_flush(target, window);
    }

    IntegerWindow &window_;
    Model &model_;
    std::mt19937 &random_;
    std::vector<Expected> expected_;
    std::vector<std::unique_ptr<long long[]>> buffers_;
};

void begin(MPI_Win window, Synchronisation how, int target, MPI_Group all) {
    if (how == Synchronisation::fence) MPI_Win_fence(0, window);
    if (how == Synchronisation::post && target == 0) {
        MPI_Win_post(all, 0, window);
        MPI_Win_start(all, 0, window);
    }
    if (how == Synchronisation::lock)
        MPI_Win_lock(target % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, window);
    if (how == Synchronisation::lock_all && target == 0) MPI_Win_lock_all(0, window);
}

void end(MPI_Win window, Synchronisation how, int target) {
    const bool last = target == world_size - 1;
    if (how == Synchronisation::fence) MPI_Win_fence(0, window);
    if (how == Synchronisation::post && last) {
        MPI_Win_complete(window);
        MPI_Win_wait(window);
    }
    if (how == Synchronisation::lock) MPI_Win_unlock(target, window);
    if (how == Synchronisation::lock_all && last) MPI_Win_unlock_all(window);
}

void round(IntegerWindow &window, Model &model, std::mt19937 &random, MPI_Group all) {
    const auto how = static_cast<Synchronisation>(std::uniform_int_distribution<int>(0, 3)(random));
    const bool passive = how == Synchronisation::lock || how == Synchronisation::lock_all;
    Operations operations(window, model, random);
    for (int target = 0; target < world_size; target++) {
        begin(window.window, how, target, all);
        for (int origin = 0; origin < world_size; origin++) operations.run(origin, target, passive);
        end(window.window, how, target);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    operations.check();
    for (std::size_t i = 0; i < Model::size_of(world_size); i++)
        CHECK(window.memory[i] == model.at(world_rank, static_cast<int>(i)));
    MPI_Barrier(MPI_COMM_WORLD);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    const char *given = std::getenv("VOLLEY_TEST_SEED"), *limit = std::getenv("VOLLEY_TEST_SECONDS");
    unsigned seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) : std::random_device{}();
    const double seconds = limit != nullptr ? std::atof(limit) : 0.5;
    MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD);
    if (world_rank == 0) std::printf("seed %u\n", seed);
    std::mt19937 random(seed);
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    const double begin_of_test = MPI_Wtime();
    for (int go_on = 1; go_on != 0;) {
        for_each_flavor([&](int flavor) {
            IntegerWindow window(flavor, static_cast<int>(Model::size_of(world_size)));
            Model model(world_size);
            for (int i = 0; i < 10; i++) round(window, model, random, all);
        });
        go_on = MPI_Wtime() - begin_of_test < seconds;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Group_free(&all);
}
