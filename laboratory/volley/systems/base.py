# SPDX-License-Identifier: BSD-3-Clause
"""What every system under test offers: installing, compiling, launching, and its own knobs.

A system is one MPI (or the bare machine) in one version and one transport, named the way a user writes
it: ``mpich``, ``mpich==4.1.3``, ``openmpi==5.0.11/tcp``, ``lam/lamd``, ``site=/opt/mpi``. To add an MPI,
add one module to this package with one subclass of :class:`System`; nothing else has to know of it.
"""

from __future__ import annotations

import contextlib
import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from volley.machine.processes import Command
from volley.progress import Note
from volley.systems import settings as setting
from volley.systems.traits import Traits


@dataclass(frozen=True)
class Placement:
    """Where the ranks of a launch run that has several hosts."""

    hosts: tuple[str, ...]
    """In the order of ranks: the first `ranks_per_host` ranks run on the first, and so on."""
    ranks_per_host: int
    agent: Path
    """What the launcher calls in place of ssh."""
    interface: str
    """The network interface to use; '': the MPI's choice."""
    cores_shared: bool = False
    """The hosts are one machine in truth: ranks that spin keep each other from running."""

    def with_slots(self) -> str:
        """``a:2,b:2``, as Open MPI and Hydra read it."""
        return ",".join(f"{host}:{self.ranks_per_host}" for host in self.hosts)


class System(ABC):
    """One MPI in one version and transport.

    Life: constructed from what the user wrote (cheap, touches nothing) → ``prepare`` (installs, raises
    SystemUnavailable with reason and remedy) → ``compiler`` → ``session`` around all launches → ``launch``
    per launch.
    """

    family: ClassVar[str]
    """The name before ``==`` and ``/``: unique among all systems."""
    summary: ClassVar[str]
    """One line for ``volley systems``."""
    transports: ClassVar[Mapping[str, str]]
    """Name → one-line description, in the order of measuring; a family named without one means all."""
    default_transports: ClassVar[Sequence[str]] = ()
    """Those that a study measures when the user names no systems. All, where a subclass says nothing."""
    network_transports: ClassVar[Sequence[str]] = ()
    """Those that reach other hosts, the usual one first."""
    transport_aliases: ClassVar[Mapping[str, str]] = {}
    """Other names of transports, by which users of that MPI know them."""
    needs_mpi: ClassVar[bool] = True
    """False only for the bare machine, which runs the tests that need no MPI."""
    known_traits: ClassVar[Traits] = Traits()
    """What is known of this MPI before it is looked at."""
    by_default: ClassVar[bool] = True
    """Whether a study measures it when the user names no systems."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "transports" in cls.__dict__ and "default_transports" not in cls.__dict__:
            cls.default_transports = tuple(cls.transports)

    def __init__(self, version: str | None, transport: str, prefix: Path | None = None) -> None:
        self.requested_version = version
        self.transport = transport
        self.prefix = prefix
        self.settings: Mapping[str, str] = {}
        """What the user, or an experiment, set besides: names of the MPI's own settings, environment variables, or
        shims (volley.systems.settings)."""

    @property
    def traits(self) -> Traits:
        """What causes and reports must know of this MPI."""
        return self.known_traits

    def adjusted(self, settings: Mapping[str, str]) -> Self:
        """The same system with these settings added to those it has. Shares what prepare() found."""
        other = copy.copy(self)
        other.settings = {**self.settings, **settings}
        return other

    @property
    @abstractmethod
    def version(self) -> str:
        """The version in use. Known after prepare(); before, what was requested, or ''."""

    @property
    def name(self) -> str:
        """Full name, e.g. ``openmpi==5.0.11/tcp@btl_tcp_eager_limit=1024``: the key of this system in a study."""
        return self.base_name + setting.suffix(self.settings)

    @property
    def base_name(self) -> str:
        """The name without settings."""
        base = f"{self.family}=={self.version}" if self.version else self.family
        return f"{base}/{self.transport}" if len(self.transports) > 1 else base

    @property
    def request(self) -> str:
        """What a user writes to name this system again, transport and settings included."""
        return self.base_request + setting.suffix(self.settings)

    @property
    def base_request(self) -> str:
        """The request without settings."""
        version = f"=={self.requested_version}" if self.requested_version else ""
        return f"{self.family}{version}/{self.transport}"

    @property
    def pinned_request(self) -> str:
        """As `request`, but naming the version in use where that can be asked for: what --resume goes on with."""
        if self.version and self.version in self.installed():
            return f"{self.family}=={self.version}/{self.transport}{setting.suffix(self.settings)}"
        return self.request

    @property
    def build_key(self) -> str:
        """Systems with equal keys share compiled programs (one MPI in several transports)."""
        return f"{self.family}-{self.version}-{self.prefix}"

    @classmethod
    def installed(cls) -> list[str]:
        """Versions that could be measured now without installing anything, newest first. Cheap, offline."""
        return []

    @classmethod
    def offered(cls) -> list[str]:
        """Versions that prepare() could install, newest first. May ask the network; [] where it cannot."""
        return []

    @abstractmethod
    def prepare(self, note: Note) -> None:
        """Makes the system usable on this machine, installing it into the cache where needed.

        Raises SystemUnavailable(reason, remedy). Every external step has a time limit.
        """

    @abstractmethod
    def compiler(self) -> list[str]:
        """Arguments that start a C compilation *and* link for this MPI; source, -o and flags are appended."""

    @abstractmethod
    def launch(
        self, program: Path, arguments: Sequence[str], ranks: int, placement: Placement | None = None
    ) -> Command:
        """The command that runs `program` with `ranks` ranks on this machine, through this transport.

        With a placement: the command to be run on its first host, which starts ranks on all of them.
        """

    @property
    def reaches_hosts(self) -> bool:
        """Whether its ranks may be on several hosts."""
        return self.transport in self.network_transports

    @abstractmethod
    def knobs(self) -> dict[str, str]:
        """Settings the MPI itself reports (eager limits and the like): name → value. Empty if it cannot.

        Never raises for a tool that fails: it returns what it could read, and the reason under ``error``.
        """

    def counted(self, said: str) -> dict[str, float]:
        """What the library itself counted in a launch, from what the launch printed: name → number."""
        return {}

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """Surrounds all launches of a study: daemons are started and, whatever happens, ended here."""
        yield

    def recover(self) -> None:
        """Called within the session after a launch that did not end well: makes the next one possible."""
        return

    def describe(self) -> dict[str, str]:
        """Facts for the study: where it lives, how it is compiled. Extended by subclasses."""
        return {"prefix": str(self.prefix) if self.prefix else "", "compiler": " ".join(self.compiler())}


def include_folder() -> Path:
    """The folder with the MPI 5.0 ABI header that is part of this package."""
    packaged = Path(__file__).parent.parent / "include"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "include"
