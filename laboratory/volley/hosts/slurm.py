# SPDX-License-Identifier: BSD-3-Clause
"""Hosts of a Slurm allocation that this process is in: every command is a step of it, started by srun.

MPIs are not started by srun itself: each has its own launcher measured, with srun in place of ssh. What Slurm says to
a step (SLURM_…, PMI_…) is taken away before, or the launchers would take the step's one task for the whole allocation.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from volley.errors import UsageError
from volley.hosts.base import ANSWER_LIMIT_SECONDS, Hosts
from volley.machine import processes
from volley.machine.processes import Command
from volley.systems.flavours.slurm import NEEDED

STEP = ("srun", "--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none", "--mpi=none", "--unbuffered")
"""One task beside whatever else runs in the allocation, free to use all its cores."""
FORGET = "unset $(env | sed -n 's/^\\(SLURM_[A-Za-z0-9_]*\\|PMI[A-Za-z0-9_]*\\)=.*/\\1/p')"

SKIP_OPTIONS = """
while case $1 in -*) true ;; *) false ;; esac; do
    case $1 in -[BbcDEeFIiJLlmOopQRSWw]) shift ;; esac
    shift
done
host=${1##*@}
shift
"""
"""Of ssh: taken and ignored."""


class Slurm(Hosts):
    """Nodes of the allocation."""

    kind = "slurm"

    def __init__(self, names: Sequence[str] = (), ranks_per_host: int = 1, interface: str = "") -> None:
        super().__init__(names or allocated(), ranks_per_host)
        self.interface = interface
        self._agent: Path | None = None

    def start(self, host: str, line: str) -> tuple[str, ...]:
        """As a step on that node."""
        return ("env", *self._known(), *STEP, f"--nodelist={host}", "sh", "-c", f"{FORGET}; {line}")

    def _known(self) -> list[str]:
        """What srun must know of the allocation, as NAME=VALUE: the environments of launches do not have it."""
        return [f"{name}={os.environ[name]}" for name in NEEDED if name in os.environ]

    @property
    def option(self) -> list[str]:
        """Whatever allocation it is run in."""
        return ["--hosts", self.kind]

    @property
    def agent(self) -> Path:
        """srun, called as ssh is."""
        assert self._agent is not None, "opened() writes it"
        return self._agent

    def _prepare(self, scratch: Path) -> None:
        super()._prepare(scratch)
        known = "".join(f"export {shlex.quote(one)}\n" for one in self._known())
        self._agent = scratch / "agent"
        there = shlex.quote(FORGET + "; exec sh -c " + '"$*"')
        self._agent.write_text(
            f'#!/bin/sh\n{known}{SKIP_OPTIONS}exec {shlex.join(STEP)} --nodelist="$host" sh -c {there} agent "$@"\n'
        )
        self._agent.chmod(0o755)
        self.put(self._agent)


def allocated() -> list[str]:
    """Names of the allocation's nodes. Raises UsageError outside of one."""
    nodes = os.environ.get("SLURM_JOB_NODELIST", "")
    if not nodes or not os.environ.get("SLURM_JOB_ID"):
        raise UsageError("there is no Slurm allocation here (SLURM_JOB_ID is not set)", "begin one: salloc --nodes=2")
    if shutil.which("scontrol") is None:
        raise UsageError("there is no scontrol on PATH, which names the allocation's nodes", "load Slurm's module")
    outcome = processes.run(Command(("scontrol", "show", "hostnames", nodes)), ANSWER_LIMIT_SECONDS)
    names = [name for name in outcome.output.split() if re.fullmatch(r"[\w.-]+", name)]
    if not outcome.fine or not names:
        raise UsageError(f"scontrol cannot name the nodes {nodes}: {outcome.last_words()}", "is slurmctld up? sinfo")
    return names
