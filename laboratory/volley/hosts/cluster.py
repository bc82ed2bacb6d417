# SPDX-License-Identifier: BSD-3-Clause
"""An emulated cluster: network namespaces on a bridge, each port shaped, each host with a name of its own.

The switch is the first process of a PID namespace, and holds the network namespace with the bridge: nothing of it can
be seen on the machine itself. Each host is a process in there, with a network, UTS, IPC and mount namespace of its
own. It sees its own /etc/hosts, /sys and /dev/shm; all else of the file system is shared, as home folders are on most
clusters. Once the switch's process has ended, the kernel takes all of it away, with all programs that run in hosts.
(A PID namespace for each host would be closer to the original, but no program may enter one beside its own, as the
agent must.)

The commands `ip`, `tc`, `unshare` and `nsenter` are called as a person would: they are on every Linux machine that can
do this, and pyroute2 would be one more dependency for what takes a dozen lines of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil

from volley.errors import UsageError, VolleyError


def _folder() -> Path:
    if os.geteuid() == 0:
        return Path("/run/volley-clusters")
    own = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.geteuid()}")
    if os.access(own, os.W_OK):
        return own / "volley-clusters"
    return Path(tempfile.gettempdir()) / f"volley-clusters-{os.geteuid()}"


FOLDER = _folder()
"""A folder for each cluster: on Debian and its like a tmpfs, so a restart of the machine leaves nothing."""
AS_ROOT = ("--user", "--map-root-user")
"""What an ordinary user's cluster is made in besides: a namespace in which that user is root."""
ENTER_AS_ROOT = ("--user", "--preserve-credentials")
"""How that is entered. The user is root there by being who they are; to set other groups is not allowed."""
TOOLS = {"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "nsenter": "util-linux"}
MOST_HOSTS = 200
START_LIMIT_SECONDS = 20.0
END_LIMIT_SECONDS = 10.0
NETWORK = "10.1.0.{}"
INTERFACE = "eth0"
HOST_QUEUE_BYTES = 1000 * 1514
"""Of a host's own interface: the usual txqueuelen. TCP keeps its own queue short there, so nothing is lost in it."""
LEAST_BURST_BYTES = 2 * 1514
BURST_SECONDS = 0.0005
"""What a port may send at once after a pause. Long enough for the kernel's timers, short beside the queue."""

KEEP_SWITCH = """
folder=$1
step=$2
mount -t proc proc /proc && ip link set lo up || exit 1
shift 2
number=0
for host; do
    ahead=; [ "$step" = 0 ] || ahead="--fork --time --monotonic $((number * step))"
    unshare --mount --uts --ipc --net $ahead sh -c "$KEEP_HOST" host "$host" "$folder" || kill $$ &
    number=$((number + 1))
done
echo switch
read word
if [ "$word" != stay ]; then kill -9 -1; wait; rm -rf "$folder"; exit; fi
exec env --ignore-signal=CHLD sleep infinity </dev/null >/dev/null 2>&1
"""
"""The kernel takes away processes that lost their parent if SIGCHLD is ignored (in dash, trap '' does so up to exec).
Ends when whoever sets the cluster up ends before it has said "stay", and removes the cluster's folder then."""
KEEP_HOST = """
set -e
hostname "$1"
mount --bind "$2/hosts" /etc/hosts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount -t sysfs sysfs /sys 2>/dev/null || true
ip link set lo up
echo $$ >"$2/keepers/$1"
echo "host $1"
exec sleep infinity </dev/null >/dev/null 2>&1
"""

AGENT = """#!/bin/sh
# Called as ssh is: AGENT [OPTION...] HOST COMMAND... runs the command in a host of the emulated cluster {name}.
# Options of ssh are taken and ignored. The command begins in the caller's folder, where the host has it.
while [ $# -gt 0 ]; do
    case $1 in
        -[BbcDEeFIiJLlmOopQRSWw]) shift 2 ;;
        -*) shift ;;
        *) break ;;
    esac
done
host=${{1##*@}}
{allowed}
if ! read -r keeper <"{folder}/keepers/$host" 2>/dev/null; then
    echo "volley: the emulated cluster {name} has no host $host; see: volley cluster status --name {name}" >&2
    exit 255
fi
shift
[ $# -gt 0 ] || set -- "exec ${{SHELL:-/bin/sh}}"
enter="nsenter --target $keeper --mount --uts --ipc --net {time}"
# From outside, the hosts' processes are seen once the PID namespace of all has been entered.
if [ "$(readlink /proc/self/ns/pid)" != "{pids}" ]; then
    enter="nsenter --target {switch} {user} --pid --mount $enter"
fi
# An ordinary user whom somebody gave the right to enter (capabilities) leaves that right outside, unless the command
# is to call this agent in turn.
if [ "$(id -u)" != 0 ] && [ -z "$VOLLEY_ENTERS_AGAIN" ]; then
    enter="$enter setpriv --inh-caps=-all --ambient-caps=-all"
fi
unset VOLLEY_ENTERS_AGAIN
exec $enter sh -c 'cd "$1" 2>/dev/null || cd /; shift; exec sh -c "$*"' agent "$PWD" "$@"
"""

# Of a cluster that belongs to an ordinary user: Open MPI, which sees root there, would refuse to start.
ALLOWED = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
ALLOWED += " PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1"


@dataclass(frozen=True)
class Keeper:
    """The process that holds a host, or the switch; its start tells it from a later one of the same number."""

    pid: int
    started: float

    @property
    def alive(self) -> bool:
        """Whether it is still that process."""
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(self.pid)
            return abs(process.create_time() - self.started) < 1 and process.status() != psutil.STATUS_ZOMBIE
        return False


@dataclass
class Cluster:
    """One emulated cluster, as its folder says it is."""

    name: str
    hosts: list[str]
    rate_bits: int
    buffer_bytes: int
    congestion: str
    """TCP's congestion control in the hosts."""
    clock_step_seconds: int = 0
    """Each host's monotonic clock is so far ahead of the one before."""
    keepers: dict[str, Keeper] = field(default_factory=dict)
    switch: Keeper | None = None

    @property
    def folder(self) -> Path:
        """Where agent and hostfile lie."""
        return FOLDER / self.name

    @property
    def agent(self) -> Path:
        """To be called as ssh is."""
        return self.folder / "agent"

    @property
    def hostfile(self) -> Path:
        """One host per line."""
        return self.folder / "hostfile"

    def gone(self) -> list[str]:
        """Parts that are no longer there."""
        lost = [host for host in self.hosts if host not in self.keepers or not self.keepers[host].alive]
        return lost if self.switch is not None and self.switch.alive else ["the switch", *lost]

    def to_json(self) -> dict[str, object]:
        """As `volley cluster status --json` prints it."""
        gone = set(self.gone())
        return {
            "name": self.name,
            "hosts": self.hosts,
            "hostfile": str(self.hostfile),
            "agent": str(self.agent),
            "rate_bits_per_second": self.rate_bits,
            "buffer_bytes": self.buffer_bytes,
            "burst_bytes": self.burst_bytes,
            "congestion_control": self.congestion,
            "interface": INTERFACE,
            "addresses": {host: address(at) for at, host in enumerate(self.hosts)},
            "gone": [one for one in ["the switch", *self.hosts] if one in gone],
        }

    def port_drops(self) -> dict[str, float]:
        """Host → packets that its port of the switch had no room for since the cluster is up."""
        said = _tool([*_inside(self._switch().pid), "tc", "-s", "-j", "qdisc", "show"])
        drops = {one.get("dev", ""): float(one.get("drops", 0)) for one in json.loads(said) if one.get("kind") == "tbf"}
        return {host: drops.get(port(at), 0.0) for at, host in enumerate(self.hosts)}

    def set_buffer(self, buffer_bytes: int) -> None:
        """Gives every port of the switch a queue of so many bytes."""
        lines = [f"qdisc replace dev {port(at)} root {self._shape(buffer_bytes)}" for at in range(len(self.hosts))]
        _batch("tc", self._switch().pid, lines)

    @contextlib.contextmanager
    def buffer(self, buffer_bytes: int) -> Iterator[None]:
        """Within, the ports' queues have so many bytes. Raises OSError where that cannot be done."""
        try:
            self.set_buffer(buffer_bytes)
        except VolleyError as problem:
            raise OSError(problem.problem) from problem
        try:
            yield
        finally:
            self.set_buffer(self.buffer_bytes)

    def _switch(self) -> Keeper:
        if self.switch is None or not self.switch.alive:
            raise VolleyError(
                f"the emulated cluster {self.name} has lost its switch", f"volley cluster down --name {self.name}"
            )
        return self.switch

    @property
    def burst_bytes(self) -> int:
        """What a port passes at once after a pause."""
        return max(LEAST_BURST_BYTES, int(self.rate_bits / 8 * BURST_SECONDS))

    def _shape(self, buffer_bytes: int) -> str:
        return f"tbf rate {self.rate_bits}bit burst {self.burst_bytes} limit {buffer_bytes}"

    def wire(self) -> None:
        """Makes bridge, cables, addresses and shaping."""
        switch = self._switch()
        queue, own_queue = self._shape(self.buffer_bytes), self._shape(HOST_QUEUE_BYTES)
        lines = ["link add br0 type bridge", "link set br0 up"]
        for at, host in enumerate(self.hosts):
            # Within the switch's PID namespace, as all that is entered here.
            pid = (self.folder / "keepers" / host).read_text().strip()
            lines.append(f"link add {port(at)} type veth peer name {INTERFACE} netns {pid}")
            lines.append(f"link set {port(at)} master br0 up")
        _batch("ip", switch.pid, lines)
        _batch("tc", switch.pid, [f"qdisc add dev {port(at)} root {queue}" for at in range(len(self.hosts))])
        for at, host in enumerate(self.hosts):
            network = NETWORK.format(0) + "/24"
            congestion = f" congctl {self.congestion}" if self.congestion else ""
            lines = [
                f"address add {address(at)}/24 dev {INTERFACE}",
                f"link set {INTERFACE} address {hardware_address(at)} up",
                # Whoever sets the congestion control of a namespace may choose only what the kernel calls harmless;
                # a route may name any. It then holds for every connection by it, whatever program makes it.
                f"route change {network} dev {INTERFACE} scope link src {address(at)}{congestion}",
                # What hosts learn of each other goes into one table of the kernel, for all namespaces, and from some
                # thirty hosts on that is full (gc_thresh3): connections fail for a while. What was told has no limit.
                *(
                    f"neigh add {address(other)} lladdr {hardware_address(other)} dev {INTERFACE} nud permanent"
                    for other in range(len(self.hosts))
                    if other != at
                ),
            ]
            keeper = self.folder / "keepers" / host
            _batch("ip", switch.pid, lines, keeper)
            _batch("tc", switch.pid, [f"qdisc add dev {INTERFACE} root {own_queue}"], keeper)

    def write_files(self) -> None:
        """Agent, hostfile, and what status reads."""
        switch = self._switch()
        words = {
            "name": self.name,
            "folder": self.folder,
            "time": "--time" if self.clock_step_seconds else "",
            "switch": switch.pid,
            "user": "" if os.geteuid() == 0 else " ".join(ENTER_AS_ROOT),
            "allowed": "" if os.geteuid() == 0 else ALLOWED,
            "pids": str(Path(f"/proc/{switch.pid}/ns/pid").readlink()),
        }
        self.agent.write_text(AGENT.format(**words))
        self.agent.chmod(0o755)
        self.hostfile.write_text("".join(f"{host}\n" for host in self.hosts))
        (self.folder / "cluster.json").write_text(json.dumps(asdict(self), indent=1))

    def end(self) -> None:
        """Ends every host with all that runs in it, and the switch. Raises VolleyError naming what stays."""
        keepers = [*self.keepers.values(), *([self.switch] if self.switch else [])]
        if self.switch is not None and self.switch.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.switch.pid, signal.SIGKILL)  # and with it all of its PID namespace
        deadline = time.monotonic() + END_LIMIT_SECONDS
        while any(keeper.alive for keeper in keepers):
            if time.monotonic() > deadline:
                stays = [str(keeper.pid) for keeper in keepers if keeper.alive]
                raise VolleyError(
                    f"processes of the emulated cluster {self.name} do not end: {', '.join(stays)}",
                    f"look what holds them (cat /proc/{stays[0]}/stack), then: volley cluster down --name {self.name}",
                )
            time.sleep(0.005)  # nobody tells of the end of a process that is not our child
        shutil.rmtree(self.folder, ignore_errors=True)


