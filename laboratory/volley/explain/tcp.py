# SPDX-License-Identifier: BSD-3-Clause
"""What causes that live in TCP look at alike: how late operations are, and what the kernel counted meanwhile."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from volley.benchmarks import Test
from volley.data.results import Launch
from volley.detect.finding import Finding
from volley.detect.material import CurveData, Floats
from volley.explain.experiment import Measured
from volley.explain.scene import Scene
from volley.explain.symptom import Edge, Symptom
from volley.systems.settings import PRELOAD, shim_library

DELAYED_ACKS = "TcpExt.DelayedACKs"
TIMEOUTS = "TcpExt.TCPTimeouts"
RETRANSMITS = "Tcp.RetransSegs"
SPURIOUS = "TcpExt.TCPDSACKRecv"
"""Segments sent again that had arrived already: the receiver says so (DSACK, RFC 2883)."""
SEGMENTS = "Tcp.OutSegs"
OUT_OF_ORDER = "TcpExt.TCPOFOQueue"
LOST_SHARE = 0.005
"""Of the segments sent: what is sent again on a loopback or a sound network is less, and mostly spurious."""
SHIM = "sockets"
"""The setting that reaches the sockets of any program: volley/shims/sockets.c."""
LATE_NS = 30e6
"""An operation so much slower than the fast ones of its launch waits for one of TCP's timers: the shortest, for a
delayed acknowledgement, is HZ/25 = 40 ms (TCP_DELACK_MIN, include/net/tcp.h)."""


@dataclass(frozen=True)
class Late:
    """Operations that are late by LATE_NS or more, beyond what fast ones take."""

    operations: int
    """How many were looked at."""
    excess_ns: Floats
    """Of the late ones, as rank 0 or the test's measuring rank saw it (not scaled to half a round trip)."""

    @property
    def share(self) -> float:
        """Late ones among all."""
        return len(self.excess_ns) / max(self.operations, 1)

    def fitting(self, windows: Sequence[tuple[float, float]], most: int) -> float:
        """Share of the late ones whose lateness is 1 to `most` times a time within one of the windows (ns)."""
        if not len(self.excess_ns):
            return 0.0
        fits = np.zeros(len(self.excess_ns), dtype=bool)
        for times in range(1, most + 1):
            for low, high in windows:
                fits |= (self.excess_ns >= low * times) & (self.excess_ns <= high * times)
        return float(fits.mean())


def late_operations(curve: CurveData, scale: float, sizes: tuple[int, int] | None = None) -> dict[int, Late]:
    """Launch → its late operations, at all sizes or at those from `sizes[0]` to `sizes[1]`.

    A size all of whose operations are late is judged by other sizes: see _fast_ns.
    """
    found: dict[int, list[tuple[int, Floats]]] = {}
    if not len(curve.series):
        return {}
    fast = _fast_ns(curve)
    for one in curve.series:
        if sizes is None or sizes[0] <= one.size <= sizes[1]:
            excess = (one.times_ns - fast[one.size]) / scale
            found.setdefault(one.launch, []).append((len(one.times_ns), excess[excess >= LATE_NS]))
    return {
        launch: Late(sum(count for count, _ in parts), np.concatenate([excess for _, excess in parts]))
        for launch, parts in found.items()
    }


def _fast_ns(curve: CurveData) -> dict[int, float]:
    """Size → what an operation of this size takes at most if nothing holds it up.

    That is the least that any of this size or a larger one took, in any launch; or a smaller one, times the ratio of
    the sizes, since start-up and rate make times grow no faster than that.
    """
    least: dict[int, float] = {}
    for one in curve.series:
        if len(one.times_ns):
            least[one.size] = min(least.get(one.size, math.inf), float(one.times_ns.min()))
    return {
        size: min(time if other >= size else time * size / max(other, 1) for other, time in least.items())
        for size in least
    }


def scale_of(test: Test | None) -> float:
    """What a test multiplies its operations' times by."""
    return test.scale if test is not None else 1.0


def affected(finding: Finding, curve: CurveData) -> tuple[int, int]:
    """First and last size that show the finding: of a step down, the sizes before it."""
    first, last = int(curve.sizes[0]), int(curve.sizes[-1])
    if finding.kind == "step":
        return (finding.size_to, last) if finding.magnitude >= 1 else (first, finding.size_from)
    if finding.kind in ("plateau", "collapse"):
        behind = [int(size) for size in curve.sizes if finding.size_from < size <= finding.size_to]
        return (behind[0], behind[-1]) if behind else (finding.size_from, finding.size_to)
    return finding.size_from, finding.size_to


def late_at(finding: Finding, scene: Scene) -> Late | None:
    """Late operations of all launches where the finding is; None if there are no operations to look at."""
    curve = scene.curve(finding)
    if curve is None or not len(curve.series):
        return None
    by_launch = late_operations(curve, scale_of(scene.tests.get(finding.test)), affected(finding, curve))
    if not by_launch:
        return None
    parts = by_launch.values()
    return Late(sum(one.operations for one in parts), np.concatenate([one.excess_ns for one in parts]))


