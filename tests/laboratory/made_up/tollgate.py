# SPDX-License-Identifier: BSD-3-Clause
"""A made-up system: ranks are forked, and messages above a limit wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from volley.machine.processes import Command
from volley.systems.base import Placement
from volley.systems.machine import MachineSystem
from volley.systems.traits import Traits


class Tollgate(MachineSystem):
    """As the machine itself, with a setting."""

    family = "tollgate"
    summary = "made up"
    transports: ClassVar[Mapping[str, str]] = {"gate": "through the gate"}
    by_default = False
    known_traits: ClassVar[Traits] = Traits(colours=("#123456", "#abcdef"), buffers_advice="leave the gate open")

    def launch(
        self, program: Path, arguments: Sequence[str], ranks: int, placement: Placement | None = None
    ) -> Command:
        """With the limit in force, unless the setting says another."""
        command = super().launch(program, arguments, ranks, placement)
        return replace(command, environment={"MADE_UP_LIMIT": "4096", **command.environment})

    def knobs(self) -> dict[str, str]:
        """Its one setting."""
        return {"MADE_UP_LIMIT": self.settings.get("MADE_UP_LIMIT", "4096")}
