# SPDX-License-Identifier: BSD-3-Clause
"""The memory ranks share comes back; where it is used up, a call fails or takes longer, and the job goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..conftest import LONG, MODES, MpiProgram, MpiRun

FOLDER = Path(__file__).parent
TIMES = 10 if LONG else 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_what_is_given_back_leaves_nothing(ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """Communicators, sessions and requests, again and again."""
    program = mpi_program(FOLDER / "soak.cpp")
    duplicates = 100_000 if ranks == 2 else 10_000
    mpirun("--ranks", mode, "-n", ranks, program, TIMES * duplicates, TIMES * 4_000, seconds=300 * TIMES)


@pytest.mark.parametrize(("nodes", "ranks"), [("2,2", 4), ("1,1", 2)])
def test_several_nodes_leave_nothing(
    nodes: str, ranks: int, mpi_program: MpiProgram, mpirun: MpiRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node that draws the number of a communicator is told when the members on other nodes have left."""
    monkeypatch.setenv("VOLLEY_NODES", nodes)
    mpirun("-n", ranks, mpi_program(FOLDER / "soak.cpp"), TIMES * 4000, TIMES * 1000, seconds=300 * TIMES)
    monkeypatch.setenv("VOLLEY_ARENA_BYTES", str(16 << 20))  # fewer numbers than the program makes communicators
    mpirun("-n", 2, mpi_program(FOLDER / "small.cpp"))


@pytest.mark.parametrize("mode", MODES)
def test_messages_left_behind_go_with_their_communicator(mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """They are told about at the end."""
    outcome = mpirun("--ranks", mode, "-n", 2, mpi_program(FOLDER / "soak.cpp"), 1000, 4000, "left")
    assert "MPI_Finalize was called before all messages were received: 7000, from rank 1 with tag 1" in outcome.stderr


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_a_small_arena_does(
    ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages much larger than all memory that ranks share, and more communicators than there are numbers for."""
    program = mpi_program(FOLDER / "small.cpp")
    monkeypatch.setenv("VOLLEY_ARENA_BYTES", str(16 << 20))  # mpiexec makes it
    mpirun("--ranks", mode, "-n", ranks, program)


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_any_allocation_may_fail(mode: str, everywhere: bool, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """In all ranks or in one: the program goes another way, or ends with an error."""
    program = mpi_program(FOLDER / "various.cpp")
    ends = set()
    for refused in range(1, 40):
        others = ("VOLLEY_REFUSE", refused if everywhere else 0)
        outcome = mpirun(
            *("--ranks", mode, "-n", 1, "-env", "VOLLEY_REFUSE", refused, program),
            *(":", "-n", 2, "-env", *others, program),
            check=False,
            seconds=20,
        )
        good = outcome.returncode == 0 and outcome.stdout == "good\n" and outcome.stderr == ""
        failed = outcome.returncode != 0 and ("MPI_ERR_NO_MEM" in outcome.stderr or "MPI_ERR_OTHER" in outcome.stderr)
        assert good or failed, (refused, outcome)
        ends.add(good)
    assert ends == {True, False}
