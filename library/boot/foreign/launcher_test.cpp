// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/launcher.h"

#include "boot/error.h"

#include <gtest/gtest.h>

#include <map>

namespace volley {
namespace {

/// A job of one rank, whose values are short.
class Short final : public ForeignLauncher {
  public:
    explicit Short(std::size_t most) : most_(most) {}
    [[nodiscard]] int rank() const override {
        return 0;
    }
    [[nodiscard]] int ranks() const override {
        return 1;
    }
    int application() override {
        return 0;
    }
    std::optional<std::vector<std::int32_t>> hosts() override {
        return std::nullopt;
    }
    void fence() override {}
    void finalize() override {}
    void abort(int) override {}

  private:
    [[nodiscard]] std::size_t longest_value() const override {
        return most_;
    }
    void put(const std::string &key, const std::string &value) override {
        EXPECT_LE(value.size(), most_);
        values_[key] = value;
    }
    std::string get(const std::string &key, int) override {
        if (!values_.contains(key)) throw Error("nobody has put " + key);
        return values_[key];
    }

    std::size_t most_;
    std::map<std::string, std::string> values_;
};

TEST(ForeignLauncher, TextsOfAnyLengthFitIntoShortValues) {
    for (const std::size_t most : {2U, 5U, 64U})
        for (std::size_t length = 0; length < 40; length++) {
            Short launcher(most);
            std::string text;
            while (text.size() < length) text += static_cast<char>('a' + text.size() % 26);
            launcher.publish("key", text);
            EXPECT_EQ(launcher.read("key", 0), text) << most;
        }
}

} // namespace
} // namespace volley
