# SPDX-License-Identifier: BSD-3-Clause
"""Messages between a job and one that it has started, through memory and by TCP."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import TCP, MpiProgram, MpiRun

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("how", "mode"),
    [
        ("memory", ("--ranks", "shared")),
        ("memory", ("--ranks", "process")),
        ("tcp", TCP),
    ],
    ids=["shared", "process", "tcp"],
)
@pytest.mark.parametrize(("ranks", "processes"), [(1, 1), (2, 2), (1, 3)])
def test_messages_between_jobs(
    ranks: int, processes: int, how: str, mode: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    outcome = mpirun(*mode, "-n", ranks, mpi_program(HERE / "messages.cpp"), how, processes)
    assert outcome.stderr == ""
