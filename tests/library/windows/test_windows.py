# SPDX-License-Identifier: BSD-3-Clause
"""Windows: the programs check everything themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import MODES, MpiProgram, MpiRun

PROGRAMS = Path(__file__).parent / "programs"
SOURCES = ["access"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("source", SOURCES)
def test_program(source: str, ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", ranks, mpi_program(PROGRAMS / f"{source}.cpp"))
