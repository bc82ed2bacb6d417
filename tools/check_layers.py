#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that no layer of the library includes one above it. Tests may include what they like."""

from __future__ import annotations

import re
import sys
from pathlib import Path

LIBRARY = Path(__file__).parents[1] / "library"
# From below. A layer may include itself and what stands on a line before it.
LAYERS = [
    ["arena"],  # an allocator for memory that processes share
    ["wait", "boot"],  # wait: spin, yield, sleep; boot: the job, its arena and its launcher
    ["layout"],  # how data lies in memory, and copying it
    ["transport"],  # how bytes get to a process
    ["core"],  # communicator, group, datatype, request, attribute; matching and progress
    ["collective"],  # what all ranks of a communicator do together
    ["communicator"],  # making communicators, which takes collective operations
    ["window"],  # access to memory of other processes
    ["file"],  # files, and access to them
    ["dynamic"],  # processes of other jobs: ports, connecting, names, starting further processes
    ["init"],  # MPI_Init, sessions, and the ends of both
    ["tool"],  # MPI_T: what tools may read and set
    ["abi"],  # entry points
    ["faces"],  # entry points of other binary interfaces, in libraries of their own
    ["fortran"],  # entry points that Fortran calls, in a library of their own
]
# Programs beside the library: mpiexec and the tools, which read what ranks publish.
PROGRAMS = {"launch": {"boot", "wait", "tools", "arena"}, "tools": {"boot", "wait", "arena", "transport"}}
# What one transport knows of another: nothing.
TRANSPORTS = {"shm", "tcp"}
INCLUDE = re.compile(r'#include "(([a-z0-9_]+)/(?:([a-z0-9_]+)/)?[^"]+)"')


def allowed(layer: str) -> set[str]:
    """The layers that one may include."""
    if layer in PROGRAMS:
        return PROGRAMS[layer] | {layer}
    level = next(level for level, names in enumerate(LAYERS) if layer in names)
    return {name for names in LAYERS[: level + 1] for name in names}


def errors_in(path: Path) -> list[str]:
    """A line for each include that is not allowed."""
    parts = path.relative_to(LIBRARY).parts
    if len(parts) < 2 or path.stem.endswith("_test") or path.stem.startswith("test_") or path.stem == "typemap_model":
        return []
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match is None:
            continue
        header, layer, inner = match.groups()
        place = f"{path.relative_to(LIBRARY.parent)}:{number}"
        if layer not in allowed(parts[0]):
            found.append(f"{place}: {parts[0]} includes {header}, of a layer above it")
        elif layer == parts[0] == "transport" and inner in TRANSPORTS and parts[1] in TRANSPORTS - {inner}:
            found.append(f"{place}: transport {parts[1]} includes {header}")
    return found


def main() -> int:
    """Print the errors; 1 if there are any."""
    paths = sorted([*LIBRARY.rglob("*.h"), *LIBRARY.rglob("*.cpp")])
    errors = [error for path in paths for error in errors_in(path)]
    print("\n".join(errors) if errors else f"{len(paths)} files include nothing of a layer above theirs")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
