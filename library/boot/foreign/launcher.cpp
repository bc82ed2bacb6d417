// SPDX-License-Identifier: BSD-3-Clause
#include "boot/foreign/launcher.h"

#include "boot/foreign/pmi.h"
#include "boot/foreign/pmix.h"

namespace volley {
namespace {

std::string key_of(const std::string &key, int publisher, std::size_t piece) {
    return "volley-" + key + "-" + std::to_string(publisher) + "-" + std::to_string(piece);
}

/// Ends each piece of a text: another one follows, or none.
constexpr char more = '+', last = '.';

} // namespace

void ForeignLauncher::publish(const std::string &key, const std::string &text) {
    const std::size_t most = longest_value() - 1;
    for (std::size_t piece = 0, at = 0; piece == 0 || at < text.size(); piece++, at += most)
        put(key_of(key, rank(), piece), text.substr(at, most) + (at + most < text.size() ? more : last));
}

std::string ForeignLauncher::read(const std::string &key, int publisher) {
    std::string text;
    do {
        if (!text.empty()) text.pop_back();
        // A text that is exactly as long as its pieces has no piece that is empty.
        text += get(key_of(key, publisher, text.size() / (longest_value() - 1)), publisher);
    } while (!text.empty() && text.back() == more);
    if (!text.empty()) text.pop_back();
    return text;
}

std::unique_ptr<ForeignLauncher> find_foreign_launcher() {
    if (auto launcher = pmi::connect()) return launcher;
    return pmix::connect();
}

} // namespace volley
