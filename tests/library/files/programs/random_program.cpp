// SPDX-License-Identifier: BSD-3-Clause
// Views, hints and accesses drawn at random, the same on all ranks, and compared with a model: the bytes that the file
// must have. Ranks never write the same byte in one round.
//   random_program SEED SECONDS
#include "../../check.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace {

std::mt19937 random_source; // in step on all ranks

int number(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random_source);
}

bool chance(int percent) {
    return number(1, 100) <= percent;
}

constexpr std::size_t most_bytes = 1 << 20;

/// What the file has, and how long it is.
struct Model {
    std::vector<unsigned char> bytes = std::vector<unsigned char>(most_bytes);
    std::size_t size = 0;
};

/// A view, and the offsets of the bytes that it shows.
struct RankView {
    std::vector<std::size_t> tile; // offsets in one filetype
    std::size_t extent = 1;
    std::size_t displacement = 0;
    int etype_bytes = 1;

    std::size_t offset(std::size_t position) const {
        return displacement + position / tile.size() * extent + tile[position % tile.size()];
    }
};

MPI_Datatype committed(MPI_Datatype type) {
    MPI_Type_commit(&type);
    return type;
}

MPI_Datatype type_of(int bytes) {
    return bytes == 1 ? MPI_BYTE : bytes == 2 ? MPI_SHORT : bytes == 4 ? MPI_INT : MPI_DOUBLE;
}

/// Views of all ranks that show different bytes: a common tile of slots of etypes, each slot some rank's or nobody's.
std::vector<RankView> draw_views() {
    std::vector<RankView> views(static_cast<std::size_t>(world_size));
    int etype_bytes = 1 << number(0, 3), slots = number(1, 60), longest = chance(30) ? 40 : 4;
    std::size_t displacement = static_cast<std::size_t>(number(0, 300)), place = 0;
    for (int slot = 0; slot < slots; slot++) {
        int owner = number(-1, world_size - 1), length = number(1, longest) * etype_bytes;
        for (int byte = 0; byte < length && owner >= 0; byte++)
            views[static_cast<std::size_t>(owner)].tile.push_back(place + static_cast<std::size_t>(byte));
        place += static_cast<std::size_t>(length);
    }
    for (RankView &view : views) {
        view.extent = place;
        view.displacement = displacement;
        view.etype_bytes = etype_bytes;
    }
    return views;
}

/// The filetype of a view, made in one of several ways.
MPI_Datatype filetype_of(const RankView &view, int way) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    MPI_Datatype etype = type_of(view.etype_bytes);
    auto bytes = static_cast<std::size_t>(view.etype_bytes);
    for (std::size_t i = 0; i < view.tile.size(); i += bytes) {
        bool follows = i > 0 && view.tile[i] == view.tile[i - 1] + 1;
        if (follows && way != 0) {
            lengths.back()++;
        } else {
            lengths.push_back(1);
            places.push_back(static_cast<MPI_Aint>(view.tile[i]));
        }
    }
    MPI_Datatype listed, sized;
    if (way == 2) {
        std::vector<MPI_Datatype> types(lengths.size(), etype);
        MPI_Type_create_struct(static_cast<int>(lengths.size()), lengths.data(), places.data(), types.data(), &listed);
    } else {
        MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(), etype, &listed);
    }
    MPI_Type_create_resized(listed, 0, static_cast<MPI_Aint>(view.extent), &sized);
    MPI_Type_free(&listed);
    return committed(sized);
}

/// What one rank accesses in one round.
struct Part {
    std::size_t position = 0, bytes = 0; // of its view
};

/// A buffer: contiguous, or every other etype.
struct Memory {
    std::vector<unsigned char> bytes;
    std::size_t etype_bytes;
    bool spread;

