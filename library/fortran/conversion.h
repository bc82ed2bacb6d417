// SPDX-License-Identifier: BSD-3-Clause
/// Arguments on their way from Fortran to C and back. Handles are integers; which, and at what addresses MPI_BOTTOM and
/// its relatives lie, the binary interface says that this is compiled for. Statuses are the same in both languages.
#pragma once

#include FORTRAN_INTERFACE

#include "fortran/descriptor.h"

#include <string>
#include <string_view>
#include <vector>

namespace volley::fortran {

using faces::Array;
using faces::HandleInOut;
using faces::HandleOut;
using faces::HandlesIn;
using faces::HandlesInOut;
using faces::HandlesOut;
using faces::IntOut;
using faces::IntsIn;
using faces::IntsOut;
using faces::to_native;

template <class Native> int to_fortran(Native handle) {
    return faces::to_face(handle);
}

/// LOGICAL of gfortran and flang: .TRUE. is 1.
inline int logical_to_c(int logical) {
    return logical != 0;
}
inline int logical_to_fortran(int flag) {
    return flag != 0;
}

/// Fortran counts from 1.
inline int index_to_fortran(int index) {
    return index == MPI_UNDEFINED ? index : index + 1;
}

/// Works on `const void *` as well.
template <class Pointer> Pointer buffer_to_c(Pointer buffer) {
    if (is_in_place(buffer)) [[unlikely]]
        return static_cast<Pointer>(MPI_IN_PLACE);
    if (is_bottom(buffer)) [[unlikely]]
        return static_cast<Pointer>(MPI_BOTTOM);
    if (is_buffer_automatic(buffer)) [[unlikely]]
        return static_cast<Pointer>(MPI_BUFFER_AUTOMATIC);
    return buffer;
}

inline MPI_Status *unless_ignored(MPI_Status *status) {
    return is_status_ignore(status) ? MPI_STATUS_IGNORE : status;
}

inline int *unless_ignored(int *error_codes) {
    return is_errcodes_ignore(error_codes) ? MPI_ERRCODES_IGNORE : error_codes;
}

template <class Pointer> Pointer weights_to_c(Pointer weights) {
    if (is_unweighted(weights)) return MPI_UNWEIGHTED;
    if (is_weights_empty(weights)) return MPI_WEIGHTS_EMPTY;
    return weights;
}

/// Fortran's strings have a length, and are padded with blanks.
inline std::string_view without_trailing_blanks(std::string_view text) {
    return text.substr(0, text.find_last_not_of(' ') + 1);
}
inline std::string_view without_blanks_around(std::string_view text) {
    return without_trailing_blanks(text.substr(std::min(text.find_first_not_of(' '), text.size())));
}
inline void write_padded(char *to, std::size_t length, std::string_view text) {
    const std::size_t used = std::min(length, text.size());
    std::memcpy(to, text.data(), used);
    std::memset(to + used, ' ', length - used);
}

class TextIn {
  public:
    TextIn(const char *text, std::size_t length) : text_(without_trailing_blanks({text, length})) {}
    explicit TextIn(const Descriptor *text) : TextIn(static_cast<const char *>(text->base), text->element_bytes) {}
    operator const char *() const {
        return text_.c_str();
    }

  private:
    std::string text_;
};

class TrimmedTextIn {
  public:
    TrimmedTextIn(const char *text, std::size_t length) : text_(without_blanks_around({text, length})) {}
    operator const char *() const {
        return text_.c_str();
    }

  private:
    std::string text_;
};

/// A string that the library writes, for which it needs `Room` characters and the zero among them.
template <std::size_t Room> class TextOut {
  public:
    TextOut(char *to, std::size_t length) : to_(to), length_(length) {
        text_[0] = unwritten;
    }
    TextOut(const TextOut &) = delete;
    TextOut &operator=(const TextOut &) = delete;
    ~TextOut() {
        if (text_[0] != unwritten) write_padded(to_, length_, {text_.data(), strnlen(text_.data(), text_.size())});
    }
    operator char *() {
        return text_.data();
    }

  private:
    static constexpr char unwritten = '\x7f';

    char *to_;
    std::size_t length_;
    std::array<char, Room> text_;
};

/// Strings as C has them: an array of pointers, with a null pointer behind the last.
class Words {
  public:
    void add(std::string_view text) {
        texts_.emplace_back(without_trailing_blanks(text));
    }
    char **pointers() {
        pointers_.clear();
        for (std::string &text : texts_) pointers_.push_back(text.data());
        pointers_.push_back(nullptr);
        return pointers_.data();
    }

  private:
    std::vector<std::string> texts_;
    std::vector<char *> pointers_;
};

/// `count` strings of the same length, one after the other.
class TextsIn {
  public:
    TextsIn(const char *texts, std::size_t length, int count) {
        for (int i = 0; i < count; ++i) words_.add({texts + static_cast<std::size_t>(i) * length, length});
    }
    operator char **() {
        return words_.pointers();
    }

  private:
    Words words_;
};

/// Reads words, each `step` characters behind the one before, to the first that is blank.
inline Words read_words(const char *first, std::size_t length, std::size_t step) {
    Words words;
    for (const char *at = first;; at += step) {
        const std::string_view text(at, length);
        if (without_trailing_blanks(text).empty()) return words;
        words.add(text);
    }
}

class WordsIn {
  public:
    WordsIn(const char *words, std::size_t length) : given_(!is_argv_null(words)) {
        if (given_) words_ = read_words(words, length, length);
    }
    operator char **() {
        return given_ ? words_.pointers() : MPI_ARGV_NULL;
    }

  private:
    bool given_;
    Words words_;
};

/// A list of words for each of `count` programs: the rows of an array in Fortran's order.
class WordListsIn {
  public:
    WordListsIn(const char *words, std::size_t length, int count) : given_(!is_argvs_null(words)) {
        for (int i = 0; given_ && i < count; ++i)
            lists_.push_back(read_words(words + static_cast<std::size_t>(i) * length, length,
                                        length * static_cast<std::size_t>(count)));
    }
    operator char ***() {
        if (!given_) return MPI_ARGVS_NULL;
        pointers_.clear();
        for (Words &list : lists_) pointers_.push_back(list.pointers());
        return pointers_.data();
    }

  private:
    bool given_;
    std::vector<Words> lists_;
    std::vector<char **> pointers_;
};

/// An attached buffer that comes back: MPI_BUFFER_AUTOMATIC is a variable in Fortran.
class BufferOut {
  public:
    explicit BufferOut(void **to) : to_(to) {}
    BufferOut(const BufferOut &) = delete;
    BufferOut &operator=(const BufferOut &) = delete;
    ~BufferOut() {
        *to_ = buffer_ == MPI_BUFFER_AUTOMATIC ? buffer_automatic() : buffer_;
    }
    operator void *() {
        return &buffer_;
    }

  private:
    void **to_;
    void *buffer_ = nullptr;
};

// How long arrays are that a communicator says the length of.
int peers(int comm);
int sources(int comm);
int destinations(int comm);
int dimensions(int comm);

/// Raises the error that a call cannot take a section, and returns its code.
int refuse_section(MPI_Comm comm);
int refuse_section(MPI_Win win);

/// Before MPI starts: the library learns what Fortran's types are like.
void tell_about_fortran();

} // namespace volley::fortran
