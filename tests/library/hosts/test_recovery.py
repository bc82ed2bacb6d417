# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on several hosts that outlive ranks and hosts that fail (mpiexec --enable-recovery)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from ..conftest import LONG, ROOT, MpiProgram
from ..recovery.page import LAST_LINE, example
from ..recovery.test_recovery import IN_THE_MIDDLE, MESSAGES, OPERATIONS
from .conftest import Cluster, HostsRun
from .test_boot import Terminal, terminal, wait_until
from .test_hosts import node_daemon

__all__ = ["terminal"]  # a fixture

PROGRAMS = ROOT / "tests" / "library" / "recovery"
LOST = ("--enable-recovery", "--hosts", "n1:2,n2:2,n3:2")
THREE = ("--enable-recovery", "-n", 3)
# Where rank 1, which fails, is beside rank 0, beside rank 2, or alone.
PLACES = ["n1:2,n2:1", "n1:1,n2:2", "n1:1,n2:1,n3:1"]


@pytest.mark.parametrize("hosts", PLACES)
@pytest.mark.parametrize("case", MESSAGES)
def test_messages_with_a_rank_that_fails(case: str, hosts: str, mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    """As on one host: its peers get errors, but what it has sent in full, and go on with each other."""
    outcome = hosts_run(*THREE, mpi_program(PROGRAMS / "messages.cpp"), case, hosts=hosts)
    assert re.search(r"rank 1 .*SIGKILL.*; the job goes on", outcome.stderr), outcome.stderr


@pytest.mark.parametrize("operation", OPERATIONS)
def test_collectives_with_ranks_that_fail(operation: str, mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    """All survivors get errors out of collective operations, revoke, shrink and go on, three times in a row."""
    program = mpi_program(PROGRAMS / "collectives.cpp")
    for seed in range(20 if LONG else 1):
        outcome = hosts_run("--enable-recovery", "-n", 5, program, operation, seed, check=False)
        if IN_THE_MIDDLE not in outcome.stderr:
            assert (outcome.returncode, outcome.stdout) == (0, "good\n"), f"seed {seed}: {outcome.stderr}"


def test_agreement_with_members_that_fail(mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    """Members of three hosts are killed in the middle of agreements; what the survivors agree on is the same."""
    program = mpi_program(PROGRAMS / "agree.cpp")
    for seed in range(20 if LONG else 3):
        hosts_run("--enable-recovery", "-n", 6, program, seed)


@pytest.mark.parametrize("way", ["call", "handler"])
def test_a_part_of_the_ranks_is_aborted(way: str, mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    """Also those on other hosts."""
    program = mpi_program(PROGRAMS / "abort.cpp")
    outcome = hosts_run("--enable-recovery", "-n", 4, program, way, hosts="n1:1,n2:1,n3:2")
    assert re.search(r"rank 3 .*was aborted by rank 1; the job goes on", outcome.stderr), outcome.stderr


@pytest.mark.parametrize("way", ["signal", "exit", "while others finalise"])
def test_a_rank_ends_and_the_others_finalise(way: str, mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    """MPI_Finalize does not wait for a rank of another host that has failed."""
    hosts_run(*THREE, mpi_program(PROGRAMS / "ends.cpp"), way, hosts="n1:1,n2:2")


def test_the_job_ends_if_all_ranks_fail(mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    """With the status of the first."""
    program = mpi_program(PROGRAMS / "ends.cpp")
    assert hosts_run(*THREE, program, "all", hosts="n1:1,n2:2", check=False).returncode == 137


@pytest.mark.parametrize("case", ["messages", "between groups"])
def test_communicators_are_revoked_in_any_job(case: str, mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    """Also without the option."""
    outcome = hosts_run("-n", 6, mpi_program(PROGRAMS / "revoke.cpp"), case)
    assert not outcome.stderr, outcome.stderr


def test_a_host_that_is_lost(prefix: Path, cluster: Cluster, mpi_program: MpiProgram) -> None:
    """All its ranks have failed, and the others go on."""
    program = mpi_program(PROGRAMS / "lost_host.cpp")
    command = [prefix / "bin/mpiexec", "--agent", cluster.agent, "--hosts", "n1:2,n2:2,n3:1", "-n", "5"]
    for _ in range(20 if LONG else 2):
        job = subprocess.Popen(
            [str(word) for word in (*command, "--enable-recovery", program, 3)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert job.stdout is not None
        for _ in range(5):
            assert job.stdout.readline().startswith("rank ")
        os.kill(node_daemon(cluster, "n2"), signal.SIGKILL)
        out, text = job.communicate(timeout=60)
        assert (job.returncode, out) == (0, "good\n"), text
        assert "host n2 is lost: " in text
        assert "; the job goes on" in text
        assert "lost wake-ups" not in text
        assert cluster.alive(str(program)) == 0


@pytest.mark.parametrize("victim", ["n2", "n3"] if LONG else ["n2"])
def test_a_host_whose_link_is_cut(victim: str, terminal: Terminal, mpi_program: MpiProgram) -> None:
    """Nothing says that it is gone: nothing is heard of it. Its own ranks end as well, since their mpiexec is gone."""
    program = mpi_program(PROGRAMS / "lost_host.cpp")
    terminal.boot()
    job = terminal.begin(terminal.prefix / "bin/mpiexec", *LOST, "-n", 6, program, 4)
    link = [terminal.cluster.agent, victim]
    try:
        assert job.stdout is not None
        for _ in range(6):
            assert job.stdout.readline().startswith("rank ")
        subprocess.run([*link, "ip link set eth0 down"], check=True)
        out, text = job.communicate(timeout=60)
        wait_until(lambda: terminal.cluster.alive(str(program)) == 0, 30)
    finally:
        subprocess.run([*link, "ip link set eth0 up"], check=True)
    assert (job.returncode, out) == (0, "good\n"), text
    assert f"host {victim} is lost: nothing has been heard of it for 4 seconds; the job goes on" in text
    assert "lost wake-ups" not in text


def test_the_example_of_the_page(tmp_path: Path, mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    """docs/recovery.md, on two hosts."""
    outcome = hosts_run("--enable-recovery", "-n", 4, mpi_program(example(tmp_path)), hosts="n1:2,n2:2", check=False)
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.splitlines()[-1] == LAST_LINE, outcome.stdout
