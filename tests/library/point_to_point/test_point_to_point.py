# SPDX-License-Identifier: BSD-3-Clause
"""Messages between ranks: what is sent arrives, whatever the mode, size, order and number of ranks."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from ..conftest import MODES, NODES, SIZES, TCP, TCP_SIZES, MpiProgram, MpiRun

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", SIZES)
@pytest.mark.parametrize("source", ["traffic", "semantics", "freed_types", "threads"])
def test_messages(source: str, ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """Each program checks what it receives and ends the job where something is not so."""
    mpirun("--ranks", mode, "-n", ranks, mpi_program(FOLDER / f"{source}.cpp"))


@pytest.mark.parametrize("ranks", TCP_SIZES)
@pytest.mark.parametrize("eager_limit", [64, ""])
@pytest.mark.parametrize("source", ["traffic", "semantics", "freed_types", "threads"])
def test_messages_by_tcp(
    source: str, eager_limit: int | str, ranks: int, mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    mpirun(*TCP, "-genv", "VOLLEY_EAGER_LIMIT", eager_limit, "-n", ranks, mpi_program(FOLDER / f"{source}.cpp"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("nodes", "ranks"), NODES)
@pytest.mark.parametrize("source", ["traffic", "semantics", "freed_types", "threads"])
def test_messages_within_and_between_nodes(
    source: str, nodes: str, ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    """Some peers are reached through memory, others by TCP, in one job and by one receive from any source."""
    mpirun("--ranks", mode, "-genv", "VOLLEY_NODES", nodes, "-n", ranks, mpi_program(FOLDER / f"{source}.cpp"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("eager_limit", [64, ""])
@pytest.mark.parametrize("source", ["traffic", "semantics"])
def test_messages_that_both_ranks_copy_one_behind_the_other(
    source: str, eager_limit: int | str, ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    """With a core for each rank, as the library believes; without an eager limit it also learns to leave some be."""
    cores = ("VOLLEY_CPUS", ranks)
    limits = ("VOLLEY_EAGER_LIMIT", eager_limit, "-genv", "VOLLEY_PIPELINE_LIMIT", 1000000)
    program = mpi_program(FOLDER / f"{source}.cpp")
    mpirun("--ranks", mode, "-genv", *cores, "-genv", *limits, "-n", ranks, program)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", [2, 3])
def test_blocks_of_pipelined_messages_are_used_again(
    ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    limits = ("VOLLEY_EAGER_LIMIT", 64, "-genv", "VOLLEY_PIPELINE_LIMIT", 1000000)
    program = mpi_program(FOLDER / "blocks.cpp")
    mpirun("--ranks", mode, "-genv", "VOLLEY_CPUS", ranks, "-genv", *limits, "-n", ranks, program)


@pytest.mark.parametrize("options", [*(("--ranks", mode) for mode in MODES), TCP])
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    "pattern",
    [("blocking", 2000, 2048, 20), ("blocking", 300, 16000, 50), ("blocking", 3000, 100, 0), ("windows", 2000, 8, 20)],
)
def test_a_receiver_that_computes_wakes_its_sender(
    pattern: tuple[str, int, int, int], ranks: int, options: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    """A sender that waits for room in a ring is woken when there is some (`mpirun` counts lost wake-ups)."""
    mpirun(*options, "-n", ranks, mpi_program(FOLDER / "slow_receiver.cpp"), *pattern)


@pytest.mark.parametrize("mode", MODES)
def test_a_receiver_does_not_wait_for_a_sender_outside_mpi(
    mode: str, mpi_program: MpiProgram, mpirun: MpiRun, tmp_path: Path
) -> None:
    """A receiver of another process stops waiting for the sender to bring the rest (needs process_vm_readv)."""
    mpirun("--ranks", mode, "-n", 2, mpi_program(FOLDER / "absent_sender.cpp"), tmp_path)


@pytest.mark.parametrize("options", [*(("--ranks", mode) for mode in MODES), TCP])
@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
def test_programs_drawn_at_random(
    ranks: int, options: tuple[str, ...], mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    """Nothing is lost, changed or left waiting. VOLLEY_TEST_SEED repeats a run, VOLLEY_TEST_SECONDS lengthens it."""
    seed = int(os.environ.get("VOLLEY_TEST_SEED", random.SystemRandom().randrange(2**31)))
    seconds = os.environ.get("VOLLEY_TEST_SECONDS", "1.5")
    print(f"VOLLEY_TEST_SEED={seed}")
    mpirun(*options, "-n", ranks, mpi_program(FOLDER / "random_program.cpp"), seed, seconds)


def test_ranks_of_both_kinds_meet(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """A rank started through a shell is a process of its own among ranks that share an address space."""
    program = mpi_program(FOLDER / "traffic.cpp")
    mpirun("-n", 2, program, ":", "-n", 1, "/bin/sh", "-c", f"{program}; exit $?", ":", "-n", 1, program)


@pytest.mark.parametrize("after", [0, 12])
@pytest.mark.parametrize("whom", ["0", "all"])
@pytest.mark.parametrize("what", ["read", "write", "both"])
def test_another_process_that_may_not_be_touched(
    what: str, whom: str, after: int, mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    mpirun("--ranks", "process", "-n", 2, mpi_program(FOLDER / "refused.cpp"), what, whom, after)


@pytest.mark.parametrize("mode", MODES)
def test_the_limits_are_what_mpiexec_tells_and_can_be_set(mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """The laboratory finds the limit among the settings, moves it, and the step in the curve follows."""

    def told(*options: str | int) -> list[int]:
        """The largest message that goes through a ring, and the one that goes through a block (0: none does)."""
        lines = mpirun("--ranks", mode, *options, "--settings", check=False).stdout.splitlines()
        values = dict(line.split()[0].split("=") for line in lines)
        return [int(values["VOLLEY_EAGER_LIMIT"]), int(values["VOLLEY_PIPELINE_LIMIT"])]

    program = mpi_program(FOLDER / "eager_limit.cpp")
    shared, processes = [[8192, 0], [4096, 262144], [4096, 0]], [[16384, 0], [4096, 2097152]]  # the others are AMD's
    assert told() in (shared if mode == "shared" else processes)
    # Both ranks have a core, so that messages are pipelined if that is quicker on this machine.
    learns = ("learns",) if told()[1] else ()
    mpirun("--ranks", mode, "-genv", "VOLLEY_CPUS", 2, "-n", 2, program, max(told()), *learns)
    for limit in (0, 1000, 40000, 1048576):
        options = ("-genv", "VOLLEY_EAGER_LIMIT", limit)
        assert told(*options) == [limit, 0]
        mpirun("--ranks", mode, *options, "-n", 2, program, limit)
    options = ("-genv", "VOLLEY_PIPELINE_LIMIT", 50000)
    assert told(*options)[1] == 50000
    mpirun("--ranks", mode, "-genv", "VOLLEY_CPUS", 2, *options, "-n", 2, program, 50000, "learns")


@pytest.mark.parametrize("limit", ["2k", "-1", "1048577", "99999999999"])
def test_an_eager_limit_that_means_nothing_is_refused(limit: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """By mpiexec where it sees it, else by the ranks."""
    for option in ("-genv", "-env"):
        program = mpi_program(FOLDER / "eager_limit.cpp")
        outcome = mpirun(option, "VOLLEY_EAGER_LIMIT", limit, "-n", 2, program, 0, check=False)
        assert outcome.returncode == (1 if option == "-genv" else 16), outcome.stderr  # else MPI_ERR_OTHER
        assert f"VOLLEY_EAGER_LIMIT is '{limit}': it must be a number of bytes from 0 to 1048576" in outcome.stderr
        assert ("MPI_Init failed" in outcome.stderr) == (option == "-env")


@pytest.mark.parametrize("nodes", ["2,", ",2", "0,2", "two", "2;2"])
def test_nodes_that_mean_nothing_are_refused(nodes: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    program = mpi_program(FOLDER / "traffic.cpp")
    outcome = mpirun("-genv", "VOLLEY_NODES", nodes, "-n", 2, program, check=False)
    assert outcome.returncode != 0
    assert f"VOLLEY_NODES is '{nodes}': it must be numbers of ranks" in outcome.stderr
