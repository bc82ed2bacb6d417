# SPDX-License-Identifier: BSD-3-Clause
"""The tool information interface (MPI_T): what it tells is so, and what it sets takes effect."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import MODES, TCP, MpiProgram, MpiRun

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_every_function(ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", ranks, mpi_program(FOLDER / "interface.cpp"))


def test_counters_of_tcp(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*TCP, "-n", 2, mpi_program(FOLDER / "interface.cpp"), "tcp")
