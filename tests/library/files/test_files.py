# SPDX-License-Identifier: BSD-3-Clause
"""Files: the programs check everything themselves."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ..conftest import NODES, TCP, MpiProgram, MpiRun

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
