# SPDX-License-Identifier: BSD-3-Clause
"""Ranks on several hosts: they find each other and compute together, and their job ends as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..conftest import MODES, MpiProgram
from .conftest import Cluster, HostsRun

FOLDER = Path(__file__).parent
LIBRARY = FOLDER.parent


def hosts_of(output: str) -> dict[int, str]:
    """The host that each rank has said."""
    lines = [line.split() for line in output.splitlines() if line.startswith("rank ")]
    return {int(words[1]): words[5] for words in lines}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "source",
    [
        "collective/programs/data.cpp",
        "collective/programs/reduce.cpp",
        "collective/programs/sequence.cpp",
        "communicator/programs/duplicate.cpp",
        "communicator/programs/inter.cpp",
        "communicator/programs/session.cpp",
        "point_to_point/semantics.cpp",
        "point_to_point/traffic.cpp",
    ],
)
def test_ranks_of_several_hosts_compute_together(
    source: str, mode: str, mpi_program: MpiProgram, hosts_run: HostsRun
) -> None:
    outcome = hosts_run("--ranks", mode, "-n", 5, mpi_program(LIBRARY / source), check=False)
    assert (outcome.returncode, outcome.stderr) == (0, ""), outcome


def test_jobs_that_ranks_of_several_hosts_start_are_connected(mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    """Children of rank 0 are on its host, and reach ranks of all others, and each other."""
    outcome = hosts_run("-n", 5, mpi_program(LIBRARY / "dynamic/strangers.cpp"), check=False)
    assert (outcome.returncode, outcome.stderr) == (0, ""), outcome


def test_hosts_get_ranks_as_asked(mpi_program: MpiProgram, hosts_run: HostsRun, tmp_path: Path) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    outcome = hosts_run("-n", 5, program, check=False)
    assert hosts_of(outcome.stdout) == {0: "n1", 1: "n1", 2: "n2", 3: "n2", 4: "n3"}
    assert "2 ranks share the memory of rank 0" in outcome.stdout
    outcome = hosts_run("--map-by", "node", "-n", 5, program, check=False)
    assert hosts_of(outcome.stdout) == {0: "n1", 1: "n2", 2: "n3", 3: "n1", 4: "n2"}
    outcome = hosts_run("-ppn", 1, "-n", 2, program, check=False)
    assert hosts_of(outcome.stdout) == {0: "n1", 1: "n2"}
    hostfile = tmp_path / "hosts"
    hostfile.write_text("# three formats\nn3 slots=1 max_slots=8\nn1:1  # MPICH\nn2 cpu=2\n\nn3\n")
    outcome = hosts_run("--hostfile", hostfile, "-n", 5, program, check=False)
    assert hosts_of(outcome.stdout) == {0: "n3", 1: "n3", 2: "n1", 3: "n2", 4: "n2"}
    # The file is only where mpiexec is.
    outcome = hosts_run("--hostfile", "/dev/stdin", "-n", 2, program, check=False, stdin="n2\nn3\n", seconds=20)
    assert hosts_of(outcome.stdout) == {0: "n2", 1: "n3"}, outcome


def test_the_slots_of_all_hosts_are_the_universe(mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    program = mpi_program(FOLDER.parent / "communicator/programs/universe.cpp")
    assert hosts_run("-n", 2, program, check=False).stdout == "6\ngood\n"
    assert hosts_run("-ppn", 3, "-n", 2, program, check=False).stdout == "9\ngood\n"
    assert hosts_run("--universe-size", 50, "-n", 4, program, check=False).stdout == "50\ngood\n"


def test_environment_directory_input_and_output_go_along(mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    outcome = hosts_run("-n", 3, "-env", "WORD", "an 'odd' one", "sh", "-c", 'echo "$PWD: $WORD" >&2', check=False)
    folders = {line.split(":")[0] for line in outcome.stderr.splitlines()}
    assert len(folders) == 1, outcome
    assert outcome.stderr.count("an 'odd' one") == 3
    outcome = hosts_run("-l", "-n", 5, mpi_program(FOLDER / "hello.cpp"), "read", check=False, stdin="x" * 1_000_000)
    assert outcome.returncode == 0, outcome
    assert "[0] read 1000000 bytes" in outcome.stdout
    assert sorted(line[:4] for line in outcome.stdout.splitlines() if " on n" in line) == [f"[{n}] " for n in range(5)]


@pytest.mark.parametrize(
    ("ending", "status", "words"),
    [
        ("abort", 7, "on n3) called MPI_Abort with code 7"),
        ("signal", 139, "on n3) was ended by signal 11 (SIGSEGV)"),
        ("early", 3, "on n1) ended with status 3 before MPI_Init, while rank"),
    ],
)
@pytest.mark.parametrize("mode", MODES)
def test_a_rank_that_fails_ends_the_job_on_all_hosts(
    mode: str, ending: str, status: int, words: str, cluster: Cluster, mpi_program: MpiProgram, hosts_run: HostsRun
) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    outcome = hosts_run("--ranks", mode, "-n", 5, program, ending, check=False, seconds=20)
    assert outcome.returncode == status, outcome
    assert words in outcome.stderr
    assert outcome.stderr.count("mpiexec:") == 1, outcome.stderr
    assert cluster.alive(str(program)) == 0


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_nothing_is_left_when_mpiexec_is_ended(
    number: signal.Signals, status: int, prefix: Path, cluster: Cluster, mpi_program: MpiProgram
) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    command = [prefix / "bin/mpiexec", "--agent", cluster.agent, "--hosts", "n1:2,n2:2", "-n", "4", program, "wait"]
    job = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
    assert job.stdout is not None
    for _ in range(4):
        assert "rank" in job.stdout.readline()
    job.send_signal(number)
    assert job.wait(20) == status
    limit = time.monotonic() + 10
    while cluster.alive(str(program)) > 0 and time.monotonic() < limit:
        os.sched_yield()
    assert cluster.alive(str(program)) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--hosts", "n1,nowhere", "-n", 2), "host nowhere cannot be used"),
        (("--hosts", "n1:0", "-n", 1), "option --hosts: '0' is no number of slots"),
        (("--hosts", "-oProxyCommand=x", "-n", 1), "'-oProxyCommand=x' is no name of a host"),
        (("--hosts", "n1,n2", "-n", 3), "the job has 3 ranks, but its 2 hosts have 2 slots"),
        (("--hosts", "n1,n2", "--interface", "nic7", "-n", 2), "host n1 has no address of interface nic7"),
        (("--hosts", "n1,n2", "--interface", "10.99.0.0/16", "-n", 2), "in the network 10.99.0.0/16"),
        (("--hosts", "n1,n2", "--port-range", "5", "-n", 2), "option --port-range has the value '5': it is two ports"),
        (("--hosts", "n1,n2", "-genv", "VOLLEY_PORT_RANGE", "9-1", "-n", 2), "VOLLEY_PORT_RANGE is '9-1': it must be"),
        (("--hosts", "n1,n2", "-wdir", "/nowhere", "-n", 2), "cannot run ranks in the directory /nowhere"),
        (("--agent", "/bin/false", "--hosts", "n1,n2", "-n", 2), "`/bin/false n"),
        (("--agent", "/no/agent", "--hosts", "n1,n2", "-n", 2), "cannot start /no/agent"),
        (("--hostfile", "{folder}/wrong", "-n", 2), "wrong, line 2, column 4: 'slots=many'"),
    ],
)
def test_what_is_wrong_is_named(
    arguments: tuple[object, ...], words: str, mpi_program: MpiProgram, hosts_run: HostsRun, tmp_path: Path
) -> None:
    (tmp_path / "wrong").write_text("n1\nn2 slots=many\n")
    given = [word.format(folder=tmp_path) if isinstance(word, str) else word for word in arguments]
    outcome = hosts_run(*given, mpi_program(FOLDER / "hello.cpp"), check=False, seconds=30)
    assert outcome.returncode not in (0, -signal.SIGSEGV), outcome
    assert words in outcome.stderr
    assert outcome.stderr.count("mpiexec:") == 1, outcome.stderr


LISTENING = "0A"
"""A socket's state in /proc/net/tcp."""


