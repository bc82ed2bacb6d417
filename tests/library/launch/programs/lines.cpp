// SPDX-License-Identifier: BSD-3-Clause
// lines N: many lines on both streams, in pieces that end within lines.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

int main(int, char **arguments) {
    const std::string rank = std::getenv("VOLLEY_RANK");
    const int lines = std::atoi(arguments[1]);
    std::string text;
    for (int line = 0; line < lines; ++line) {
        text += rank + " " + std::to_string(line) + " " + std::string(static_cast<std::size_t>(line) % 50, 'x') + "\n";
        std::cerr << rank << " " << line << " end\n"; // unbuffered: a write for each piece
    }
    for (std::size_t at = 0; at < text.size(); at += 1000)
        if (write(STDOUT_FILENO, text.data() + at, std::min<std::size_t>(1000, text.size() - at)) < 0) return 1;
    return 0;
}
