# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's srun as the launcher: of an MPI that has no mpiexec of its own, inside an allocation."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from volley.errors import SystemUnavailable
from volley.machine import processes
from volley.machine.environment import clean_environment
from volley.machine.processes import Command
from volley.systems.flavours.base import Flavour, Way

NEEDED = ("SLURM_JOB_ID", "SLURM_CONF", "SLURM_CLUSTER_NAME")
"""What srun must know of the allocation: the environments of launches have nothing else of Slurm."""
TRY_LIMIT_SECONDS = 30.0


class Srun(Flavour):
    """Ranks are tasks of one step beside whatever else runs in the allocation, free to use all its cores."""

    name = "srun"
    launcher = "srun"
    transports: ClassVar[Mapping[str, str]] = {"srun": "what the MPI chooses itself, its ranks started by Slurm's srun"}
    network_transports = ("srun",)

    def arguments(self, way: Way) -> list[str]:
        """Which nodes, and how many ranks; how ranks find each other is Slurm's default (or SLURM_MPI_TYPE)."""
        step = ["--overlap", "--overcommit", "--cpu-bind=none", "--kill-on-bad-exit=1", "--quiet"]
        if way.placement is None:
            here = os.environ.get("SLURMD_NODENAME") or platform.node().partition(".")[0]
            return [*step, "--nodes=1", f"--nodelist={here}", f"--ntasks={way.ranks}"]
        each = [host for host in way.placement.hosts for _ in range(way.placement.ranks_per_host)][: way.ranks]
        nodes = f"--nodes={len(set(each))}"
        return [*step, nodes, f"--nodelist={','.join(each)}", "--distribution=arbitrary", f"--ntasks={way.ranks}"]

    def variables(self, prefix: Path, way: Way) -> dict[str, str]:
        """Those of the allocation."""
        return {name: os.environ[name] for name in NEEDED if name in os.environ}

    def command(self, prefix: Path, way: Way, program: Sequence[str], keep_loader: bool = False) -> Command:
        """By the srun on PATH. On hosts it is called from a step, whose own variables are taken away with the job's."""
        known = [f"{name}={value}" for name, value in self.variables(prefix, way).items()] if way.placement else []
        srun = shutil.which("srun") or "srun"
        argv = (*(["env", *known] if known else []), srun, *self.arguments(way), *program)
        return Command(argv, self.environment(prefix, way, keep_loader))

    def require(self, system: str) -> str:
        """Its version. Raises SystemUnavailable outside of an allocation, or where srun cannot start anything."""
        srun = shutil.which("srun")
        if srun is None:
            raise SystemUnavailable(f"{system}: there is no srun on PATH", "load Slurm's module")
        if not os.environ.get("SLURM_JOB_ID"):
            raise SystemUnavailable(
                f"{system}: srun starts ranks inside an allocation, and SLURM_JOB_ID is not set",
                "begin one: salloc --nodes=1 --exclusive, or sbatch",
            )
        environment = clean_environment(self.variables(Path(), Way("", "srun", 1)))
        step = (srun, "--overlap", "--overcommit", "--nodes=1", "--ntasks=1", "--mpi=none", "--quiet", "true")
        tried = processes.run(Command(step, environment), TRY_LIMIT_SECONDS)
        if not tried.fine:
            raise SystemUnavailable(
                f"{system}: srun starts nothing in job {os.environ['SLURM_JOB_ID']}: {tried.last_words()}",
                "try it by hand: srun --overlap --nodes=1 --ntasks=1 true",
            )
        return processes.run(Command((srun, "--version"), environment), TRY_LIMIT_SECONDS).output.strip()
