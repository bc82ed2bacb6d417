# SPDX-License-Identifier: BSD-3-Clause
"""VOLLEY_COLLECTIVES: which algorithm a collective operation takes is said, and can be chosen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..conftest import MpiProgram, MpiRun

PROGRAM = Path(__file__).parent / "programs" / "nodes.cpp"
DOCS = Path(__file__).parents[3] / "docs" / "compiling-and-running.md"
MOST_ALGORITHMS = 7  # of an operation
# How ranks may run: with memory that all share, each with a core or not, or messages only; on one node or two.
PLACES = {
    "shared": ("--ranks", "shared", "-genv", "VOLLEY_CPUS", "4"),
    "oversubscribed": ("--ranks", "shared", "-genv", "VOLLEY_CPUS", "1"),
    "process": ("--ranks", "process"),
    "tcp": ("--transport", "tcp"),
    "nodes": ("-genv", "VOLLEY_NODES", "2,2"),
}


def documented() -> dict[str, list[str]]:
    """The algorithms of each operation, from the table in docs/."""
    rows = re.findall(r"^\| `([a-z_]+)` \| (`.*`) \|$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    return {operation: re.findall(r"`([a-z_]+)`", algorithms) for operation, algorithms in rows}


def refusal(value: str, program: Path, mpirun: MpiRun) -> str:
    outcome = mpirun("-genv", "VOLLEY_COLLECTIVES", value, "-n", 1, program, check=False)
    assert outcome.returncode != 0
    return outcome.stderr


@pytest.mark.parametrize("number", range(MOST_ALGORITHMS))
def test_what_is_asked_for_is_taken_where_it_is_possible(number: int, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """One algorithm of each operation at a time, with right results; somewhere it is possible, and said to be taken."""
    asked = {operation: names[number % len(names)] for operation, names in documented().items()}
    setting = ":".join(["show", *(f"{operation}={algorithm}" for operation, algorithm in asked.items())])
    said = ""
    for options in PLACES.values():
        said += mpirun(*options, "-genv", "VOLLEY_COLLECTIVES", setting, "-n", 4, mpi_program(PROGRAM)).stderr
    for operation, algorithm in asked.items():
        lines = [line for line in said.splitlines() if line.startswith(f"Volley: {operation}")]
        taken = f" of MPI_COMM_WORLD: {algorithm}, since VOLLEY_COLLECTIVES asks for it"
        assert any(line.endswith(taken) for line in lines), (operation, algorithm)


def test_it_is_said_once_what_is_chosen_and_why(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """By rank 0, for each operation, size class and communicator."""
    setting = ("-genv", "VOLLEY_COLLECTIVES", "show", "-genv", "VOLLEY_NODES", "2,2")
    said = mpirun(*setting, "-n", 4, mpi_program(PROGRAM)).stderr.splitlines()
    of_world = [line for line in said if " ranks of MPI_COMM_WORLD: " in line]
    assert len(of_world) == len(set(of_world))
    assert (
        "Volley: allreduce of 256 to 511 bytes among 4 ranks of MPI_COMM_WORLD: hierarchical, since ranks lie on "
        "several nodes, and one message between two of these does for all" in said
    )
    assert any(
        line.startswith("Volley: bcast of 256 to 511 bytes among 2 ranks of node of MPI_COMM_WORLD") for line in said
    )


def taken(said: str, operation: str) -> dict[int, str]:
    """First size of each class → the algorithm that operations of MPI_COMM_WORLD took."""
    line = re.compile(rf"^Volley: {operation} of (\d+) to \d+ bytes among \d+ ranks of MPI_COMM_WORLD: (\w+),", re.M)
    return {int(size): algorithm for size, algorithm in line.findall(said)}


def test_a_choice_may_have_conditions(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """The first that holds and is possible is taken; where none is, the library's own choice."""
    program = mpi_program(PROGRAM)

    def run(choice: str, *options: str, ranks: int = 4) -> dict[int, str]:
        said = mpirun(*options, "--collectives", f"show:{choice}", "-n", ranks, program).stderr
        return taken(said, "allreduce")

    two_hosts = ("-genv", "VOLLEY_NODES", "2,2")
    own = run("bcast=binomial@ranks=99", *two_hosts)
    sizes = sorted(own)
    assert sizes[0] < 256 <= sizes[-1]
    some = run("allreduce=ring@bytes=256-:allreduce=recursive_doubling@bytes=0-255", *two_hosts)
    assert some == {size: "ring" if size >= 256 else "recursive_doubling" for size in sizes}
    assert run("allreduce=ring@bytes=256-511,ranks=3-5,hosts=2", *two_hosts) == {**own, 256: "ring"}
    for elsewhere in ("ranks=5-", "ranks=3", "hosts=1", "hosts=3-4"):
        assert run(f"allreduce=ring@{elsewhere}", *two_hosts) == own, elsewhere
    on_one = run("allreduce=ring@hosts=1:allreduce=direct")  # a ring wants an element for each rank
    assert on_one == {size: "ring" if size >= 256 else on_one[size] for size in on_one}
    assert on_one[sizes[0]] == "direct"


