// SPDX-License-Identifier: BSD-3-Clause
/// One access of this rank to a file: which bytes of the view go to or come from which memory.
#pragma once

#include "core/datatype/datatype.h"
#include "file/file.h"
#include "layout/copy.h"

#include <memory>

namespace volley {

enum class Direction : std::uint8_t { read, write };

/// What the program passes. Datatypes are committed, counts possible.
struct Passage {
    File &file;
    Direction direction;
    void *buffer;
    Count count;
    Datatype &datatype;
};

class Access {
  public:
    explicit Access(const Passage &passage);
    Access(const Access &) = delete;
    Access &operator=(const Access &) = delete;
    ~Access();

    /// Checks whether the file may be accessed so, and prepares the data of a write. Returns an error code.
    int prepare();
    /// How many bytes of the view it is, once it is prepared.
    Count bytes() const {
        return bytes_;
    }
    /// The position of its first byte. MPI_ERR_ARG if it does not lie in what a file can be.
    int place(Count position);

    File &file() const {
        return file_;
    }
    /// The file's when the access began: the program may set another one before a non-blocking access is complete.
    const FileView &view() const {
        return *view_;
    }
    bool writes() const {
        return direction_ == Direction::write;
    }
    Count from() const {
        return from_;
    }
    Count to() const {
        return from_ + bytes_;
    }
    /// The data as it is in the file, in memory: `bytes()` packed bytes, the first for position from().
    const TypedBuffer &memory() const {
        return memory_;
    }
    /// Where the packed byte `at` of the memory lies if all of it is one block; nullptr if it is not.
    char *block_at(Count at) const {
        return block_ != nullptr ? block_ + at : nullptr;
    }

    /// Reads or writes all of it here and now. Returns an error code; moved() tells how much was done.
    int run();
    Count moved() const {
        return moved_;
    }
    /// By whoever does what run() does.
    void set_moved(Count bytes) {
        moved_ = bytes;
    }
    /// Gives the data of a read its representation in memory. `bytes` is what a status tells. Returns an error code.
    int finish(Count &bytes);

  private:
    int check() const;
    int transfer();
    int transfer_through_buffer();
    int transfer_pieces(const TypedBuffer &memory, Count from, Count to, Count memory_from);
    int sieve();
    bool is_worth_sieving() const;

    File &file_;
    std::shared_ptr<const FileView> view_;
    Direction direction_;
    void *buffer_;
    Count count_;
    Datatype &datatype_;
    TypedBuffer memory_;
    char *block_ = nullptr;
    std::unique_ptr<char[]> converted_; ///< in a representation that is not memory's
    Count item_bytes_ = 0;              ///< of one datatype, in the file
    Count bytes_ = 0;
    Count from_ = 0;
    Count moved_ = 0;
    bool ended_ = false; ///< at the end of the file
};

} // namespace volley
