# SPDX-License-Identifier: BSD-3-Clause
"""What Volley's mpiexec would do with a program, in its own words: `mpiexec --check`."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

from volley.errors import UsageError, VolleyError
from volley.systems.volley import REMEDY, prefix

EXIT_NOT_FOUND = 127
"""Of mpiexec, if there is no such program."""


@dataclass(frozen=True)
class Checked:
    """A program, or none, as mpiexec sees it; `facts` is all that it said."""

    facts: dict[str, Any]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that let the dynamic linker find Volley."""
        variables: dict[str, str] = self.facts["environment"]
        return variables

    @property
    def runs(self) -> bool:
        """Whether it can be started, with every function that it names."""
        return not self.facts["problem"] and not self.facts["missing"]

    @property
    def sentences(self) -> list[str]:
        """What a person wants to know, most important first."""
        return [self._interface(), *self._functions(), self._placement()]

    def _interface(self) -> str:
        mpis = self.facts["mpis"]
        if self.facts["problem"]:
            return str(self.facts["problem"])
        if not mpis:
            return "It is linked with no MPI. One that it loads later, as Python does, is Volley's face of that MPI."
        names = ", ".join(f"{one['library']} ({one['mpi']})" for one in mpis)
        by = {one["needed_by"] for one in mpis} - {self.facts["program"]}
        through = f", needed by {', '.join(sorted(by))}" if by else ""
        faces = [one["face"] for one in mpis if one["face"]]
        return f"It needs {names}{through}." + (f" Volley's face is {', '.join(faces)}." if faces else "")

    def _functions(self) -> list[str]:
        said = []
        if missing := self.facts["missing"]:
            said.append(
                f"Nothing here has {len(missing)} of its functions, and it ends where it calls one: {listed(missing)}."
            )
        if self.facts["mpis"] and not self.facts["problem"] and not said:
            said.append(f"All of the {self.facts['functions']} functions of MPI that it names are there.")
        return said

    def _placement(self) -> str:
        if self.facts["shared"]:
            return "Its ranks can share one address space."
        reason = self.facts["reason"] or "it cannot be started"
        return f"Its ranks are processes: {reason}."


def listed(names: list[str]) -> str:
    """Names with commas between, as many as can be read."""
    most = 12
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def check_program(program: str | None) -> Checked:
    """Asks mpiexec. Raises VolleyError if that is not there, or there is no such program."""
    mpiexec = prefix() / "bin" / "mpiexec"
    command = [str(mpiexec), "--check", *([program] if program is not None else [])]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as problem:
        raise VolleyError(f"there is no mpiexec of Volley: {mpiexec}", REMEDY) from problem
    said = answer.stderr.strip().removeprefix("mpiexec: ")
    if answer.returncode == EXIT_NOT_FOUND:
        raise UsageError(said)
    try:
        facts = json.loads(answer.stdout)
    except json.JSONDecodeError as problem:
        raise VolleyError(
            f"{mpiexec} is not Volley's, or an older one: {said or 'it said nothing'}", REMEDY
        ) from problem
    return Checked(facts)
