# SPDX-License-Identifier: BSD-3-Clause
"""The launchers there are: how each is told to start ranks here, through which transport, unbound.

A flavour is what MPICH in a wheel, MPICH on PATH and MPICH below some prefix have in common.
"""

from __future__ import annotations

import re
import socket
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import psutil

from volley.machine.environment import clean_environment
from volley.machine.processes import Command
from volley.systems import knobs
from volley.systems.base import Placement

AS_IT_COMES = "auto"
"""The transport that an MPI chooses itself, where the user named none."""
LOST_WAKE_UPS = "library.lost_wake_ups"
"""The counter of a launch: waits that nobody ended though what they waited for was there, as the library tells."""


VOLLEY_LOST = re.compile(r"^Volley: rank \d+: (\d+) waits? nobody ended in time\b.*lost wake-ups", re.MULTILINE)


def has_network() -> bool:
    """Whether an interface besides loopback is up and has an IPv4 address."""
    up = {name for name, state in psutil.net_if_stats().items() if state.isup and name != "lo"}
    addresses = psutil.net_if_addrs()
    return any(one.family == socket.AF_INET for name in up for one in addresses.get(name, []))


@dataclass(frozen=True)
class Way:
    """What an mpiexec is told of a launch."""

    version: str
    transport: str
    ranks: int
    placement: Placement | None = None
    """None: all ranks here."""

    @property
    def major(self) -> int:
        """First number of the version; 0 if it has none."""
        first = self.version.partition(".")[0]
        return int(first) if first.isdigit() else 0


class Flavour(ABC):
    """One kind of mpiexec."""

    name: ClassVar[str]
    transports: ClassVar[Mapping[str, str]]
    network_transports: ClassVar[Sequence[str]] = ()
    """Those that reach other hosts, the usual one first."""
    segments: ClassVar[Sequence[str]] = ()
    """Names of the files in /dev/shm that its ranks leave there if they are killed."""

    @abstractmethod
    def arguments(self, way: Way) -> list[str]:
        """What follows ``mpiexec`` and comes before the program."""

    def variables(self, prefix: Path, way: Way) -> dict[str, str]:
        """Environment variables for launcher and ranks."""
        return {}

    def setting_variable(self, name: str) -> str:
        """The environment variable that carries the MPI's own setting `name` to launcher and ranks."""
        return name

    def command(self, prefix: Path, way: Way, program: Sequence[str], keep_loader: bool = False) -> Command:
        """The launch of `program` (with its arguments) by PREFIX/bin/mpiexec."""
        argv = (str(prefix / "bin" / "mpiexec"), *self.arguments(way), *program)
        return Command(argv, self.environment(prefix, way, keep_loader))

    def environment(self, prefix: Path, way: Way, keep_loader: bool = False) -> dict[str, str]:
        """The whole environment of a launch."""
        return clean_environment(self.variables(prefix, way), keep_loader=keep_loader)

    def knobs(self, prefix: Path, transport: str, keep_loader: bool = False) -> dict[str, str]:
        """What the MPI's own tool says about its settings."""
        return {}

    def counted(self, said: str) -> dict[str, float]:
        """What the library itself counted in a launch, from what that printed: for the launch's counters."""
        return {}


class Hydra(Flavour):
    """MPICH's launcher. Ranks are not bound unless -bind-to is given, and share cores without a flag."""

    name = "mpich"
    transports: ClassVar[Mapping[str, str]] = {
        "shm": "shared memory (MPICH's own choice on one node)",
        "tcp": "TCP through the loopback interface, by the network module of the build (OFI or UCX)",
    }
    network_transports = ("tcp",)
    segments = ("mpich_shm_*",)

    def arguments(self, way: Way) -> list[str]:
        """``-launcher fork`` here: never ssh, whatever a batch system or host file says. On hosts the agent is ssh."""
        place = way.placement
        if place is None:
            return ["-launcher", "fork", "-n", str(way.ranks)]
        started = ["-launcher", "ssh", "-launcher-exec", str(place.agent), "-hosts", place.with_slots()]
        return [*started, *(["-iface", place.interface] if place.interface else []), "-n", str(way.ranks)]

    def variables(self, prefix: Path, way: Way) -> dict[str, str]:
        """NOLOCAL sends messages of one node to the network module; without UCX_TLS and FI_PROVIDER that
        module (UCX at once, OFI in some builds) takes shared memory again. Seen on 3.4.3, 4.1.3 (OFI) and
        5.0.2 (UCX): the bytes of all messages, and only then, show up on `lo` in /proc/net/dev.

        UCX knows no way over `lo` alone (with UCX_NET_DEVICES=lo it looks for a route to a random address),
        so OFI serves where the machine has no other network.
        """
        if way.transport != "tcp":
            return {}
        chosen = {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "UCX_TLS": "tcp,self"}
        if way.placement is not None:
            name = way.placement.interface
            return {**chosen, **({"FI_TCP_IFACE": name, "UCX_NET_DEVICES": name} if name else {})}
        return chosen if has_network() else {**chosen, "MPIR_CVAR_CH4_NETMOD": "ofi"}

    def knobs(self, prefix: Path, transport: str, keep_loader: bool = False) -> dict[str, str]:
        """Control variables with their current values, by ``mpivars``, and how it was built."""
        environment = self.environment(prefix, Way("", transport, 1), keep_loader)
        build = knobs.built(prefix / "bin" / "mpichversion", environment)
        return build | knobs.collect([prefix / "bin" / "mpivars"], environment, knobs.MPIVARS_LINE)


