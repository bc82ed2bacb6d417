# SPDX-License-Identifier: BSD-3-Clause
"""`volley cluster`: hosts with names, a switch with shaped ports, and nothing left behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from volley.hosts import cluster as emulated
from volley.systems import resolve

from .support import VOLLEY, volley, why_no_cluster

RECEIVER = """
import socket
server = socket.create_server(("", 5000))
print("listening", flush=True)
peer, _ = server.accept()
print(sum(iter(lambda: len(peer.recv(1 << 16)), 0)), peer.getsockopt(6, 13, 16).rstrip(b"\\0").decode())
"""
SENDER = """
import socket
peer = socket.create_connection(("n2", 5000))
peer.sendall(bytes(100_000))
"""


@pytest.fixture
def name() -> Iterator[str]:
    """Of a cluster that the test makes, removed afterwards."""
    if why_no_cluster():
        pytest.skip(why_no_cluster())
    chosen = f"own-{os.getpid()}"
    yield chosen
    volley("cluster", "down", "--name", chosen)


def processes_of(name: str) -> list[int]:
    """Processes whose command line names the cluster's folder."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or [])
        if f"{emulated.FOLDER}/{name}" in words and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


def until(condition: Callable[[], object], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def on(cluster: emulated.Cluster, host: str, *command: str) -> str:
    ended = subprocess.run([cluster.agent, host, *command], capture_output=True, text=True, check=False, timeout=30)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def test_hosts_have_names_and_reach_each_other_by_them(cluster: emulated.Cluster) -> None:
    here = Path("/etc/hosts").read_text(), os.uname().nodename
    server = [str(cluster.agent), "n2", f"python3 -c '{RECEIVER}'"]
    with subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        assert receiver.stdout.readline() == "listening\n"
        on(cluster, "n1", f"python3 -c '{SENDER}'")
        assert receiver.stdout.readline() == "100000 cubic\n", "congestion control is set though namespaces refuse it"
    assert on(cluster, "n3", "hostname") == "n3"
    assert (Path("/etc/hosts").read_text(), os.uname().nodename) == here


def test_hosts_know_each_other_without_asking(cluster: emulated.Cluster) -> None:
    """The kernel has one table for what all namespaces learn, and it is too small for some fifty hosts."""
    told = on(cluster, "n1", "ip -4 neigh show").splitlines()
    assert len(told) == len(cluster.hosts) - 1
    assert all(line.split()[-1] == "PERMANENT" for line in told)


def test_the_agent_is_called_as_ssh_is_also_from_within_a_host(cluster: emulated.Cluster) -> None:
    said = volley("cluster", "exec", "--name", cluster.name, "-x", "-o", "BatchMode=yes", "n1", "echo", "$(hostname)")
    assert said.stdout == "n1\n"
    assert on(cluster, "n1", f"{cluster.agent} -x user@n3 hostname") == "n3"
    status = subprocess.run([cluster.agent, "n2", "exit 7"], check=False)
    assert status.returncode == 7
    unknown = subprocess.run([cluster.agent, "n9", "true"], capture_output=True, text=True, check=False)
    assert unknown.returncode == 255
    assert "no host n9" in unknown.stderr


def test_processes_that_have_lost_their_parent_leave_nothing_when_they_end(cluster: emulated.Cluster) -> None:
    """A daemon that a zombie of it stands for cannot be told from one that does not end (LAM's tkill waits for it)."""
    pid = on(cluster, "n1", "sh -c '(sleep 0.1 & echo $!)'").strip()
    assert pid.isdigit()
    assert until(lambda: on(cluster, "n1", f"test -e /proc/{pid} || echo gone").strip() == "gone")


def test_every_port_is_shaped_and_the_machine_itself_has_nothing_of_it(cluster: emulated.Cluster) -> None:
    assert "port1" not in subprocess.run(["ip", "link"], capture_output=True, text=True, check=True).stdout
    for host in cluster.hosts:
        (shape,) = (one for one in json.loads(on(cluster, host, "tc -j qdisc show dev eth0")) if one["kind"] == "tbf")
        assert shape["options"]["rate"] == 12_500_000
    status = json.loads(volley("cluster", "status", "--json", "--name", cluster.name).stdout)
    assert status["hosts"] == ["n1", "n2", "n3"]
    assert Path(status["hostfile"]).read_text() == "n1\nn2\nn3\n"
    assert os.access(status["agent"], os.X_OK)
    assert status["buffer_bytes"] == 61440


FLOOD = """
import itertools, socket, sys
flood = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print("flooding", flush=True)
for _ in itertools.count() if sys.argv[1] == "endless" else range(int(sys.argv[1])):
    flood.sendto(bytes(1400), ("n1", 9))
"""


def test_what_a_port_has_no_room_for_is_counted(cluster: emulated.Cluster, tmp_path: Path) -> None:
    (tmp_path / "flood.py").write_text(FLOOD)
    before = cluster.port_drops()["n1"]
    other = [str(cluster.agent), "n3", f"exec python3 {tmp_path}/flood.py endless"]
    with subprocess.Popen(other, stdout=subprocess.PIPE) as sender:
        assert sender.stdout is not None
        sender.stdout.readline()
        on(cluster, "n2", f"python3 {tmp_path}/flood.py 2000")
        for process in psutil.process_iter(["cmdline"]):
            if str(tmp_path) in " ".join(process.info["cmdline"] or []):
                process.kill()
    assert cluster.port_drops()["n1"] > before, "twice the rate of the port fills its queue"


def test_a_second_one_of_that_name_is_refused(cluster: emulated.Cluster) -> None:
    again = volley("cluster", "up", "--name", cluster.name)
    assert again.returncode == 1
    assert "is up already, with 3 hosts" in again.stderr
    assert f"volley cluster down --name {cluster.name}" in again.stderr


def test_down_ends_what_runs_in_hosts(name: str) -> None:
    assert volley("cluster", "up", "--hosts", "2", "--name", name).returncode == 0
    made = emulated.load(name)
    with subprocess.Popen([made.agent, "n2", "echo running; sleep 600"], stdout=subprocess.PIPE) as job:
        assert job.stdout is not None
        job.stdout.readline()
        assert volley("cluster", "down", "--name", name).returncode == 0
        assert job.wait(10) != 0
    assert processes_of(name) == []
    assert not made.folder.exists()


def test_half_removed_names_the_host_and_the_remedy(name: str) -> None:
    assert volley("cluster", "up", "--hosts", "2", "--name", name).returncode == 0
    os.kill(emulated.load(name).keepers["n2"].pid, signal.SIGKILL)
    assert until(lambda: emulated.load(name).gone())
    for words in (("up",), ("exec", "n1", "true")):
        said = volley("cluster", words[0], "--name", name, *words[1:])
        assert said.returncode == 1
        assert "half removed: n2 gone" in said.stderr
        assert f"volley cluster down --name {name}" in said.stderr
    assert volley("cluster", "status", "--name", name).returncode == 1
    assert volley("cluster", "down", "--name", name).returncode == 0
    assert volley("cluster", "up", "--hosts", "2", "--name", name).returncode == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_one_that_is_stopped_while_it_is_made_leaves_nothing(name: str, how: signal.Signals) -> None:
    folder = emulated.FOLDER / name
    with subprocess.Popen([*VOLLEY, "cluster", "up", "--hosts", "60", "--name", name]) as making:
        assert until(lambda: len(list(folder.glob("keepers/*"))) > 5)
        assert not (folder / "cluster.json").exists()
        making.send_signal(how)
        making.wait(30)
    assert until(lambda: not processes_of(name) and not folder.exists()), processes_of(name)


def test_where_users_may_not_make_namespaces_it_says_so() -> None:
    if os.geteuid() != 0:
        pytest.skip("it takes root to be somebody else")
    refused = "import os; os.setuid(65534); from volley.hosts import cluster; cluster.require_means()"
    with tempfile.TemporaryDirectory() as folder:  # pytest's own are for nobody else
        unshare = Path(folder) / "unshare"
        unshare.write_text("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2; exit 1\n")
        for one in (unshare, unshare.parent):
            one.chmod(0o755)
        said = subprocess.run(
            [VOLLEY[0], "-c", f"import volley.hosts.cluster, psutil\n{refused}"],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        )
    assert "an emulated cluster needs root, or a kernel that lets ordinary users make namespaces" in said.stderr
    assert "Operation not permitted" in said.stderr


@pytest.fixture
def nobody() -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Runs the program as an ordinary user, with a home of its own and an MPI in its cache."""
    if why_no_cluster():
        pytest.skip(why_no_cluster())
    (mpich,) = resolve("mpich/tcp")
    mpich.prepare(lambda _: None)
    assert mpich.prefix is not None
    home = Path(tempfile.mkdtemp(prefix="volley-nobody-"))
    shutil.copytree(mpich.prefix, home / "cache" / "systems" / mpich.prefix.name, symlinks=True)
    subprocess.run(["chown", "-R", "65534:65534", home], check=True)
    environment = {"HOME": home, "XDG_RUNTIME_DIR": home, "VOLLEY_CACHE": home / "cache", "NO_COLOR": "1"}
    given = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    # Reading what others may not read: this Python may lie in root's home.
    for rights in ("-all,+dac_read_search", "-all"):
        sets = [f"--{kind}={rights}" for kind in ("inh-caps", "ambient-caps", "bounding-set")]
        become = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *sets]
        if subprocess.run([*become, VOLLEY[0], "-c", ""], capture_output=True, check=False).returncode == 0:
            break
    else:
        pytest.skip("an ordinary user cannot run this Python")

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*become, *VOLLEY, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=home,
            env={**given, **{name: str(value) for name, value in environment.items()}, "COLUMNS": "200"},
        )

    yield run
    run("cluster", "down")
    shutil.rmtree(home)


def test_an_ordinary_user_has_a_cluster_too(nobody: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    made = nobody("cluster", "up", "--hosts", "2")
    if "needs root, or a kernel" in made.stderr:
        pytest.skip(made.stderr)
    assert made.returncode == 0, made.stderr
    status = json.loads(nobody("cluster", "status", "--json").stdout)
    assert status["port_drops"] == {"n1": 0.0, "n2": 0.0}
    inside = nobody("cluster", "exec", "n1", f"{status['agent']} n2 hostname")
    assert inside.stdout == "n2\n", inside.stderr
    version = Path(status["agent"]).parents[2].glob("cache/systems/mpich-*")
    system = f"mpich=={next(version).name.removeprefix('mpich-')}/tcp"
    words = ("--systems", system, "--tests", "pingpong", "--sizes", "8", "--repetitions", "10", "--launches", "1")
    studied = nobody("study", "--cluster", "volley", *words, "--out", "study")
    assert studied.returncode == 0, studied.stdout + studied.stderr
    assert "1 launches, 20 operations timed" in studied.stdout
    assert nobody("cluster", "down").returncode == 0
    folder = Path(status["agent"]).parent
    assert not folder.exists()
    assert until(lambda: not [one for one in psutil.process_iter() if one.uids().real == 65534 and _names(one, folder)])


def _names(process: psutil.Process, folder: Path) -> bool:
    try:
        return str(folder) in " ".join(process.cmdline())
    except psutil.Error:
        return False


@pytest.mark.parametrize(
    "words", [("--rate", "fast"), ("--rate", "0mbit"), ("--buffer", "7"), ("--name", "a/b"), ("--hosts", "0")]
)
def test_what_cannot_be_is_refused(words: tuple[str, str]) -> None:
    said = volley("cluster", "up", *words)
    assert said.returncode == 2
    assert "Traceback" not in said.stderr
