# SPDX-License-Identifier: BSD-3-Clause
"""`mpiexec --transport daemon`: a process beside the ranks of each host carries their messages."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from ..conftest import MpiProgram, MpiRun
from .conftest import Cluster, HostsRun
from .test_faults import begin
from .test_hosts import hosts_of

FOLDER = Path(__file__).parent
LIBRARY = FOLDER.parent
DAEMON = ("--transport", "daemon")
NAME = "volley-relay"


def relays(cluster: Cluster, host: str) -> list[int]:
    """The processes that carry messages on that host, or on this machine for host ""."""
    own = str(Path("/proc/self/ns/uts").readlink())
    if host:
        words = [cluster.agent, host, "readlink", "/proc/self/ns/uts"]
        own = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    found = []
    for process in Path("/proc").iterdir():
        try:
            if (process / "comm").read_text() == f"{NAME}\n" and str((process / "ns/uts").readlink()) == own:
                found.append(int(process.name))
        except OSError:
            continue
    return found


def nothing_is_left(cluster: Cluster, program: Path) -> bool:
    limit = time.monotonic() + 10
    while time.monotonic() < limit:
        if cluster.alive(str(program)) == 0 and not any(relays(cluster, host) for host in cluster.hosts):
            return True
        os.sched_yield()
    return False


@pytest.mark.parametrize(
    ("source", "mode"),
    [
        ("collective/programs/data.cpp", "process"),
        ("communicator/programs/session.cpp", "shared"),
        ("point_to_point/semantics.cpp", "shared"),
        ("point_to_point/traffic.cpp", "process"),
        ("point_to_point/traffic.cpp", "shared"),
    ],
)
def test_ranks_compute_together(source: str, mode: str, mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    outcome = hosts_run(*DAEMON, "--ranks", mode, "-n", 5, mpi_program(LIBRARY / source), check=False)
    assert (outcome.returncode, outcome.stderr) == (0, ""), outcome


def test_ranks_are_where_they_were(cluster: Cluster, mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    for hosts, ranks in (("n1,n2", 2), ("n1:2,n2:2,n3:2", 6), ("n2:4", 4)):
        outcome = hosts_run(*DAEMON, "-n", ranks, program, hosts=hosts, check=False)
        assert (outcome.returncode, outcome.stderr) == (0, ""), outcome
        assert set(hosts_of(outcome.stdout).values()) == {host.split(":")[0] for host in hosts.split(",")}
    assert nothing_is_left(cluster, program)


@pytest.mark.parametrize("hosts", ["n1,n2", "n1:2"])
def test_messages_move_while_both_programs_compute(
    hosts: str, mpi_program: MpiProgram, hosts_run: HostsRun, tmp_path: Path
) -> None:
    """More than sockets hold: the sender is done while the receiver is outside MPI, and the other way round."""
    pipes = [tmp_path / "sent", tmp_path / "received"]
    for pipe in pipes:
        os.mkfifo(pipe)
    hosts_run(*DAEMON, "--timeout", 30, "-n", 2, mpi_program(FOLDER / "carried.cpp"), "computing", *pipes, hosts=hosts)


@pytest.mark.parametrize("what", ["large", "leave"])
@pytest.mark.parametrize("hosts", ["n1,n2", "n1:2"])
def test_all_arrives(what: str, hosts: str, mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    assert hosts_run(*DAEMON, "-n", 2, mpi_program(FOLDER / "carried.cpp"), what, hosts=hosts).stderr == ""


def test_many_ranks_talk_to_all_others(mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    program = mpi_program(FOLDER / "carried.cpp")
    assert hosts_run(*DAEMON, "-n", 24, program, "all", hosts="n1:8,n2:8,n3:8").stderr == ""


def test_jobs_start_others_and_connect(mpi_program: MpiProgram, hosts_run: HostsRun) -> None:
    """Between jobs ranks connect to each other."""
    assert hosts_run(*DAEMON, "-n", 3, mpi_program(LIBRARY / "dynamic/spawn.cpp"), 2).stderr == ""


def test_on_one_host_no_host_need_be_named(mpi_program: MpiProgram, mpirun: MpiRun) -> None:
    mpirun(*DAEMON, "-n", 3, mpi_program(LIBRARY / "point_to_point/traffic.cpp"))
    mpirun(*DAEMON, "-n", 2, mpi_program(LIBRARY / "dynamic/spawn.cpp"), 2)
    mpirun("-genv", "VOLLEY_NODES", "2,1", *DAEMON, "-n", 3, mpi_program(LIBRARY / "point_to_point/traffic.cpp"))


@pytest.mark.parametrize("who", ["rank", "relay"])
def test_whatever_is_killed_one_message_says_so(
    who: str, prefix: Path, cluster: Cluster, mpi_program: MpiProgram
) -> None:
    program = mpi_program(FOLDER / "hello.cpp")
    job = begin(prefix, cluster, *DAEMON, "--ranks", "process", program, "receive")
    ranks = subprocess.run(["pgrep", "-f", f"^{program}"], capture_output=True, text=True, check=True).stdout.split()
    os.kill(int(ranks[-1]) if who == "rank" else relays(cluster, "n2")[0], signal.SIGKILL)
    _, text = job.communicate(timeout=30)
    assert job.returncode != 0
    assert text.count("\n") == 1, text
    assert "was ended by signal 9 (SIGKILL)" in text
    if who == "relay":
        assert "the process that carries messages on n2" in text
    assert nothing_is_left(cluster, program)


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


def listening_port(process: int) -> int:
    """Of the one socket at which that process takes connections."""
    sockets = {str(link.readlink()) for link in Path(f"/proc/{process}/fd").iterdir()}
    for line in Path(f"/proc/{process}/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
            return int(words[1].split(":")[1], 16)
    raise AssertionError("it listens nowhere")


def test_nobody_gets_in_who_does_not_know_the_secret(prefix: Path, cluster: Cluster, mpi_program: MpiProgram) -> None:
    """Nor does he disturb: many that say nothing, and some that talk nonsense."""
    program = mpi_program(FOLDER / "hello.cpp")
    words = [prefix / "bin/mpiexec", *DAEMON, "-n", "2", program, "read"]
    pipe = subprocess.PIPE
    job = subprocess.Popen([str(word) for word in words], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert job.stdout is not None
    assert [job.stdout.readline()[:5] for _ in range(2)] == ["rank "] * 2
    (relay,) = {one for one in relays(cluster, "") if parent_of(one) == job.pid}
    port = listening_port(relay)
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
    for nonsense in (b"GET / HTTP/1.1\r\n\r\n", b"\x00VOLLEY\x01" + b"x" * 80):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as stranger:
            stranger.sendall(nonsense)
            with contextlib.suppress(ConnectionResetError):
                assert stranger.recv(1) == b"", "he is closed without an answer"
    output, text = job.communicate("x" * 1000, timeout=30)
    for one in silent:
        one.close()
    assert job.returncode == 0, text
    assert "read 1000 bytes" in output
    assert "a connection for messages from 127.0.0.1 port " in text
    assert "was closed: it does not know the secret of this job" in text


def test_descriptors_that_are_used_up_are_named(prefix: Path, mpi_program: MpiProgram) -> None:
    program = mpi_program(FOLDER / "carried.cpp")
    line = f"ulimit -n 150; exec {prefix}/bin/mpiexec --transport daemon -n 16 {program} all"
    outcome = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert outcome.returncode == 1, outcome
    assert "mpiexec: messages between ranks can take no further connection: Too many open files" in outcome.stderr
    assert outcome.stderr.count("mpiexec:") == 1, outcome.stderr
