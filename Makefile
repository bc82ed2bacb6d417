# SPDX-License-Identifier: BSD-3-Clause
# make study   measure the MPIs of this machine and write a report (ARGS="--quick --out DIR" are passed on)
# make test    all tests
# make check   formatting, lint and types, as CI has them
# make format  apply the formatters
# make clean   remove what make made here (not the cache of installed MPIs)

SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
ARGS ?=
SOURCES := pyproject.toml CMakeLists.txt README.md $(shell find abi include laboratory -type f -not -name '*.pyc' 2>/dev/null)

.PHONY: study test check format clean prerequisites
.DELETE_ON_ERROR:

study: $(VENV)/.installed
	@$(VENV)/bin/volley study $(ARGS)

test: $(VENV)/.installed-tests
	@$(VENV)/bin/python -m pytest $(ARGS)

check: $(VENV)/.installed-tests
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/clang-format --dry-run --Werror laboratory/volley/tests/*.[ch]
	$(VENV)/bin/python abi/generate_header.py --check

format: $(VENV)/.installed-tests
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format
	$(VENV)/bin/clang-format -i laboratory/volley/tests/*.[ch]

clean:
	rm -rf $(VENV) build

prerequisites:
	@PYTHON="$(PYTHON)" bash tools/prerequisites.sh

$(VENV)/bin/pip: | prerequisites
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip

$(VENV)/.installed: $(SOURCES) $(VENV)/bin/pip | prerequisites
	@echo "installing volley and what it needs into $(VENV)"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check .
	@touch $@

$(VENV)/.installed-tests: $(VENV)/.installed
	@echo "installing what the tests need into $(VENV)"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check '.[test]'
	@touch $@
