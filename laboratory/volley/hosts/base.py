# SPDX-License-Identifier: BSD-3-Clause
"""What every kind of host offers: running commands, putting and fetching files, facts, counters, cleaning up.

A kind says how a command is started on a host, and which agent an MPI calls in place of ssh; all else follows.
To add a kind, add one module with one subclass of :class:`Hosts`, and its word to ``choose.py``.
"""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from volley.data.results import LOST_HOST, Launch, Warning
from volley.data.states import MachineState
from volley.errors import VolleyError
from volley.hosts.observer import ANSWER_SECONDS, HostClock, HostLost, Observer, compile_observer
from volley.hosts.scratch import LEAST_BYTES, require_room
from volley.machine import facts as machine_facts
from volley.machine import processes
from volley.machine.processes import Command, User
from volley.progress import Note
from volley.systems.base import Placement

T = TypeVar("T")

STEP_LIMIT_SECONDS = 60.0
"""For putting or fetching a launch's files."""
ANSWER_LIMIT_SECONDS = 15.0
"""For a host's first answer."""
KEPT_PER_HOST = ("Tcp.RetransSegs", "TcpExt.TCPTimeouts", "TcpExt.TCPLossProbes", "port.drops")
"""Counters of a launch that are kept for each host as well; and the bytes of its interfaces."""
FACTS = """
echo "machine $(uname -m)"
echo "kernel $(uname -sr)"
echo "libc $(getconf GNU_LIBC_VERSION 2>/dev/null)"
echo "name $(uname -n)"
echo "cores $(nproc)"
echo "cpus $(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
echo "cpu $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1)"
echo "memory_kib $(sed -n 's/^MemTotal:[[:space:]]*\\([0-9]*\\).*/\\1/p' /proc/meminfo)"
echo "congestion_control $(cat /proc/sys/net/ipv4/tcp_congestion_control 2>/dev/null)"
"""


NO_CARRIER = ("down", "lowerlayerdown", "notpresent")
"""What sysfs says of an interface by which nothing comes (operstate; Documentation/ABI/testing/sysfs-class-net)."""


@dataclass
class HostFacts:
    """One host, as it says it is."""

    name: str
    machine: str = ""
    kernel: str = ""
    libc: str = ""
    cores: int = 0
    cpus: list[int] = field(default_factory=list)
    cpu: str = ""
    memory_bytes: int = 0
    congestion_control: str = ""
    calls_itself: str = ""


@dataclass(frozen=True)
class DeeperQueue:
    """A change of the network: its ports lose nothing."""

    words: str
    """What is changed, for a person."""
    within: Callable[[], AbstractContextManager[None]]
    """Within, it is changed. Raises OSError where that cannot be done."""


@dataclass
class Observed:
    """What hosts said around a launch."""

    clocks: Mapping[str, HostClock] = field(default_factory=dict)
    """By the name that the host calls itself, as ranks do. Known when the launch has ended."""


