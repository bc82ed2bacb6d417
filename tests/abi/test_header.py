# SPDX-License-Identifier: BSD-3-Clause
"""The tables of the ABI, and the header generated from them, as a compiler sees it."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ABI = ROOT / "abi"
INCLUDE = ROOT / "include"

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]

LAYOUT = """
#include <mpi.h>
#include <stddef.h>

_Static_assert(sizeof(MPI_Status) == 32, "status");
_Static_assert(offsetof(MPI_Status, MPI_SOURCE) == 0, "source");
_Static_assert(offsetof(MPI_Status, MPI_TAG) == 4, "tag");
_Static_assert(offsetof(MPI_Status, MPI_ERROR) == 8, "error");
_Static_assert(offsetof(MPI_Status, MPI_internal) == 12, "internal");
_Static_assert(sizeof(MPI_Aint) == sizeof(void *), "address");
_Static_assert(sizeof(MPI_Count) == 8, "count");
_Static_assert(sizeof(MPI_Offset) == 8, "offset");
_Static_assert(sizeof(MPI_Comm) == sizeof(void *), "handle");
_Static_assert(MPI_VERSION == 5 && MPI_SUBVERSION == 0, "version");
_Static_assert(MPI_ABI_VERSION == 1 && MPI_ABI_SUBVERSION == 0, "version of the ABI");
_Static_assert(MPI_ERR_ABI == 62 && MPI_ERR_LASTCODE == 16383, "error classes");
_Static_assert(MPI_ANY_SOURCE == -1 && MPI_ANY_TAG == -2 && MPI_PROC_NULL == -3, "wildcards");
_Static_assert(MPI_SEEK_CUR == 401 && MPI_SEEK_END == 402 && MPI_SEEK_SET == 403, "seek");
_Static_assert(MPI_UNIVERSE_SIZE == 507, "attribute");
_Static_assert(MPI_COMBINER_F90_REAL == 113 && MPI_COMBINER_F90_INTEGER == 115, "combiner");

int main(void) { return 0; }
"""

# ISO C does not call a pointer cast to an integer a constant, so this part is not pedantic.
HANDLES = """
#include <mpi.h>

_Static_assert((intptr_t)MPI_OP_NULL == 0x20 && (intptr_t)MPI_SUM == 0x21, "operation");
_Static_assert((intptr_t)MPI_COMM_WORLD == 0x101, "communicator");
_Static_assert((intptr_t)MPI_GROUP_EMPTY == 0x109, "group");
_Static_assert((intptr_t)MPI_WIN_NULL == 0x110, "window");
_Static_assert((intptr_t)MPI_FILE_NULL == 0x118, "file");
_Static_assert((intptr_t)MPI_SESSION_NULL == 0x120, "session");
_Static_assert((intptr_t)MPI_MESSAGE_NO_PROC == 0x129, "message");
_Static_assert((intptr_t)MPI_INFO_ENV == 0x131, "info");
_Static_assert((intptr_t)MPI_ERRORS_ABORT == 0x142, "error handler");
_Static_assert((intptr_t)MPI_ERRORS_RETURN == 0x143, "error handler");
_Static_assert((intptr_t)MPI_REQUEST_NULL == 0x180, "request");
_Static_assert((intptr_t)MPI_BYTE == 0x247 && (intptr_t)MPI_CHARACTER == 0x21e, "datatype");
_Static_assert((intptr_t)MPI_IN_PLACE == 1 && (intptr_t)MPI_BUFFER_AUTOMATIC == 2, "address");
_Static_assert((intptr_t)MPI_COMM_DUP_FN == 1, "callback");

int main(void) { return 0; }
"""

CONVERSIONS = """
#include <mpi.h>

MPI_Fint handle(MPI_Comm comm);
int same(MPI_Status *status, MPI_Fint *array);

MPI_Fint handle(MPI_Comm comm) { return MPI_Comm_c2f(MPI_Comm_f2c(MPI_Comm_c2f(comm))); }

int same(MPI_Status *status, MPI_Fint *array) {
    MPI_F08_status f08;
    MPI_Status_c2f08(status, &f08);
    return MPI_Status_f082f(&f08, array) || MPI_Status_f2c(array, status) || status == MPI_F08_STATUS_IGNORE ||
           array == MPI_F_STATUSES_IGNORE;
}
"""


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module `tables` of the folder abi."""
    monkeypatch.syspath_prepend(str(ABI))
    return importlib.import_module("tables")


@pytest.fixture
def generator(tables: ModuleType) -> ModuleType:
    """The module `generate_header`, which imports `tables`."""
    return importlib.import_module("generate_header")


