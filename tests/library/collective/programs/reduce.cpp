// SPDX-License-Identifier: BSD-3-Clause
/// Reductions and scans with random counts, operations, layouts, roots and forms.
#include "collective.h"

#include <algorithm>
#include <cstdint>

static MPI_Comm comm;
static int rank, size, trial;

static constexpr std::int64_t prime = 10007;

/// An affine map x -> a x + b modulo a prime; putting one after another does not commute.
struct Affine {
    std::int64_t a, b;
    Affine after(const Affine &first) const {
        return {a * first.a % prime, (a * first.b + b) % prime};
    }
};

static Affine map_of(int from, int i) {
    return {(from * 31 + i * 7 + trial) % (prime - 1) + 1, (from * 17 + i * 3) % prime};
}

static void compose(void *in, void *inout, MPI_Count length, MPI_Datatype type) {
    const Layout *layout = nullptr;
    for (const Layout &known : layouts)
        if (known.type == type) layout = &known;
    if (layout == nullptr) stop("the user's function got an unknown datatype");
    for (MPI_Count i = 0; i < length; ++i) {
        const int *left = static_cast<int *>(in) + i * layout->extent;
        int *right = static_cast<int *>(inout) + i * layout->extent;
        Affine result =
            Affine{right[layout->first], right[layout->second]}.after({left[layout->first], left[layout->second]});
        right[layout->first] = static_cast<int>(result.a);
        right[layout->second] = static_cast<int>(result.b);
    }
}

static void compose_int(void *in, void *inout, int *length, MPI_Datatype *type) {
    compose(in, inout, *length, *type);
}

static void compose_count(void *in, void *inout, MPI_Count *length, MPI_Datatype *type) {
    compose(in, inout, *length, *type);
}

static void add_long(void *in, void *inout, int *length, MPI_Datatype *type) {
    if (*type != MPI_LONG) stop("the user's function got another datatype");
    for (int i = 0; i < *length; ++i) static_cast<long *>(inout)[i] += static_cast<long *>(in)[i];
}

/// What to reduce, and what should come of it: values are given and compared as 64-bit numbers.
struct Case {
    std::string name;
    MPI_Op op;
    MPI_Datatype type;
    int extent;                                                       ///< bytes
    std::function<void(char *, int, int)> set;                        ///< element, rank, index
    std::function<std::int64_t(const char *)> get;                    ///< what an element holds
    std::function<std::int64_t(const std::vector<int> &, int)> model; ///< of the operands of these ranks
};

static std::vector<Case> cases;

template <class Type, class Combine>
static void add_case(const char *name, MPI_Op op, MPI_Datatype type, Combine combine, int modulus) {
    auto value = [=](int from, int i) { return static_cast<Type>((from * 13 + i * 5 + trial * 3) % modulus); };
    cases.push_back({name, op, type, static_cast<int>(sizeof(Type)),
                     [=](char *at, int from, int i) { *reinterpret_cast<Type *>(at) = value(from, i); },
                     [=](const char *at) { return static_cast<std::int64_t>(*reinterpret_cast<const Type *>(at)); },
                     [=](const std::vector<int> &ranks, int i) {
                         Type result = value(ranks[0], i);
                         for (std::size_t k = 1; k < ranks.size(); ++k)
                             result = static_cast<Type>(combine(result, value(ranks[k], i)));
                         return static_cast<std::int64_t>(result);
                     }});
}

static void add_affine_case(const char *name, MPI_Op op, const Layout &layout) {
    Layout copy = layout;
    cases.push_back({name, op, layout.type, layout.extent * 4,
                     [=](char *at, int from, int i) {
                         Affine map = map_of(from, i);
                         reinterpret_cast<int *>(at)[copy.first] = static_cast<int>(map.a);
                         reinterpret_cast<int *>(at)[copy.second] = static_cast<int>(map.b);
                     },
                     [=](const char *at) {
                         auto *ints = reinterpret_cast<const int *>(at);
                         return ints[copy.first] * prime + ints[copy.second];
                     },
                     [=](const std::vector<int> &ranks, int i) {
                         Affine result = map_of(ranks[0], i);
                         for (std::size_t k = 1; k < ranks.size(); ++k) result = map_of(ranks[k], i).after(result);
                         return result.a * prime + result.b;
                     }});
}

