# SPDX-License-Identifier: BSD-3-Clause
"""Every collective function against serial models; the programs check everything themselves."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from ..conftest import MODES, NODES, SIZES, TCP, TCP_SIZES, MpiProgram, MpiRun

PROGRAMS = Path(__file__).parent / "programs"
SOURCES = ["data", "reduce", "large", "inter", "neighbours", "outstanding", "sequence", "threads", "errors"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", SIZES)
@pytest.mark.parametrize("source", SOURCES)
def test_program(source: str, ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun("--ranks", mode, "-n", ranks, mpi_program(PROGRAMS / f"{source}.cpp"))


@pytest.mark.parametrize("ranks", TCP_SIZES)
@pytest.mark.parametrize("source", SOURCES)
def test_program_by_tcp(source: str, ranks: int, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*TCP, "-n", ranks, mpi_program(PROGRAMS / f"{source}.cpp"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("nodes", "ranks"), NODES)
@pytest.mark.parametrize("source", SOURCES)
def test_program_on_several_nodes(
    source: str, nodes: str, ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    mpirun("--ranks", mode, "-genv", "VOLLEY_NODES", nodes, "-n", ranks, mpi_program(PROGRAMS / f"{source}.cpp"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("nodes", "ranks"), [*NODES, ("3,1,2", 7)])
def test_ranks_that_lie_on_nodes_in_any_order_and_number(
    nodes: str, ranks: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    mpirun("--ranks", mode, "-genv", "VOLLEY_NODES", nodes, "-n", ranks, mpi_program(PROGRAMS / "nodes.cpp"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("ranks", "cores"), [(3, 3), (5, 5), (8, 8), (4, 1)])
@pytest.mark.parametrize("source", ["data", "reduce", "large", "sequence", "threads"])
def test_ranks_that_take_it_for_granted_how_many_cores_there_are(
    source: str, ranks: int, cores: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun
) -> None:
    """With a core each they meet in another way than where they share cores; a machine's tests would see only one."""
    program = mpi_program(PROGRAMS / f"{source}.cpp")
    mpirun("-genv", "VOLLEY_CPUS", cores, "--ranks", mode, "-n", ranks, program)


@pytest.mark.parametrize("source", ["data", "reduce", "large", "sequence"])
def test_ranks_of_both_kinds(source: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    """A rank started through a shell is a process of its own among ranks that share an address space."""
    program = mpi_program(PROGRAMS / f"{source}.cpp")
    shell = ("/bin/sh", "-c", f"{program}; exit $?")
    mpirun("-n", 2, program, ":", "-n", 1, *shell, ":", "-n", 1, program)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cores", [1, 2])
def test_more_communicators_than_shared_memory(cores: int, mode: str, mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    program = mpi_program(PROGRAMS / "many.cpp")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (24 << 20, before[1]))
    try:
        mpirun("-genv", "VOLLEY_CPUS", cores, "--ranks", mode, "-n", 2, program)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