class OpenMpi(Flavour):
    """Open MPI's launcher (ORTE up to 4, PRRTE from 5)."""

    name = "openmpi"
    transports: ClassVar[Mapping[str, str]] = {
        "shm": "shared memory (pml ob1, btl sm or vader)",
        "tcp": "TCP through the loopback interface (pml ob1, btl tcp)",
        AS_IT_COMES: "what it chooses itself when no transport is named",
    }
    network_transports = ("tcp", AS_IT_COMES)
    segments = ("vader_segment.*", "sm_segment.*")

    def setting_variable(self, name: str) -> str:
        """``btl_sm_eager_limit`` travels as OMPI_MCA_btl_sm_eager_limit; names in capitals are variables already."""
        return name if name.isupper() else f"OMPI_MCA_{name}"

    def arguments(self, way: Way) -> list[str]:
        """Root is allowed, since containers often have nobody else; ranks may outnumber cores; no binding,
        since the test programs pin themselves.
        """
        chosen: list[str] = []
        if way.transport == "shm":
            shared = "vader" if way.major in (3, 4) else "sm"
            chosen = ["--mca", "pml", "ob1", "--mca", "btl", f"{shared},self"]
        elif way.transport == "tcp":
            chosen = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
            # The loopback interface by name: a machine without any other network can be measured too.
            interface = way.placement.interface if way.placement else "lo"
            chosen += ["--mca", "btl_tcp_if_include", interface] if interface else []
        unbound = ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
        hosts = self._hosts(way, way.placement) if way.placement else []
        return ["--allow-run-as-root", *unbound, *hosts, *chosen, "-n", str(way.ranks)]

    def _hosts(self, way: Way, place: Placement) -> list[str]:
        """The agent starts all daemons from the first host: that it is on the others, too, is not needed then."""
        if way.major >= 5:
            option, agent, control = "--prtemca", "plm_ssh", "prte_if_include"
        else:
            option, agent, control = "--mca", "plm_rsh", "oob_tcp_if_include"
        words = [option, "plm", "ssh" if way.major >= 5 else "rsh", option, f"{agent}_agent", str(place.agent)]
        words += [option, f"{agent}_no_tree_spawn", "1", "--host", place.with_slots()]
        words += [option, control, place.interface] if place.interface else []
        return [*words, *(["--mca", "mpi_yield_when_idle", "1"] if place.cores_shared else [])]

    def knobs(self, prefix: Path, transport: str, keep_loader: bool = False) -> dict[str, str]:
        """Parameters with their current values, by ``ompi_info``."""
        environment = self.environment(prefix, Way("", transport, 1), keep_loader)
        tool: list[str | Path] = [prefix / "bin" / "ompi_info", "--all", "--parsable"]
        return knobs.collect(tool, environment, knobs.OMPI_INFO_LINE)


