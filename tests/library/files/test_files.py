# SPDX-License-Identifier: BSD-3-Clause
"""Files: the programs check everything themselves."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ..conftest import LONG, NODES, TCP, MpiProgram, MpiRun

PROGRAMS = Path(__file__).parent / "programs"
SOURCES = ["manage", "access", "representations"]


@pytest.mark.parametrize(("mode", "ranks"), [("shared", 1), ("shared", 4), ("process", 3)])
@pytest.mark.parametrize("source", SOURCES)
def test_program(source: str, mode: str, ranks: int, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", ranks, mpi_program(PROGRAMS / f"{source}.cpp"))


@pytest.mark.parametrize("source", SOURCES)
def test_program_by_tcp(source: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*TCP, "-n", 3, mpi_program(PROGRAMS / f"{source}.cpp"))


@pytest.mark.parametrize(("nodes", "ranks"), NODES)
@pytest.mark.parametrize("source", SOURCES)
def test_program_on_several_nodes(source: str, nodes: str, ranks: int, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun("-genv", "VOLLEY_NODES", nodes, "-n", ranks, mpi_program(PROGRAMS / f"{source}.cpp"))


HOW: Mapping[str, Sequence[str]] = {
    "shared": ("--ranks", "shared"),
    "process": ("--ranks", "process"),
    "tcp": TCP,
    "nodes": ("-genv", "VOLLEY_NODES", "2,2"),
}
RANDOM = [("shared", "1"), ("shared", "4"), ("process", "3"), ("tcp", "3"), ("nodes", "4")]


@pytest.mark.parametrize(("how", "ranks"), RANDOM)
def test_random_program(how: str, ranks: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """Views and accesses drawn at random leave in the file, and read from it, what a model says."""
    seed = os.environ.get("VOLLEY_TEST_SEED") or str(random.randrange(2**32))
    print(f"seed {seed}: VOLLEY_TEST_SEED={seed} repeats this")
    options = HOW[how]
    seconds = os.environ.get("VOLLEY_TEST_SECONDS", "1.5")
    mpirun(*options, "-n", ranks, mpi_program(PROGRAMS / "random_program.cpp"), seed, seconds, seconds=600)


RECORDS, WORDS = 40, 512


def check_checkpoint(path: Path, number: int, ranks: int) -> bool:
    """Each word of a file is the one that belongs there, or none; returns whether the file is whole."""
    words = array("q")
    content = path.read_bytes()
    words.frombytes(content[: len(content) // 8 * 8])
    records = RECORDS * ranks
    for place, word in enumerate(words[: records * WORDS]):
        assert word in (0, number * records + place // WORDS), (path.name, place, word)
    whole = len(words) == records * WORDS + 1
    if whole:
        assert words[-1] == -1 - number
        # The last word is written when all others are.
        assert all(words[record * WORDS] == number * records + record for record in range(records))
    return whole


@pytest.mark.skipif(not LONG, reason="kills twenty jobs: VOLLEY_TEST_LONG=1")
@pytest.mark.parametrize("mode", ["shared", "process"])
def test_a_killed_job_leaves_what_it_has_written(
    mode: str, prefix: Path, mpi_program: MpiProgram, tmp_path: Path
) -> None:
    """Checkpoints that were completed are whole; in the one under way there is nothing that does not belong there."""
    program = mpi_program(PROGRAMS / "checkpoints.cpp")
    ranks = 3
    for attempt in range(20):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        command = [str(prefix / "bin/mpiexec"), "--ranks", mode, "-n", str(ranks), str(program), str(RECORDS)]
        job = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert job.stdout is not None
        processes = [int(number) for number in job.stdout.readline().split()]
        told = [int(job.stdout.readline()) for _ in range(random.randrange(1, 6))]
        time.sleep(random.random() * 0.02)  # anywhere in the next one
        os.kill(random.choice(processes), signal.SIGKILL)
        told += [int(line) for line in job.stdout]
        assert job.wait(60) != 0
        assert told
        for path in folder.iterdir():
            assert path.name.startswith("checkpoint."), path
            number = int(path.suffix[1:])
            assert check_checkpoint(path, number, ranks) or number not in told
