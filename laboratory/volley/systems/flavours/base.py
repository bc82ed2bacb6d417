# SPDX-License-Identifier: BSD-3-Clause
"""What the launchers of all MPIs offer: how each is told to start ranks here, through which transport, unbound.

A flavour is what MPICH in a wheel, MPICH on PATH and MPICH below some prefix have in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from volley.machine.environment import clean_environment
from volley.machine.processes import Command
from volley.systems.base import Placement
from volley.systems.traits import Traits

AS_IT_COMES = "auto"
"""The transport that an MPI chooses itself, where the user named none."""
LOST_WAKE_UPS = "library.lost_wake_ups"
"""The counter of a launch: waits that nobody ended though what they waited for was there, as the library tells."""


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
    launcher: ClassVar[str] = "mpiexec"
    transports: ClassVar[Mapping[str, str]]
    traits: ClassVar[Traits] = Traits()
    said: ClassVar[tuple[str, ...]] = ()
    """What its mpiexec prints when asked for its version: any of these is enough."""
    asked_first: ClassVar[bool] = False
    """Whether it is looked for before others, whose words it prints as well."""
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


class Unknown(Flavour):
    """Any other mpiexec: told the number of ranks and nothing else, as the MPI standard suggests."""

    name = "unknown"
    transports: ClassVar[Mapping[str, str]] = {}

    def arguments(self, way: Way) -> list[str]:
        """``-n`` is the one argument that the MPI standard names."""
        return ["-n", str(way.ranks)]
