// SPDX-License-Identifier: BSD-3-Clause
// C++'s run-time: exceptions, streams, inline variables, thread_local, constructors and destructors, OpenMP.
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

inline std::map<std::string, int> table = {{"one", 1}};
static thread_local std::string name = "unnamed";

struct Farewell {
    std::string text;
    ~Farewell() {
        std::cout << text << std::endl;
    }
};
static Farewell farewell;

static int thrown(int depth) {
    if (depth == 0) throw std::runtime_error("deep");
    const auto keep = std::make_unique<int>(depth);
    return thrown(depth - 1) + *keep;
}

int main() {
    const std::string rank = std::getenv("VOLLEY_RANK");
    int caught = 0;
    for (int i = 0; i < 1000; ++i) try {
            thrown(20);
        } catch (const std::exception &error) {
            caught += error.what() == std::string("deep");
        }
    table[rank] = 2;
    std::string from_thread;
    std::thread([&] {
        name += rank;
        from_thread = name;
    }).join();
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(3)
    for (int i = 0; i < 1000; ++i) sum += i;
    const bool good = caught == 1000 && table.size() == 2 && from_thread == "unnamed" + rank && name == "unnamed" &&
                      sum == 499500 && typeid(farewell) == typeid(Farewell);
    farewell.text = "rank " + rank + (good ? " is good" : " is bad");
    return good ? 0 : 1;
}