class Hosts(ABC):
    """Some hosts, of one kind."""

    kind: ClassVar[str]
    interface: str = ""
    """The network interface that MPIs are told to use; '': what they choose. (A transport is the system's.)"""
    cores_shared: ClassVar[bool] = False
    """Whether the hosts are one machine in truth, with the same cores."""

    def __init__(self, names: Sequence[str], ranks_per_host: int = 1) -> None:
        self.names = list(names)
        self.ranks_per_host = ranks_per_host
        self.facts: dict[str, HostFacts] = {}
        self.warnings: list[Warning] = []
        self.lost: dict[str, str] = {}
        """Host → why it is no longer used."""
        self._observers: dict[str, Observer] = {}
        self._sharing: set[str] = set()
        self._put: list[Path] = []

    # What a kind says of itself

    @abstractmethod
    def start(self, host: str, line: str) -> tuple[str, ...]:
        """The command here that runs a shell line on `host`."""

    @property
    @abstractmethod
    def agent(self) -> Path:
        """A program on the first host that is called as ssh is, and starts a command on another one."""

    @property
    def spec(self) -> str:
        """What names these hosts again: see choose.py."""
        return f"{self.kind}:{','.join(self.names)}"

    def remedy(self, host: str) -> str:
        """What to try by hand if a host does not answer."""
        return f"try: {shlex.join(self.start(host, 'true'))}"

    @property
    def option(self) -> list[str]:
        """What names these hosts on a command line."""
        return ["--hosts", ",".join(self.names)]

    def notes(self) -> list[Warning]:
        """What whoever reads figures of such hosts must know."""
        return []

    def deeper_queue(self) -> DeeperQueue | None:
        """Queues so deep that ports lose nothing, where that can be had."""
        return None

    def port_drops(self) -> dict[str, float]:
        """Host → packets that its port of the network had no room for, where that can be told."""
        return {}

    # What the laboratory does with them

    @contextlib.contextmanager
    def opened(self, scratch: Path, note: Note) -> Iterator[None]:
        """Within, hosts can be used. Those that do not answer or do not fit are left out, with a warning each.

        Raises VolleyError if fewer than two are left.
        """
        try:
            self._greet(note)
            self._prepare(scratch)
            if len(self.names) < 2:
                reasons = "; ".join(f"{host}: {why}" for host, why in self.lost.items())
                raise VolleyError(
                    f"too few hosts can be used: {', '.join(self.names) or 'none'} ({reasons or 'two are needed'})",
                    "name two that answer and have this machine's architecture",
                )
            yield
        finally:
            self.clean_up()

    def environment(self) -> dict[str, Any]:
        """Facts for study.json, over those of this machine."""
        return {
            "hosts": [vars(self.facts[host]) for host in self.names],
            "hosts_kind": self.kind,
            "interface": self.interface,
            "cores": sum(self.facts[host].cores for host in self.names),
            "memory_bytes": min(self.facts[host].memory_bytes for host in self.names)
            * (1 if self.cores_shared else len(self.names)),
            "usable_cpus": [],
            "cpus_by_host": {} if self.cores_shared else {host: self.facts[host].cpus for host in self.names},
        }

    def lacking(self, path: Path) -> list[str]:
        """Hosts that have no such file."""
        line = f"test -e {shlex.quote(str(path))} && echo yes || true"
        there = self._each(list(self.names), lambda host: self._answer(host, line))
        return [host for host, said in there.items() if said.strip() != "yes"]

    def placement(self, ranks: int) -> Placement | None:
        """Where the ranks of a world go: as many hosts as it has ranks, or all. Raises HostLost if they do not fit."""
        each = math.ceil(ranks / max(len(self.names), 1))
        if (each > self.ranks_per_host and self.lost) or not self.names:
            raise HostLost(
                f"{ranks} ranks need {math.ceil(ranks / self.ranks_per_host)} hosts, and {len(self.names)} are left",
                "; ".join(self.lost.values()),
            )
        used = self.names[: math.ceil(ranks / each)]
        return Placement(tuple(used), each, self.agent, self.interface, self.cores_shared)

    def run(self, command: Command, limit_seconds: float, used: Collection[str]) -> processes.Outcome:
        """Runs it on the first of the hosts it uses to its end, or until one of them gives no sign of life."""
        argv = self.start(self.names[0], shell_line(command))
        own = Command(self.as_user(argv, command.user), command.environment)
        return processes.run(own, limit_seconds, worth=lambda: self._all_alive(used))

    def _all_alive(self, used: Collection[str]) -> bool:
        """Asks these hosts, all at once, for a sign of life; those that give none are left out."""
        for host in set(self.names) & set(used):
            with self._unless_lost(host):
                self._observers[host].ask_sign()
        until = time.monotonic() + ANSWER_SECONDS
        for host in set(self.names) & set(used):
            with self._unless_lost(host):
                self._observers[host].await_sign(until)
        return set(used) <= set(self.names)

    def as_user(self, argv: tuple[str, ...], user: User | None) -> tuple[str, ...]:
        """The command as somebody else's, where a system's processes are. Raises VolleyError where that cannot be."""
        if user is None:
            return argv
        raise VolleyError(
            f"on hosts of the kind {self.kind}, processes cannot be run as {user.name}",
            "run the laboratory as an ordinary user",
        )

    def put(self, path: Path, user: User | None = None) -> None:
        """Copies a file or folder to the same place on every host that does not see it. Raises HostLost."""
        self._put.append(path)
        line = f"mkdir -p {shlex.quote(str(path.parent))} && tar -C {shlex.quote(str(path.parent))} -xf -"
        packed = ("tar", "-C", str(path.parent), "-cf", "-", path.name)
        others = [host for host in self.names if host not in self._sharing]
        self._each(others, lambda host: self._piped(host, packed, self.start(host, line)))

    def fetch(self, folder: Path) -> None:
        """Brings what hosts have in `folder` here. Raises HostLost."""
        quoted = shlex.quote(str(folder))
        line = f"cd {quoted} && tar -cf - . && rm -rf {quoted}"
        unpack = ("tar", "-C", str(folder), "-xf", "-")
        others = [host for host in self.names if host not in self._sharing]
        self._each(others, lambda host: self._piped(host, self.start(host, line), unpack))

    @contextlib.contextmanager
    def observed(self, launch: Launch, used: Collection[str]) -> Iterator[Observed]:
        """Within runs the launch: what moved meanwhile on all hosts, and their clocks, are kept with it; and the states
        of those that it uses.
        """
        seen = Observed()
        states = self._states(launch.ranks, used)
        clocks = self._ask(lambda observer: observer.clock())
        before, drops = self._counters(), self.port_drops()
        yield seen
        after, drops_after = self._counters(), self.port_drops()
        closing = self._ask(lambda observer: observer.clock())
        by_host = {host: HostClock(clocks[host], closing[host]) for host in closing if host in clocks}
        seen.clocks = {self.facts[host].calls_itself: clock for host, clock in by_host.items()}
        for host in self.names:
            moved = moved_between(before.get(host, {}), after.get(host, {}))
            if host in drops_after:
                moved["port.drops"] = drops_after[host] - drops.get(host, 0.0)
            self._keep(launch, host, moved, by_host.get(host))
        states_after = self._states(launch.ranks, used)
        for host in states.keys() & states_after.keys():
            state = {"before": asdict(states[host]), "after": asdict(states_after[host])}
            if self.cores_shared:
                launch.state = state
            else:
                next(one for one in launch.hosts if one["name"] == host)["state"] = state

    def _states(self, ranks: int, used: Collection[str]) -> dict[str, MachineState]:
        """Of the CPUs that ranks use on each host; of one alone where all hosts are one machine."""
        asked = [host for host in self.names if host in used and self.facts[host].cpus]
        each = max(math.ceil(ranks / max(len(used), 1)), 2)  # one CPU by itself says too little
        if self.cores_shared:
            asked, each = asked[:1], ranks
        answers = {}
        for host in asked:
            with self._unless_lost(host):
                answers[host] = self._observers[host].state(self.facts[host].cpus[:each])
        return answers

    def _keep(self, launch: Launch, host: str, moved: dict[str, float], clock: HostClock | None) -> None:
        for name, value in moved.items():
            if not (name.startswith("cpu.") and self.cores_shared and host != self.names[0]):
                launch.counters[name] = round(launch.counters.get(name, 0) + value, 4)
        own: dict[str, Any] = {name: value for name, value in moved.items() if name in KEPT_PER_HOST}
        own |= {name: value for name, value in moved.items() if name.startswith("net.") and "bytes" in name}
        kept: dict[str, Any] = {"name": host, "counters": own}
        if clock is not None:
            kept |= {
                "clock_offset_ns": round(clock.offset_ns),
                "clock_drift_ppm": round(clock.drift * 1e6, 3),
                "clock_error_ns": round(clock.error_ns),
            }
        launch.hosts.append(kept)

    def check(self) -> None:
        """After a launch that did not end well: hosts that no longer answer are left out, and nothing of it stays."""
        self._ask(lambda observer: observer.clock())
        self._without_network()
        self.end_strays()

    def check_room(self, folder: Path) -> None:
        """Hosts that have no room left for a launch's folder are left out. Raises DiskFull if it is our own disk."""
        require_room(folder)
        quoted = shlex.quote(str(folder))
        # %f: free blocks; %a: those that are not kept for root; %S: bytes of one.
        line = f'free=%a; [ "$(id -u)" != 0 ] || free=%f; stat -f -c "$free %S" {quoted}'
        others = [host for host in self.names if host not in self._sharing]
        for host, said in self._each(others, lambda host: self._answer(host, line)).items():
            blocks, each = (int(word) for word in said.split())
            if blocks * each < LEAST_BYTES:
                self._remove_from(host)
                look = shlex.join(self.start(host, f"df -h {shlex.quote(str(folder.parent.parent))}"))
                self._leave_out(host, f"host {host} has no room left for {folder.parent.parent}", f"make room: {look}")

    def _without_network(self) -> None:
        """Leaves out hosts that answer by another way than the one their ranks use, which is down."""
        if not self.interface:
            return
        line = f"cat /sys/class/net/{shlex.quote(self.interface)}/operstate 2>/dev/null || true"
        for host, said in self._each(list(self.names), lambda host: self._answer(host, line)).items():
            if said.strip() in NO_CARRIER:
                self._leave_out(
                    host,
                    f"host {host} has lost its network: its interface {self.interface} is {said.strip()}",
                    f"look at it: {shlex.join(self.start(host, f'ip link show {self.interface}'))}",
                )

    def end_strays(self) -> None:
        """Ends what launches have left on hosts. Where their processes are seen from here, that is done already."""
        return

    def clean_up(self) -> None:
        """Ends what was started, and removes what was put, on every host."""
        for observer in self._observers.values():
            observer.close()
        self._observers.clear()
        self._each(self.names, self._remove_from)
        self._put.clear()

    def _remove_from(self, host: str) -> None:
        """What was put on a host, if it answers."""
        folders = {str(path if path.is_dir() else path.parent) for path in self._put}
        if folders and host not in self._sharing:
            with contextlib.suppress(VolleyError):
                self._answer(host, f"rm -rf {shlex.join(sorted(folders))}")

    # How

    def _greet(self, note: Note) -> None:
        """Asks every host for its facts, all at once."""
        note(f"asking {len(self.names)} hosts")
        told = self._each(list(self.names), lambda host: parse_facts(host, self._answer(host, FACTS)))
        here = os.uname().machine
        for host, facts in told.items():
            if facts.machine != here:
                self._leave_out(host, f"host {host} is {facts.machine}, and programs are compiled for {here} here")
            self.facts[host] = facts
        libraries = {facts.libc for host, facts in told.items() if host in self.names}
        if len(libraries) > 1:
            by_host = ", ".join(f"{host} {told[host].libc}" for host in self.names)
            self.warnings.append(
                Warning("C libraries differ", f"hosts have several: {by_host}", "compile where the oldest is")
            )
        self.warnings += self.notes()

    def _prepare(self, scratch: Path) -> None:
        """Finds who shares our files, and starts the observers."""
        token = scratch / f"token-{processes.OWNER}"
        token.touch()
        shares = self._each(list(self.names), lambda host: self._answer(host, f"test -e {token} && echo yes || true"))
        self._sharing = {host for host, said in shares.items() if said.strip() == "yes"}
        program = scratch / "observer"
        program.write_bytes(compile_observer().read_bytes())
        program.chmod(0o755)
        self.put(program)
        for host in list(self.names):
            argv = self.start(host, f"exec {shlex.quote(str(program))}")
            self._observers[host] = Observer(host, argv, os.environ)
        self._ask(lambda observer: observer.clock())

    def _answer(self, host: str, line: str) -> str:
        outcome = processes.run(Command(self.start(host, line)), ANSWER_LIMIT_SECONDS)
        if not outcome.fine:
            said = f"after {ANSWER_LIMIT_SECONDS:g} s" if outcome.timed_out else f": {outcome.last_words(160)}"
            raise HostLost(f"host {host} does not answer {said}".replace(" :", ":"), self.remedy(host))
        return outcome.output

    def _piped(self, host: str, source: Sequence[str], sink: Sequence[str]) -> None:
        line = f"{shlex.join(source)} | {shlex.join(sink)}"
        outcome = processes.run(Command(("sh", "-c", line)), STEP_LIMIT_SECONDS)
        if outcome.timed_out:
            raise HostLost(f"files were not brought to or from host {host} within {STEP_LIMIT_SECONDS:g} s")
        if not outcome.fine or outcome.errors.strip():
            self._remove_from(host)
            raise HostLost(
                f"files cannot be brought to or from host {host}: {outcome.last_words()}",
                f"see whether it has room: {shlex.join(self.start(host, 'df -h ' + tempfile.gettempdir()))}",
            )

    def _each(self, hosts: Sequence[str], work: Callable[[str], T]) -> dict[str, T]:
        """What `work` gave for each host, all at once; a host it fails on is left out from now on."""
        if not hosts:
            return {}
        done: dict[str, T] = {}
        with ThreadPoolExecutor(min(len(hosts), 16)) as pool:
            for host, future in {host: pool.submit(work, host) for host in hosts}.items():
                try:
                    done[host] = future.result()
                except HostLost as problem:
                    self._leave_out(host, problem.problem, problem.remedy)
        return done

    def _ask(self, question: Callable[[Observer], T]) -> dict[str, T]:
        """What observers answered, one after the other: round trips at once would disturb each other."""
        answers = {}
        for host in list(self.names):
            with self._unless_lost(host):
                answers[host] = question(self._observers[host])
        return answers

    @contextlib.contextmanager
    def _unless_lost(self, host: str) -> Iterator[None]:
        """A host that does not answer within is left out from now on."""
        try:
            yield
        except HostLost as problem:
            self._leave_out(host, problem.problem, problem.remedy)

    def _counters(self) -> dict[str, dict[str, float]]:
        return {
            host: machine_facts.parse_counters(text)
            for host, text in self._ask(lambda observer: observer.counters()).items()
        }

    def _leave_out(self, host: str, why: str, remedy: str = "") -> None:
        if host in self.names:
            self.names.remove(host)
        if host not in self.lost:
            self.lost[host] = why
            self.warnings.append(Warning(LOST_HOST, why, remedy or self.remedy(host)))
        if host in self._observers:
            self._observers.pop(host).close()


