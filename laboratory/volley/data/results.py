# SPDX-License-Identifier: BSD-3-Clause
"""The words of the laboratory: what a study holds, as plain dataclasses that go to JSON and back.

A study folder has ``study.json`` (a :class:`Study`), ``samples.parquet`` (one row per operation, columns
in :data:`SAMPLE_COLUMNS`), ``report.html`` and ``plots/``. Times are nanoseconds unless a name says
otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from volley.errors import DataError

FORMAT = "volley study 1"

SAMPLE_COLUMNS = {
    "system": "category",
    "test": "category",
    "variant": "category",
    "ranks": "uint16, size of the world",
    "launch": "uint32, Launch.number",
    "rank": "uint16",
    "size": "uint64, bytes",
    "repetition": "uint32, within launch, rank, variant and size",
    "start_ns": "int64, CLOCK_MONOTONIC of the laboratory's host; 0 if not known (imported data)",
    "duration_ns": "float32",
}

STATUSES = {
    "measured": "all of it",
    "frozen": "nothing moved for the stated time; what came before is kept",
    "cut off": "the launch's time limit ended it",
    "failed": "it ended with an error",
    "wrong bytes": "measured, but at some points the bytes that arrived were wrong: those were not timed",
    "not measured": "never started; the reason says why",
}
"""What can become of a launch."""


LOST_HOST = "host left out"
"""Name of the warning that a host does not answer, does not fit, or was lost while a study went on."""


@dataclass(frozen=True)
class Warning:
    """Something about the machine that could spoil a comparison, seen before or while measuring."""

    name: str
    what: str
    remedy: str = ""


@dataclass
class SystemFacts:
    """One system under test, as it was."""

    name: str
    family: str
    version: str
    transport: str
    status: str = "ready"
    """``ready`` or ``unavailable``."""
    reason: str = ""
    remedy: str = ""
    details: dict[str, str] = field(default_factory=dict)
    """Prefix, compiler, an example of its launch command…"""
    knobs: dict[str, str] = field(default_factory=dict)
    """What the MPI says of its own settings."""


@dataclass
class Launch:
    """One start of one test on one system: the unit of inference."""

    number: int
    system: str
    test: str
    ranks: int
    block: int
    """Which round of the randomised plan it belongs to."""
    status: str = "measured"
    reason: str = ""
    started: str = ""
    """ISO 8601, UTC."""
    seconds: float = 0.0
    operations: int = 0
    """Samples of all ranks."""
    affinity: list[list[int]] = field(default_factory=list)
    """Per rank, the CPUs it was allowed to run on after pinning."""
    clock: str = ""
    overhead_ns: float = 0.0
    """Cost of recording one operation, measured in this launch."""
    counters: dict[str, float] = field(default_factory=dict)
    """What moved on the machine meanwhile: stolen time, throttling, TCP counters, context switches."""
    state: dict[str, Any] = field(default_factory=dict)
    """What a probe of the cores it uses said ``before`` and ``after`` it (volley.data.states), and which earlier tries
    were ``voided`` because that changed in the middle."""
    hosts: list[dict[str, Any]] = field(default_factory=list)
    """Of a launch on several hosts, what each counted, and its clock beside the laboratory's: ``clock_offset_ns``,
    ``clock_drift_ppm``, and the bound ``clock_error_ns``; of those that its ranks used, ``state`` as above."""
    lost: list[str] = field(default_factory=list)
    """Hosts that were lost in it: that it failed says nothing of the system, and `--resume` makes it anew."""
    facts: list[dict[str, Any]] = field(default_factory=list)
    """What the test itself said (mismatches, limits found, where it froze), with the rank that said it."""


@dataclass
class CellFacts:
    """All launches of one test on one system: how far measuring got, and why it stopped."""

    system: str
    test: str
    ranks: int
    launches: int
    stopped: str
    """``precise`` (every interval narrow enough), ``budget`` (time was up), ``failed``, or ``limit``."""
    half_width: float
    """The widest relative half-width of a curve's intervals; NaN is written as null."""


