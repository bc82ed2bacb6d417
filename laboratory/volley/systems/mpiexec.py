# SPDX-License-Identifier: BSD-3-Clause
"""Systems whose launches are one mpiexec each: what wheels and MPIs found on the machine share."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from volley.machine.processes import Command
from volley.systems import control_variables, flavours
from volley.systems import settings as setting
from volley.systems.base import Placement, System
from volley.systems.traits import Traits

SHARED_MEMORY = Path("/dev/shm")
SETTLED_SECONDS = 1.0
"""A file younger than this may be another study's launch, which has made it and not yet mapped it."""


def segments(patterns: Sequence[str]) -> set[Path]:
    """This user's files in /dev/shm that match."""
    found = (path for pattern in patterns for path in SHARED_MEMORY.glob(pattern))
    own = set()
    for path in found:
        with contextlib.suppress(OSError):
            if path.stat().st_uid == os.geteuid():
                own.add(path)
    return own


def in_use() -> str:
    """All lines of all processes' memory maps that concern /dev/shm."""
    lines = []
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            lines += [line for line in maps.read_text().splitlines() if str(SHARED_MEMORY) in line]
    return "\n".join(lines)


class MpiexecSystem(System):
    """PREFIX/bin/mpiexec of a known (or unknown) flavour; subclasses say where PREFIX is and what is in it."""

    flavour: flavours.Flavour
    keep_loader: ClassVar[bool] = False
    """Whether the caller's LD_LIBRARY_PATH and LD_PRELOAD reach the ranks."""

    _segments_before: frozenset[Path] = frozenset()

    @property
    def where(self) -> Path:
        """PREFIX, which is known once prepare() has begun."""
        assert self.prefix is not None, "prepare() sets the prefix"
        return self.prefix

    def compiler(self) -> list[str]:
        """Its own wrapper."""
        return [str(self.where / "bin" / "mpicc")]

    def launch(
        self, program: Path, arguments: Sequence[str], ranks: int, placement: Placement | None = None
    ) -> Command:
        """By its own mpiexec."""
        words = [str(program), *arguments]
        way = flavours.Way(self.version, self.transport, ranks, placement)
        command = self.flavour.command(self.where, way, words, self.keep_loader)
        own = setting.variables(self.settings, self.flavour.setting_variable)
        return replace(command, environment=setting.joined(command.environment, own))

    @property
    def traits(self) -> Traits:
        """As of that kind of MPI."""
        return self.flavour.traits

    @property
    def reaches_hosts(self) -> bool:
        """As that kind of MPI does."""
        return self.transport in self.flavour.network_transports

    def knobs(self) -> dict[str, str]:
        """By the tool of that kind of MPI, or where it has none by MPI_T; and over it what is set here."""
        own = {name: value for name, value in self.settings.items() if not setting.is_shim(name)}
        told = self.flavour.knobs(self.where, self.transport, self.keep_loader)
        if not told or "error" in told:
            inside = control_variables.read(self)
            told = inside if "error" not in inside else told or inside
        return {**told, **own}

    def counted(self, said: str) -> dict[str, float]:
        """As that kind of MPI prints it."""
        return self.flavour.counted(said)

    @contextlib.contextmanager
    def session(self) -> Iterator[None]:
        """Remembers which shared-memory files are not ours, for recover()."""
        self._segments_before = frozenset(segments(self.flavour.segments))
        yield

    def recover(self) -> None:
        """Removes the shared-memory files of ranks that were killed: they would fill the memory.

        Only this user's files of this MPI, made since the session began and not just now, that no process
        has mapped. What is too young is looked at again after the next launch that does not end well.
        """
        new = segments(self.flavour.segments) - self._segments_before
        used = in_use() if new else ""
        for path in new:
            with contextlib.suppress(OSError):
                if str(path) not in used and time.time() - path.stat().st_ctime > SETTLED_SECONDS:
                    path.unlink()

    def describe(self) -> dict[str, str]:
        """Adds whose mpiexec it is, and all that chooses the transport."""
        way = flavours.Way(self.version, self.transport, 2)
        words = self.flavour.arguments(way)
        variables = self.flavour.variables(self.where, way)
        return {
            **super().describe(),
            "flavour": self.flavour.name,
            "launcher": " ".join([self.flavour.launcher, *words]),
            "variables": " ".join(f"{name}={value}" for name, value in variables.items()),
        }