def test_choices_are_read_from_a_file(tmp_path: Path, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """By mpiexec, so that other hosts need no file; or by ranks that another launcher has started."""
    program = mpi_program(PROGRAM)
    file = tmp_path / "tuned"
    file.write_text("# what is best here\nallreduce = ring @ ranks=4\n\nbcast=binomial # as before\nshow\n")
    for option in (("--collectives", f"@{file}"), ("-genv", "VOLLEY_COLLECTIVES", f"@{file}")):
        assert taken(mpirun(*option, "-n", 4, program).stderr, "allreduce")[256] == "ring"
    for option in (("--collectives", f"@{tmp_path}"), ("-genv", "VOLLEY_COLLECTIVES", f"@{tmp_path}")):
        outcome = mpirun(*option, "-n", 2, program, check=False)
        assert outcome.returncode != 0
        assert f"cannot read the file {tmp_path}: Is a directory" in outcome.stderr


@pytest.mark.parametrize(
    "condition", ["bytes", "bytes=", "bytes=5-4", "bytes=-5", "bytes=1k", "size=5", "bytes=1-2-3", ""]
)
def test_a_condition_that_means_nothing_is_refused(condition: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    said = refusal(f"show:bcast=binomial@{condition}", mpi_program(PROGRAM), mpirun)
    assert f"has 'bcast=binomial@{condition}': '{condition}' is no condition" in said


def test_nothing_is_said_unasked(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    assert mpirun("-n", 2, mpi_program(PROGRAM)).stderr == ""


def test_unknown_names_are_refused_with_those_that_are_known(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """The lists are those of docs/."""
    program = mpi_program(PROGRAM)
    known = documented()
    assert max(len(names) for names in known.values()) == MOST_ALGORITHMS
    assert refusal("allredcue=ring", program, mpirun).count(", ".join(known)) == 1
    for operation, names in known.items():
        stderr = refusal(f"show:{operation}=quick", program, mpirun)
        assert f"{operation} has no algorithm 'quick'; it has {', '.join(names)}" in stderr


@pytest.mark.parametrize(
    ("variable", "value"), [("VOLLEY_COLLECTIVES", "barrier=dissemination"), ("VOLLEY_CHECK", "1")]
)
def test_what_all_ranks_must_choose_alike_is_compared(
    variable: str, value: str, mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    program = mpi_program(PROGRAM)
    outcome = mpirun("-n", 2, program, ":", "-n", 2, "-env", variable, value, program, check=False)
    assert outcome.returncode != 0
    assert f"the environment variable {variable} has another value here than in other ranks" in outcome.stderr


def test_ranks_may_ask_for_the_same_in_other_words(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    program = mpi_program(PROGRAM)
    one = ("-env", "VOLLEY_COLLECTIVES", "barrier=dissemination:bcast=binomial", program)
    other = ("-env", "VOLLEY_COLLECTIVES", "bcast=binomial@bytes=0-:show:barrier=dissemination", program)
    mpirun("-n", 2, *one, ":", "-n", 2, *other)