@dataclass
class Study:
    """Everything about a study but its samples."""

    format: str = FORMAT
    title: str = ""
    created: str = ""
    finished: str = ""
    """Empty while it runs or was killed: `--resume` goes on."""
    command: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    """What `--resume` needs to go on the same way: budget, seed, precision…"""
    environment: dict[str, Any] = field(default_factory=dict)
    """``{"cpu": …, "cores": …, "caches": [...], "kernel": …, "libc": …, "memory_bytes": …, …}``"""
    warnings: list[Warning] = field(default_factory=list)
    systems: list[SystemFacts] = field(default_factory=list)
    tests: list[dict[str, Any]] = field(default_factory=list)
    """Each test's own description (volley.benchmarks.Test as a dictionary)."""
    launches: list[Launch] = field(default_factory=list)
    cells: list[CellFacts] = field(default_factory=list)


@dataclass(frozen=True)
class Point:
    """One size (or number of ranks) of a curve."""

    x: int
    value_ns: float
    """Median of the launches' values."""
    low_ns: float
    high_ns: float
    """The interval's ends: order statistics of the launches' values, no distribution assumed."""
    coverage: float
    """Probability with which such an interval covers the true median; below 0.95 with fewer than 6 launches."""
    launches: int
    operations: int
    fastest_ns: float
    slowest_ns: float
    """Of single operations."""
    launch_values_ns: tuple[float, ...] = ()


@dataclass(frozen=True)
class Curve:
    """One test's time by size (or ranks) on one system, in one variant."""

    system: str
    test: str
    variant: str
    ranks: int
    """World size; 0 where the number of ranks is the curve's x."""
    points: tuple[Point, ...]

    @property
    def label(self) -> str:
        """System, and what distinguishes this curve among those of its test and system."""
        return self.system if self.variant == "-" else f"{self.system} · {self.variant}"


@dataclass(frozen=True)
class Stream:
    """One launch's stream of small messages: the gap before each message, in the order of sending."""

    system: str
    test: str
    variant: str
    size: int
    launch: int
    sender_gaps_ns: Sequence[float] | None
    """Between the starts of neighbouring sends; None where the sender kept no stamps."""
    receiver_gaps_ns: Sequence[float] | None
    """Between neighbouring arrivals; None where the receiver kept no stamps."""


@dataclass(frozen=True)
class LaunchBox:
    """Single operations of one launch at one size: what a box plot draws."""

    system: str
    test: str
    variant: str
    ranks: int
    size: int
    launch: int
    minimum: float
    q1: float
    median: float
    q3: float
    maximum: float


T = TypeVar("T")


def from_dictionary(kind: type[T], data: Any, where: str = "study.json") -> T:
    """A dataclass of this module from what JSON gave. Raises DataError naming what is wrong where."""
    if not isinstance(data, dict):
        raise DataError(f"{where}: expected an object for {kind.__name__}, found {type(data).__name__}")
    hints = get_type_hints(kind)
    names = {one.name for one in fields(kind)}  # type: ignore[arg-type]
    arguments = {}
    for name, value in data.items():
        if name not in names:
            continue  # written by a later version; the format's number changes when meaning does
        hint = hints[name]
        if get_origin(hint) is list and hasattr(get_args(hint)[0], "__dataclass_fields__"):
            if not isinstance(value, list):
                raise DataError(f"{where}: {name} should be a list, found {type(value).__name__}")
            value = [from_dictionary(get_args(hint)[0], one, where) for one in value]
        elif isinstance(hint, type) and issubclass(hint, StrEnum):
            if value not in list(hint):
                raise DataError(f"{where}: {kind.__name__}.{name} should be one of {', '.join(hint)}, found {value!r}")
            value = hint(value)
        elif not isinstance(value, _json_kinds(hint)):
            raise DataError(f"{where}: {kind.__name__}.{name} should be a {hint}, found {type(value).__name__}")
        arguments[name] = value
    try:
        return kind(**arguments)
    except TypeError as problem:
        raise DataError(f"{where}: {kind.__name__} is incomplete: {problem}") from problem


def _json_kinds(hint: Any) -> tuple[type, ...]:
    """What JSON may give for a field of this type: whole numbers for floats, null for what is not finite."""
    if get_origin(hint) is UnionType:
        return tuple(kind for one in get_args(hint) for kind in _json_kinds(one))
    return (float, int, NoneType) if hint is float else (get_origin(hint) or hint,)


def to_dictionary(value: Any) -> dict[str, Any]:
    """A dataclass of this module as what json.dumps accepts."""
    return asdict(value)
