# SPDX-License-Identifier: BSD-3-Clause
"""An MPI that is already on the machine, recognised by what its mpiexec says about itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from volley.errors import SystemUnavailable, VolleyError
from volley.machine import processes
from volley.machine.environment import clean_environment
from volley.machine.processes import Command
from volley.progress import Note
from volley.systems import flavours
from volley.systems.flavours.slurm import Srun
from volley.systems.machine import require_c_compiler
from volley.systems.mpiexec import MpiexecSystem

VERSION_LIMIT_SECONDS = 20.0


class FoundSystem(MpiexecSystem):
    """PREFIX/bin/mpicc and PREFIX/bin/mpiexec, of whatever MPI; subclasses say where PREFIX is."""

    transports: ClassVar[Mapping[str, str]] = {
        flavours.AS_IT_COMES: "what that MPI chooses itself",
        "shm": "shared memory, where we know how to tell that MPI",
        "tcp": "TCP through the loopback interface, where we know how to tell that MPI",
        **Srun.transports,
    }
    network_transports: ClassVar[Sequence[str]] = ("tcp", *Srun.network_transports)
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
        by_srun = self.transport in Srun.transports
        for tool in ("mpicc",) if by_srun else ("mpicc", "mpiexec"):
            path = self.where / "bin" / tool
            if not os.access(path, os.X_OK):
                raise SystemUnavailable(f"{self.name}: there is no program {path}", self._where_to_look(tool))
            if path.resolve().name.endswith(".lam"):
                raise self._is_lam(path)
        if by_srun:
            srun = Srun()
            self.flavour, self._version = srun, srun.require(self.name)
            return
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

    def _where_to_look(self, tool: str) -> str:
        if tool == "mpiexec" and shutil.which("srun"):
            return f"if Slurm's srun starts its ranks, name it so, in an allocation: NAME={self.where}:srun"
        return f"give the folder whose bin has mpicc and mpiexec: NAME=PREFIX, not {self.where}"

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
        if isinstance(self.flavour, Srun):
            return super().describe()
        mpiexec = self.where / "bin" / "mpiexec"
        return {**super().describe(), "mpiexec": str(mpiexec.resolve())}
