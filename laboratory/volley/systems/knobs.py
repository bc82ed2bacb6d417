# SPDX-License-Identifier: BSD-3-Clause
"""Reading the settings an MPI reports about itself: only those that have to do with performance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from volley.errors import VolleyError
from volley.machine import processes
from volley.machine.processes import Command

LIMIT_SECONDS = 20.0
"""ompi_info --all, the slowest of them, takes about one second."""

RELEVANT = re.compile(
    r"eager|limit|max_send|inline|fbox|rndv|rendezvous|thresh|algorithm|size|_sz\b|short|long|chunk|fragment|"
    r"free_list|pool|sockbuf|sndbuf|rcvbuf|dynamic_rules|yield|poll|spin|wait|single_copy|smsc|cma|xpmem|netmod|fabrics",
    re.IGNORECASE,
)
"""Names of settings that shape a curve. A filter and not a list, so that new versions need no change."""

IRRELEVANT = re.compile(r"gpu|cuda|rocm|_ze_|verbose|priority|help|debug|version|memcheck", re.IGNORECASE)


def choose(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Those of `pairs` whose name says that they matter for performance."""
    return {name: value for name, value in pairs if value and RELEVANT.search(name) and not IRRELEVANT.search(name)}


def ask(argv: Sequence[str | Path], environment: Mapping[str, str]) -> tuple[str, str]:
    """What the tool printed, and why it could not (or '')."""
    command = Command(tuple(str(word) for word in argv), dict(environment))
    name = Path(command.argv[0]).name
    try:
        outcome = processes.run(command, LIMIT_SECONDS)
    except VolleyError as problem:
        return "", problem.problem
    if outcome.timed_out:
        return outcome.output, f"{name} did not end within {LIMIT_SECONDS:g} seconds"
    if outcome.status != 0:
        return outcome.output, f"{name} ended with status {outcome.status}: {outcome.last_words(200)}"
    return outcome.output, ""


def collect(argv: Sequence[str | Path], environment: Mapping[str, str], line: re.Pattern[str]) -> dict[str, str]:
    """Settings printed by a tool, one a line, where `line` has the groups ``name`` and ``value``."""
    output, error = ask(argv, environment)
    found = [(match["name"], match["value"].strip()) for match in line.finditer(output)]
    chosen = choose(found)
    if not error and not found:
        error = f"{Path(argv[0]).name} printed no settings"
    return {**chosen, "error": error} if error else chosen


def built(tool: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """How an MPICH was built, by its mpichversion: configure's arguments; {} where it cannot be asked."""
    output, _ = ask([tool], environment)
    match = MPICHVERSION_LINE.search(output)
    return {"build": match["value"].strip()} if match else {}


MPICHVERSION_LINE = re.compile(r"^MPICH configure:[ \t]*(?P<value>.+)$", re.MULTILINE)
OMPI_INFO_LINE = re.compile(
    r"^mca:(?:btl|pml|mtl|smsc|coll|opal|ompi|mpi|common):[^:\n]*:param:(?P<name>[^:\n]+):value:(?P<value>.*)$",
    re.MULTILINE,
)
MPIVARS_LINE = re.compile(r"^\s+(?P<name>MPIR_CVAR_\w+)\s*=(?P<value>[^\t\n]*)", re.MULTILINE)
VOLLEY_LINE = re.compile(r"^(?P<name>VOLLEY_\w+)=(?P<value>\S+)", re.MULTILINE)
LAMINFO_LINE = re.compile(r"^ssi:(?:rpi|coll):[^:\n]*:param:(?P<name>[^:\n]+):(?P<value>.*)$", re.MULTILINE)
IMPI_INFO_LINE = re.compile(r"^\s*\|\s*(?P<name>I_MPI_\w+)\s*\|\s*(?P<value>[^|\n]*)", re.MULTILINE)
