# SPDX-License-Identifier: BSD-3-Clause
"""This machine alone: launches are its own processes, and files are where they are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from volley.data.results import Launch
from volley.hosts.base import Hosts, Observed
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
        """Always."""
        yield

    def environment(self) -> dict[str, Any]:
        """What machine_facts says is all there is."""
        return {}

    def placement(self, ranks: int) -> Placement | None:
        """All ranks here."""
        return None

    def lacking(self, path: Path) -> list[str]:
        """None: systems look themselves."""
        return []

    def run(self, command: Command, limit_seconds: float) -> processes.Outcome:
        """As it is."""
        return processes.run(command, limit_seconds)

    def put(self, path: Path, user: User | None = None) -> None:
        """It is there already."""

    def fetch(self, folder: Path) -> None:
        """It is here already."""

    @contextlib.contextmanager
    def observed(self, launch: Launch) -> Iterator[Observed]:
        """By this machine's own counters."""
        with machine_facts.counting(launch.counters):
            yield Observed()

    def check(self) -> list[str]:
        """We are here."""
        return []