def late_in_launches(finding: Finding, scene: Scene) -> int:
    """Late operations in all that the finding's launches measured, other variants and sizes included: the counters
    of a launch count them as well.
    """
    scale = scale_of(scene.tests.get(finding.test))
    return sum(
        len(late.excess_ns)
        for curve in scene.material.curves
        if (curve.system, curve.test, curve.ranks) == (finding.system, finding.test, finding.ranks)
        for late in late_operations(curve, scale).values()
    )


def moved(launches: Iterable[Launch], name: str) -> float:
    """How far a counter moved in these launches together."""
    return sum(launch.counters.get(name, 0.0) for launch in launches)


def late_measured(measured: Measured) -> int:
    """Late operations of an experiment's arm."""
    if measured.curve is None:
        return 0
    return sum(len(one.excess_ns) for one in late_operations(measured.curve, measured.arm.test.scale).values())


def per_launch(measured: Measured, name: str) -> float:
    """How far a counter moved per launch of an arm, in the mean."""
    values = measured.counter(name)
    return float(np.mean(values)) if values else 0.0


def lost_per_launch(measured: Measured) -> float:
    """Segments that were sent again, without those that had arrived already."""
    return max(per_launch(measured, RETRANSMITS) - per_launch(measured, SPURIOUS), 0.0)


def sockets(words: str) -> Mapping[str, str]:
    """Settings of an arm whose sockets are set so."""
    return {SHIM: words}


@dataclass(frozen=True)
class Connections:
    """What TCP_INFO counted on all connections of some launches (shims/sockets.c, the word report)."""

    busy_us: int
    window_limited_us: int
    send_buffer_limited_us: int
    send_buffer: int
    """Bytes of the busiest connection's; the kernel counts double what a program sets."""
    receive_buffer: int

    @property
    def share(self) -> float:
        """Of the time with data under way, how long window or send buffer held them up."""
        return (self.window_limited_us + self.send_buffer_limited_us) / max(self.busy_us, 1)


@dataclass(frozen=True)
class Reports:
    """A folder into which the sockets of launches are reported."""

    folder: Path

    @property
    def words(self) -> str:
        """For sockets()."""
        return f"report:{self.folder}"

    def read(self) -> Connections:
        """All of it so far. Lines that a killed rank left unfinished are passed over."""
        lines = [line.split() for file in self.folder.iterdir() for line in file.read_text().splitlines()]
        rows = sorted([int(word) for word in line] for line in lines if len(line) == REPORTED)
        busiest = rows[-1] if rows else [0] * REPORTED
        busy, window, buffer = (sum(row[at] for row in rows) for at in range(3))
        return Connections(busy, window, buffer, busiest[4], busiest[5])


REPORTED = 6
"""Numbers in a line of a report: see shims/sockets.c."""


@contextlib.contextmanager
def reporting() -> Iterator[Reports]:
    """A folder for reports, which any user may write into: LAM's ranks are another's. Removed at the end."""
    with tempfile.TemporaryDirectory(prefix="volley-sockets-", dir="/tmp") as folder:
        Path(folder).chmod(0o1777)
        yield Reports(Path(folder))


class NarrowEdge(Edge):
    """An edge measured at the two sizes that enclose it, where each late operation costs a tenth of a second."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Last before and first behind."""
        return (self.low, self.high)


class LateShare(Symptom):
    """How many operations wait for a timer: of a place where some do and some do not, which a median hides or makes
    all. No kind's own: for causes that ask."""

    kinds = ()
    shares_of = "operations"

    def __init__(self, finding: Finding, curve: CurveData | None, least_ns: float, share: float) -> None:
        super().__init__(finding, curve)
        self.least_ns, self.share = least_ns, share
        before = [int(size) for size in curve.sizes] if curve is not None else []
        first, last = affected(finding, curve) if curve is not None else (finding.size_from, finding.size_to)
        inside = [size for size in before if first <= size <= last] or [first]
        self.shown = tuple(inside[:2])
        self.beside = tuple(size for size in before if size < first)[-1:]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Two that show it, and the last before, by which it is known what an operation takes at least."""
        return (*self.beside, *self.shown)

    @property
    def expected(self) -> float:
        """The share that the study had."""
        return self.share

    def amounts(self, measured: Measured) -> list[float]:
        """Per launch, the share of operations that are late by `least_ns` or more."""
        if measured.curve is None:
            return []
        inside = (self.shown[0], self.shown[-1])
        by_launch = late_operations(measured.curve, measured.arm.test.scale, inside)
        return [int(sum(one.excess_ns >= self.least_ns)) / max(one.operations, 1) for one in by_launch.values()]


def narrow(symptom: Symptom) -> Symptom:
    """The same, measured at as few sizes as can be."""
    if not isinstance(symptom, Edge):
        return symptom
    other = NarrowEdge(symptom.finding, symptom.curve)
    other.low, other.high, other.sign = symptom.low, symptom.high, symptom.sign
    return other


def planted_sockets(words: str) -> dict[str, str]:
    """Variables by which every launch's sockets are set so, behind the back of whoever measures: for plants. What an
    experiment sets by `sockets()` overrides it option by option.
    """
    return {PRELOAD: str(shim_library(SHIM)), f"VOLLEY_SHIM_{SHIM.upper()}_PLANTED": words}
