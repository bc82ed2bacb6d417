// SPDX-License-Identifier: BSD-3-Clause
#include "file/representation.h"

#include "core/datatype/elements.h"
#include "core/datatype/pack.h"
#include "core/datatype/substitute.h"
#include "core/error.h"

#include <limits>
#include <vector>

namespace volley {
namespace {

/// As in memory, one element after the other.
int write_as_in_memory(const void *memory, Count count, Datatype &datatype, char *external) {
    Count position = 0;
    return report(pack_at(memory, count, datatype, external, count * datatype.size(), position));
}

int read_as_in_memory(const char *external, void *memory, Count count, Datatype &datatype) {
    Count position = 0;
    return report(unpack_at(external, count * datatype.size(), position, memory, count, datatype));
}

class Native final : public Representation {
  public:
    explicit Native(const char *name) : Representation(name) {}

    bool is_native() const override {
        return true;
    }
    int element_bytes(Datatype &predefined, Count &bytes) const override {
        bytes = predefined.size();
        return MPI_SUCCESS;
    }
    int write(const void *memory, Count count, Datatype &datatype, char *external) const override {
        return write_as_in_memory(memory, count, datatype, external);
    }
    int read(const char *external, void *memory, Count count, Datatype &datatype) const override {
        return read_as_in_memory(external, memory, count, datatype);
    }
};

class External32 final : public Representation {
  public:
    External32() : Representation("external32") {}

    int element_bytes(Datatype &predefined, Count &bytes) const override {
        bytes = predefined.extents().external_size;
        return MPI_SUCCESS;
    }
    int write(const void *memory, Count count, Datatype &datatype, char *external) const override {
        Count position = 0;
        return report(pack_external_at("external32", memory, count, datatype, external,
                                       count * datatype.extents().external_size, position));
    }
    int read(const char *external, void *memory, Count count, Datatype &datatype) const override {
        Count position = 0;
        return report(unpack_external_at("external32", external, count * datatype.extents().external_size, position,
                                         memory, count, datatype));
    }
};

/// What a program has registered. Without a function for a direction, data is as in memory.
class Registered final : public Representation {
  public:
    Registered(std::string name, const RepresentationFunctions &functions)
        : Representation(std::move(name)), functions_(functions) {}

    int element_bytes(Datatype &predefined, Count &bytes) const override {
        MPI_Aint extent = 0;
        if (int code = functions_.extent(predefined.handle(), &extent, functions_.extra_state); code != MPI_SUCCESS)
            return failed("extent", code);
        bytes = extent;
        return MPI_SUCCESS;
    }
    int write(const void *memory, Count count, Datatype &datatype, char *external) const override {
        if (functions_.write == nullptr && functions_.write_large == nullptr)
            return write_as_in_memory(memory, count, datatype, external);
        return convert(functions_.write, functions_.write_large, const_cast<void *>(memory), count, datatype, external);
    }
    int read(const char *external, void *memory, Count count, Datatype &datatype) const override {
        if (functions_.read == nullptr && functions_.read_large == nullptr)
            return read_as_in_memory(external, memory, count, datatype);
        return convert(functions_.read, functions_.read_large, memory, count, datatype, const_cast<char *>(external));
    }

  private:
    int failed(const char *function, int code) const {
        return fail(MPI_ERR_CONVERSION, "the %s function of the data representation '%s' has returned %d", function,
                    name().c_str(), code);
    }
    int convert(MPI_Datarep_conversion_function *function, MPI_Datarep_conversion_function_c *large, void *memory,
                Count count, Datatype &datatype, char *external) const {
        int code = MPI_SUCCESS;
        if (large != nullptr) {
            code = large(memory, datatype.handle(), count, external, 0, functions_.extra_state);
        } else {
            if (count > std::numeric_limits<int>::max())
                return fail(
                    MPI_ERR_COUNT,
                    "%lld elements are more than the data representation '%s' can convert, as it was registered "
                    "by MPI_Register_datarep: register it by MPI_Register_datarep_c",
                    static_cast<long long>(count), name().c_str());
            code = function(memory, datatype.handle(), static_cast<int>(count), external, 0, functions_.extra_state);
        }
        return code == MPI_SUCCESS ? MPI_SUCCESS : failed("conversion", code);
    }

    RepresentationFunctions functions_;
};

std::vector<std::unique_ptr<Representation>> &representations() {
    static auto *known = [] {
        auto *made = new std::vector<std::unique_ptr<Representation>>;
        made->push_back(std::make_unique<Native>("native"));
        made->push_back(std::make_unique<Native>("internal"));
        made->push_back(std::make_unique<External32>());
        return made;
    }();
    return *known;
}

Outcome outcome_of(int code) {
    return code == MPI_SUCCESS ? Outcome{} : failure(error_class_of(code), "%s", sentence_of(code));
}

} // namespace

const Representation *Representation::find(std::string_view name) {
    for (const auto &known : representations())
        if (known->name() == name) return known.get();
    return nullptr;
}

int Representation::add(std::unique_ptr<Representation> made) {
    if (made->name().size() >= MPI_MAX_DATAREP_STRING || made->name().empty())
        return fail(MPI_ERR_ARG, "datarep has %zu characters, but must have from 1 to %d", made->name().size(),
                    MPI_MAX_DATAREP_STRING - 1);
    if (find(made->name()) != nullptr)
        return fail(MPI_ERR_DUP_DATAREP, "there is a data representation '%s' already", made->name().c_str());
    representations().push_back(std::move(made));
    return MPI_SUCCESS;
}

int Representation::in_file(Datatype &datatype, Datatype *&made) const {
    if (is_native()) {
        datatype.retain();
        made = &datatype;
        return MPI_SUCCESS;
    }
    return report(substitute(
        datatype,
        [this](Datatype &predefined, Datatype *&element) {
            Count bytes = 0;
            if (int code = element_bytes(predefined, bytes); code != MPI_SUCCESS) return outcome_of(code);
            return make_contiguous(CountForm::large, bytes, byte_datatype(), element);
        },
        made));
}

int Representation::file_bytes(Datatype &datatype, Count &bytes) const {
    if (is_native()) {
        bytes = datatype.size();
        return MPI_SUCCESS;
    }
    if (datatype.is_predefined()) return element_bytes(datatype, bytes);
    Datatype *made = nullptr;
    if (int code = in_file(datatype, made); code != MPI_SUCCESS) return code;
    bytes = made->size();
    made->release();
    return MPI_SUCCESS;
}

std::unique_ptr<Representation> make_representation(std::string name, const RepresentationFunctions &functions) {
    return std::make_unique<Registered>(std::move(name), functions);
}

} // namespace volley
