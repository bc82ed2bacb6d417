# SPDX-License-Identifier: BSD-3-Clause
"""Messages between ranks: what is sent arrives, whatever the mode, size, order and number of ranks."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import MODES, SIZES, MpiProgram, MpiRun

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", SIZES)
@pytest.mark.parametrize("source", ["traffic", "semantics", "threads"])
def test_messages(source: str, ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """Each program checks what it receives and ends the job where something is not so."""
    mpirun("--ranks", mode, "-n", ranks, mpi_program(FOLDER / f"{source}.cpp"))


def test_ranks_of_both_kinds_meet(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """A rank started through a shell is a process of its own among ranks that share an address space."""
    program = mpi_program(FOLDER / "traffic.cpp")
    mpirun("-n", 2, program, ":", "-n", 1, "/bin/sh", "-c", f"{program}; exit $?", ":", "-n", 1, program)