class Intel(Flavour):
    """Intel MPI's launcher, a Hydra of its own."""

    name = "intel"
    transports: ClassVar[Mapping[str, str]] = {
        "shm": "shared memory (I_MPI_FABRICS=shm)",
        "tcp": "TCP through the loopback interface (I_MPI_FABRICS=ofi, libfabric's tcp provider)",
    }

    network_transports = ("tcp",)

    def arguments(self, way: Way) -> list[str]:
        """Here only the number: everything else is in the environment."""
        place = way.placement
        if place is None:
            return ["-n", str(way.ranks)]
        started = ["-bootstrap", "ssh", "-bootstrap-exec", str(place.agent), "-hosts", ",".join(place.hosts)]
        started += ["-ppn", str(place.ranks_per_host)]
        return [*started, *(["-iface", place.interface] if place.interface else []), "-n", str(way.ranks)]

    def variables(self, prefix: Path, way: Way) -> dict[str, str]:
        """Pinning off, since the test programs pin themselves; ranks by fork, never by ssh.

        I_MPI_ROOT and the library folder are what setvars.sh would have set: its tools and libfabric
        are found by them. FI_PROVIDER_PATH must name the wheel's providers, or libfabric has none.
        """
        library = prefix / "lib"
        found = {
            "I_MPI_ROOT": str(prefix),
            "I_MPI_PIN": "0",
            "I_MPI_HYDRA_BOOTSTRAP": "ssh" if way.placement else "fork",
            "LD_LIBRARY_PATH": str(library),
        }
        if way.placement and way.placement.interface:
            found["FI_TCP_IFACE"] = way.placement.interface
        if way.transport == "shm":
            found["I_MPI_FABRICS"] = "shm"
        elif way.transport == "tcp":
            found |= {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "I_MPI_OFI_PROVIDER": "tcp"}
            if list(library.glob("lib*-fi.so")):
                found["FI_PROVIDER_PATH"] = str(library)
        return found

    def knobs(self, prefix: Path, transport: str, keep_loader: bool = False) -> dict[str, str]:
        """Variables with their defaults, by ``impi_info``; those without one are left out."""
        environment = self.environment(prefix, Way("", transport, 1), keep_loader)
        found = knobs.collect([prefix / "bin" / "impi_info", "-e"], environment, knobs.IMPI_INFO_LINE)
        return {name: value for name, value in found.items() if value != "not defined"}


class Volley(Flavour):
    """Our own launcher."""

    name = "volley"
    transports: ClassVar[Mapping[str, str]] = {
        "shared": "ranks share one address space: messages go straight from buffer to buffer",
        "process": "each rank is a process: messages go through common memory, or are read from the other process",
    }

    def arguments(self, way: Way) -> list[str]:
        """No binding, since the test programs pin themselves."""
        return [*self._kind(way.transport), "--bind", "none", "-n", str(way.ranks)]

    def knobs(self, prefix: Path, transport: str, keep_loader: bool = False) -> dict[str, str]:
        """The library's settings for such ranks, by ``mpiexec --settings``."""
        environment = self.environment(prefix, Way("", transport, 1), keep_loader)
        tool: list[str | Path] = [prefix / "bin" / "mpiexec", *self._kind(transport), "--settings"]
        return knobs.collect(tool, environment, knobs.VOLLEY_LINE)

    def counted(self, said: str) -> dict[str, float]:
        """Lost wake-ups, of all ranks: printed at a program's end where there were any."""
        lost = sum(int(number) for number in VOLLEY_LOST.findall(said))
        return {LOST_WAKE_UPS: float(lost)} if lost else {}

    def _kind(self, transport: str) -> list[str]:
        return ["--ranks", transport] if transport in self.transports else []


class Unknown(Flavour):
    """Any other mpiexec: told the number of ranks and nothing else, as the MPI standard suggests."""

    name = "unknown"
    transports: ClassVar[Mapping[str, str]] = {}

    def arguments(self, way: Way) -> list[str]:
        """``-n`` is the one argument that the MPI standard names."""
        return ["-n", str(way.ranks)]


MPICH, OPEN_MPI, INTEL, VOLLEY, UNKNOWN = Hydra(), OpenMpi(), Intel(), Volley(), Unknown()


def identify(said: str) -> tuple[Flavour, str]:
    """Flavour and version of an mpiexec, from what it prints when asked with ``--version``."""
    first = next((line.strip() for line in said.splitlines() if line.strip()), "")
    if "Intel(R) MPI" in said:
        flavour: Flavour = INTEL
    elif "HYDRA" in said:
        flavour = MPICH
    elif "Open MPI" in said or "OpenRTE" in said or "open-mpi.org" in said:
        flavour = OPEN_MPI
    elif "(Volley)" in said:
        flavour = VOLLEY
    else:
        flavour = UNKNOWN
    number = re.search(r"(?:[Vv]ersion:?\s*|\)\s*)(\d+(?:\.\w+)+)", said)
    return flavour, number[1] if number else first[:60]