struct DoubleInt {
    double value;
    int index;
};

static void add_location_case() {
    auto value = [](int from, int i) { return (from * 7 + i * 3 + trial) % 5; };
    cases.push_back({"MPI_MAXLOC", MPI_MAXLOC, MPI_DOUBLE_INT, static_cast<int>(sizeof(DoubleInt)),
                     [=](char *at, int from, int i) {
                         *reinterpret_cast<DoubleInt *>(at) = {static_cast<double>(value(from, i)), from};
                     },
                     [](const char *at) {
                         auto *pair = reinterpret_cast<const DoubleInt *>(at);
                         return static_cast<std::int64_t>(pair->value) * 1000 + pair->index;
                     },
                     [=](const std::vector<int> &ranks, int i) {
                         int best = ranks[0];
                         for (int from : ranks)
                             if (value(from, i) > value(best, i) || (value(from, i) == value(best, i) && from < best))
                                 best = from;
                         return std::int64_t{value(best, i)} * 1000 + best;
                     }});
}

static void make_cases() {
    add_case<int>("MPI_SUM of int", MPI_SUM, MPI_INT, [](int a, int b) { return a + b; }, 1000);
    add_case<double>("MPI_SUM of double", MPI_SUM, MPI_DOUBLE, [](double a, double b) { return a + b; }, 1000);
    add_case<float>("MPI_MAX of float", MPI_MAX, MPI_FLOAT, [](float a, float b) { return std::max(a, b); }, 77);
    add_case<unsigned short>(
        "MPI_BXOR of unsigned short", MPI_BXOR, MPI_UNSIGNED_SHORT,
        [](unsigned short a, unsigned short b) { return a ^ b; }, 999);
    add_case<unsigned long>(
        "MPI_PROD of unsigned long", MPI_PROD, MPI_UNSIGNED_LONG,
        [](unsigned long a, unsigned long b) { return a * b; }, 50);
    add_location_case();
    MPI_Op op;
    MPI_Op_create(compose_int, 0, &op);
    add_affine_case("composing contiguous maps", op, layouts[0]);
    add_affine_case("composing strided maps", op, layouts[1]);
    MPI_Op_create_c(compose_count, 0, &op);
    add_affine_case("composing maps with an offset", op, layouts[3]);
    MPI_Op_create(add_long, 1, &op);
    add_case<long>("a user's sum of long", op, MPI_LONG, [](long a, long b) { return a + b; }, 1000);
}

struct Drawn {
    const Case &what;
    Form form;
    int count;
    bool in_place;
    std::vector<char> own, result;

    explicit Drawn(int blocks = 1)
        : what(cases[static_cast<std::size_t>(draw(0, static_cast<int>(cases.size()) - 1))]), form(any_form()),
          count(any_count()), in_place(draw(0, 2) == 0) {
        own.resize(bytes(count * blocks));
        result.resize(bytes(count * blocks));
    }
    std::size_t bytes(int elements) const {
        return static_cast<std::size_t>(elements * what.extent) + 16;
    }
    /// Operands where they are to be, of `elements` elements.
    void fill(int elements, bool here = true) {
        std::fill(result.begin(), result.end(), '\x5a');
        std::vector<char> &target = in_place && here ? result : own;
        for (int i = 0; i < elements; ++i) what.set(target.data() + i * what.extent, rank, i);
    }
    const void *sent(bool here = true) {
        return in_place && here ? MPI_IN_PLACE : own.data();
    }
    void look(const char *function, const std::vector<int> &ranks, int first, int elements) {
        for (int i = 0; i < elements; ++i) {
            std::int64_t seen = what.get(result.data() + i * what.extent), wanted = what.model(ranks, first + i);
            if (seen != wanted)
                stop(std::string(function) + " (" + name_of(form) + ", " + what.name + ", count " +
                     std::to_string(count) + (in_place ? ", in place" : "") + ", trial " + std::to_string(trial) +
                     "): element " + std::to_string(i) + " is " + std::to_string(seen) + ", expected " +
                     std::to_string(wanted));
        }
    }
};

