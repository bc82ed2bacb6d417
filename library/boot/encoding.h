// SPDX-License-Identifier: BSD-3-Clause
/// Values as bytes, for messages between programs of one build on machines of one kind: numbers are in the order of
/// bytes that the machine has. A structure that is not plain data has a function fields() in its namespace, which gives
/// its members in a std::tie().
#pragma once

#include "boot/error.h"

#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace volley {

/// So that one fields() does for writing and reading.
template <class Type, class Of>
concept MaybeConst = std::same_as<std::remove_const_t<Type>, Of>;

/// Appends values; lists and texts with their length before them.
class Writer {
  public:
    template <class Value> Writer &operator<<(const Value &value) {
        if constexpr (std::is_trivially_copyable_v<Value>) {
            text_.append(reinterpret_cast<const char *>(&value), sizeof value);
        } else if constexpr (requires { fields(value); }) {
            std::apply([this](const auto &...members) { (*this << ... << members); }, fields(value));
        } else {
            *this << static_cast<std::uint64_t>(value.size());
            for (const auto &element : value) *this << element;
        }
        return *this;
    }
    std::string take() {
        return std::move(text_);
    }

  private:
    std::string text_;
};

class Reader {
  public:
    explicit Reader(const std::string &text) : text_(text) {}

    template <class Value> Reader &operator>>(Value &value) {
        if constexpr (std::is_trivially_copyable_v<Value>) {
            if (text_.size() - at_ < sizeof value) refuse();
            std::memcpy(&value, text_.data() + at_, sizeof value);
            at_ += sizeof value;
        } else if constexpr (requires { fields(value); }) {
            std::apply([this](auto &...members) { (*this >> ... >> members); }, fields(value));
        } else {
            std::uint64_t size = 0;
            *this >> size;
            if (size > text_.size() - at_) refuse(); // every element takes a byte or more
            value.resize(size);
            for (auto &element : value) *this >> element;
        }
        return *this;
    }
    void end() const {
        if (at_ != text_.size()) refuse();
    }

  private:
    [[noreturn]] static void refuse() {
        throw Error("programs of one job do not understand each other: are they of the same version of Volley?");
    }

    const std::string &text_;
    std::size_t at_ = 0;
};

template <class... Values> std::string encoded(const Values &...values) {
    Writer writer;
    (writer << ... << values);
    return writer.take();
}
template <class... Values> void decode_into(const std::string &text, Values &...values) {
    Reader reader(text);
    (reader >> ... >> values);
    reader.end();
}

} // namespace volley
