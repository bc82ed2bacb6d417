# SPDX-License-Identifier: BSD-3-Clause
"""Threads of a rank that come together in the library though the level of thread support promised nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..conftest import MODES, TCP, MpiProgram, MpiRun

FOLDER = Path(__file__).parent
WAYS = [*(("--ranks", mode) for mode in MODES), TCP]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[-1])
@pytest.mark.parametrize("levels", [[], ["unasked"]], ids=lambda levels: "".join(levels) or "asked")
@pytest.mark.parametrize("ranks", [1, 3])
def test_sessions_start_while_a_thread_waits(
    ranks: int, levels: list[str], way: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    mpirun(*way, "-n", ranks, mpi_program(FOLDER / "late_session.cpp"), *levels)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[-1])
@pytest.mark.parametrize("how", ["init", "sessions"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_some_functions_may_be_called_at_any_time(
    ranks: int, how: str, way: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    outcome = mpirun(*way, "-n", ranks, mpi_program(FOLDER / "anytime.cpp"), how, check=False)
    assert (outcome.returncode, outcome.stderr) == (0, "")


PARTED = ("-genv", "VOLLEY_NODES", "1,1")
"""Two ranks of this host that count as two hosts': windows and all else by messages."""


@pytest.mark.parametrize("way", [TCP, PARTED, ("--transport", "daemon"), ("--transport", "fabric")], ids="-".join)
@pytest.mark.parametrize("what", ["window", "message", "reduction"])
def test_a_rank_that_computes_takes_part_by_its_progress_thread(
    what: str, way: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "done")
    program = mpi_program(FOLDER / "computing_rank.cpp")
    mpirun("--progress-thread", *way, "-n", 2, program, what, tmp_path / "done", seconds=30)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[-1])
@pytest.mark.parametrize(
    "source",
    ["collective/programs/sequence.cpp", "point_to_point/semantics.cpp", "point_to_point/traffic.cpp"],
)
def test_programs_run_beside_the_progress_thread(
    source: str, way: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    mpirun("--progress-thread", *way, "-n", 3, mpi_program(FOLDER.parent / source))
