# SPDX-License-Identifier: BSD-3-Clause
"""Node daemons that stay from job to job: `volley boot`, nodes, clean and halt, and what may go wrong with them."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ..conftest import MpiProgram
from .conftest import Cluster
from .test_hosts import hosts_of

FOLDER = Path(__file__).parent
VOLLEY = (sys.executable, "-c", "from volley.cli import main; main()")
RESIDENT = b"--resident-daemon"


def wait_until(is_so: Callable[[], bool], seconds: float = 10) -> None:
    """What other processes bring about, and tell nobody."""
    limit = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < limit
        os.sched_yield()


@dataclass(frozen=True)
class Terminal:
    """A shell of the user's on n1."""

    cluster: Cluster
    prefix: Path
    state: Path

    def begin(self, *words: object) -> subprocess.Popen[str]:
        command = [self.cluster.agent, "n1", shlex.join(map(str, words))]
        environment = os.environ | {"VOLLEY_STATE_DIRECTORY": str(self.state), "VOLLEY_PREFIX": str(self.prefix)}
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, cwd=self.state.parent)

    def run(self, *words: object, status: int = 0) -> str:
        """What it says, on standard output if all is well."""
        process = self.begin(*words)
        output, text = process.communicate(timeout=60)
        assert process.returncode == status, output + text
        return output if status == 0 else text

    def mpiexec(self, *words: object, status: int = 0) -> str:
        return self.run(self.prefix / "bin/mpiexec", *words, status=status)

    def boot(self, hosts: str = "n1:2,n2:2,n3:2") -> None:
        self.mpiexec("--boot", "--agent", self.cluster.agent, "--hosts", hosts)

    def nodes(self) -> list[dict[str, object]]:
        nodes: list[dict[str, object]] = json.loads(self.mpiexec("--nodes", "--json"))["nodes"]
        return nodes

    def daemons(self) -> int:
        """How many run with this test's files."""
        found = 0
        for process in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                found += (
                    RESIDENT in (process / "cmdline").read_bytes().split(b"\0")
                    and str(self.state).encode() in (process / "environ").read_bytes()
                )
        return found

    def daemon(self, host: str) -> object:
        """Its process, as those of the cluster see it."""
        return next(node["process"] for node in self.nodes() if node["host"] == host)


@pytest.fixture
def terminal(cluster: Cluster, prefix: Path, tmp_path: Path) -> Iterator[Terminal]:
    made = Terminal(cluster, prefix, tmp_path / "state")
    yield made
    if made.state.exists():
        made.begin(prefix / "bin/mpiexec", "--halt").communicate(timeout=60)
    wait_until(lambda: made.daemons() == 0)


def test_a_session_in_lams_manner(terminal: Terminal, mpi_program: MpiProgram, tmp_path: Path) -> None:
    """The one in docs/jobs-on-hosts.md."""
    program, binaries = mpi_program(FOLDER / "hello.cpp"), terminal.prefix / "bin"
    hostfile = tmp_path / "hosts"
    hostfile.write_text("n1 cpu=2\nn2 cpu=2\nn3\n")
    said = terminal.run(*VOLLEY, "boot", hostfile, "--agent", terminal.cluster.agent)
    assert "3 node daemons with 5 slots" in said
    table = terminal.run(*VOLLEY, "nodes").splitlines()
    assert [line.split()[:5] for line in table[1:]] == [
        ["n0", "n1", "10.1.0.1", "2", "alive"],
        ["n1", "n2", "10.1.0.2", "2", "alive"],
        ["n2", "n3", "10.1.0.3", "1", "alive"],
    ]
    assert hosts_of(terminal.run(binaries / "mpirun", "C", program)) == {0: "n1", 1: "n1", 2: "n2", 3: "n2", 4: "n3"}
    assert hosts_of(terminal.run(binaries / "mpirun", "N", program)) == {0: "n1", 1: "n2", 2: "n3"}
    assert hosts_of(terminal.run(binaries / "mpirun", "n1-2", program)) == {0: "n2", 1: "n3"}
    assert hosts_of(terminal.run(binaries / "mpirun", "-np", 3, "n2,0", program)) == {0: "n3", 1: "n1", 2: "n3"}
    job = terminal.begin(binaries / "mpirun", "C", program, "wait")
    assert job.stdout is not None
    for _ in range(5):
        assert job.stdout.readline().startswith("rank ")
    ranks = json.loads(terminal.run(binaries / "mpitask", "--json"))["jobs"][0]["ranks"]
    assert [(rank["host"], rank["program"]) for rank in ranks] == [
        (host, "hello") for host in ("n1", "n1", "n2", "n2", "n3")
    ]
    assert "jobs" in json.loads(terminal.run(binaries / "mpimsg", "--json"))
    assert [node["jobs"] for node in terminal.nodes()] == [1, 1, 1]
    assert "nothing of a job is left on 3 hosts" in terminal.run(*VOLLEY, "clean")
    job.communicate(timeout=20)
    assert job.returncode == 1
    assert terminal.cluster.alive(str(program)) == 0
    assert terminal.daemons() == 3
    assert "3 node daemons ended" in terminal.run(*VOLLEY, "halt")
    wait_until(lambda: terminal.daemons() == 0)
    assert not terminal.state.exists()