    Memory(std::size_t data_bytes, std::size_t etype, bool with_gaps)
        : bytes((with_gaps ? 2 : 1) * data_bytes + 8, 0xee), etype_bytes(etype), spread(with_gaps) {}
    unsigned char &at(std::size_t i) {
        return bytes[spread ? i / etype_bytes * 2 * etype_bytes + i % etype_bytes : i];
    }
    MPI_Datatype type() const {
        MPI_Datatype sized;
        MPI_Type_create_resized(type_of(static_cast<int>(etype_bytes)), 0,
                                static_cast<MPI_Aint>((spread ? 2 : 1) * etype_bytes), &sized);
        return committed(sized);
    }
};

enum class Form { at, at_all, all, iat, iat_all, split, forms };

/// Reads or writes, by the form drawn; returns the bytes that the status tells.
std::size_t access(MPI_File file, Form form, bool writes, const Part &part, Memory &memory) {
    MPI_Datatype type = memory.type();
    MPI_Status status;
    MPI_Request request;
    auto offset = static_cast<MPI_Offset>(part.position / memory.etype_bytes);
    int count = static_cast<int>(part.bytes / memory.etype_bytes), code = MPI_SUCCESS;
    unsigned char *data = memory.bytes.data();
    switch (form) {
    case Form::at:
        code = writes ? MPI_File_write_at(file, offset, data, count, type, &status)
                      : MPI_File_read_at(file, offset, data, count, type, &status);
        break;
    case Form::at_all:
        code = writes ? MPI_File_write_at_all(file, offset, data, count, type, &status)
                      : MPI_File_read_at_all(file, offset, data, count, type, &status);
        break;
    case Form::all:
        CHECK(MPI_File_seek(file, offset, MPI_SEEK_SET) == MPI_SUCCESS);
        code = writes ? MPI_File_write_all(file, data, count, type, &status)
                      : MPI_File_read_all(file, data, count, type, &status);
        MPI_Offset after;
        CHECK(MPI_File_get_position(file, &after) == MPI_SUCCESS && after == offset + count);
        break;
    case Form::iat:
        code = writes ? MPI_File_iwrite_at(file, offset, data, count, type, &request)
                      : MPI_File_iread_at(file, offset, data, count, type, &request);
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        break;
    case Form::iat_all:
        code = writes ? MPI_File_iwrite_at_all(file, offset, data, count, type, &request)
                      : MPI_File_iread_at_all(file, offset, data, count, type, &request);
        CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
        break;
    default:
        code = writes ? MPI_File_write_at_all_begin(file, offset, data, count, type)
                      : MPI_File_read_at_all_begin(file, offset, data, count, type);
        CHECK(code == MPI_SUCCESS);
        code = writes ? MPI_File_write_at_all_end(file, data, &status) : MPI_File_read_at_all_end(file, data, &status);
        break;
    }
    CHECK(code == MPI_SUCCESS);
    MPI_Type_free(&type);
    int told = 0; // the end of the file may lie within an etype
    MPI_Get_elements(&status, MPI_BYTE, &told);
    return static_cast<std::size_t>(told);
}