def parse_facts(host: str, said: str) -> HostFacts:
    """From what FACTS printed."""
    told = dict(line.partition(" ")[::2] for line in said.splitlines())
    return HostFacts(
        name=host,
        machine=told.get("machine", ""),
        kernel=told.get("kernel", ""),
        libc=told.get("libc", ""),
        cores=int(told.get("cores") or 1),
        cpus=parse_cpu_list(told.get("cpus", "")),
        cpu=told.get("cpu", ""),
        memory_bytes=int(told.get("memory_kib") or 0) * 1024,
        congestion_control=told.get("congestion_control", ""),
        calls_itself=told.get("name", ""),
    )


def parse_cpu_list(text: str) -> list[int]:
    """``0-2,5`` as 0, 1, 2, 5."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdigit():
            found += range(int(first), int(last or first) + 1)
    return found


def shell_line(command: Command) -> str:
    """A command as one line of shell, with what its environment has besides ours."""
    own = {name: value for name, value in command.environment.items() if os.environ.get(name) != value}
    gone = [name for name in os.environ if name not in command.environment]
    words = ["env", *(word for name in gone for word in ("-u", name)), *(f"{name}={own[name]}" for name in own)]
    folder = f"cd {shlex.quote(str(command.folder))} && " if command.folder else ""
    return f"{folder}exec {shlex.join([*words, *command.argv])}"


def moved_between(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Counters that moved, by how far."""
    return {name: value - before.get(name, 0) for name, value in after.items() if value != before.get(name, 0)}
