# SPDX-License-Identifier: BSD-3-Clause
"""Windows: the programs check everything themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import LONG, MODES, NODES, TCP, MpiProgram, MpiRun

PROGRAMS = Path(__file__).parent / "programs"
BENCH = Path(__file__).parents[3] / "bench"
SOURCES = ["access", "types", "objects", "random", "threads", "arrays"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.parametrize("source", SOURCES)
def test_program(source: str, ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", ranks, mpi_program(PROGRAMS / f"{source}.cpp"))


@pytest.mark.parametrize("source", SOURCES)
def test_program_by_tcp(source: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*TCP, "-n", 3, mpi_program(PROGRAMS / f"{source}.cpp"))


@pytest.mark.parametrize(("nodes", "ranks", "mode"), [(*NODES[0], "shared"), (*NODES[1], "process")])
@pytest.mark.parametrize("source", SOURCES)
def test_program_on_several_nodes(
    source: str, nodes: str, ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    mpirun("--ranks", mode, "-genv", "VOLLEY_NODES", nodes, "-n", ranks, mpi_program(PROGRAMS / f"{source}.cpp"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", [2, 3])
def test_targets_that_do_not_call_mpi(ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", ranks, mpi_program(PROGRAMS / "passive.cpp"))


def test_many_requests_to_another_node_are_served_at_once(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """They take 2 seconds; 90 if the target sleeps while requests wait."""
    mpirun("-genv", "VOLLEY_NODES", "2,1", "-n", 3, mpi_program(PROGRAMS / "flood.cpp"), seconds=60)


@pytest.mark.parametrize("where", [(), ("-genv", "VOLLEY_NODES", "2,2"), ("--progress-thread",)], ids=" ".join)
def test_ranks_that_poll_serve_others_and_let_them_run(
    where: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    mpirun(*where, "-n", 4, mpi_program(PROGRAMS / "polling.cpp"), seconds=60)


@pytest.mark.parametrize("mode", MODES)
def test_windows_leave_nothing(mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", 2, mpi_program(PROGRAMS / "memory.cpp"), 10_000 if LONG else 500)


@pytest.mark.parametrize("where", [("--ranks", "shared"), ("--ranks", "process"), TCP])
def test_applications(where: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """They check their results themselves."""
    mpirun(*where, "-n", 3, mpi_program(BENCH / "hash_table.c"), 200)
    mpirun(*where, "-n", 3, mpi_program(BENCH / "halo.c"), 64, 4, 20)
