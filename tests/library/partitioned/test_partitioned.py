# SPDX-License-Identifier: BSD-3-Clause
"""Partitioned communication: each partition arrives once it is marked, whoever marks it and whatever carries it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import MODES, NODES, TCP, MpiProgram, MpiRun

FOLDER = Path(__file__).parent
EAGER_LIMITS = ["", 0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("eager_limit", EAGER_LIMITS)
def test_partitions_arrive(
    eager_limit: int | str, ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    program = mpi_program(FOLDER / "partitioned.cpp")
    mpirun("--ranks", mode, "-genv", "VOLLEY_EAGER_LIMIT", eager_limit, "-n", ranks, program)


@pytest.mark.parametrize("eager_limit", EAGER_LIMITS)
def test_partitions_arrive_by_tcp(eager_limit: int | str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*TCP, "-genv", "VOLLEY_EAGER_LIMIT", eager_limit, "-n", 3, mpi_program(FOLDER / "partitioned.cpp"))


@pytest.mark.parametrize(("nodes", "ranks"), NODES)
def test_partitions_arrive_within_and_between_nodes(
    nodes: str, ranks: int, mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    mpirun("-genv", "VOLLEY_NODES", nodes, "-n", ranks, mpi_program(FOLDER / "partitioned.cpp"))
