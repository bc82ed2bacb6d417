# SPDX-License-Identifier: BSD-3-Clause
"""Communicators, intercommunicators, topologies and sessions: the programs check everything themselves."""

from __future__ import annotations

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
