// SPDX-License-Identifier: BSD-3-Clause
// The memory ranks share is not to be written into a core file: it is as large as the machine's, and mostly unused.
#include "../check.h"

#include <fstream>
#include <string>

int main(int argc, char **argv) {
    const Mpi mpi(&argc, &argv);
    std::ifstream maps("/proc/self/smaps");
    int left_out = 0;
    bool shared = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.find('-') < line.find(' ')) shared = line.find("/memfd:volley-") != std::string::npos;
        if (!shared || line.rfind("VmFlags:", 0) != 0) continue;
        CHECK(line.find(" dd") != std::string::npos); // "do not dump" (proc(5))
        left_out++;
    }
    CHECK(left_out > 0);
}