static std::vector<int> ranks_below(int end) {
    std::vector<int> ranks;
    for (int i = 0; i < end; ++i) ranks.push_back(i);
    return ranks;
}

static void test_reduce() {
    int root = draw(0, size - 1);
    Drawn d;
    bool here = rank == root;
    void *result = here ? d.result.data() : nullptr;
    perform(
        d.form, [&] { d.fill(d.count, here); },
        [&] { MPI_Reduce(d.sent(here), result, d.count, d.what.type, d.what.op, root, comm); },
        [&](MPI_Request *q) { MPI_Ireduce(d.sent(here), result, d.count, d.what.type, d.what.op, root, comm, q); },
        [&](MPI_Request *q) {
            MPI_Reduce_init(d.sent(here), result, d.count, d.what.type, d.what.op, root, comm, MPI_INFO_NULL, q);
        },
        [&] {
            if (here) d.look("MPI_Reduce", ranks_below(size), 0, d.count);
        });
}

static void test_allreduce() {
    Drawn d;
    void *result = d.result.data();
    perform(
        d.form, [&] { d.fill(d.count); },
        [&] { MPI_Allreduce(d.sent(), result, d.count, d.what.type, d.what.op, comm); },
        [&](MPI_Request *q) { MPI_Iallreduce(d.sent(), result, d.count, d.what.type, d.what.op, comm, q); },
        [&](MPI_Request *q) {
            MPI_Allreduce_init(d.sent(), result, d.count, d.what.type, d.what.op, comm, MPI_INFO_NULL, q);
        },
        [&] { d.look("MPI_Allreduce", ranks_below(size), 0, d.count); });
}

static void test_reduce_scatter_block() {
    Drawn d(size);
    void *result = d.result.data();
    perform(
        d.form, [&] { d.fill(d.count * size); },
        [&] { MPI_Reduce_scatter_block(d.sent(), result, d.count, d.what.type, d.what.op, comm); },
        [&](MPI_Request *q) { MPI_Ireduce_scatter_block(d.sent(), result, d.count, d.what.type, d.what.op, comm, q); },
        [&](MPI_Request *q) {
            MPI_Reduce_scatter_block_init(d.sent(), result, d.count, d.what.type, d.what.op, comm, MPI_INFO_NULL, q);
        },
        [&] { d.look("MPI_Reduce_scatter_block", ranks_below(size), rank * d.count, d.count); });
}

static void test_reduce_scatter() {
    Drawn d(size);
    std::vector<int> counts;
    int total = 0, first = 0;
    for (int i = 0; i < size; ++i) {
        counts.push_back(draw(0, 3) == 0 ? 0 : draw(0, d.count));
        if (i < rank) first += counts.back();
        total += counts.back();
    }
    int mine = counts[static_cast<std::size_t>(rank)];
    void *result = d.result.data();
    perform(
        d.form, [&] { d.fill(total); },
        [&] { MPI_Reduce_scatter(d.sent(), result, counts.data(), d.what.type, d.what.op, comm); },
        [&](MPI_Request *q) { MPI_Ireduce_scatter(d.sent(), result, counts.data(), d.what.type, d.what.op, comm, q); },
        [&](MPI_Request *q) {
            MPI_Reduce_scatter_init(d.sent(), result, counts.data(), d.what.type, d.what.op, comm, MPI_INFO_NULL, q);
        },
        [&] { d.look("MPI_Reduce_scatter", ranks_below(size), first, mine); });
}

