# SPDX-License-Identifier: BSD-3-Clause
"""Whatever happens to a rank, the job ends soon, with one message that says what, and nothing of it is left."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ..conftest import MODES, MpiProgram, MpiRun, is_alive

FOLDER = Path(__file__).parent
KILLS = 200
RANKS = 4


def ranks_of(launcher: int) -> list[int]:
    """The processes mpiexec has started and that run."""
    found = []
    for task in Path(f"/proc/{launcher}/task").iterdir():
        for child in (task / "children").read_text().split():
            if is_alive(int(child)):
                found.append(int(child))
    return found


def left_behind(scratch: Path) -> set[str]:
    """Everything with a name that a job could leave behind; `scratch` is its folder for temporary files."""
    return {str(path) for path in (*Path("/dev/shm").glob("*volley*"), *scratch.iterdir())}


def kill_one(mpiexec: Path, program: Path, mode: str, rng: random.Random, scratch: Path) -> None:
    """Starts a job, kills one of its ranks at some moment, and checks how the job ends."""
    job = subprocess.Popen(
        [mpiexec, "--ranks", mode, "-n", str(RANKS), program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    try:
        assert job.stdout is not None
        assert job.stdout.readline() == "running\n"
        ranks = ranks_of(job.pid)
        assert len(ranks) == RANKS
        moment = time.monotonic() + rng.uniform(0, 0.02)
        while time.monotonic() < moment:
            pass
        victim = rng.choice(ranks)
        os.kill(victim, signal.SIGKILL)
        began = time.monotonic()
        _, errors = job.communicate(timeout=10)
        seconds = time.monotonic() - began
        assert job.returncode == 128 + signal.SIGKILL
        told = re.fullmatch(
            r"mpiexec: rank (\d) \(.*, process (\d+)\) was ended by signal 9 \(SIGKILL\) "
            r"(in MPI_\w+|without MPI_Finalize); the job ends\n",
            errors,
        )
        assert told, errors
        assert int(told.group(2)) == victim
        assert seconds < 1
        assert not any(is_alive(rank) for rank in ranks)
    finally:
        job.kill()
        job.wait()


@pytest.mark.parametrize("mode", MODES)
def test_any_rank_may_be_killed_at_any_time(mode: str, prefix: Path, mpi_program: MpiProgram, tmp_path: Path) -> None:
    """Half of the kills in each mode."""
    program = mpi_program(FOLDER / "endless.cpp")
    rng = random.Random(MODES.index(mode))
    before = left_behind(tmp_path)
    for _ in range(KILLS // len(MODES)):
        kill_one(prefix / "bin/mpiexec", program, mode, rng, tmp_path)
    assert left_behind(tmp_path) <= before


@pytest.mark.parametrize("mode", MODES)
def test_a_core_file_leaves_out_what_ranks_share(mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """With core files allowed, a crash would else write tens of gigabytes, and make pages of them first."""
    mpirun("--ranks", mode, "-n", 2, mpi_program(FOLDER / "core_file.cpp"))
