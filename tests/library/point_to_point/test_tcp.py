# SPDX-License-Identifier: BSD-3-Clause
"""What only ranks that send messages by TCP have: ports, connections that break, a setting of the whole job."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from ..conftest import TCP, MpiProgram, MpiRun

FOLDER = Path(__file__).parent
SHELL_SIGNAL_BASE = 128


@pytest.mark.parametrize("ranks", [2, 3])
def test_strangers_are_shrugged_off(ranks: int, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """Whoever connects to a rank's port without the job's secret is closed, and disturbs nobody."""
    outcome = mpirun(*TCP, "-n", ranks, mpi_program(FOLDER / "strangers.cpp"), 100)
    for rank in range(ranks):
        assert f"Volley: rank {rank} has closed a connection from 127.0.0.1 port " in outcome.stderr


def test_ten_thousand_that_say_nothing_take_no_descriptors(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """The ranks they connect to have 200, and send each other messages meanwhile."""
    mpirun(*TCP, "-n", 2, mpi_program(FOLDER / "strangers.cpp"), 5_000)


def test_a_connection_that_breaks_ends_the_job(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """With the names of both ends."""
    outcome = mpirun(*TCP, "-n", 2, mpi_program(FOLDER / "lost_connection.cpp"), "shut", check=False)
    assert outcome.returncode != 0
    assert "the TCP connection for messages from rank 1 to rank 0 has failed" in outcome.stderr


def test_a_rank_that_is_killed_ends_the_job_as_without_connections(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """The launcher says what happened; nobody reports the connections that went with the rank."""
    begin = time.monotonic()
    outcome = mpirun(*TCP, "-n", 2, mpi_program(FOLDER / "lost_connection.cpp"), "kill", check=False)
    assert outcome.returncode == SHELL_SIGNAL_BASE + signal.SIGKILL
    assert "TCP connection" not in outcome.stderr
    assert time.monotonic() - begin < 10  # at once, and what a busy machine adds


def test_the_transport_is_one_for_the_whole_job(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    program = mpi_program(FOLDER / "traffic.cpp")
    mpirun("-genv", "VOLLEY_TRANSPORT", "tcp", "-n", 2, program)
    mpirun("--transport", "auto", "-n", 2, program)
    outcome = mpirun("-n", 1, program, ":", "-env", "VOLLEY_TRANSPORT", "tcp", "-n", 1, program, check=False)
    assert outcome.returncode != 0
    assert "set it with mpiexec --transport" in outcome.stderr
    outcome = mpirun("--transport", "pigeon", "-n", 2, program, check=False)
    assert "option --transport has the value 'pigeon': it is auto, shm, tcp, daemon or fabric" in outcome.stderr
    outcome = mpirun("-genv", "VOLLEY_TRANSPORT", "pigeon", "-n", 2, program, check=False)
    assert "VOLLEY_TRANSPORT is 'pigeon': it must be auto, shm, tcp, daemon or fabric" in outcome.stderr
