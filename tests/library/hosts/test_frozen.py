# SPDX-License-Identifier: BSD-3-Clause
"""Hosts whose processes stand still for longer than silence is allowed, and then go on: the job does, too."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

from ..conftest import LONG, MpiProgram
from .conftest import Cluster

FOLDER = Path(__file__).parent


def processes_on(cluster: Cluster, host: str, text: str) -> list[int]:
    """Those with this text in their command line or their program, as they are seen from here."""
    place = subprocess.run(
        [cluster.agent, host, "readlink", "/proc/self/ns/uts"], capture_output=True, text=True, check=True
    ).stdout.strip()
    found = []
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (
                text in (process / "cmdline").read_text(errors="replace")
                and str((process / "ns/uts").readlink()) == place
            ):
                found.append(int(process.name))
    return found


def begin(prefix: Path, cluster: Cluster, program: Path) -> subprocess.Popen[str]:
    """A job on n1 and n2 that n1's mpiexec runs; it goes on when its input ends."""
    words = [prefix / "bin/mpiexec", "--agent", cluster.agent, "--hosts", "n1:2,n2:2", "-n", 4, program, "read"]
    command = [cluster.agent, "n1", "exec " + shlex.join(map(str, words))]
    pipe = subprocess.PIPE
    job = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert job.stdout is not None
    for _ in range(4):
        assert job.stdout.readline().startswith("rank ")
    return job


def test_a_job_waits_for_a_host_that_stands_still(prefix: Path, cluster: Cluster, mpi_program: MpiProgram) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    job = begin(prefix, cluster, program)
    frozen = processes_on(cluster, "n2", "--node-daemon") + processes_on(cluster, "n2", str(program))
    assert len(frozen) >= 3
    try:
        for process in frozen:
            os.kill(process, signal.SIGSTOP)
        assert job.stderr is not None
        text = job.stderr.readline()
        assert text == (
            "mpiexec: host n2 has said nothing for 4 seconds, but its kernel answers: "
            "its processes stand still, and the job waits for them\n"
        )
    finally:
        for process in frozen:
            os.kill(process, signal.SIGCONT)
    output, text = job.communicate("x" * 100, timeout=30)
    assert (job.returncode, text) == (0, "mpiexec: host n2 goes on\n")
    assert "read 100 bytes" in output


@pytest.mark.skipif(not LONG, reason="takes 10 seconds: VOLLEY_TEST_LONG=1")
def test_a_job_waits_for_its_mpiexec(prefix: Path, cluster: Cluster, mpi_program: MpiProgram) -> None:
    """And for the agent's processes, which stand still on the same host."""
    program = mpi_program(FOLDER / "hello.cpp")
    job = begin(prefix, cluster, program)
    frozen = processes_on(cluster, "n1", str(prefix / "bin/mpiexec")) + processes_on(cluster, "n1", str(program))
    try:
        for process in frozen:
            os.kill(process, signal.SIGSTOP)
        with contextlib.suppress(subprocess.TimeoutExpired):
            job.wait(10)
    finally:
        for process in [*frozen, job.pid]:  # nsenter stops when its child does
            os.kill(process, signal.SIGCONT)
    output, text = job.communicate("x" * 100, timeout=30)
    assert (job.returncode, text) == (0, "")
    assert "read 100 bytes" in output