def listening_ports(output: str) -> set[int]:
    """Of what ranks have printed of /proc/net/tcp on their hosts."""
    rows = [line.split() for line in output.splitlines() if line.strip()[:1].isdigit()]
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == LISTENING}


@pytest.mark.parametrize(("transport", "last"), [("tcp", 41002), ("daemon", 41003), ("fabric", 41023)])
def test_ports_are_those_that_are_allowed(
    transport: str, last: int, mpi_program: MpiProgram, hosts_run: HostsRun
) -> None:
    """Three for two ranks and mpiexec, one for a relay; libfabric one more for each rank."""
    options = ("--transport", transport, "--port-range", f"41000-{last}", "-n", 6)
    for _ in range(2):  # ports are free again at once
        outcome = hosts_run(*options, mpi_program(FOLDER / "hello.cpp"), check=False)
        assert outcome.returncode == 0, outcome
    shown = hosts_run(*options, "sh", "-c", "cat /proc/net/tcp", check=False)
    ports = listening_ports(shown.stdout)
    assert len(ports) >= 2, shown
    assert all(41000 <= port <= last for port in ports), ports


def test_too_few_ports_are_said(mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    outcome = hosts_run("--port-range", "41000-41001", "-ppn", 4, "-n", 12, program, check=False, seconds=20)
    assert outcome.returncode == 1, outcome
    assert "all ports from 41000 to 41001 are in use (allow more by mpiexec --port-range" in outcome.stderr
    assert outcome.stderr.count("mpiexec:") == 1, outcome.stderr


def test_a_program_that_one_host_lacks_is_said_once(hosts_run: HostsRun) -> None:
    outcome = hosts_run("-n", 5, "/no/program", check=False)
    assert outcome.returncode == 127, outcome
    assert outcome.stderr.count("there is no program /no/program") == 1, outcome.stderr


def test_a_slow_reader_of_the_output_loses_no_host(prefix: Path, cluster: Cluster) -> None:
    """For longer than a host may be silent nobody takes what ranks write, and mpiexec hears of no host."""
    lines = "import sys; sys.stdout.write(('x' * 99 + chr(10)) * 100_000)"
    command = [
        prefix / "bin/mpiexec",
        "--agent",
        cluster.agent,
        "--hosts",
        "n1,n2",
        "-n",
        "2",
        sys.executable,
        "-c",
        lines,
    ]
    job = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    assert job.stdout is not None
    first = job.stdout.read(1)
    with contextlib.suppress(subprocess.TimeoutExpired):
        job.wait(6)
    assert job.poll() is None
    output, text = job.communicate(timeout=60)
    assert (job.returncode, text) == (0, b"")
    assert len(first + output) == 2 * 100_000 * 100


def node_daemon(cluster: Cluster, host: str) -> int:
    """The process of the node daemon on that host."""
    name = subprocess.run(
        [cluster.agent, host, "readlink", "/proc/self/ns/uts"], capture_output=True, text=True, check=True
    )
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            parent = Path("/proc") / (process / "stat").read_text().rsplit(")", 1)[1].split()[1]
            is_daemon = words[1:2] == [b"--node-daemon"] and (parent / "cmdline").read_bytes().startswith(b"sh\0")
            if is_daemon and str((process / "ns/uts").readlink()) == name.stdout.strip():
                return int(process.name)
        except (OSError, IndexError):
            continue
    raise AssertionError(f"no node daemon runs on {host}")


def test_a_host_that_falls_silent_ends_the_job(prefix: Path, cluster: Cluster, mpi_program: MpiProgram) -> None:
    """As if its cable were out: its node daemon is stopped. The job ends within five seconds."""
    program = mpi_program(FOLDER / "hello.cpp")
    command = [prefix / "bin/mpiexec", "--agent", cluster.agent, "--hosts", "n1:2,n2:2", "-n", "4", program, "wait"]
    job = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert job.stdout is not None
    for _ in range(4):
        assert "rank" in job.stdout.readline()
    stopped = node_daemon(cluster, "n2")
    os.kill(stopped, signal.SIGSTOP)
    begin = time.monotonic()
    assert job.wait(20) == 1
    assert time.monotonic() - begin < 10  # five seconds, and what a busy machine adds
    os.kill(stopped, signal.SIGCONT)
    _, text = job.communicate()
    assert "host n2 is lost: nothing has been heard of it for 4 seconds; the job ends" in text


@pytest.mark.skipif(not Path("/usr/include/rdma/fabric.h").exists(), reason="the library is built without libfabric")
@pytest.mark.parametrize("mode", MODES)
def test_ranks_of_several_hosts_compute_together_by_libfabric(
    mode: str, mpi_program: MpiProgram, hosts_run: HostsRun
) -> None:
    program = mpi_program(FOLDER.parent / "point_to_point/traffic.cpp")
    hosts_run("--transport", "fabric", "--ranks", mode, "-n", 5, program)
