# SPDX-License-Identifier: BSD-3-Clause
"""Fortran: each binding, in the program's own words."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..conftest import MODES, MpiRun
from ..conftest import ROOT as PROJECT
from .conftest import COMPILER, HERE, FortranProgram

CHECKING = HERE / "checking.F90"
# mpif.h says nothing of what procedures take, so arguments of several types look like mistakes.
INCLUDED = ("-DINCLUDED", "-Wno-error", "-w")

needs_compiler = pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"there is no {COMPILER}")


@pytest.mark.parametrize("mode", MODES)
def test_mpif_h(mode: str, fortran_program: FortranProgram, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", 3, fortran_program(*INCLUDED, CHECKING, HERE / "older.F90", wrapper="mpif77"))


@pytest.mark.parametrize("mode", MODES)
def test_module_mpi(mode: str, fortran_program: FortranProgram, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", 3, fortran_program(CHECKING, HERE / "older.F90"))


@pytest.mark.parametrize("mode", MODES)
def test_module_mpi_f08(
    mode: str, prefix: Path, tmp_path: Path, fortran_program: FortranProgram, mpirun: MpiRun
) -> None:
    helper = tmp_path / "meeting.o"
    subprocess.run([str(prefix / "bin/mpicc"), "-Wall", "-c", str(HERE / "meeting.c"), "-o", str(helper)], check=True)
    mpirun("--ranks", mode, "-n", 3, fortran_program(CHECKING, HERE / "f08.F90", helper))


@pytest.mark.parametrize("options", [(), ("-no-pie", "-fno-pie")])
def test_c_converts_handles_and_statuses(
    options: tuple[str, ...], prefix: Path, tmp_path: Path, fortran_program: FortranProgram, mpirun: MpiRun
) -> None:
    helper = tmp_path / "conversions.o"
    command = [str(prefix / "bin/mpicc"), *options, "-Wall", "-Werror", "-O2", "-c", str(HERE / "conversions.c")]
    subprocess.run([*command, "-o", str(helper)], check=True)
    mpirun("-n", 2, fortran_program(*options, CHECKING, HERE / "conversions.f90", helper))


@pytest.mark.parametrize("options", [(), ("-no-pie", "-fno-pie")])
def test_all_bindings_in_one_file(options: tuple[str, ...], fortran_program: FortranProgram, mpirun: MpiRun) -> None:
    mpirun("-n", 2, fortran_program(*options, HERE / "mixed.f90"))


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a_solver(ranks: int, fortran_program: FortranProgram, mpirun: MpiRun) -> None:
    mpirun("-n", ranks, fortran_program(HERE / "conjugate_gradient.f90"))


class EveryRoutine:
    """Writes a program that calls every routine of a binding, under both names, with arguments of the right types."""

    def __init__(self, binding: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.syspath_prepend(str(PROJECT / "abi"))
        self.binding = binding
        self.bindings: Any = importlib.import_module("fortran_bindings")
        self.modules: Any = importlib.import_module("fortran_modules")
        self.tables: Any = importlib.import_module("tables").load()

    @property
    def members(self) -> list[Any]:
        old = self.binding != "mpi_f08"
        return [one for one in self.bindings.bindings(self.tables) if (one.in_old if old else one.in_f08)]

    @property
    def text(self) -> str:
        given = (
            "implicit none\n  include 'mpif.h'" if self.binding == "mpif.h" else f"use {self.binding}\n  implicit none"
        )
        lines = [f"module every\n  use, intrinsic :: iso_c_binding, only: c_ptr\n  {given}", "contains"]
        for number, member in enumerate(self.members):
            lines += self._caller(number, member)
        return "\n".join([*lines, "end module every", "program main", "  use every", "end program main"]) + "\n"

    def _caller(self, number: int, member: Any) -> Iterator[str]:
        f08 = self.binding == "mpi_f08"
        declarations = self.modules.F08Declarations() if f08 else self.modules.OldDeclarations()
        names = [argument.name for argument in member.arguments] + (["ierror"] if member.returns_code else [])
        name = member.generic if f08 else member.name
        yield f"  subroutine call_{number}({', '.join(names)})"
        if member.returns:
            yield f"    {'double precision' if member.returns == 'double' else 'integer(kind=MPI_ADDRESS_KIND)'} :: got"
        for argument in member.arguments:
            for line in declarations.lines(member, argument):
                # Without interfaces nothing may have any type.
                if self.binding != "mpif.h" or not line.startswith("!"):
                    yield f"    {line.replace('type(*)', 'integer') if self.binding == 'mpif.h' else line}"
        if member.returns_code:
            yield "    integer :: ierror"
        for prefix in ("", "P"):
            called = f"{prefix}{name}({', '.join(names)})"
            yield f"    got = {called}" if member.returns else f"    call {called}"
        yield f"  end subroutine call_{number}"


@needs_compiler
@pytest.mark.parametrize("binding", ["mpif.h", "mpi", "mpi_f08"])
def test_every_routine_is_there(binding: str, prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = EveryRoutine(binding, monkeypatch)
    assert len(every.members) > 400
    source = tmp_path / "every.f90"
    source.write_text(every.text)
    wrapper = "mpif77" if binding == "mpif.h" else "mpifort"
    command = [prefix / "bin" / wrapper, "-w", "-O0", "-ffree-line-length-none", source, "-o", tmp_path / "every"]
    outcome = subprocess.run(list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr[:3000]


@needs_compiler
@pytest.mark.parametrize("standard", ["f2003", "f2008", "f2018"])
def test_modules_are_strict_fortran(standard: str, prefix: Path, tmp_path: Path) -> None:
    source = tmp_path / "strict.f90"
    both = "subroutine first\n use mpi\nend subroutine first\nsubroutine second\n use mpi_f08\nend subroutine second\n"
    source.write_text(both)
    command = [str(prefix / "bin/mpifort"), f"-std={standard}", "-pedantic", "-Wall", "-Werror", "-fsyntax-only"]
    outcome = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr


@needs_compiler
def test_a_tool_for_c_sees_the_calls_of_fortran(prefix: Path, tmp_path: Path, mpirun: MpiRun) -> None:
    program, tool = tmp_path / "program", tmp_path / "tool.so"
    (tmp_path / "program.f90").write_text(
        "program p\n  use mpi_f08\n  integer :: n\n  call MPI_Init()\n  call MPI_Comm_rank(MPI_COMM_WORLD, n)\n"
        "  call PMPI_Comm_rank(MPI_COMM_WORLD, n)\n  call MPI_Finalize()\nend program p\n"
    )
    (tmp_path / "tool.c").write_text(
        "#include <mpi.h>\n#include <stdio.h>\nstatic int calls;\n"
        "int MPI_Comm_rank(MPI_Comm comm, int *rank) { ++calls; return PMPI_Comm_rank(comm, rank); }\n"
        'int MPI_Finalize(void) { if (calls == 2) puts("good"); return PMPI_Finalize(); }\n'
    )
    for command in (
        ["mpifort", "-o", program, tmp_path / "program.f90"],
        ["mpicc", "-shared", "-fPIC", "-o", tool, tmp_path / "tool.c"],
    ):
        subprocess.run([str(prefix / "bin" / str(command[0])), *map(str, command[1:])], check=True)
    mpirun("-env", "LD_PRELOAD", tool, "-n", 1, program)


def shown(prefix: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [str(prefix / "bin/mpifort"), *arguments]
    environment = {**os.environ, **variables}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@needs_compiler
def test_the_wrapper_says_what_it_does(prefix: Path) -> None:
    for option in ("-show", "--showme"):
        words = shown(prefix, option, "a.f90").stdout.split()
        assert words[:2] == [COMPILER, "a.f90"]
        assert {"-lvolley_fortran", "-lmpi_abi", f"-I{prefix}/include"} <= set(words)
    assert "-fallow-argument-mismatch" in subprocess.check_output([prefix / "bin/mpif77", "-show", "a.f"], text=True)


def test_without_a_compiler(prefix: Path) -> None:
    outcome = shown(prefix, "a.f90", VOLLEY_FC="no-such-fortran")
    assert outcome.returncode == 1
    assert re.search("no Fortran compiler 'no-such-fortran'.*VOLLEY_FC", outcome.stderr)


@needs_compiler
def test_the_modules_for_another_compiler_are_compiled_once(prefix: Path, tmp_path: Path) -> None:
    compiler = tmp_path / "other"
    compiler.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "GNU Fortran 99" && exit\nexec {COMPILER} "$@"\n')
    compiler.chmod(0o755)
    (tmp_path / "a.f90").write_text("program a\n  use mpi_f08\nend program a\n")
    command = [str(tmp_path / "a.f90"), f"-fc={compiler}", "-o", str(tmp_path / "a")]
    said = [shown(prefix, *command, VOLLEY_CACHE=str(tmp_path / "cache")) for _ in range(2)]
    assert [one.returncode for one in said] == [0, 0]
    assert "compiling the modules mpi and mpi_f08 for GNU-Fortran-99, once" in said[0].stderr
    assert said[1].stderr == ""


@needs_compiler
@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no CMake")
def test_cmake_finds_it(prefix: Path, tmp_path: Path, mpirun: MpiRun) -> None:
    command = ["cmake", "-S", str(HERE / "project"), "-B", str(tmp_path), f"-DMPI_HOME={prefix}"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "mpif.h TRUE, mpi TRUE, mpi_f08 TRUE" in outcome.stdout, outcome.stderr
    subprocess.run(["cmake", "--build", str(tmp_path)], check=True, capture_output=True)
    mpirun("-n", 3, tmp_path / "hello")


@needs_compiler
@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="there is no pkg-config")
def test_pkg_config_finds_it(prefix: Path, tmp_path: Path, mpirun: MpiRun) -> None:
    (file,) = prefix.glob("lib*/pkgconfig/volley-fortran.pc")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(file.parent)}
    command = ["pkg-config", "--cflags", "--libs", "volley-fortran"]
    told = subprocess.check_output(command, text=True, env=environment).split()
    subprocess.run([COMPILER, HERE / "project/hello.f90", "-o", tmp_path / "hello", *told], check=True)
    mpirun("-n", 3, tmp_path / "hello")
