# SPDX-License-Identifier: BSD-3-Clause
"""Many times each: a process of a job on two hosts is killed. And what takes long: a network that goes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import LONG, MpiProgram
from .conftest import Cluster
from .test_hosts import node_daemon

FOLDER = Path(__file__).parent
TIMES = 200 if LONG else 3


def begin(prefix: Path, cluster: Cluster, *words: object) -> subprocess.Popen[str]:
    """A job on two hosts all of whose ranks have said that they are there."""
    command = [prefix / "bin/mpiexec", "--agent", cluster.agent, "--hosts", "n1:2,n2:2", "-n", "4", *words]
    pipe = subprocess.PIPE
    job = subprocess.Popen([str(word) for word in command], stdout=pipe, stderr=pipe, text=True)
    assert job.stdout is not None
    for _ in range(4):
        assert job.stdout.readline().startswith("rank ")
    return job


def a_rank(cluster: Cluster, program: Path, _: int) -> int:
    found = subprocess.run(["pgrep", "-f", f"^{program}"], capture_output=True, text=True, check=True).stdout.split()
    return int(found[-1])


def the_daemon(cluster: Cluster, program: Path, _: int) -> int:
    return node_daemon(cluster, "n2")


def mpiexec_itself(cluster: Cluster, program: Path, process: int) -> int:
    return process


@pytest.mark.parametrize(
    ("victim", "words"),
    [
        (a_rank, "was ended by signal 9 (SIGKILL)"),
        (the_daemon, "host n2 is lost"),
        (mpiexec_itself, ""),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_whatever_is_killed_nothing_is_left_and_one_message_says_so(
    victim: Callable[[Cluster, Path, int], int],
    words: str,
    prefix: Path,
    cluster: Cluster,
    mpi_program: MpiProgram,
) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    for _ in range(TIMES):
        job = begin(prefix, cluster, "--ranks", "process", program, "wait")
        os.kill(victim(cluster, program, job.pid), signal.SIGKILL)
        _, text = job.communicate(timeout=30)
        assert job.returncode != 0
        assert text.count("mpiexec:") == (1 if words else 0), text
        assert words in text
        limit = time.monotonic() + 10
        while cluster.alive(str(program)) > 0 and time.monotonic() < limit:
            os.sched_yield()
        assert cluster.alive(str(program)) == 0


@pytest.mark.skipif(not LONG, reason="takes 20 seconds: VOLLEY_TEST_LONG=1")
def test_a_network_that_goes_ends_a_job_that_waits(prefix: Path, cluster: Cluster, mpi_program: MpiProgram) -> None:
    """The agent's way to the host is another one, and still works."""
    program = mpi_program(FOLDER / "hello.cpp")
    job = begin(prefix, cluster, program, "receive")
    link = [cluster.agent, "n2", "ip link set eth0"]
    try:
        subprocess.run([*link[:2], f"{link[2]} down"], check=True)
        gone = time.monotonic()
        _, text = job.communicate(timeout=60)
        assert time.monotonic() - gone < 30  # 20 seconds, and what a busy machine adds
    finally:
        subprocess.run([*link[:2], f"{link[2]} up"], check=True)
    assert "on n2 to rank 0 on n1 has failed: " in text or "on n1 to rank 2 on n2 has failed: " in text
    assert cluster.alive(str(program)) == 0


@pytest.mark.skipif(not LONG, reason="takes 35 seconds: VOLLEY_TEST_LONG=1")
def test_a_network_that_swallows_connections_is_named_in_time(
    prefix: Path, cluster: Cluster, mpi_program: MpiProgram
) -> None:
    """As a firewall does: packets to the other host go to a station that there is not."""
    program = mpi_program(FOLDER / "hello.cpp")
    peers = {"n1": "10.1.0.2", "n2": "10.1.0.1"}
    try:
        for host, peer in peers.items():
            nowhere = f"ip neigh replace {peer} lladdr 02:00:00:00:00:99 nud permanent dev eth0"
            subprocess.run([cluster.agent, host, nowhere], check=True)
        begin = time.monotonic()
        command = [prefix / "bin/mpiexec", "--agent", cluster.agent, "--hosts", "n1:1,n2:1", "-n", "2", program]
        ended = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, check=False, timeout=100
        )
        assert 25 < time.monotonic() - begin < 45  # 31 seconds, and what the end takes
    finally:
        for host, peer in peers.items():
            subprocess.run([cluster.agent, host, f"ip neigh del {peer} dev eth0"], check=True)
    assert ended.returncode != 0
    assert "has failed: cannot connect to 10.1.0." in ended.stderr
    assert "Connection timed out (a firewall" in ended.stderr