void set_view(MPI_File file, const RankView &view, int way) {
    MPI_Datatype etype = type_of(view.etype_bytes);
    // Some ranks see nothing: a filetype without data.
    MPI_Datatype filetype = filetype_of(view, way);
    CHECK(MPI_File_set_view(file, static_cast<MPI_Offset>(view.displacement), etype, filetype, "native",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&filetype);
}

MPI_Info draw_hints() {
    static const char *const choices[] = {"automatic", "enable", "disable"};
    MPI_Info info;
    MPI_Info_create(&info);
    for (const char *key : {"romio_cb_read", "romio_cb_write", "romio_ds_read"})
        MPI_Info_set(info, key, choices[number(0, 2)]);
    MPI_Info_set(info, "cb_buffer_size", std::to_string(number(1, 9000)).c_str());
    MPI_Info_set(info, "ind_rd_buffer_size", std::to_string(number(1, 3000)).c_str());
    MPI_Info_set(info, "cb_nodes", std::to_string(number(1, world_size)).c_str());
    return info;
}

void run_round(MPI_File file, Model &model, int round) {
    std::vector<RankView> views = draw_views();
    const auto own = static_cast<std::size_t>(world_rank);
    set_view(file, views[own], number(0, 2));
    for (int accesses = number(1, 4); accesses > 0; accesses--) {
        bool writes = chance(50);
        auto form = static_cast<Form>(number(0, static_cast<int>(Form::forms) - 1));
        std::vector<Part> parts;
        std::vector<bool> spread;
        for (const RankView &view : views) {
            auto etype = static_cast<std::size_t>(view.etype_bytes);
            Part part{static_cast<std::size_t>(number(0, 300)) * etype,
                      static_cast<std::size_t>(number(0, 700)) * etype};
            bool fits = !view.tile.empty() && view.offset(part.position + part.bytes) < most_bytes;
            if (chance(10) || !fits) part.bytes = 0;
            parts.push_back(part);
            spread.push_back(chance(40));
        }
        auto etype = static_cast<std::size_t>(views[own].etype_bytes);
        Memory memory(parts[own].bytes, etype, spread[own]);
        if (writes) {
            for (std::size_t rank = 0; rank < parts.size(); rank++) {
                for (std::size_t i = 0; i < parts[rank].bytes; i++) {
                    std::size_t offset = views[rank].offset(parts[rank].position + i);
                    model.bytes[offset] = expected_byte(static_cast<int>(rank), round, i);
                    model.size = std::max(model.size, offset + 1);
                    if (rank == own) memory.at(i) = model.bytes[offset];
                }
            }
        }
        MPI_Barrier(MPI_COMM_WORLD); // what was read before is not written now, and the other way round
        std::size_t told = access(file, form, writes, parts[own], memory);
        MPI_Barrier(MPI_COMM_WORLD);
        std::size_t expected = 0;
        for (std::size_t i = 0; i < parts[own].bytes; i++)
            expected += views[own].offset(parts[own].position + i) < model.size;
        if (!writes) {
            Memory wanted(parts[own].bytes, etype, spread[own]);
            for (std::size_t i = 0; i < expected; i++)
                wanted.at(i) = model.bytes[views[own].offset(parts[own].position + i)];
            CHECK(memory.bytes == wanted.bytes); // nor anything between and behind
        }
        CHECK(told == (writes ? parts[own].bytes : expected));
    }
}

/// The whole file, by somebody who knows nothing of views.
void compare(const std::string &name, const Model &model) {
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<unsigned char> bytes(model.size + 1);
    std::FILE *file = std::fopen(name.c_str(), "rb");
    CHECK(file != nullptr);
    CHECK(std::fread(bytes.data(), 1, bytes.size(), file) == model.size);
    std::fclose(file);
    CHECK(std::equal(bytes.begin(), bytes.end() - 1, model.bytes.begin()));
    MPI_Barrier(MPI_COMM_WORLD);
}

} // namespace

int main(int argc, char **argv) {
    Mpi mpi(&argc, &argv);
    random_source.seed(static_cast<unsigned>(std::stoul(argv[1])));
    const double seconds = std::stod(argv[2]);
    const double begin = MPI_Wtime();
    for (int round = 0, goes_on = 1; goes_on != 0;) {
        MPI_File file;
        MPI_Info info = draw_hints();
        std::string name = "random";
        int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
        CHECK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, info, &file) == MPI_SUCCESS);
        MPI_Info_free(&info);
        CHECK(MPI_File_set_atomicity(file, chance(10)) == MPI_SUCCESS);
        Model model;
        for (int rounds = 10; rounds > 0; rounds--) run_round(file, model, ++round);
        compare(name, model);
        MPI_File_close(&file);
        goes_on = MPI_Wtime() - begin < seconds;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}
