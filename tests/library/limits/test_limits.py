# SPDX-License-Identifier: BSD-3-Clause
"""The largest counts and messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import LONG, MODES, TCP, MpiProgram, MpiRun

FOLDER = Path(__file__).parent
WAYS = [*(("--ranks", mode) for mode in MODES), TCP]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[-1])
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_counts_at_the_limit(ranks: int, way: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*way, "-n", ranks, mpi_program(FOLDER / "counts.cpp"))


@pytest.mark.parametrize("way", WAYS if LONG else WAYS[:1], ids=lambda way: way[-1])
def test_messages_of_more_than_two_gibibytes(way: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*way, "-n", 2, mpi_program(FOLDER / "large.cpp"))
