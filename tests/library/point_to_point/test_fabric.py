# SPDX-License-Identifier: BSD-3-Clause
"""Messages by libfabric, with its provider for TCP, and with that for memory which hosts of one machine share."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from ..conftest import MODES, MpiProgram, MpiRun

HERE = Path(__file__).parent
COLLECTIVE = HERE.parent / "collective/programs"
FABRIC = ("--transport", "fabric")

pytestmark = pytest.mark.skipif(
    not Path("/usr/include/rdma/fabric.h").exists(), reason="the library is built without libfabric (libfabric-dev)"
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("eager_limit", [0, 16384])
@pytest.mark.parametrize("source", ["traffic", "semantics", "freed_types"])
def test_messages(source: str, eager_limit: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    program = mpi_program(HERE / f"{source}.cpp")
    mpirun(*FABRIC, "--ranks", mode, "-genv", "VOLLEY_EAGER_LIMIT", eager_limit, "-n", 3, program)


def test_threads(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*FABRIC, "-n", 2, mpi_program(HERE / "threads.cpp"))


@pytest.mark.parametrize("source", ["sequence", "inter"])
def test_collectives(source: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*FABRIC, "-n", 5, mpi_program(COLLECTIVE / f"{source}.cpp"))


def test_a_provider_that_nothing_wakes(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*FABRIC, "-genv", "FI_PROVIDER", "shm", "--ranks", "process", "-n", 2, mpi_program(HERE / "traffic.cpp"))


def test_a_provider_that_is_not_there(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    outcome = mpirun(*FABRIC, "-genv", "FI_PROVIDER", "pigeon", "-n", 2, mpi_program(HERE / "traffic.cpp"), check=False)
    assert outcome.returncode != 0
    assert "no provider of reliable datagrams here among those that FI_PROVIDER allows (pigeon)" in outcome.stderr


def test_a_rank_that_is_killed_ends_the_job_with_one_message(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    program = mpi_program(HERE / "lost_connection.cpp")
    outcome = mpirun(*FABRIC, "-n", 2, program, "kill", check=False)
    assert outcome.returncode == 128 + signal.SIGKILL
    assert outcome.stderr.count("\n") == 1, outcome.stderr
