# SPDX-License-Identifier: BSD-3-Clause
"""Names, and jobs that start further jobs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ..conftest import LONG, MpiProgram, MpiRun
from .test_connect import MODES

HERE = Path(__file__).parent


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode[1])
@pytest.mark.parametrize("ranks", [1, 3])
def test_names_are_found_and_processes_join(
    ranks: int,
    mode: tuple[str, str],
    mpi_program: MpiProgram,
    mpirun: MpiRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VOLLEY_NAMES", str(tmp_path / "names"))
    mpirun(*mode, "-n", ranks, mpi_program(HERE / "names.cpp"), tmp_path / "names", tmp_path / "socket")


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode[1])
@pytest.mark.parametrize(("ranks", "processes"), [(1, 1), (2, 3)])
def test_further_processes_are_started(
    ranks: int, processes: int, mode: tuple[str, str], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    outcome = mpirun(*mode, "-n", ranks, mpi_program(HERE / "spawn.cpp"), processes)
    assert (outcome.stdout, outcome.stderr) == ("good\n", "")


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode[1])
@pytest.mark.parametrize("ranks", [1, 3])
def test_jobs_that_know_a_third_one_are_connected(
    ranks: int, mode: tuple[str, str], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    outcome = mpirun(*mode, "-n", ranks, mpi_program(HERE / "strangers.cpp"), check=False)
    assert (outcome.returncode, outcome.stderr) == (0, ""), outcome


def test_a_job_on_several_nodes_starts_others(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    outcome = mpirun("-genv", "VOLLEY_NODES", "1,2", "-n", 3, mpi_program(HERE / "spawn.cpp"), 2)
    assert (outcome.stdout, outcome.stderr) == ("good\n", "")


def test_a_further_job_knows_the_universe_of_the_job_that_started_it(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    assert mpirun("--universe-size", 7, "-n", 1, mpi_program(HERE / "universe.cpp")).stdout == "good\n"


def test_a_program_without_mpiexec_starts_others(mpi_program: MpiProgram) -> None:
    command = [str(mpi_program(HERE / "spawn.cpp")), "2"]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "good\n", "")


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode[1])
def test_nothing_is_left_of_jobs_that_are_over(mode: tuple[str, str], mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*mode, "-n", 1, mpi_program(HERE / "spawn.cpp"), "again", 1000 if LONG else 15, seconds=600)


def test_a_killed_child_ends_its_parents(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    outcome = mpirun("-n", 2, mpi_program(HERE / "spawn.cpp"), "end", "kill", check=False, seconds=30)
    assert outcome.returncode != 0
    assert "was ended by signal 9 (SIGKILL)" in outcome.stderr
    assert "of a job that this one is connected to is gone" in outcome.stderr


@pytest.mark.parametrize(("how", "code"), [("abort", 5), ("wait", 6)])
def test_connected_jobs_end_together(how: str, code: int, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    outcome = mpirun("-n", 2, mpi_program(HERE / "spawn.cpp"), "end", how, check=False, seconds=30)
    assert outcome.returncode != 0
    assert f"called MPI_Abort with code {code}" in outcome.stderr
    assert "of a job that this one is connected to is gone" in outcome.stderr
