# SPDX-License-Identifier: BSD-3-Clause
"""The tests: each is one C file of this folder, whose first comment says what it is.

That comment (TOML between ``/* volley-test`` and ``*/``) is all the laboratory knows of a test: how many
ranks, which sizes, whose duration is the time of an operation, and how many bytes an operation moves.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from volley.errors import DataError, UsageError
from volley.sizes import parse_sizes

FOLDER = Path(__file__).parent
_HEADER = re.compile(r"/\* volley-test\n(.*?)\*/", re.DOTALL)

OPERATIONS = ("rank 0", "rank 1", "slowest rank", "span")
"""Whose duration is the time of one operation:

``rank 0``, ``rank 1``: that rank's own; ``slowest rank``: the longest of all ranks'; ``span``: from the
first rank's start to the last rank's end, on the host's common clock.
"""

PATTERNS = {
    "messages": "single messages between two ranks, one after the other",
    "collective": "one collective operation, whose algorithm an MPI chooses",
    "stream": "messages one way, as fast as they go",
    "many": "many ranks' messages at once",
    "windows": "one rank reads and writes another's memory",
    "files": "ranks read and write one file",
    "start": "how programs start",
    "probe": "how an MPI behaves, not how fast it is",
    "sockets": "TCP sockets without any MPI",
    "machine": "memory and cores without any MPI",
    "": "not known: the test is of somebody else's program",
}
"""What goes on between the ranks of a test."""

TRAFFIC: dict[str, Callable[[int, int], float]] = {
    "none": lambda size, ranks: 0,
    "one message": lambda size, ranks: size,
    "all pairs": lambda size, ranks: size * ranks * (ranks - 1),
    "every rank": lambda size, ranks: size * ranks,
    "all to one": lambda size, ranks: size * (ranks - 1),
    "both halves": lambda size, ranks: 2 * size * (ranks // 2),
}
"""Bytes that one operation of `size` on `ranks` ranks moves, for its bandwidth."""


@dataclass(frozen=True)
class Test:
    """What the first comment of a test's C file says. Times are those of ``operation`` × ``scale``."""

    __test__ = False  # not for pytest

    name: str
    title: str
    summary: str
    source: str
    """Where the test comes from: one of the documents the project began with, or a known benchmark."""
    ranks: tuple[int, ...]
    """World sizes to measure; 0 stands for "as many as there are cores"."""
    sizes: str = "0"
    """As parse_sizes reads them. "0": the test has no size."""
    pattern: str = ""
    """A name of PATTERNS."""
    cold: bool = False
    """Whether it knows the variants ``cold:BYTES``, each message from and to another place of so many bytes, and
    ``shifted:BYTES``, buffers so far apart in their pages."""
    needs_mpi: bool = True
    axis: str = "size"
    """What the curve's x is: ``size`` (bytes) or ``ranks``."""
    operation: str = "rank 0"
    scale: float = 1.0
    statistic: str = "median"
    """How a launch's operations become its one value: ``median`` or ``mean`` (for streams: throughput)."""
    traffic: str = "one message"
    variants: tuple[str, ...] = ("-",)
    """Ways of doing it, each a curve. ``{congestion}`` is replaced by each congestion control there is."""
    stamps: bool = False
    """Every operation's time is a message of a stream, worth a picture of its own."""
    neighbours: bool = True
    """Whether n-64, n-1, n+1 are measured around each size, and the curve refined."""
    minimum_repetitions: int = 5
    maximum_repetitions: int = 1000
    buffers: str = "one message"
    """Memory one rank needs at a size, as a name of TRAFFIC_PER_RANK: limits the largest size."""
    seconds_per_point: float = 0.0
    """Overrides the study's time per point where a test needs another; 0: the study's."""
    ranked: bool = True
    """Whether its times say which system is faster; if not, `volley compare` leaves it out."""
    across_hosts: bool = False
    """Whether it is about the network between hosts: on one machine a study measures it only if it is named."""
    quick: bool = True
    """Whether a quick study measures it."""

    @property
    def file(self) -> Path:
        """The C file."""
        return FOLDER / f"{self.name}.c"

    def size_list(self) -> list[int]:
        """The sizes as numbers, without neighbours."""
        return parse_sizes(self.sizes)


TRAFFIC_PER_RANK: dict[str, Callable[[int, int], int]] = {
    "one message": lambda size, ranks: 2 * size,
    "message per rank": lambda size, ranks: 2 * size * ranks,
}


def read_test(file: Path) -> Test:
    """The test that a C file describes. Raises DataError naming file and fault."""
    match = _HEADER.search(file.read_text())
    if not match:
        raise DataError(f"{file} has no /* volley-test comment", "see docs/adding-a-test.md")
    try:
        said = tomllib.loads(match[1])
    except tomllib.TOMLDecodeError as problem:
        raise DataError(f"{file}: its volley-test comment is not TOML: {problem}") from problem
    unknown = set(said) - {field.name for field in fields(Test)}
    if unknown:
        raise DataError(f"{file}: unknown in its volley-test comment: {', '.join(sorted(unknown))}")
    words = {"operation": OPERATIONS, "traffic": TRAFFIC, "buffers": TRAFFIC_PER_RANK, "pattern": PATTERNS}
    for name, known in words.items():
        if said.get(name) is not None and said[name] not in known:
            raise DataError(f'{file}: {name} = "{said[name]}" is none of {", ".join(known)}')
    for name in ("ranks", "variants"):
        if name in said:
            said[name] = tuple(said[name])
    try:
        return Test(name=file.stem, **said)
    except TypeError as problem:
        raise DataError(f"{file}: its volley-test comment is incomplete: {problem}") from problem


@cache
def all_tests() -> dict[str, Test]:
    """Every test of this folder by name."""
    return {file.stem: read_test(file) for file in sorted(FOLDER.glob("*.c"))}


def find_tests(names: str | None) -> list[Test]:
    """The tests in a list ``pingpong,alltoall``; all of them for None. Raises UsageError."""
    known = all_tests()
    if not names:
        return list(known.values())
    chosen = []
    for name in (part.strip() for part in names.split(",")):
        if name not in known:
            raise UsageError(f'unknown test "{name}"', f"there are: {', '.join(known)}")
        chosen.append(known[name])
    return chosen
