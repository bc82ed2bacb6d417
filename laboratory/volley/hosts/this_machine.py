# SPDX-License-Identifier: BSD-3-Clause
"""This machine alone: launches are its own processes, and files are where they are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from volley.data.results import Launch
from volley.data.states import MachineState
from volley.errors import VolleyError
from volley.hosts.base import Hosts, Observed
from volley.hosts.observer import Observer, compile_observer
from volley.hosts.scratch import require_room
from volley.machine import facts as machine_facts
from volley.machine import processes
from volley.machine.processes import Command, User
from volley.progress import Note
from volley.systems.base import Placement


class ThisMachine(Hosts):
    """No network, one clock."""

    kind = "here"

    def __init__(self) -> None:
        super().__init__([os.uname().nodename])

    def start(self, host: str, line: str) -> tuple[str, ...]:
        """By a shell."""
        return ("sh", "-c", line)

    @property
    def agent(self) -> Path:
        """The shell's own: nothing is started elsewhere."""
        return Path("/bin/sh")

    @property
    def spec(self) -> str:
        """Nothing to be named."""
        return ""

    @property
    def option(self) -> list[str]:
        """Nothing to be named."""
        return []

    @contextlib.contextmanager
    def opened(self, scratch: Path, note: Note) -> Iterator[None]:
        """Always; within, launches have the machine's state recorded."""
        with contextlib.suppress(VolleyError):  # without a C compiler nothing is measured anyway
            self._observers[self.names[0]] = Observer(self.names[0], (str(compile_observer()),), os.environ)
        try:
            yield
        finally:
            self.clean_up()

    def environment(self) -> dict[str, Any]:
        """What machine_facts says is all there is."""
        return {}

    def placement(self, ranks: int) -> Placement | None:
        """All ranks here."""
        return None

    def lacking(self, path: Path) -> list[str]:
        """None: systems look themselves."""
        return []

    def run(self, command: Command, limit_seconds: float, used: Collection[str]) -> processes.Outcome:
        """As it is."""
        return processes.run(command, limit_seconds)

    def put(self, path: Path, user: User | None = None) -> None:
        """It is there already."""

    def fetch(self, folder: Path) -> None:
        """It is here already."""

    @contextlib.contextmanager
    def observed(self, launch: Launch, used: Collection[str]) -> Iterator[Observed]:
        """By this machine's own counters, and a probe of the cores that are used."""
        before = self._state(launch.ranks)
        with machine_facts.counting(launch.counters):
            yield Observed()
        if before is not None and (after := self._state(launch.ranks)) is not None:
            launch.state = {"before": asdict(before), "after": asdict(after)}

    def _state(self, ranks: int) -> MachineState | None:
        """Of the CPUs that so many ranks are bound to."""
        observer = self._observers.get(self.names[0])
        return observer.state(machine_facts.usable_cpus()[: max(ranks, 1)]) if observer is not None else None

    def check_room(self, folder: Path) -> None:
        """There is one disk."""
        require_room(folder)

    def check(self) -> None:
        """We are here."""
