# SPDX-License-Identifier: BSD-3-Clause
"""Programs built for other MPIs: with their headers, linked with their libraries, run as they are."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from ..conftest import MODES, ROOT, MpiRun

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Interface:
    """An installed MPI whose binary interface a face has."""

    face: str
    soname: str
    include: Path
    library: Path


def cache() -> Path:
    """Where the laboratory installs MPIs."""
    given = os.environ.get("VOLLEY_CACHE")
    return Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "volley"


def installed() -> dict[str, Interface]:
    """The MPIs that are here: the laboratory's, and Debian's Open MPI."""
    found = {}
    for face, soname in (("mpich", "libmpi.so.12"), ("openmpi", "libmpi.so.40")):
        for folder in sorted((cache() / "systems").glob(f"{face}-*")):
            if (folder / "include/mpi.h").exists():
                found[folder.name] = Interface(face, soname, folder / "include", folder / "lib" / soname)
    debian = Path("/usr/lib/x86_64-linux-gnu")
    if (debian / "openmpi/include/mpi.h").exists():
        found["openmpi-debian"] = Interface(
            "openmpi", "libmpi.so.40", debian / "openmpi/include", debian / "libmpi.so.40"
        )
    return found


SYSTEMS = installed()
each_system = pytest.mark.parametrize(
    "system",
    sorted(SYSTEMS)
    or [pytest.param("", marks=pytest.mark.skip(reason="no MPICH or Open MPI is installed (volley systems install)"))],
)


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module `generate_face` of the folder abi."""
    monkeypatch.syspath_prepend(str(ROOT / "abi"))
    return importlib.import_module("generate_face")


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Path]:
    """Compiles a program for another MPI."""

    def build(system: Interface, source: Path, *options: str) -> Path:
        path = tmp_path / source.stem
        libraries = [str(system.library), "-Wl,--unresolved-symbols=ignore-in-shared-libs"]
        command = ["gcc", "-w", "-O1", "-g", f"-I{system.include}", "-o", str(path), str(source), *libraries, *options]
        subprocess.run(command, check=True)
        return path

    return build


@each_system
def test_values_are_those_of_the_header(system: str, generator: ModuleType, tmp_path: Path) -> None:
    """The C compiler compares the table with the header, as far as that goes: it may be older than the table."""
    known = SYSTEMS[system]
    face, tables = generator.load_face(known.face), generator.load()
    sections = {constant.name: section.name for section in tables.sections for constant in section.constants}
    preprocess = ["gcc", "-E", "-dD", f"-I{known.include}", "-include", "mpi.h", "-x", "c", "/dev/null"]
    header = subprocess.run(preprocess, capture_output=True, text=True, check=True).stdout
    has = set(re.findall(r"\bMPIX?_\w+", header))
    lines = ["#include <mpi.h>", "#include <stddef.h>"]
    checked = 0
    for name, value in face.numbers.items():
        if name not in has or "_function" in sections[name] or "MPI_T_" in name:
            continue
        # Older headers have datatypes that their compiler had not as null.
        absent = f" || (long)({name}) == (long)MPI_DATATYPE_NULL" if sections[name] == "datatype" else ""
        lines.append(f'_Static_assert((long)({name}) == {generator.as_int(value)}{absent}, "{name}");')
        checked += 1
    assert checked > 150
    for name, (symbol, _) in face.symbols.items():
        if symbol in header and name in has:
            lines.append(f'_Static_assert((void *){name} == (void *)&{symbol}, "{name}");')
    size, offsets = (20, (8, 12, 16)) if known.face == "mpich" else (24, (0, 4, 8))
    lines.append(f'_Static_assert(sizeof(MPI_Status) == {size}, "status");')
    for field, offset in zip(("MPI_SOURCE", "MPI_TAG", "MPI_ERROR"), offsets, strict=True):
        lines.append(f'_Static_assert(offsetof(MPI_Status, {field}) == {offset}, "{field}");')
    lines.append('_Static_assert(sizeof(MPI_Aint) == 8 && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8, "");')
    source = tmp_path / "values.c"
    # A header's constants with casts are no constants in the language's sense, but the compiler knows them.
    source.write_text("\n".join(lines) + "\n")
    command = ["gcc", "-w", "-fsyntax-only", f"-I{known.include}", str(source)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    wrong = [line for line in outcome.stderr.splitlines() if "static assertion failed" in line]
    assert not wrong
    assert "error" not in outcome.stderr, outcome.stderr[:2000]


def exported(library: Path) -> dict[str, int]:
    """The symbols that a library shows, with their sizes."""
    listing = subprocess.run(
        ["nm", "-D", "-S", "--defined-only", str(library)], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in listing.splitlines()]
    return {row[-1].partition("@")[0]: int(row[1], 16) if len(row) == 4 else 0 for row in rows}


@each_system
def test_everything_of_the_interface_is_there(system: str, prefix: Path) -> None:
    """Each function of MPI, and each variable, of the size that programs have copies of."""
    known = SYSTEMS[system]
    theirs, ours = exported(known.library), exported(prefix / "lib/volley" / known.soname)
    functions = {name for name in theirs if re.fullmatch(r"P?MPI_[A-Z][a-z]\w*|P?MPI_T_\w+", name)}
    assert len(functions) > 800
    assert sorted(functions - set(ours)) == []
    own = re.compile(r"ompi_(mpi|request|message)_\w+")
    variables = {name: size for name, size in ours.items() if own.fullmatch(name) and name in theirs}
    assert variables == {name: theirs[name] for name in variables}
    if known.face == "openmpi":
        assert len(variables) > 100


@each_system
@pytest.mark.parametrize("mode", MODES)
def test_a_program_of_another_mpi_runs(system: str, mode: str, program: Callable[..., Path], mpirun: MpiRun) -> None:
    known = SYSTEMS[system]
    mpirun("--ranks", mode, "-n", 3, program(known, HERE / "exercise.c"))


@each_system
def test_where_a_program_has_copies_of_variables_and_a_run_path(
    system: str, program: Callable[..., Path], mpirun: MpiRun
) -> None:
    """A program at a fixed address has copies of the variables that handles are addresses of; its RPATH leads to the
    MPI that it was built for."""
    known = SYSTEMS[system]
    options = ["-no-pie", "-fno-pie", f"-Wl,-rpath,{known.library.parent},--disable-new-dtags"]
    mpirun("-n", 2, program(known, HERE / "exercise.c", *options))


def test_each_face_brings_all_names_of_the_library(prefix: Path) -> None:
    """What a face did not have, the dynamic linker would find in the library, whose handles are others."""
    library = {name for name in exported(prefix / "lib/libmpi_abi.so.1") if re.match(r"P?MPI_", name)}
    for soname in ("libmpi.so.12", "libmpi.so.40"):
        assert library - set(exported(prefix / "lib/volley" / soname)) == set()
