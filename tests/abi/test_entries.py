# SPDX-License-Identifier: BSD-3-Clause
"""The generated entry points, and what a built library shows of them (its path in VOLLEY_LIBRARY)."""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ABI = ROOT / "abi"

USES_NAMES = """
#include "boot/function_names.h"

static_assert(volley::function_names[0].empty());
static_assert(volley::function_names[1] == "MPI_Abort");
static_assert(volley::function_names[volley::function_count - 1].starts_with("MPI_T_"));

int main() {}
"""


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module `generate_entries` of the folder abi."""
    monkeypatch.syspath_prepend(str(ABI))
    return importlib.import_module("generate_entries")


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """The generated files by name."""
    command = [sys.executable, str(ABI / "generate_entries.py"), str(tmp_path)]
    subprocess.run(command, check=True)
    return {path.name: path.read_text(encoding="utf-8") for path in tmp_path.glob("*/*")}


@pytest.fixture
def library() -> Path:
    """The built library."""
    path = os.environ.get("VOLLEY_LIBRARY")
    if not path:
        pytest.skip("VOLLEY_LIBRARY does not name a built libmpi_abi.so")
    return Path(path)


def names(generator: ModuleType) -> list[str]:
    """All functions of the table."""
    return [function.name for function in generator.load().functions]


def entries(text: str) -> list[str]:
    """The entry points a source defines."""
    return re.findall(r"^EXPORTED .*?\bP(MPIX?_\w+)\(", text, flags=re.MULTILINE)


def test_each_function_has_one_entry(generator: ModuleType, files: dict[str, str]) -> None:
    sources = "".join(text for name, text in files.items() if name.endswith(".cpp"))
    assert sorted(entries(sources)) == sorted(names(generator))
    aliases = re.findall(r"^EXPORTED_AS\((MPIX?_\w+)\);", sources, flags=re.MULTILINE)
    assert sorted(aliases) == sorted(names(generator))


def test_entries_call_what_is_declared(files: dict[str, str]) -> None:
    sources = "".join(text for name, text in files.items() if name.endswith(".cpp"))
    declared = re.findall(r"^\w+[ *]+(\w+)\(", files["functions.h"], flags=re.MULTILINE)
    assert len(declared) == len(set(declared))
    assert set(re.findall(r"\bmpi::(\w+)\(", sources)) == set(declared)


def test_both_forms_share_an_implementation(generator: ModuleType) -> None:
    found = generator.implementations(generator.load())
    for name, implementation in found.items():
        plain = name.removesuffix("_c")
        assert (implementation is found[plain]) == (name == plain or plain not in generator.TWO_IMPLEMENTATIONS)


def test_lists_of_exceptions_name_functions_and_parameters(generator: ModuleType) -> None:
    functions = {function.name: function for function in generator.load().functions}
    for name, parameter in generator.UNDECODED | generator.NULLABLE | generator.NULL_ALLOWED:
        assert parameter in {other.name for other in functions[name].parameters}, name
    listed = [
        *(generator.ANYTIME | generator.TWO_IMPLEMENTATIONS | generator.FORM_MATTERS),
        *(generator.INTRACOMMUNICATOR | generator.INTERCOMMUNICATOR | generator.UNGUARDED),
        *generator.SAME_AS.keys(),
        *generator.SAME_AS.values(),
    ]
    assert set(listed) <= set(functions)
    groups = [group for members in generator.FILES.values() for group in members]
    assert len(groups) == len(set(groups))


def test_names_need_no_other_header(files: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "program.cpp").write_text(USES_NAMES, encoding="utf-8")
    command = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "program.cpp"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_library_exports_mpi_and_nothing_else(generator: ModuleType, library: Path) -> None:
    command = ["nm", "--dynamic", "--defined-only", "--format=posix", str(library)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    by_kind: dict[str, list[str]] = defaultdict(list)
    for line in listing.splitlines():
        name, kind = line.split()[:2]
        by_kind[kind].append(name)
    wanted = names(generator)
    assert sorted(by_kind.pop("W")) == sorted(wanted)
    functions = by_kind.pop("T")
    assert sorted(name for name in functions if not name.startswith("volley_")) == sorted(f"P{name}" for name in wanted)
    # The same for faces, and what they need besides.
    assert {f"volley_{name}" for name in wanted} < set(functions)
    assert by_kind == {"B": ["volley_object_numbers"]}


def test_library_needs_no_cpp_library(library: Path) -> None:
    result = subprocess.run(["objdump", "-p", str(library)], capture_output=True, text=True, check=True)
    needed = re.findall(r"NEEDED\s+(\S+)", result.stdout)
    assert needed
    assert not [name for name in needed if "stdc++" in name or "gcc" in name]
    assert re.findall(r"SONAME\s+(\S+)", result.stdout) == ["libmpi_abi.so.1"]


def test_library_answers_before_it_is_initialised(library: Path) -> None:
    mpi = ctypes.CDLL(str(library))
    version, subversion, flag = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(-1)
    assert mpi.MPI_Get_version(ctypes.byref(version), ctypes.byref(subversion)) == 0
    assert (version.value, subversion.value) == (5, 0)
    assert mpi.MPI_Initialized(ctypes.byref(flag)) == 0
    assert flag.value == 0


def test_library_refuses_what_comes_too_early(library: Path) -> None:
    program = f"import ctypes; ctypes.CDLL({str(library)!r}).MPI_Barrier(0x101)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "MPI_Barrier was called before MPI_Init; call MPI_Init" in result.stderr
