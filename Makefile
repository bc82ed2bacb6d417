# SPDX-License-Identifier: BSD-3-Clause
# make study   measure the MPIs of this machine and write a report (ARGS="--quick --out DIR" are passed on)
# make test    all tests (make test-library: only the C++ ones)
# make test-long     what takes too long for every change: some 20 minutes, or more with VOLLEY_TEST_SECONDS
# make test-sanitized  the library under AddressSanitizer, UBSan and ThreadSanitizer
# make check   formatting, lint and types, as CI has them
# make format  apply the formatters
# make clean   remove what make made here (not the cache of installed MPIs)

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
PREFIX := $(CURDIR)/build/prefix
# Of the library that test-library has installed.
RUN_TESTS = if [ -x $(PREFIX)/bin/mpiexec ]; then \
	  export VOLLEY_PREFIX=$(PREFIX) VOLLEY_LIBRARY=$(PREFIX)/lib/libmpi_abi.so.1; \
	fi; $(VENV)/bin/python -m pytest
ARGS ?=
# Tests at a time; more disturb each other's jobs of many ranks.
WORKERS ?= 2
C_SOURCES := $(wildcard laboratory/volley/benchmarks/*.[ch] tests/laboratory/made_up/*.c laboratory/volley/shims/*.c laboratory/volley/systems/*.c laboratory/volley/hosts/*.c) $(shell find library bench -name "*.h" -o -name "*.cpp" -o -name "*.c")
SOURCES := pyproject.toml CMakeLists.txt README.md \
  $(shell find abi include laboratory library -type f -not -name '*.pyc' -not -name '*_test.cpp' 2>/dev/null)

.PHONY: study test test-library test-long test-sanitized check format clean prerequisites
.DELETE_ON_ERROR:

study: $(VENV)/.installed
	@$(VENV)/bin/volley study $(ARGS)

test: test-library
	@$(RUN_TESTS) -n $(WORKERS) --dist loadfile $(ARGS)

# The library's own tests need CMake and GoogleTest from the system (apt-get install cmake libgtest-dev). They are built
# where the wheel was, whose objects serve, and the library is installed into build/prefix, where the other tests find it.
test-library: $(VENV)/.installed-tests
	@if command -v cmake >/dev/null && [ -e /usr/include/gtest/gtest.h ]; then \
	  { cmake -S . -B build/wheel -USKBUILD -DVOLLEY_TESTS=ON \
	    && cmake --build build/wheel --parallel 2 \
	    && cmake --install build/wheel --prefix $(PREFIX); } >build/tests.log 2>&1 \
	    || { tail -40 build/tests.log; exit 1; }; \
	  rm -f build/tests.log; \
	  ctest --test-dir build/wheel --output-on-failure; \
	else echo "the library's tests are not run: apt-get install cmake libgtest-dev"; fi

# A million duplicates of a communicator, programs drawn at random for a minute each, up to 256 ranks, messages of more
# than two gibibytes. VOLLEY_TEST_SEED repeats what was drawn; ARGS go to pytest.
test-long: export VOLLEY_TEST_LONG = 1
test-long: export VOLLEY_TEST_SECONDS ?= 60
test-long: test-library
	@$(RUN_TESTS) -n $(WORKERS) --durations=10 tests/library/memory tests/library/scale tests/library/limits \
	  tests/library/boot tests/library/point_to_point/test_point_to_point.py::test_programs_drawn_at_random $(ARGS)

# The library under sanitizers: its GoogleTests, and messages between ranks (as processes).
test-sanitized: prerequisites
	@bash tools/test_sanitized.sh

check: $(VENV)/.installed-tests
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	@$(VENV)/bin/clang-format --dry-run --Werror $(C_SOURCES)
	$(VENV)/bin/biome check --error-on-warnings
	$(VENV)/bin/python abi/generate_header.py --check
	$(VENV)/bin/python tools/check_layers.py
	$(VENV)/bin/python tools/check_rooms.py
	$(VENV)/bin/python tools/tested_functions.py --check

format: $(VENV)/.installed-tests
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format
	$(VENV)/bin/clang-format -i $(C_SOURCES)
	$(VENV)/bin/biome check --write

clean:
	rm -rf $(VENV) build

prerequisites:
	@PYTHON="$(PYTHON)" bash tools/prerequisites.sh

$(VENV)/bin/pip: | prerequisites
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip

$(VENV)/.installed: $(SOURCES) $(VENV)/bin/pip | prerequisites
	@bash tools/progress.sh "installing volley and what it needs into $(VENV): some 150 MB from PyPI, and compiling the library; two to four minutes" \
	  $(VENV)/bin/python -m pip install --progress-bar off --disable-pip-version-check .
	@touch $@

$(VENV)/.installed-tests: $(VENV)/.installed
	@bash tools/progress.sh "installing what the tests need into $(VENV)" \
	  $(VENV)/bin/python -m pip install --progress-bar off --disable-pip-version-check '.[test]'
	@touch $@