def test_jobs_need_no_agent_and_end_as_others_do(terminal: Terminal, mpi_program: MpiProgram) -> None:
    """No ssh could reach these hosts. Hosts that have no daemon are still reached by the agent."""
    program = mpi_program(FOLDER / "hello.cpp")
    terminal.boot("n1:2,n2:2")
    said = terminal.mpiexec(
        "--hosts", "n2:2,n1", "-n", 3, "-env", "WORD", "odd", "sh", "-c", "echo $WORD; exec $0", program
    )
    assert hosts_of(said) == {0: "n2", 1: "n2", 2: "n1"}
    assert said.count("odd\n") == 3
    said = terminal.mpiexec("--hosts", "n1:2,n2:2", "-n", 4, program, "abort", status=7)
    assert "called MPI_Abort with code 7" in said
    said = terminal.mpiexec("--hosts", "n1,n3", "-n", 2, program, status=1)
    assert "host n3 cannot be used: `ssh " in said
    assert [node["jobs"] for node in terminal.nodes()] == [0, 0]
    assert terminal.cluster.alive(str(program)) == 0


@pytest.mark.parametrize("victim", ["mpiexec", "node daemon"])
def test_nothing_is_left_when_a_part_of_a_job_is_killed(
    victim: str, terminal: Terminal, mpi_program: MpiProgram
) -> None:
    """Also of what ranks have started in a session of their own. The daemons stay."""
    program = mpi_program(FOLDER / "hello.cpp")
    terminal.boot("n1:2,n2:2")
    mark = f"314159{os.getpid()}"
    script = f"setsid sleep {mark} & exec {program} wait"
    job = terminal.begin(terminal.prefix / "bin/mpiexec", "--ranks", "process", "C", "sh", "-c", script)
    assert job.stdout is not None
    for _ in range(4):
        assert job.stdout.readline().startswith("rank ")
    if victim == "mpiexec":
        terminal.run(
            "pkill", "-KILL", "-f", f"^{terminal.prefix}/bin/mpiexec --ranks process C sh -c setsid sleep {mark}"
        )
    else:
        terminal.run("pkill", "-KILL", "-P", terminal.daemon("n2"))
    _, text = job.communicate(timeout=20)
    assert ("host n2 is lost" in text) == (victim == "node daemon"), text
    wait_until(lambda: terminal.cluster.alive(str(program)) == 0 and terminal.cluster.alive(mark) == 0)
    assert [(node["state"], node["jobs"]) for node in terminal.nodes()] == [("alive", 0), ("alive", 0)]