def compile_program(folder: Path, source: str, arguments: list[str], suffix: str = ".c") -> None:
    """Compile `source` against the header; fail with the compiler's words if it does not."""
    program = folder / f"program{suffix}"
    program.write_text(source, encoding="utf-8")
    compiler = "g++" if suffix == ".cpp" else "gcc"
    command = [compiler, *arguments, f"-I{INCLUDE}", "-fsyntax-only", str(program)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def use_of_every_constant(tables: ModuleType) -> str:
    """A function that evaluates every constant as its type."""
    loaded = tables.load()
    lines = [
        f"    {{ {tables.declare(section.type, 'value')} = {constant.name}; (void)value; }}"
        for section in loaded.sections
        for constant in section.constants
    ]
    return "\n".join(["#include <mpi.h>", "void use(void);", "void use(void)", "{", *lines, "}\n"])


def test_committed_header_is_what_the_tables_give() -> None:
    command = [sys.executable, str(ABI / "generate_header.py"), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_check_refuses_another_header(generator: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(generator, "HEADER", tmp_path / "mpi.h")
    text = generator.header(generator.load())
    assert generator.check(text) == 1
    (tmp_path / "mpi.h").write_text(text, encoding="utf-8")
    assert generator.check(text) == 0
    assert generator.check(text.replace("MPI_Send(", "MPI_Sent(")) == 1


@pytest.mark.parametrize(
    ("right", "wrong", "complaint"),
    [
        ('"buffer", "in"]', '"bufer", "in"]', "kind 'bufer' is not listed"),
        ('"buffer", "in"]', '"buffer", "into"]', "use in, out or inout"),
        ("\nMPI_Send = ", "\nMPI_Sent = ", "MPI_Send_c: the function without _c is missing"),
        ("\nMPI_Send = ", "\nMPI_Bcast = ", "MPI_Bcast appears 2 times"),
        ("large_count = true", "large_count = false", "large_count must be true"),
        ("[function.io]", "[function.oi]", "group 'oi' is not listed"),
    ],
)
def test_loader_refuses_wrong_tables(
    tables: ModuleType, tmp_path: Path, right: str, wrong: str, complaint: str
) -> None:
    for table in ABI.glob("*.toml"):
        shutil.copy(table, tmp_path)
    functions = tmp_path / "functions.toml"
    text = functions.read_text(encoding="utf-8")
    functions.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    with pytest.raises(tables.TableError, match=re.escape(complaint)):
        tables.load(tmp_path)


def test_numbers_of_functions(tables: ModuleType) -> None:
    functions = [function for function in tables.load().functions if function.origin != "ULFM"]
    assert len(functions) == 664
    assert sum(function.large_count for function in functions) == 161
    assert sum(function.deprecated is not None for function in functions) == 12


def test_functions_outside_the_standard_are_marked(tables: ModuleType) -> None:
    outside = {function.name for function in tables.load().functions if not function.in_standard}
    of_recovery = {function.name for function in tables.load().functions_of("recovery")}
    assert all(name.startswith("MPIX_") for name in of_recovery)
    assert outside == {"MPI_Psend_init_c", "MPI_Precv_init_c", *of_recovery}


def test_predefined_handles_are_unique_and_below_4096(tables: ModuleType) -> None:
    loaded = tables.load()
    values = [
        constant.value
        for section in loaded.sections
        if loaded.handles.get(section.type, "").startswith("MPI_ABI_")
        for constant in section.constants
        if constant.alias_of is None
    ]
    assert len(values) == len(set(values))
    assert all(0 < value < 4096 for value in values)


def test_every_function_has_both_prototypes(tables: ModuleType) -> None:
    header = (INCLUDE / "mpi.h").read_text(encoding="utf-8")
    declared = re.findall(r"^\w+ (P?MPIX?_\w+)\(", header, flags=re.MULTILINE)
    wanted = [function.name for function in tables.load().functions]
    assert sorted(declared) == sorted([*wanted, *(f"P{name}" for name in wanted)])


@pytest.mark.parametrize(
    ("standard", "suffix"), [("c89", ".c"), ("c99", ".c"), ("c17", ".c"), ("c++11", ".cpp"), ("c++20", ".cpp")]
)
def test_conversions_between_c_and_fortran(standard: str, suffix: str, tmp_path: Path) -> None:
    options = [f"-std={standard}", "-Wall", "-Wextra", "-Werror", *(["-Wold-style-cast"] if suffix == ".cpp" else [])]
    compile_program(tmp_path, CONVERSIONS, options, suffix)


@pytest.mark.parametrize("standard", ["c99", "c11", "c17"])
def test_header_is_strict_c(standard: str, tables: ModuleType, tmp_path: Path) -> None:
    compile_program(tmp_path, use_of_every_constant(tables), [f"-std={standard}", *STRICT])


@pytest.mark.parametrize("standard", ["c++11", "c++17", "c++20"])
def test_header_is_strict_cpp(standard: str, tables: ModuleType, tmp_path: Path) -> None:
    arguments = [f"-std={standard}", *STRICT, "-Wold-style-cast"]
    compile_program(
        tmp_path,
        use_of_every_constant(tables).replace("(void)value;", "static_cast<void>(value);"),
        arguments,
        ".cpp",
    )


def test_layout_and_integers(tmp_path: Path) -> None:
    compile_program(tmp_path, LAYOUT, ["-std=c11", *STRICT])


def test_handle_values(tmp_path: Path) -> None:
    compile_program(tmp_path, HANDLES, ["-std=c11", "-Wall", "-Wextra", "-Werror"])
