#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The library under sanitizers: AddressSanitizer and UBSan for everything, with real ranks, which are processes then;
# ThreadSanitizer for the parts that several threads run in: rings, and sleeping and waking.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build

for part in "ring transport/shm/ring_test.cpp boot/cpus.cpp" "sleep wait/sleep_test.cpp wait/sleep.cpp wait/descriptors.cpp" \
    "arena arena/allocator_test.cpp arena/allocator.cpp arena/block_cache.cpp"; do
    read -r name sources <<<"$part"
    (cd library && c++ -std=c++20 -O1 -g -fsanitize=thread -Wno-tsan -I. -I../include $sources -lgtest -lgtest_main -pthread \
        -o ../build/"$name"_tsan)
    TSAN_OPTIONS=halt_on_error=1 build/"$name"_tsan --gtest_brief=1
done

folder=build/sanitized-address
{ cmake -S . -B $folder -DVOLLEY_TESTS=ON -DVOLLEY_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g" && cmake --build $folder --parallel 2; } >build/sanitized.log 2>&1 \
    || { tail -40 build/sanitized.log; exit 1; }
cmake --install $folder --prefix build/prefix-sanitized >/dev/null
export ASAN_OPTIONS=detect_leaks=0 # the library keeps its pools for ever
ctest --test-dir $folder --output-on-failure --parallel 2
export VOLLEY_PREFIX=$PWD/build/prefix-sanitized VOLLEY_TEST_FLAGS="-fsanitize=address,undefined" VOLLEY_TEST_RANKS=1,3
.venv/bin/python -m pytest -q -n "${WORKERS:-2}" tests/library/point_to_point tests/library/collective tests/library/communicator -k "process and not threads"