def address(at: int) -> str:
    """Of the host with this index."""
    return NETWORK.format(at + 1)


def hardware_address(at: int) -> str:
    """Of that host; its second digit says that nobody has assigned it (IEEE 802, section 8.2.2)."""
    return f"02:00:00:00:{at >> 8:02x}:{at & 255:02x}"


def port(at: int) -> str:
    """The switch's end of that host's cable."""
    return f"port{at + 1}"


def parse_rate(text: str) -> int:
    """Bits per second in ``100mbit`` or ``1gbit``. Raises UsageError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(k|m|g)bit", text.strip().lower())
    rate = round(float(match[1]) * {"k": 1e3, "m": 1e6, "g": 1e9}[match[2]]) if match else 0
    if not 100_000 <= rate <= 100_000_000_000:
        raise UsageError(f'"{text}" is no rate from 100kbit to 100gbit', "write for example --rate 100mbit or 1gbit")
    return rate


def parse_bytes(text: str) -> int:
    """Bytes in ``60KB``, ``1MB`` or ``4096``, K being 1024, as tc reads it. Raises UsageError."""
    match = re.fullmatch(r"(\d+)\s*([km]?)i?b?", text.strip().lower())
    size = int(match[1]) * {"": 1, "k": 1 << 10, "m": 1 << 20}[match[2]] if match else 0
    if not LEAST_BURST_BYTES <= size <= 1 << 30:
        raise UsageError(
            f'"{text}" is no queue of {LEAST_BURST_BYTES} bytes (two packets) to 1024 MB', "write for example 60KB"
        )
    return size


def load(name: str) -> Cluster:
    """The cluster of that name. Raises VolleyError where there is none."""
    try:
        said = json.loads((FOLDER / name / "cluster.json").read_text())
    except (OSError, ValueError) as problem:
        if (FOLDER / name).exists():
            raise VolleyError(
                f"the emulated cluster {name} is half removed: {FOLDER / name} does not say what it is",
                f"volley cluster down --name {name}",
            ) from problem
        raise VolleyError(f"there is no emulated cluster {name}", "volley cluster up --hosts 4") from problem
    said["keepers"] = {host: Keeper(**keeper) for host, keeper in said["keepers"].items()}
    said["switch"] = Keeper(**said["switch"]) if said["switch"] else None
    return Cluster(**said)


def whole(name: str) -> Cluster:
    """The cluster, all of whose hosts are there. Raises VolleyError naming those that are not."""
    found = load(name)
    gone = found.gone()
    if gone:
        raise VolleyError(
            f"the emulated cluster {name} is half removed: {', '.join(gone)} gone",
            f"volley cluster down --name {name}; then make it anew",
        )
    return found


def require_means() -> None:
    """Raises VolleyError where this user or machine cannot have a cluster."""
    missing = {tool: package for tool, package in TOOLS.items() if shutil.which(tool) is None}
    if missing:
        raise VolleyError(
            f"an emulated cluster needs {', '.join(missing)}",
            f"apt-get install {' '.join(sorted(set(missing.values())))}",
        )
    if os.geteuid() != 0 and (refused := _refused()):
        raise VolleyError(
            f"an emulated cluster needs root, or a kernel that lets ordinary users make namespaces: {refused}",
            "sudo volley cluster up …, or let them: sysctl user.max_user_namespaces=10000 "
            "kernel.unprivileged_userns_clone=1 (Debian) kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu)",
        )


def _refused() -> str:
    """Why this user may not make the namespaces a cluster needs, by trying; '' if so."""
    inside = "mount -t proc proc /proc && ip link add br0 type bridge"
    argv = ["unshare", *AS_ROOT, "--fork", "--kill-child", "--pid", "--mount", "--net", "sh", "-c", inside]
    tried = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=START_LIMIT_SECONDS)
    return "" if tried.returncode == 0 else (tried.stderr or tried.stdout).strip()[:200] or f"status {tried.returncode}"


def up(wanted: Cluster) -> Cluster:
    """Sets the cluster up. Whatever happens before it is whole leaves nothing. Raises VolleyError."""
    require_means()
    FOLDER.mkdir(mode=0o755, exist_ok=True, parents=True)
    try:
        wanted.folder.mkdir(mode=0o755)
    except FileExistsError:
        there = whole(wanted.name)
        raise VolleyError(
            f"the emulated cluster {wanted.name} is up already, with {len(there.hosts)} hosts",
            f"use it, or remove it: volley cluster down --name {wanted.name}",
        ) from None
    process = None
    try:
        process = _start(wanted)
        wanted.wire()
        wanted.write_files()
        assert process.stdin is not None
        process.stdin.write(b"stay\n")
        process.stdin.close()
    except BaseException:
        if process is not None:
            process.kill()  # unshare takes the switch with it, and that all of its PID namespace
            process.wait()
        shutil.rmtree(wanted.folder, ignore_errors=True)
        raise
    return wanted


def down(name: str) -> bool:
    """Removes the cluster and all that runs in it; False if there was none."""
    try:
        found = load(name)
    except VolleyError:
        there = (FOLDER / name).exists()
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        return there
    require_means()
    found.end()
    return True


def _start(cluster: Cluster) -> subprocess.Popen[bytes]:
    """Starts switch and hosts, which wait to be told to stay."""
    lines = [f"{address(at)} {host}\n" for at, host in enumerate(cluster.hosts)]
    (cluster.folder / "hosts").write_text("127.0.0.1 localhost\n" + "".join(lines))
    (cluster.folder / "keepers").mkdir()
    # --kill-child: the switch ends with the process that waits for it.
    own = AS_ROOT if os.geteuid() != 0 else ()
    apart = ["unshare", *own, "--fork", "--kill-child", "--pid", "--mount", "--net"]
    arguments = [str(cluster.folder), str(cluster.clock_step_seconds), *cluster.hosts]
    process = subprocess.Popen(
        [*apart, "sh", "-c", KEEP_SWITCH, "switch", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        cwd="/",
        umask=0o022,
        env={**os.environ, "KEEP_HOST": KEEP_HOST},
    )
    try:
        _await_ready(process, len(cluster.hosts))
        (switch,) = psutil.Process(process.pid).children()
        cluster.switch = _keeper_of(switch)
        inner = {_pid_inside(one): one for one in switch.children(recursive=True)}
        for host in cluster.hosts:
            cluster.keepers[host] = _keeper_of(inner[int((cluster.folder / "keepers" / host).read_text())])
    except BaseException:
        process.kill()
        process.wait()
        raise
    return process


def _await_ready(process: subprocess.Popen[bytes], hosts: int) -> None:
    """Reads a line of the switch and of each host; anything else is what went wrong."""
    assert process.stdout is not None
    timer = threading.Timer(START_LIMIT_SECONDS, process.kill)  # which ends the wait for their output
    timer.start()
    try:
        lines = [process.stdout.readline().decode(errors="replace") for _ in range(1 + hosts)]
    finally:
        timer.cancel()
    wrong = " ".join(line.strip() for line in lines if not re.fullmatch(r"(host \S+|switch)\n", line))
    if wrong or "" in lines:
        raise VolleyError(
            f"the emulated cluster cannot be made: {wrong or f'not ready after {START_LIMIT_SECONDS:g} s'}",
            "it takes a kernel with namespaces, bridge, veth and the queue discipline tbf",
        )


def _pid_inside(process: psutil.Process) -> int:
    """Its number in the innermost PID namespace it is in."""
    with contextlib.suppress(OSError):
        match = re.search(r"^NSpid:.*\t(\d+)$", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
        return int(match[1]) if match else 0
    return 0


def _keeper_of(process: psutil.Process) -> Keeper:
    return Keeper(process.pid, process.create_time())


def _inside(switch: int) -> list[str]:
    """What runs a command in the switch's namespaces."""
    own = ENTER_AS_ROOT if os.geteuid() != 0 else ()
    return ["nsenter", "--target", str(switch), *own, "--pid", "--mount", "--net"]


def _tool(argv: Sequence[str], given: str = "") -> str:
    done = subprocess.run(argv, input=given, capture_output=True, text=True, check=False, timeout=START_LIMIT_SECONDS)
    if done.returncode != 0:
        raise VolleyError(
            f"{' '.join(argv)} failed: {(done.stderr or done.stdout).strip()[:300]}",
            "it takes a kernel with bridge, veth and the queue discipline tbf",
        )
    return done.stdout


def _batch(tool: str, switch: int, lines: Sequence[str], host: Path | None = None) -> None:
    """Runs lines of `ip` or `tc` in the switch, or in the host whose process that file names."""
    enter = ["nsenter", "--target", host.read_text().strip(), "--net"] if host else []
    _tool([*_inside(switch), *enter, tool, "-batch", "-"], "\n".join(lines) + "\n")
