# SPDX-License-Identifier: BSD-3-Clause
"""How a program finds its job: a launcher that speaks PMI-1 or PMIx, none at all, or one the library cannot join."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from ..conftest import MODES, MpiProgram
from ..launchers import hydra

FOLDER = Path(__file__).parents[1] / "point_to_point"
TRAFFIC = FOLDER / "traffic.cpp"
END = Path(__file__).parent / "end.c"
SESSIONS = Path(__file__).parent / "sessions.c"
FORK = Path(__file__).parent / "fork.c"


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
        close_fds=False,
    )


@pytest.mark.parametrize("family", ["mpich", "impi-rt"])
def test_ranks_of_hydra_find_each_other(family: str, mpi_program: MpiProgram) -> None:
    """MPICH's and Intel's launchers speak PMI-1."""
    outcome = run(hydra(family), "-n", 3, mpi_program(TRAFFIC))
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.endswith("good\n")


@pytest.mark.parametrize("family", ["mpich", "impi-rt"])
def test_hydra_lets_ranks_of_sessions_end_one_after_the_other(family: str, mpi_program: MpiProgram) -> None:
    """It ends the job when a rank ends that has not said that it ends well, and nobody calls MPI_Finalize here."""
    outcome = run(hydra(family), "-n", 3, mpi_program(SESSIONS))
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert sorted(outcome.stdout.splitlines()) == ["rank 1 ends well", "rank 2 ends well"]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
@pytest.mark.parametrize("family", ["mpich", "impi-rt"])
def test_ranks_that_hydra_binds_have_a_core_each(family: str, mpi_program: MpiProgram) -> None:
    """Not only those of rank 0 count; only ranks with a core each pipeline messages, and so send them at once."""
    program = mpi_program(FOLDER / "eager_limit.cpp")
    binding = ("-bind-to", "core") if family == "mpich" else ("-genv", "I_MPI_PIN", "1")
    pipelining = ("-genv", "VOLLEY_PIPELINE_LIMIT", 50000)
    outcome = run(hydra(family), *binding, *pipelining, "-n", 2, program, 50000, "learns")
    assert outcome.returncode == 0, outcome.stderr


def test_alone_a_program_is_a_world_of_one(mpi_program: MpiProgram) -> None:
    """Without any launcher."""
    outcome = run(mpi_program(TRAFFIC))
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout == "good\n"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("arguments", "status"), [([], 0), (["7"], 7)], ids=["finalize", "abort"])
def test_ranks_of_mpiexec_leave_an_inherited_launcher_alone(
    mode: str, arguments: list[str], status: int, prefix: Path, mpi_program: MpiProgram
) -> None:
    """Our mpiexec may run inside a job of another launcher, whose variables its ranks inherit."""
    launcher, socket_of_ranks = socket.socketpair()
    with launcher, socket_of_ranks:
        launcher.shutdown(socket.SHUT_WR)  # who asks something is not to wait for an answer
        socket_of_ranks.set_inheritable(True)
        outcome = run(
            *[prefix / "bin/mpiexec", "--ranks", mode, "-n", 2, mpi_program(END), *arguments],
            PMI_FD=str(socket_of_ranks.fileno()),
            PMI_RANK="0",
            PMI_SIZE="2",
        )
        socket_of_ranks.close()
        assert outcome.returncode == status, outcome.stderr
        assert launcher.recv(1000) == b""


@pytest.mark.parametrize("variable", ["OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "MV2_COMM_WORLD_SIZE"])
def test_one_of_many_of_an_unknown_launcher_stops(variable: str, mpi_program: MpiProgram) -> None:
    """Instead of running so many worlds of one."""
    outcome = run(mpi_program(TRAFFIC), **{variable: "4"})
    assert outcome.returncode != 0
    assert "one of 4" in outcome.stderr
    assert "start the program with Volley's mpiexec" in outcome.stderr


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["plain", "child", "some", "execute", "become", "after"])
def test_ranks_that_start_other_processes(how: str, mode: str, prefix: Path, mpi_program: MpiProgram) -> None:
    """The child of a rank of a shared address space has a copy of it, which its neighbours must not take for theirs."""
    program = mpi_program(FORK)
    outcome = run(prefix / "bin/mpiexec", "--ranks", mode, "-n", 3, program, how)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")
