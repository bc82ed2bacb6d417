# SPDX-License-Identifier: BSD-3-Clause
"""mpitask and mpimsg of jobs on several hosts, asked on the host of mpiexec and on those with ranks."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ..conftest import ROOT, MpiProgram
from .conftest import Cluster
from .test_frozen import processes_on

PROGRAM = Path(__file__).parent.parent / "tools" / "stuck.cpp"
DEADLINE_SECONDS = 30
HANG_SEEN = 3
HERE = ""
"""The host of mpiexec, which has no ranks."""

Seen = dict[str, Any]
MODES = {
    "shared": ("--ranks", "shared"),
    "process": ("--ranks", "process"),
    "tcp": ("--transport", "tcp"),
    "daemon": ("--transport", "daemon"),
    "fabric": ("--transport", "fabric"),
}


@dataclass
class Inside:
    """Ranks 0 and 1 on n1 and rank 2 on n2, all stuck."""

    binaries: Path
    cluster: Cluster
    program: Path

    @contextmanager
    def job(self, way: str, mode: str = "shared") -> Iterator[subprocess.Popen[str]]:
        """A job that is killed in the end, and that must not have failed by itself."""
        where = ["--agent", self.cluster.agent, "--hosts", "n1:2,n2:1", *MODES[mode]]
        command = [str(self.binaries / "mpiexec"), *where, "-n", "3", str(self.program), way]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as job:
            try:
                yield job
                assert job.poll() in (None, 0), job.stderr and job.stderr.read()
            finally:
                job.kill()

    def processes(self, host: str, name: str, text: str) -> list[int]:
        """Those of that name, with this text in their command line; not the agent's, which stop with their children."""
        found = processes_on(self.cluster, host, text)
        return [process for process in found if Path(f"/proc/{process}/comm").read_text() == f"{name}\n"]

    def ask(self, host: str, tool: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(self.binaries / tool), *map(str, arguments)]
        if host != HERE:
            command = [self.cluster.agent, host, shlex.join(command)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    def seen(self, host: str, tool: str, job: int, is_so: Callable[[Seen], bool], *options: str) -> Seen:
        """What the tool says on that host, once it says what is expected."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            outcome = self.ask(host, tool, "--json", *options, job)
            found: Seen = {"ranks": [], "messages": []}  # the job has only just been started
            if outcome.returncode in (0, HANG_SEEN):
                (found,) = json.loads(outcome.stdout)["jobs"]
            is_there = any(found.get(name) for name in ("ranks", "messages", "connections"))
            if is_there and is_so(found):
                return found
            assert time.monotonic() < deadline, (found, outcome.stderr)


@pytest.fixture
def inside(prefix: Path, cluster: Cluster, mpi_program: MpiProgram) -> Inside:
    return Inside(prefix / "bin", cluster, mpi_program(PROGRAM))


def all_receive(found: Seen) -> bool:
    return all((rank["state"], rank["function"]) == ("waiting", "MPI_Recv") for rank in found["ranks"])


@pytest.mark.parametrize("mode", MODES)
def test_ranks_of_all_hosts_are_seen_from_any(mode: str, inside: Inside) -> None:
    with inside.job("receives", mode) as job:
        for host in (HERE, "n1", "n2"):
            found = inside.seen(host, "mpitask", job.pid, all_receive)
            assert [rank["host"] for rank in found["ranks"]] == ["n1", "n1", "n2"]
            assert [rank["world_peer"] for rank in found["ranks"]] == [1, 2, 0]
            assert {rank["program"] for rank in found["ranks"]} == {"stuck"}
            assert [(one["name"], one["here"], one["answers"]) for one in found["hosts"]] == [
                ("n1", host == "n1", True),
                ("n2", host == "n2", True),
            ]


def test_a_cycle_of_waits_crosses_hosts(inside: Inside) -> None:
    with inside.job("receives") as job:
        inside.seen(HERE, "mpitask", job.pid, all_receive)
        for host in (HERE, "n2"):
            outcome = inside.ask(host, "mpitask", "--why", job.pid)
            assert outcome.returncode == HANG_SEEN
            assert outcome.stdout.startswith("This job hangs: all ranks that still run wait in MPI")
            cycle = "rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0"
            assert outcome.stdout.endswith(f"  a cycle: {cycle}\n")
    # A receive is told what has come instead, on another host.
    with inside.job("tag") as job:
        found = inside.seen("n2", "mpitask", job.pid, lambda seen: seen["ranks"][2]["function"] == "MPI_Barrier")
        assert found["ranks"][2]["communicator"] == "MPI_COMM_WORLD"
        why = inside.seen("n2", "mpitask", job.pid, lambda seen: seen.get("why", {}).get("hung") == [0, 1, 2], "--why")
        (first,) = (reason["sentence"] for reason in why["why"]["reasons"] if reason["ranks"] == [0])
        assert "rank 1 has sent it tag 6 (8 bytes), which nobody has received" in first


def test_messages_to_ranks_of_another_host(inside: Inside) -> None:
    with inside.job("unreceived") as job:
        for host in (HERE, "n2"):
            found = inside.seen(host, "mpimsg", job.pid, lambda seen: len(seen["messages"]) == 5)
            told = sorted((one["source"], one["destination"], one["tag"], one["bytes"]) for one in found["messages"])
            assert told == [(1, 0, 11, 100), (1, 0, 21, 100000), (1, 0, 30, 3), (2, 0, 12, 100), (2, 0, 22, 100000)]


@pytest.mark.parametrize("mode", ["tcp", "daemon", "fabric"])
def test_connections_are_counted_at_both_ends(mode: str, inside: Inside) -> None:
    """Rank 1 has sent tag 6 to rank 0; ranks 1 and 2 wait in a barrier for rank 0."""
    with inside.job("tag", mode) as job:
        inside.seen("n2", "mpitask", job.pid, lambda seen: seen.get("why", {}).get("hung") == [0, 1, 2], "--why")
        outcome = inside.ask(HERE, "mpitask", "--connections", "--json", job.pid)
        (found,) = json.loads(outcome.stdout)["jobs"]
        ends = {(one["rank"], one["peer"]): one for one in found["connections"]}
        sent, received = ends[1, 0], ends[0, 1]
        assert (sent["messages_sent"], sent["bytes_sent"], sent["bytes_queued"]) == (1, 8, 0)
        for (rank, peer), end in ends.items():
            assert end["messages_sent"] == ends[peer, rank]["messages_received"]
            assert end["bytes_sent"] == ends[peer, rank]["bytes_received"]
            assert (end["retransmissions"] is None) == (mode != "tcp")
        assert received["messages_received"] == 1
        table = inside.ask("n2", "mpitask", "--connections", job.pid).stdout.splitlines()
        assert table[1].split()[:6] == ["RANK", "HOST", "PEER", "ON", "SENT", "BYTES"]
        assert any(line.split()[:6] == ["1", "n1", "0", "n1", "1", "8"] for line in table)


def test_a_message_on_its_way_to_another_host_is_no_hang(inside: Inside) -> None:
    """The network is away: rank 0 waits for the answer to a question that rank 2 has not got."""
    link = f"{inside.cluster.agent} n2 ip link set eth0"
    with inside.job("asks") as job:
        assert job.stdin is not None
        waiting = ["waiting", "waiting", "waiting"]
        inside.seen(HERE, "mpitask", job.pid, lambda seen: [rank["state"] for rank in seen["ranks"]][1:] == waiting[1:])
        subprocess.run(shlex.split(f"{link} down"), check=True)
        try:
            job.stdin.write("x")
            job.stdin.flush()
            inside.seen(HERE, "mpitask", job.pid, lambda seen: [rank["state"] for rank in seen["ranks"]] == waiting)
            outcome = inside.ask("n1", "mpitask", "--why", job.pid)
            assert outcome.stdout.startswith("No hang is seen: all ranks wait, but messages still move.\n")
            assert outcome.returncode == 0

            def is_resent(found: Seen) -> bool:
                (end,) = (one for one in found["connections"] if (one["rank"], one["peer"]) == (0, 2))
                return bool(end["bytes_queued"] > 0 and end["retransmissions"] > 0)

            inside.seen("n1", "mpitask", job.pid, is_resent, "--connections")
        finally:
            subprocess.run(shlex.split(f"{link} up"), check=True)
        job.wait(timeout=30)
        assert job.returncode == 0


def test_a_stopped_rank_of_another_host(inside: Inside) -> None:
    with inside.job("receives", "process") as job:
        inside.seen(HERE, "mpitask", job.pid, all_receive)
        (process,) = inside.processes("n2", "stuck", str(inside.program))
        os.kill(process, signal.SIGSTOP)
        found = inside.seen("n1", "mpitask", job.pid, lambda seen: seen["ranks"][2]["state"] == "stopped")
        assert [rank["state"] for rank in found["ranks"]] == ["waiting", "waiting", "stopped"]
        outcome = inside.ask("n1", "mpitask", "--why", job.pid)
        assert outcome.returncode == 0
        assert outcome.stdout.startswith("No hang is seen: rank 2 is stopped by a signal or a debugger.\n")


def test_a_host_that_does_not_answer_is_named(inside: Inside) -> None:
    """Its node daemon stands still: what is known of the others is shown all the same, and soon."""
    with inside.job("receives") as job:
        inside.seen(HERE, "mpitask", job.pid, all_receive)
        daemons = inside.processes("n2", "mpiexec", "--node-daemon")
        assert daemons
        try:
            for process in daemons:
                os.kill(process, signal.SIGSTOP)
            for host in (HERE, "n1"):
                began = time.monotonic()
                outcome = inside.ask(host, "mpitask", job.pid)
                assert time.monotonic() - began < 4
                assert outcome.returncode == 0, outcome.stderr
                lines = outcome.stdout.splitlines()
                assert [" waiting " in line for line in lines[2:5]] == [True, True, False]
                assert "no answer" in lines[4]
                assert "host n2 does not answer: nothing is known of rank 2" in lines
                why = inside.ask(host, "mpitask", "--why", job.pid)
                assert why.returncode == 0, "nobody knows what rank 2 may still do"
                assert why.stdout.startswith("No hang is seen: nothing is known of rank 2.\n")
        finally:
            for process in daemons:
                os.kill(process, signal.SIGCONT)
        inside.seen("n1", "mpitask", job.pid, all_receive)


def test_mpiexec_says_it_of_all_hosts_when_asked(inside: Inside) -> None:
    with inside.job("receives") as job:
        inside.seen(HERE, "mpitask", job.pid, all_receive)
        job.send_signal(signal.SIGURG)
        assert job.stderr is not None
        told = ""
        while "a cycle" not in told:
            line = job.stderr.readline()
            assert line, told
            told += line
        assert told.startswith(f"mpiexec: job {job.pid}: 3 ranks on 2 hosts, ")
        assert [line.split()[:2] for line in told.splitlines()[2:5]] == [["0", "n1"], ["1", "n1"], ["2", "n2"]]
        assert "This job hangs" in told


def test_gdb_names_the_host_of_a_rank_elsewhere(inside: Inside) -> None:
    """The process with the same number on this host is another one."""
    with inside.job("receives") as job:
        inside.seen(HERE, "mpitask", job.pid, all_receive)
        command = [sys.executable, "-c", "from volley.cli import main; main()", "gdb", "2", "--job", str(job.pid)]
        path = f"{inside.binaries}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "laboratory")}
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
        assert outcome.returncode != 0
        assert "rank 2 runs on host n2" in outcome.stderr
        assert f"volley gdb 2 --job {job.pid}" in outcome.stderr