def test_what_is_wrong_with_a_boot_is_named(terminal: Terminal) -> None:
    """And no daemon is left."""
    agent = ("--agent", terminal.cluster.agent)
    for words, message in [
        (("--nodes",), "volley nodes: no node daemons of this user are known on this host: volley boot HOSTFILE"),
        (("--halt",), "volley halt: no node daemons"),
        (("C", "true"), "mpiexec: 'C' names nodes, but none are known here"),
        (("--boot", *agent, "--hosts", "n1,nowhere"), "volley boot: host nowhere cannot be used"),
        (("--boot", *agent, "--hosts", "n1,localhost"), "hosts n1 and localhost both call themselves n1"),
        (("--boot", "--agent", "/bin/false", "--hosts", "n2"), "host n2 cannot be used: `/bin/false n2"),
        (("--boot", *agent, "--hosts", "n1,n2", "--interface", "nic7"), "host n1 has no address of interface nic7"),
    ]:
        text = terminal.mpiexec(*words, status=1)
        assert message in text
        assert text.count("volley boot: ") <= 1, text
        wait_until(lambda: terminal.daemons() == 0)
    assert "no hosts are named" in terminal.mpiexec("--boot", status=2)
    # A host that cannot be reached from here by the network, though the agent can: this test's own is in no network
    # of the cluster's.
    command = [str(terminal.prefix / "bin/mpiexec"), "--boot", *agent, "--hosts", "n2,n3"]
    environment = os.environ | {"VOLLEY_STATE_DIRECTORY": str(terminal.state)}
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert outcome.returncode == 1
    assert "host n2 cannot be used: its node daemon cannot be reached from this host" in outcome.stderr
    wait_until(lambda: terminal.daemons() == 0 and not terminal.state.exists())


def test_what_is_wrong_with_booted_hosts_is_named(terminal: Terminal) -> None:
    terminal.boot()
    agent = ("--agent", terminal.cluster.agent)
    text = terminal.mpiexec("--boot", *agent, "--hosts", "n1", status=1)
    assert "node daemons of this user run already on n1, n2, n3: volley nodes shows them, volley halt ends them" in text
    text = terminal.mpiexec("n1-3", "true", status=2)
    assert "'n1-3' names node 3, but there are 3 nodes, counted from 0" in text
    assert "'c2-1' has a range that ends before it begins" in terminal.mpiexec("c2-1", "true", status=2)
    for word in ("n", "n1-", "c0,", "n0x"):  # the names of programs
        assert f"there is no program {word}" in terminal.mpiexec(word, "true", status=127)
    terminal.run("kill", "-KILL", terminal.daemon("n2"))
    assert terminal.mpiexec("--nodes", status=1) == ""  # what it says is the table
    text = terminal.mpiexec("C", "true", status=1)
    assert "host n2 cannot be used: nothing listens at 10.1.0.2 port" in text
    assert "volley halt and volley boot start it anew" in text
    assert "2 node daemons ended" in terminal.mpiexec("--halt")
    terminal.boot()  # what the dead one has left is in nobody's way


def test_a_daemon_that_cannot_be_found_any_more_ends(terminal: Terminal) -> None:
    terminal.boot("n1,n2")
    other = terminal.daemon("n1")
    (terminal.state / "n2.nodes").unlink()
    wait_until(lambda: terminal.daemons() == 1)
    assert "was removed or replaced" in (terminal.state / "n2.log").read_text()
    terminal.run("kill", "-TERM", other)
    wait_until(lambda: terminal.daemons() == 0)


def test_only_this_user_has_a_say(terminal: Terminal) -> None:
    """Others can neither read nor write the secret, and whoever does not know it is not heard."""
    terminal.boot("n1")
    assert terminal.state.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in terminal.state.iterdir()} == {0o600}
    port = terminal.nodes()[0]["port"]
    code = f"import socket; s = socket.create_connection(('127.0.0.1', {port})); s.sendall(b'x' * 88); print(s.recv(1))"
    assert terminal.run(sys.executable, "-c", code) == "b''\n"
    assert "does not know the secret" in (terminal.state / "n1.log").read_text()
    assert [node["state"] for node in terminal.nodes()] == ["alive"]
    terminal.state.chmod(0o755)
    assert "is no directory that is this user's alone" in terminal.mpiexec("--nodes", status=1)
    terminal.state.chmod(0o700)


def test_messages_go_through_daemons_if_asked(terminal: Terminal, mpi_program: MpiProgram) -> None:
    terminal.boot()
    program = mpi_program(FOLDER.parent / "point_to_point/traffic.cpp")
    assert terminal.mpiexec("--transport", "daemon", "-n", 5, "C", program).endswith("good\n")
