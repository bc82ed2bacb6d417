#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check that no package of the laboratory imports one above it, and that no modules import each other in a circle."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

LABORATORY = Path(__file__).parents[1] / "laboratory"
# From below. A package may import itself and what stands before it.
ROOMS = [
    "errors",  # what goes wrong, in words
    "units",  # numbers as a person reads them
    "sizes",  # sizes of messages
    "progress",  # what is being done, for a person who waits
    "benchmarks",  # the tests: C programs, and what each says of itself
    "data",  # what was measured, on disk and in memory
    "machine",  # processes, control groups and facts of this machine
    "systems",  # the MPIs under test
    "hosts",  # where launches run
    "measure",  # plan, launch, study
    "compare",  # who is faster, and by how much
    "detect",  # what is odd
    "explain",  # why it is odd, and the proof
    "tune",  # which algorithms are quickest here
    "report",  # the page, the pictures, and what is said first
    "selftest",  # whether all that can be believed
    "debug",  # into a running job
    "cli",  # the commands
]


def modules() -> dict[str, Path]:
    """Every module of the laboratory by its name."""
    found = {}
    for path in sorted((LABORATORY / "volley").rglob("*.py")):
        parts = path.relative_to(LABORATORY).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: dict[str, Path]) -> Iterator[tuple[int, str]]:
    """Line and name of each module of the laboratory that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "volley":
            for one in node.names:
                inner = f"{node.module}.{one.name}"
                yield node.lineno, inner if inner in known else node.module
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, one.name) for one in node.names if one.name in known)


def level(module: str) -> int:
    """Where its package stands; the laboratory's own __init__ is below all."""
    _, _, inner = module.partition(".")
    return ROOMS.index(inner.partition(".")[0]) if inner else -1


def errors() -> list[str]:
    """A line for each import that goes up, and one for a circle."""
    known = modules()
    found = []
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        for line, other in imports(path, known):
            graph.setdefault(name, set()).add(other)
            if level(other) > level(name):
                found.append(f"{path.relative_to(LABORATORY.parent)}:{line}: imports {other}, which is above it")
        graph.get(name, set()).discard(name)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        found.append(f"modules import each other in a circle: {' -> '.join(circle.args[1])}")
    return found


def main() -> int:
    """Print the errors; 1 if there are any."""
    found = errors()
    print("\n".join(found) if found else f"{len(modules())} modules import nothing of a package above theirs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
