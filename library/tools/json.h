// SPDX-License-Identifier: BSD-3-Clause
/// Writing JSON, in order, into a string.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace volley::view {

class Json {
  public:
    void begin_object() {
        open('{');
    }
    void end_object() {
        close('}');
    }
    void begin_array() {
        open('[');
    }
    void end_array() {
        close(']');
    }
    Json &key(std::string_view name) {
        separate();
        quote(name);
        text_ += ": ";
        first_ = true;
        return *this;
    }

    void value(std::string_view text) {
        separate();
        quote(text);
    }
    void value(const char *text) {
        value(std::string_view(text));
    }
    void value(bool truth) {
        separate();
        text_ += truth ? "true" : "false";
    }
    template <std::integral Number> void value(Number number) {
        separate();
        text_ += std::to_string(number);
    }
    void value(double number) {
        separate();
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.6f", number);
        text_ += digits;
    }
    void null() {
        separate();
        text_ += "null";
    }
    template <class Type> void value(const std::optional<Type> &maybe) {
        if (maybe)
            value(*maybe);
        else
            null();
    }
    template <class Type> void value(const std::vector<Type> &values) {
        begin_array();
        for (const Type &one : values) value(one);
        end_array();
    }
    template <class Type> void member(std::string_view name, const Type &content) {
        key(name).value(content);
    }

    const std::string &text() const {
        return text_;
    }

  private:
    void open(char bracket) {
        separate();
        text_ += bracket;
        first_ = true;
    }
    void close(char bracket) {
        text_ += bracket;
        first_ = false;
    }
    void separate() {
        if (!first_) text_ += ", ";
        first_ = false;
    }
    void quote(std::string_view text) {
        text_ += '"';
        for (char message : text) {
            if (message == '"' || message == '\\') {
                text_ += '\\';
                text_ += message;
            } else if (static_cast<unsigned char>(message) < ' ') {
                char escape[8];
                std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(message));
                text_ += escape;
            } else {
                text_ += message;
            }
        }
        text_ += '"';
    }

    std::string text_;
    bool first_ = true;
};

} // namespace volley::view
