# SPDX-License-Identifier: BSD-3-Clause
"""Two jobs that connect: ports, accept, connect, join, disconnect."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import TCP, MpiProgram
from .conftest import JobsRun

HERE = Path(__file__).parent
MODES = [("--ranks", "shared"), ("--ranks", "process"), TCP]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode[1])
@pytest.mark.parametrize("ranks", [(1, 1), (3, 2)], ids=str)
def test_jobs_connect(
    ranks: tuple[int, int], mode: tuple[str, str], mpi_program: MpiProgram, run_jobs: JobsRun, tmp_path: Path
) -> None:
    program, name = mpi_program(HERE / "connect.cpp"), tmp_path / "port"
    run_jobs((*mode, "-n", ranks[0], program, "accept", name), (*mode, "-n", ranks[1], program, "connect", name))


@pytest.mark.parametrize("modes", [(TCP, ()), ((), TCP), (("--ranks", "shared"), ("--ranks", "process"))], ids=str)
def test_jobs_of_different_kinds_connect(
    modes: tuple[tuple[str, ...], tuple[str, ...]], mpi_program: MpiProgram, run_jobs: JobsRun, tmp_path: Path
) -> None:
    program, name = mpi_program(HERE / "connect.cpp"), tmp_path / "port"
    run_jobs((*modes[0], "-n", 2, program, "accept", name), (*modes[1], "-n", 2, program, "connect", name))
