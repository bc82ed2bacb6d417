# SPDX-License-Identifier: BSD-3-Clause
"""Fortran programs built for other MPIs: with their mpif.h and modules, linked with their libraries."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..conftest import MODES, ROOT, MpiRun
from .debian import LIBRARIES, unpacked
from .test_faces import cache, exported

HERE = Path(__file__).parent
SOURCES = ROOT / "tests/library/fortran"
CHECKING = SOURCES / "checking.F90"


@dataclass(frozen=True)
class FortranMpi:
    """An MPI with Fortran: where its modules and libraries are, and which libraries the faces have."""

    name: str
    include: Path
    c_include: Path
    libraries: tuple[Path, ...]
    face: str


FortranMpis = dict[str, FortranMpi]
Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def mpis() -> FortranMpis:
    """Debian's MPICH and Open MPI."""
    if shutil.which("gfortran") is None:
        pytest.skip("there is no gfortran")
    mpich = unpacked(cache(), "libmpich12", "libmpich-dev")
    open_mpi = unpacked(cache(), "libopenmpi3", "libopenmpi-dev")
    if mpich is None or open_mpi is None:
        pytest.skip("Debian's packages of MPICH and Open MPI cannot be had")
    (modules,) = open_mpi.glob(f"{LIBRARIES}/fortran/gfortran-mod-*/openmpi")
    headers = mpich / "usr/include/x86_64-linux-gnu/mpich"
    of_mpich = ("libmpichfort.so.12", "libmpich.so.12")
    of_open_mpi = (*("libmpi_usempif08.so.40", "libmpi_usempi_ignore_tkr.so.40", "libmpi_mpifh.so.40", "libmpi.so.40"),)
    return {
        "mpich": FortranMpi(
            "mpich", headers, headers, tuple(mpich / LIBRARIES / name for name in of_mpich), "libmpifort.so.12"
        ),
        "openmpi": FortranMpi(
            "openmpi",
            modules,
            open_mpi / LIBRARIES / "openmpi/include",
            tuple(open_mpi / LIBRARIES / name for name in of_open_mpi),
            "libmpi_mpifh.so.40",
        ),
    }


