# SPDX-License-Identifier: BSD-3-Clause
"""An MPI that is already on the machine, recognised by what its mpiexec says about itself."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from volley.errors import SystemUnavailable, VolleyError
from volley.machine import processes
from volley.machine.environment import clean_environment
from volley.machine.processes import Command
from volley.progress import Note
from volley.systems import flavours
from volley.systems.machine import require_c_compiler
from volley.systems.mpiexec import MpiexecSystem

VERSION_LIMIT_SECONDS = 20.0


class FoundSystem(MpiexecSystem):
    """PREFIX/bin/mpicc and PREFIX/bin/mpiexec, of whatever MPI; subclasses say where PREFIX is."""

    transports: ClassVar[Mapping[str, str]] = {
        flavours.AS_IT_COMES: "what that MPI chooses itself",
        "shm": "shared memory, where we know how to tell that MPI",
        "tcp": "TCP through the loopback interface, where we know how to tell that MPI",
    }
    network_transports: ClassVar[Sequence[str]] = ("tcp",)
    default_transports: ClassVar[Sequence[str]] = (flavours.AS_IT_COMES,)
    by_default = False
    keep_loader = True  # such an MPI may need what the user's modules have set

    def __init__(self, version: str | None, transport: str, prefix: Path | None = None) -> None:
        super().__init__(version, transport, prefix)
        self._version = version or ""
        self.flavour = flavours.UNKNOWN

    @property
    def version(self) -> str:
        """What mpiexec says."""
        return self._version

    def prepare(self, note: Note) -> None:
        """Looks for mpicc and mpiexec and asks whose they are."""
        require_c_compiler()
        for tool in ("mpicc", "mpiexec"):
            path = self.where / "bin" / tool
            if not os.access(path, os.X_OK):
                raise SystemUnavailable(
                    f"{self.name}: there is no program {path}",
                    f"give the folder whose bin has mpicc and mpiexec: NAME=PREFIX, not {self.where}",
                )
            if path.resolve().name.endswith(".lam"):
                raise self._is_lam(path)
        mpiexec = self.where / "bin" / "mpiexec"
        self.flavour, found = flavours.identify(self._ask_version(mpiexec))
        if self.flavour is flavours.UNKNOWN and (mpiexec.resolve().parent / "lamboot").exists():
            raise self._is_lam(mpiexec)
        if self.requested_version and self.requested_version != found:
            raise SystemUnavailable(
                f"{mpiexec} is version {found or 'unknown'}, not {self.requested_version}",
                f"leave the version out: {self.family}",
            )
        self._version = found
        if self.transport != flavours.AS_IT_COMES and self.transport not in self.flavour.transports:
            raise SystemUnavailable(
                f"{self.name}: no way is known to make this mpiexec ({self.flavour.name}) use {self.transport}",
                f"take what it chooses itself: {flavours.AS_IT_COMES}",
            )

    def _is_lam(self, path: Path) -> SystemUnavailable:
        return SystemUnavailable(
            f"{self.name}: {path} is of LAM/MPI, which needs its daemon", "measure it by the name: lam"
        )

    def _ask_version(self, mpiexec: Path) -> str:
        command = Command((str(mpiexec), "--version"), clean_environment(keep_loader=True))
        try:
            outcome = processes.run(command, VERSION_LIMIT_SECONDS)
        except VolleyError as problem:
            raise SystemUnavailable(problem.problem, problem.remedy) from problem
        if outcome.timed_out:
            raise SystemUnavailable(
                f"{mpiexec} --version did not end within {VERSION_LIMIT_SECONDS:g} seconds",
                "run it by hand to see why",
            )
        return outcome.output + outcome.errors

    def describe(self) -> dict[str, str]:
        """Adds where its mpiexec really is."""
        mpiexec = self.where / "bin" / "mpiexec"
        return {**super().describe(), "mpiexec": str(mpiexec.resolve())}
