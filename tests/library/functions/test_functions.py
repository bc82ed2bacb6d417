# SPDX-License-Identifier: BSD-3-Clause
"""Functions that programs call seldom, each at least once (tools/tested_functions.py: what is called where)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import MODES, TCP, MpiProgram, MpiRun

PROGRAMS = Path(__file__).parent / "programs"
SOURCES = ["collectives", "datatypes", "messages", "objects"]


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("source", SOURCES)
def test_program(source: str, mode: str, ranks: int, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", ranks, mpi_program(PROGRAMS / f"{source}.cpp"))


@pytest.mark.parametrize("source", ["collectives", "messages", "objects"])
def test_program_by_tcp(source: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*TCP, "-n", 2, mpi_program(PROGRAMS / f"{source}.cpp"))