@pytest.fixture(scope="session")
def compiled(mpis: FortranMpis, tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles sources for an MPI, with further options; returns the program's path."""
    built: dict[tuple[str, ...], Path] = {}

    def build(name: str, *words: object) -> Path:
        key = (name, *map(str, words))
        if key not in built:
            mpi, folder = mpis[name], tmp_path_factory.mktemp(name)
            command = ["gfortran", "-w", "-O2", "-g", "-DOTHER_MPI", "-fallow-argument-mismatch", "-J", str(folder)]
            command += [f"-I{mpi.include}", "-o", str(folder / "program"), *map(str, words)]
            command += [*map(str, mpi.libraries), "-Wl,--unresolved-symbols=ignore-in-shared-libs"]
            outcome = subprocess.run(command, capture_output=True, text=True, check=False)
            assert outcome.returncode == 0, outcome.stderr[-3000:]
            built[key] = folder / "program"
        return built[key]

    return build


each_mpi = pytest.mark.parametrize("mpi", ["mpich", "openmpi"])


@each_mpi
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", [(), ("-DINCLUDED",)], ids=["module mpi", "mpif.h"])
def test_older_bindings(mpi: str, mode: str, options: tuple[str, ...], compiled: Compile, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", 3, compiled(mpi, *options, CHECKING, SOURCES / "older.F90"))


@each_mpi
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", [1, 3])
def test_module_mpi_f08(mpi: str, mode: str, ranks: int, compiled: Compile, mpirun: MpiRun, tmp_path: Path) -> None:
    mpirun("--ranks", mode, "-wdir", tmp_path, "-n", ranks, compiled(mpi, CHECKING, HERE / "bindings.f90"))


@each_mpi
@pytest.mark.parametrize("options", [(), ("-no-pie", "-fno-pie")], ids=["anywhere", "at a fixed address"])
def test_all_bindings_in_one_file(mpi: str, options: tuple[str, ...], compiled: Compile, mpirun: MpiRun) -> None:
    """A program at a fixed address has copies of the variables that stand for MPI_BOTTOM and others."""
    mpirun("-n", 2, compiled(mpi, *options, SOURCES / "mixed.f90"))
    mpirun("-n", 3, compiled(mpi, *options, CHECKING, SOURCES / "older.F90"))


@pytest.mark.parametrize("mode", MODES)
def test_sections_and_large_counts(
    mode: str, mpis: FortranMpis, compiled: Compile, mpirun: MpiRun, tmp_path: Path
) -> None:
    """MPICH's mpi_f08 hands over gfortran's descriptors; Open MPI's, addresses."""
    helper = tmp_path / "meeting.o"
    command = ["gcc", "-w", f"-I{mpis['mpich'].c_include}", "-DOTHER_MPI", "-include", "stdint.h"]
    command += ["-DMPI_Comm_fromint=MPI_Comm_f2c", "-DMPI_Comm_toint=MPI_Comm_c2f", "-c", str(SOURCES / "meeting.c")]
    subprocess.run([*command, "-o", str(helper)], check=True)
    mpirun("--ranks", mode, "-n", 3, compiled("mpich", CHECKING, SOURCES / "f08.F90", helper))
    mpirun("--ranks", mode, "-n", 4, compiled("mpich", SOURCES / "conjugate_gradient.f90"))


@each_mpi
def test_where_a_run_path_leads_to_the_other_mpi(
    mpi: str, mpis: FortranMpis, compiled: Compile, mpirun: MpiRun
) -> None:
    options = f"-Wl,-rpath,{mpis[mpi].libraries[0].parent},--disable-new-dtags"
    mpirun("-n", 2, compiled(mpi, options, SOURCES / "mixed.f90"))


@each_mpi
def test_constants_are_those_of_the_header(mpi: str, mpis: FortranMpis, monkeypatch: pytest.MonkeyPatch) -> None:
    """mpif.h has the numbers of C, but for two rules: texts end without a zero, and MPICH's keys count otherwise."""
    monkeypatch.syspath_prepend(str(ROOT / "abi"))
    face = importlib.import_module("generate_face").load_face(mpi)
    tables = importlib.import_module("tables").load()
    header = "\n".join(path.read_text() for path in sorted(mpis[mpi].include.glob("mpif*.h")))
    found = re.findall(r"parameter\s*\(\s*(MPI_\w+)\s*=\s*\(?(-?\d+)(-1)?\s*\)", header, re.IGNORECASE)
    values = {name.upper(): int(number) - bool(less) for name, number, less in found}
    wrong, compared = {}, 0
    for section in tables.sections:
        less = {"string_length": 1}.get(section.name, 0)
        if mpi == "mpich" and section.name in {"attribute_key", "window_attribute_key"}:
            less = -1
        for constant in section.constants:
            name = constant.alias_of or constant.name
            ours = face.fortran.get(name, face.numbers.get(name))
            if ours is None or constant.name not in values or name == "MPI_KEYVAL_INVALID":
                continue
            compared += 1
            if (ours - less - values[constant.name]) % 2**32 != 0:
                wrong[constant.name] = (ours, values[constant.name])
    assert compared > 230
    assert not wrong


# What a face does not have of the other library, and why no program misses it.
LEFT_OUT = {
    "mpich": {
        r"P?MPIX_.*|p?mpixr?_.*": "extensions",
        r"__mpi_\w+_MOD___(vtab|copy|def_init)_\w+": "of polymorphic handles, which no procedure takes",
        r"__mpi_c_interface_\w+|mpirinit[cf]_|MPIR_F_.*|MPIR_C_.*": "between MPICH's own libraries",
        r"MPI_F_ARG.*|MPI_F_ERRCODES.*": "of C",
        r"P?MPI_Status_(c2f08|f082c)": "in the face's library of C",
        r"__mpi_f08_types_MOD_mpi_\w+_(c2f|f2c)": "no part of the standard's module",
        r"__mpi_f08_types_MOD_mpi_status_(c_assign_f08|f08_assign_c)": "no part of the standard's module",
        r"\w*mpir?_delete_error_\w+": "proposed for the standard under these names, taken in under others",
        r"__mpi_f08_compile_constants_MOD_mpi_[lu]b": "of the standard before 3.0",
    },
    "openmpi": {
        r"P?MPIX_.*|p?mpix_.*|mpiext_.*": "extensions",
        r"__mpi_f08_types_MOD___(vtab|copy|def_init)_\w+": "of polymorphic handles, which no procedure takes",
        r"P?MPI_[A-Z]\w*[a-z]_f(08)?|p?ompix?_.*|P?OMPI_.*": "between Open MPI's own libraries",
    },
}


@each_mpi
def test_every_name_is_there(mpi: str, mpis: FortranMpis, prefix: Path) -> None:
    ours = set(exported(prefix / "lib/volley" / mpis[mpi].face))
    theirs = {name for library in mpis[mpi].libraries[:-1] for name in exported(library)}
    assert len(theirs) > 2000
    patterns = [re.compile(pattern) for pattern in LEFT_OUT[mpi]]
    missing = [name for name in sorted(theirs - ours) if not any(one.fullmatch(name) for one in patterns)]
    assert not missing, " ".join(missing)


def test_a_program_is_told_what_it_gets(prefix: Path, compiled: Compile) -> None:
    program = compiled("openmpi", SOURCES / "mixed.f90")
    command = [str(prefix / "bin/mpiexec"), "--verbose", "-n", "1", str(program)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"{prefix.resolve()}/lib/volley/libmpi_usempif08.so.40 for Open MPI" in outcome.stderr
