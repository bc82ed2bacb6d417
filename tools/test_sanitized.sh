#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The library under sanitizers, with real ranks, which are processes then. AddressSanitizer and UBSan: everything, by
# memory and by TCP. ThreadSanitizer: programs with several threads in a rank. It does not see what other processes do to
# the memory they share, so the parts that ranks share are tested with threads in their place: rings, sleeping and
# waking, the allocator of the arena.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build

# Line numbers are all that a report of a sanitizer needs; variables would triple the time to compile.
# install_sanitized NAME SANITIZERS [CMAKE OPTION...]: into build/prefix-NAME
install_sanitized() {
    local folder=build/sanitized-$1
    { cmake -S . -B "$folder" -DVOLLEY_SANITIZE="$2" "${@:3}" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_COMPILE_WARNING_AS_ERROR=ON \
        -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" && cmake --build "$folder" --parallel 2; } >build/sanitized.log 2>&1 \
        || { tail -40 build/sanitized.log; exit 1; }
    cmake --install "$folder" --prefix "build/prefix-$1" >/dev/null
    export VOLLEY_PREFIX=$PWD/build/prefix-$1 VOLLEY_TEST_FLAGS="-fsanitize=$2"
}
run_tests() {
    VOLLEY_TEST_RANKS=1,3 .venv/bin/python -m pytest -q -n "${WORKERS:-2}" "$@"
}
messages="tests/library/point_to_point tests/library/collective tests/library/communicator"

install_sanitized thread thread -DVOLLEY_TESTS=OFF
# Of the library's objects the linker takes what each test needs.
rm -f build/sanitized-thread/objects.a
find build/sanitized-thread/library -path '*/volley_*.dir/*' -name '*.o' -exec ar qc build/sanitized-thread/objects.a {} +
for part in transport/shm/ring wait/sleep arena/allocator; do
    test=build/${part##*/}_tsan
    c++ -std=c++20 -O1 -g1 -fsanitize=thread -Wno-tsan -Ilibrary -Iinclude "library/${part}_test.cpp" build/sanitized-thread/objects.a \
        -lgtest -lgtest_main -pthread -o "$test"
    TSAN_OPTIONS=halt_on_error=1 "$test" --gtest_brief=1
done
TSAN_OPTIONS=halt_on_error=1 run_tests $messages tests/library/threads -k "process and threads and not several_nodes"

install_sanitized address address,undefined -DVOLLEY_TESTS=ON
# The library keeps its pools for ever; a program may ask for more memory than there is.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1
ctest --test-dir build/sanitized-address --output-on-failure --parallel 2 --exclude-regex Fuzz
# Random input for what comes from the network, some 20 seconds of it.
VOLLEY_TEST_SECONDS=6 build/sanitized-address/library/fuzz_connections --gtest_brief=1
run_tests $messages tests/library/limits -k "process and not threads"
run_tests tests/library/point_to_point tests/library/limits -k "by_tcp or counts and tcp or test_tcp"
# Windows, files and jobs that meet: each program in few of the ways that the tests have.
run_tests tests/library/windows tests/library/files \
    -k "test_program and process and (2 or 3) and not nodes or random_program and process"
run_tests tests/library/windows -k "several_nodes and process"
run_tests tests/library/dynamic -k "(jobs_connect or further or join) and not shared"
