# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that outlive ranks that fail (mpiexec --enable-recovery): the others learn of it and go on without them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..conftest import LONG, MODES, TCP, MpiProgram, MpiRun
from .page import LAST_LINE, example

HERE = Path(__file__).parent
WAYS = [*(("--ranks", mode) for mode in MODES), TCP]
MESSAGES = [
    "receive",
    "receive late",
    "send large",
    "send many",
    "requests",
    "sent before",
    "any source",
    "probe",
    "large from dying",
    "persistent",
]
OPERATIONS = [
    "barrier",
    "bcast",
    "gather",
    "allreduce",
    "allreduce long",
    "alltoall long",
    "iallreduce",
    "split",
    "dup",
]
# A rank that is killed in the middle of such a change leaves the others nothing to rely on: the job ends, and says so.
IN_THE_MIDDLE = "in the middle of a change to the memory ranks share"


@pytest.mark.parametrize("how", WAYS, ids=lambda words: words[1])
@pytest.mark.parametrize("case", MESSAGES)
def test_messages_with_a_rank_that_fails(
    case: str, how: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    """Its peers get errors, but what it has sent in full, and go on with each other. The job's status is theirs."""
    outcome = mpirun("--enable-recovery", *how, "-n", 3, mpi_program(HERE / "messages.cpp"), case)
    assert re.search(r"rank 1 .*SIGKILL.*; the job goes on", outcome.stderr), outcome.stderr


def test_all_cases_of_messages_are_tried(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """The list above and the program's are the same."""
    listed = mpirun("-n", 1, mpi_program(HERE / "messages.cpp"), "list", check=False).stdout.splitlines()
    assert listed == MESSAGES


@pytest.mark.parametrize("how", WAYS, ids=lambda words: words[1])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_collectives_with_ranks_that_fail(
    operation: str, how: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    """All survivors get errors out of collective operations, revoke, shrink and go on, three times in a row."""
    program = mpi_program(HERE / "collectives.cpp")
    for seed in range(40 if LONG else 2):
        arguments = ("--enable-recovery", *how, "-n", 5, program, operation, seed)
        outcome = mpirun(*arguments, check=False)
        if IN_THE_MIDDLE not in outcome.stderr:
            assert (outcome.returncode, outcome.stdout) == (0, "good\n"), f"seed {seed}: {outcome.stderr}"


@pytest.mark.parametrize("mode", MODES)
def test_agreement_with_members_that_fail(mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """50 members are killed in the middle of an agreement; what the survivors agree on is always the same."""
    program = mpi_program(HERE / "agree.cpp")
    for seed in range(100 if LONG else 5):
        mpirun("--enable-recovery", "--ranks", mode, "-n", 6, program, seed)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", ["call", "handler"])
def test_a_part_of_the_ranks_is_aborted(way: str, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """The others get MPI_ERR_PROC_ABORTED and go on."""
    outcome = mpirun("--enable-recovery", "--ranks", mode, "-n", 4, mpi_program(HERE / "abort.cpp"), way)
    assert "not reached" not in outcome.stdout
    assert re.search(r"rank 3 .*was aborted by rank 1; the job goes on", outcome.stderr), outcome.stderr


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("way", ["signal", "exit", "while others finalise"])
def test_a_rank_ends_and_the_others_finalise(way: str, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """MPI_Finalize does not wait for a rank that has failed, nor for one that fails meanwhile."""
    mpirun("--enable-recovery", "--ranks", mode, "-n", 3, mpi_program(HERE / "ends.cpp"), way)


@pytest.mark.parametrize(
    "option", [["--enable-recovery"], ["--with-ft", "ulfm"], ["-disable-auto-cleanup"]], ids=lambda words: words[0]
)
def test_options_of_other_launchers(option: list[str], mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """Open MPI's and MPICH's."""
    mpirun(*option, "-n", 2, mpi_program(HERE / "ends.cpp"), "exit")


def test_the_job_ends_if_all_ranks_fail(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """With the status of the first."""
    outcome = mpirun("--enable-recovery", "-n", 3, mpi_program(HERE / "ends.cpp"), "all", check=False)
    assert outcome.returncode == 137


def test_fatal_errors_end_the_job(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """MPI_ERRORS_ARE_FATAL, the default, is what it says."""
    outcome = mpirun("--enable-recovery", "-n", 3, mpi_program(HERE / "ends.cpp"), "fatal", check=False)
    assert outcome.returncode != 0
    assert "MPIX_ERR_PROC_FAILED: rank 1 of MPI_COMM_WORLD has failed" in outcome.stderr


def test_without_the_option_the_job_ends(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """As ever; and so it does where the option can have no effect, which is said."""
    program = mpi_program(HERE / "ends.cpp")
    assert mpirun("-n", 3, program, "exit", check=False).returncode == 4
    outcome = mpirun("--enable-recovery", "--transport", "daemon", "-n", 3, program, "exit", check=False)
    assert outcome.returncode == 4
    assert "--enable-recovery has no effect here" in outcome.stderr


@pytest.mark.parametrize("how", WAYS, ids=lambda words: words[1])
@pytest.mark.parametrize("case", ["messages", "buffers", "alone", "between groups"])
def test_communicators_are_revoked_in_any_job(
    case: str, how: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    """What waits on them ends with an error, in all members, and what is not ended is not disturbed."""
    outcome = mpirun(*how, "-n", 6, mpi_program(HERE / "revoke.cpp"), case)
    assert not outcome.stderr, outcome.stderr


@pytest.mark.parametrize("how", WAYS, ids=lambda words: words[1])
@pytest.mark.parametrize("case", ["lock", "wait", "start"])
def test_windows_with_a_rank_that_fails(
    case: str, how: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    """Whoever waits for its part gets an error."""
    mpirun("--enable-recovery", *how, "-n", 3, mpi_program(HERE / "windows.cpp"), case)


def test_the_example_of_the_page(tmp_path: Path, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """docs/recovery.md: a program that goes back to its last checkpoint when a rank fails."""
    program = mpi_program(example(tmp_path))
    for mode in MODES:
        outcome = mpirun("--enable-recovery", "--ranks", mode, "-n", 4, program, check=False)
        assert outcome.returncode == 0, outcome.stderr
        assert outcome.stdout.splitlines()[-1] == LAST_LINE, outcome.stdout
