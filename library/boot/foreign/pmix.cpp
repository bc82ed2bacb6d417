// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/pmix.h"

#include "boot/error.h"
#include "boot/loaded_library.h"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace volley::pmix {
namespace {

// As the PMIx Standard lays them out; they have been the same since version 3.

constexpr std::size_t namespace_bytes = 256, key_bytes = 512;

struct ProcessName {
    char name_space[namespace_bytes];
    std::uint32_t rank;
};

struct Value {
    std::uint16_t type;
    union {
        bool flag;
        char *string;
        std::uint32_t number;
        void *largest[3];
    };
};

struct Information {
    char key[key_bytes];
    std::uint32_t directives;
    Value value;
};

static_assert(sizeof(ProcessName) == 260 && sizeof(Value) == 32 && sizeof(Information) == 552);

constexpr int success = 0;
constexpr std::uint16_t type_bool = 1, type_string = 3, type_uint32 = 14, type_rank = 40;
constexpr std::uint8_t scope_global = 3;
constexpr std::uint32_t whole_job = UINT32_MAX - 1; ///< PMIX_RANK_WILDCARD

/// Its functions, where it has been loaded.
struct Library {
    int (*init)(ProcessName *, Information *, std::size_t);
    int (*finalize)(const Information *, std::size_t);
    int (*abort)(int, const char *, ProcessName *, std::size_t);
    int (*put)(std::uint8_t, const char *, Value *);
    int (*commit)();
    int (*fence)(const ProcessName *, std::size_t, const Information *, std::size_t);
    int (*get)(const ProcessName *, const char *, const Information *, std::size_t, Value **);
    const char *(*error_text)(int);
};

constexpr const char *file_name = "libpmix.so.2";

/// Where the launcher's own libpmix may lie: it understands that launcher for certain. Otherwise the system finds one.
/// PMIX_PREFIX and OPAL_PREFIX are set by installations that have been moved; Open MPI's package for Python keeps the
/// library beside its own.
std::vector<std::string> candidates() {
    std::vector<std::string> paths;
    if (const char *named = std::getenv("VOLLEY_LIBPMIX")) return {named};
    for (const char *variable : {"PMIX_PREFIX", "OPAL_PREFIX"})
        if (const char *prefix = std::getenv(variable))
            for (const char *folder : {"/lib/", "/lib64/", "/lib/openmpi/"})
                paths.push_back(prefix + std::string(folder) + file_name);
    paths.emplace_back(file_name);
    return paths;
}

/// It stays loaded: its components have threads.
void *load() {
    std::string reason;
    for (const std::string &path : candidates()) {
        // Its components look for its functions among those of the process.
        if (void *loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) return loaded;
        if (const char *text = dlerror()) reason = text;
    }
    throw Error("the launcher of this process speaks PMIx, but its library cannot be loaded (" + reason +
                "): install it (apt-get install libpmix2, dnf install pmix), or name the file in the environment "
                "variable VOLLEY_LIBPMIX");
}

Library open_library() {
    void *loaded = load();
    Library library{};
    find_function(loaded, file_name, "PMIx_Init", library.init);
    find_function(loaded, file_name, "PMIx_Finalize", library.finalize);
    find_function(loaded, file_name, "PMIx_Abort", library.abort);
    find_function(loaded, file_name, "PMIx_Put", library.put);
    find_function(loaded, file_name, "PMIx_Commit", library.commit);
    find_function(loaded, file_name, "PMIx_Fence", library.fence);
    find_function(loaded, file_name, "PMIx_Get", library.get);
    find_function(loaded, file_name, "PMIx_Error_string", library.error_text);
    return library;
}

/// A directive that is on if it is there.
Information directive(std::string_view key) {
    Information made{};
    key.copy(made.key, key_bytes - 1);
    made.value.type = type_bool;
    made.value.flag = true;
    return made;
}

class Client final : public ForeignLauncher {
  public:
    Client() : library_(open_library()), own_() {
        require(library_.init(&own_, nullptr, 0), "PMIx_Init");
        const auto ranks = number("pmix.job.size", whole_job);
        if (!ranks) throw Error("the launcher does not tell the size of the job (PMIx)");
        ranks_ = static_cast<int>(*ranks);
    }

    [[nodiscard]] int rank() const override {
        return static_cast<int>(own_.rank);
    }
    [[nodiscard]] int ranks() const override {
        return ranks_;
    }
    int application() override {
        return static_cast<int>(number("pmix.appnum", own_.rank).value_or(0));
    }

    std::optional<std::vector<std::int32_t>> hosts() override {
        std::vector<std::int32_t> hosts;
        for (int rank = 0; rank < ranks_; rank++) {
            const auto host = number("pmix.nodeid", static_cast<std::uint32_t>(rank));
            if (!host) return std::nullopt;
            hosts.push_back(static_cast<std::int32_t>(*host));
        }
        return hosts;
    }

    void fence() override {
        require(library_.commit(), "PMIx_Commit");
        const Information collect = directive("pmix.collect");
        if (const int status = library_.fence(nullptr, 0, &collect, 1); status != success)
            throw Gone(failure("PMIx_Fence", status));
    }

    void finalize() override {
        // If it fails, the launcher is gone, and there is nobody to tell.
        if (!std::exchange(finalized_, true)) library_.finalize(nullptr, 0);
    }

    void abort(int status) override {
        library_.abort(status, "MPI_Abort", nullptr, 0);
    }

  private:
    [[nodiscard]] std::size_t longest_value() const override {
        return 16384; // it has no limit of its own
    }

    void put(const std::string &key, const std::string &value) override {
        Value wrapped{};
        wrapped.type = type_string;
        wrapped.string = const_cast<char *>(value.c_str());
        require(library_.put(scope_global, key.c_str(), &wrapped), "PMIx_Put");
    }

    std::string get(const std::string &key, int publisher) override {
        Value *got = nullptr;
        const ProcessName from = name_of(static_cast<std::uint32_t>(publisher));
        require(library_.get(&from, key.c_str(), nullptr, 0, &got), "PMIx_Get of " + key);
        std::string text;
        if (got->type == type_string) {
            text = got->string;
            std::free(got->string);
        }
        std::free(got);
        return text;
    }

    /// A number that the launcher has given to all ranks at their start.
    std::optional<std::uint32_t> number(const char *key, std::uint32_t rank) {
        Value *got = nullptr;
        const ProcessName of = name_of(rank);
        const Information at_hand = directive("pmix.optional");
        if (library_.get(&of, key, &at_hand, 1, &got) != success) return std::nullopt;
        const bool is_number = got->type == type_uint32 || got->type == type_rank;
        const std::uint32_t value = got->number;
        std::free(got);
        return is_number ? std::optional(value) : std::nullopt;
    }

    [[nodiscard]] ProcessName name_of(std::uint32_t rank) const {
        ProcessName name = own_;
        name.rank = rank;
        return name;
    }

    void require(int status, const std::string &what) const {
        if (status != success) throw Error(failure(what, status));
    }

    [[nodiscard]] std::string failure(const std::string &what, int status) const {
        return what + " has failed: " + library_.error_text(status) + " (" + std::to_string(status) + ")";
    }

    Library library_;
    ProcessName own_;
    int ranks_ = 0;
    bool finalized_ = false;
};

} // namespace

std::unique_ptr<ForeignLauncher> connect() {
    if (!std::getenv("PMIX_NAMESPACE") || !std::getenv("PMIX_RANK")) return nullptr;
    return std::make_unique<Client>();
}

} // namespace volley::pmix
