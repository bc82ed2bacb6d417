# SPDX-License-Identifier: BSD-3-Clause
"""Communicators, intercommunicators, topologies and sessions: the programs check everything themselves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ..conftest import MODES, NODES, SIZES, TCP, TCP_SIZES, MpiProgram, MpiRun

PROGRAMS = Path(__file__).parent / "programs"
SOURCES = [
    "duplicate",
    "create",
    "inter",
    "topology",
    "session",
    "session_buffers",
    "errhandler_argument",
    "environment",
    "threads",
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", SIZES)
@pytest.mark.parametrize("source", SOURCES)
def test_program(source: str, ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    outcome = mpirun("--ranks", mode, "-n", ranks, mpi_program(PROGRAMS / f"{source}.cpp"), check=False)
    assert (outcome.returncode, outcome.stderr) == (0, "")


@pytest.mark.parametrize("ranks", TCP_SIZES)
@pytest.mark.parametrize("source", SOURCES)
def test_program_by_tcp(source: str, ranks: int, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    outcome = mpirun(*TCP, "-n", ranks, mpi_program(PROGRAMS / f"{source}.cpp"), check=False)
    assert (outcome.returncode, outcome.stderr) == (0, "")


@pytest.mark.parametrize(("nodes", "ranks"), NODES)
@pytest.mark.parametrize("source", SOURCES)
def test_program_on_several_nodes(source: str, nodes: str, ranks: int, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    program = mpi_program(PROGRAMS / f"{source}.cpp")
    outcome = mpirun("-genv", "VOLLEY_NODES", nodes, "-n", ranks, program, check=False)
    assert (outcome.returncode, outcome.stderr) == (0, "")


def test_ranks_of_both_kinds_meet(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """A rank started through a shell is a process of its own among ranks that share an address space."""
    program = mpi_program(PROGRAMS / "create.cpp")
    shell = ("/bin/sh", "-c", f"{program}; exit $?")
    outcome = mpirun("-n", 2, program, ":", "-n", 1, *shell, ":", "-n", 2, program, check=False)
    assert (outcome.returncode, outcome.stderr) == (0, "")


SETS = ("--pset", "even=0,2", "--pset", "odd=1-1,3")


@pytest.mark.parametrize("options", [(), ("-genv", "VOLLEY_NODES", "1,3")], ids=["one node", "two"])
def test_process_sets_that_the_user_has_named(
    options: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    outcome = mpirun(*options, *SETS, "-n", 4, mpi_program(PROGRAMS / "process_sets.cpp"), check=False)
    assert (outcome.returncode, outcome.stderr) == (0, "")


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (("even=0,2", "even=1"), 'the process set "even=1" is there twice'),
        (("even=0,4",), "the process set even has rank 4, but the job's ranks are 0 to 3"),
        (("even",), 'the process set "even" has no ranks; it must be a name, =, and ranks'),
    ],
)
def test_process_sets_that_cannot_be(sets: tuple[str, ...], words: str, mpirun: MpiRun) -> None:
    outcome = mpirun(*(word for each in sets for word in ("--pset", each)), "-n", 4, "true", check=False)
    assert outcome.returncode != 0
    assert words in outcome.stderr


def test_the_universe_is_as_large_as_asked_and_never_smaller_than_the_job(
    mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    program = mpi_program(PROGRAMS / "universe.cpp")
    assert mpirun("-usize", 20, "-n", 2, program, check=False).stdout == "20\ngood\n"
    assert mpirun("--universe-size", 2, "-n", 3, program, check=False).stdout == "3\ngood\n"
    assert int(mpirun("-n", 1, program, check=False).stdout.split()[0]) <= len(os.sched_getaffinity(0))
