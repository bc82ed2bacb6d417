# SPDX-License-Identifier: BSD-3-Clause
"""Hosts reached by ssh. Whoever measures can log in to each without a password, and so can the first host."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from volley.hosts.base import Hosts
from volley.machine import processes

OPTIONS = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-x")
"""Never ask for a password; do not wait for ever; no windows."""
COMMAND = "VOLLEY_SSH"
"""The environment variable with another command than `ssh`, with its options: ``ssh -F config``."""


class Ssh(Hosts):
    """Machines of a network."""

    kind = "ssh"

    def __init__(self, names: Sequence[str], ranks_per_host: int = 1, interface: str = "") -> None:
        super().__init__(names, ranks_per_host)
        self.interface = interface
        self.command = (*shlex.split(os.environ.get(COMMAND) or "ssh"), *OPTIONS)
        self._agent: Path | None = None

    def start(self, host: str, line: str) -> tuple[str, ...]:
        """By ssh, which hands the line to the user's shell there."""
        return (*self.command, host, line)

    @property
    def agent(self) -> Path:
        """ssh with our options, as a program."""
        assert self._agent is not None, "opened() writes it"
        return self._agent

    def _prepare(self, scratch: Path) -> None:
        super()._prepare(scratch)
        self._agent = scratch / "agent"
        self._agent.write_text(f'#!/bin/sh\nexec {shlex.join(self.command)} "$@"\n')
        self._agent.chmod(0o755)
        self.put(self._agent)

    def end_strays(self) -> None:
        """Ranks and launchers carry our scratch folder in their command lines; brackets keep this line itself out."""
        mine = shlex.quote(f"[v]olley-{processes.OWNER}.*/launch-")
        look = f"$(grep -lsz {mine} /proc/[0-9]*/cmdline)"
        kill = "pid=${file#/proc/}; kill -9 ${pid%/cmdline} 2>/dev/null"
        self._each(list(self.names), lambda host: self._answer(host, f"for file in {look}; do {kill}; done; true"))

    def clean_up(self) -> None:
        """Strays first, as they may write into what is removed."""
        if self._observers:
            self.end_strays()
        super().clean_up()
