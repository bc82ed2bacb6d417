# SPDX-License-Identifier: BSD-3-Clause
"""Fortran: each binding, in the program's own words."""

from __future__ import annotations

import pytest

from ..conftest import MODES, MpiRun
from .conftest import HERE, FortranProgram

# mpif.h says nothing of what procedures take, so arguments of several types look like mistakes.
INCLUDED = ("-DINCLUDED", "-Wno-error", "-w")


@pytest.mark.parametrize("mode", MODES)
def test_mpif_h(mode: str, fortran_program: FortranProgram, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", 3, fortran_program(HERE / "older.F90", *INCLUDED, wrapper="mpif77"))


@pytest.mark.parametrize("mode", MODES)
def test_module_mpi(mode: str, fortran_program: FortranProgram, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", 3, fortran_program(HERE / "older.F90"))
