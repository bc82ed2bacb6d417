# SPDX-License-Identifier: BSD-3-Clause
"""The bare machine: what its memory and cores can do without any MPI between, as a bound for all others."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from volley.errors import SystemUnavailable
from volley.machine.environment import clean_environment
from volley.machine.processes import Command
from volley.progress import Note
from volley.systems import settings as setting
from volley.systems.base import Placement, System
from volley.systems.traits import Traits


def require_c_compiler() -> None:
    """Raises SystemUnavailable where there is no ``cc``, which mpicc of every MPI calls as well."""
    if shutil.which("cc") is None:
        raise SystemUnavailable(
            "no C compiler: cc is not on PATH", "install one, for example: apt-get install gcc libc6-dev"
        )


class MachineSystem(System):
    """No MPI: the test's program forks its own ranks (tests that define VOLLEY_NO_MPI)."""

    family = "machine"
    summary = "no MPI: the machine's own memory and cores, as a bound for all others"
    transports: ClassVar[Mapping[str, str]] = {"memory": "shared memory of forked processes"}
    needs_mpi = False
    known_traits: ClassVar[Traits] = Traits(colours=("#5f6670", "#aeb6c0"))

    @property
    def version(self) -> str:
        """Always '': there is one machine."""
        return ""

    @classmethod
    def installed(cls) -> list[str]:
        """It is there wherever programs can be compiled."""
        return ["present"] if shutil.which("cc") else []

    def prepare(self, note: Note) -> None:
        """Needs a C compiler and nothing else."""
        require_c_compiler()

    def compiler(self) -> list[str]:
        """The C compiler; -pthread for the barrier between forked ranks."""
        return ["cc", "-pthread"]

    def launch(
        self, program: Path, arguments: Sequence[str], ranks: int, placement: Placement | None = None
    ) -> Command:
        """The program itself; it reads the number of ranks from its launch.txt."""
        own = setting.variables(self.settings, str)
        return Command((str(program), *arguments), setting.joined(clean_environment(keep_loader=True), own))

    def knobs(self) -> dict[str, str]:
        """None: the machine's facts are a part of every study anyway."""
        return {}
