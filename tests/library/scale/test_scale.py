# SPDX-License-Identifier: BSD-3-Clause
"""Many ranks. `make test-long` runs the numbers that take minutes."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from ..conftest import LONG, MODES, TCP, MpiProgram, MpiRun

PROGRAM = Path(__file__).parent / "many_ranks.cpp"
WAYS = [*(("--ranks", mode) for mode in MODES), TCP]
RANKS = [64, 128, 256] if LONG else [64]


@pytest.mark.parametrize("way", WAYS if LONG else WAYS[:2], ids=lambda way: way[-1])
@pytest.mark.parametrize("ranks", RANKS)
def test_many_ranks(ranks: int, way: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    seed = int(os.environ.get("VOLLEY_TEST_SEED", random.SystemRandom().randrange(2**31)))
    print(f"VOLLEY_TEST_SEED={seed}")
    mpirun(*way, "-n", ranks, mpi_program(PROGRAM), seed, 10 if LONG else 1, seconds=600 if LONG else 120)