static void test_scan() {
    Drawn d;
    void *result = d.result.data();
    perform(
        d.form, [&] { d.fill(d.count); }, [&] { MPI_Scan(d.sent(), result, d.count, d.what.type, d.what.op, comm); },
        [&](MPI_Request *q) { MPI_Iscan(d.sent(), result, d.count, d.what.type, d.what.op, comm, q); },
        [&](MPI_Request *q) {
            MPI_Scan_init(d.sent(), result, d.count, d.what.type, d.what.op, comm, MPI_INFO_NULL, q);
        },
        [&] { d.look("MPI_Scan", ranks_below(rank + 1), 0, d.count); });
}

static void test_exscan() {
    Drawn d;
    void *result = d.result.data();
    perform(
        d.form, [&] { d.fill(d.count); }, [&] { MPI_Exscan(d.sent(), result, d.count, d.what.type, d.what.op, comm); },
        [&](MPI_Request *q) { MPI_Iexscan(d.sent(), result, d.count, d.what.type, d.what.op, comm, q); },
        [&](MPI_Request *q) {
            MPI_Exscan_init(d.sent(), result, d.count, d.what.type, d.what.op, comm, MPI_INFO_NULL, q);
        },
        [&] {
            if (rank > 0) d.look("MPI_Exscan", ranks_below(rank), 0, d.count);
        });
}

static void test_reduce_local() {
    Drawn d;
    std::vector<char> inout(d.bytes(d.count));
    for (int i = 0; i < d.count; ++i) {
        d.what.set(d.own.data() + i * d.what.extent, 0, i);
        d.what.set(d.result.data() + i * d.what.extent, 1, i);
    }
    MPI_Reduce_local(d.own.data(), d.result.data(), d.count, d.what.type, d.what.op);
    d.look("MPI_Reduce_local", {0, 1}, 0, d.count);
}

/// Sums of floating point numbers depend on the order of operands: all ranks have to see the same.
static void test_same_everywhere() {
    for (int count : {1, 10, 1000, 50000}) {
        std::vector<double> own(static_cast<std::size_t>(count)), sum(own.size()), first(own.size());
        for (std::size_t i = 0; i < own.size(); ++i) own[i] = 1.0 / (rank + 1.0 + static_cast<double>(i) * 0.1);
        MPI_Allreduce(own.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, comm);
        first = sum;
        MPI_Bcast(first.data(), count, MPI_DOUBLE, 0, comm);
        if (first != sum) stop("MPI_Allreduce does not give all ranks the same sum, count " + std::to_string(count));
    }
}

static void test_all(int trials) {
    void (*const tests[])() = {test_reduce, test_allreduce, test_reduce_scatter_block, test_reduce_scatter,
                               test_scan,   test_exscan,    test_reduce_local};
    for (trial = 0; trial < trials; ++trial)
        for (auto test : tests) test();
    test_same_everywhere();
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    make_cases();
    comm = MPI_COMM_WORLD;
    rank = world_rank;
    size = world_size;
    test_all(30);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comm);
    MPI_Comm_rank(comm, &rank);
    test_all(5);
    MPI_Comm_free(&comm);
    comm = MPI_COMM_SELF;
    rank = 0;
    size = 1;
    test_all(5);
    int commutes = -1;
    for (Case &what : cases) {
        MPI_Op_commutative(what.op, &commutes);
        if (what.name.starts_with("composing") == (commutes == 1)) stop("MPI_Op_commutative is wrong for " + what.name);
    }
    MPI_Op_free(&cases[6].op);
    MPI_Op_free(&cases[8].op);
    MPI_Op_free(&cases[9].op);
    if (cases[9].op != MPI_OP_NULL) stop("MPI_Op_free does not set MPI_OP_NULL");
    end();
}
