# SPDX-License-Identifier: BSD-3-Clause
"""How a finding is measured again: at which sizes, and which number says how much of it a launch shows.

An amount is positive where the finding shows and about zero where it does not; of one launch it stands on what that
launch measured alone, so that launches are independent. To give a kind of finding a way to be measured again, add a
subclass of :class:`Symptom` that names the kind, and name it in KINDS.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from volley.detect.finding import Finding
from volley.detect.kinds.held_up import share
from volley.detect.kinds.interruption import interruptions, log_factor, pooled_factor
from volley.detect.kinds.rank_collapse import alltoall_messages, reference
from volley.detect.kinds.stall import look
from volley.detect.material import CurveData, Floats
from volley.explain.experiment import LAUNCHES, Measured

BESIDE = 64
"""Bytes away from an edge that are measured on each side as well: a cache line."""


class Symptom(ABC):
    """A finding's own measure."""

    kinds: ClassVar[tuple[str, ...]]
    launches: ClassVar[int] = LAUNCHES
    """Per arm, that an experiment needs."""
    shares_of: ClassVar[str] = ""
    """Amounts are shares of these; if empty they are logarithms of ratios of times."""

    def __init__(self, finding: Finding, curve: CurveData | None) -> None:
        self.finding = finding
        self.curve = curve

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """What must be measured."""

    @abstractmethod
    def amounts(self, measured: Measured) -> list[float]:
        """One number per launch that measured enough."""

    @property
    def expected(self) -> float:
        """The amount that the finding promises."""
        return abs(math.log(self.finding.magnitude)) if math.isfinite(self.finding.magnitude) else 1.0


def launch_rows(measured: Measured) -> list[dict[int, float]]:
    """Per launch, size → log of its value in ns."""
    curve = measured.curve
    if curve is None:
        return []
    return [
        {int(size): float(value) for size, value in zip(curve.sizes, row, strict=True) if math.isfinite(value)}
        for row in curve.log_ns
    ]


def edge_of(finding: Finding, curve: CurveData | None) -> tuple[int, int]:
    """The two sizes between which the edge of a step, plateau, collapse or structure change stands."""
    if "is_from" in finding.evidence:  # a step that moved: where it is now
        return int(finding.evidence["is_from"]), int(finding.evidence["is_to"])
    if finding.kind in ("plateau", "collapse") and curve is not None:
        return _fall_of(finding, curve)
    return finding.size_from, finding.size_to


def _fall_of(finding: Finding, curve: CurveData) -> tuple[int, int]:
    """Where the rate falls: from the best that the launches agree on to the first size that shows half of the effect.

    Where launches differ, the sizes next to the finding's own may already be slow in most of them.
    """
    per_byte = np.nanmedian(curve.log_ns, axis=0) - np.log(np.maximum(curve.sizes, 1))
    before = np.flatnonzero((curve.sizes <= finding.size_from) & np.isfinite(per_byte))
    behind = np.flatnonzero((curve.sizes > finding.size_from) & np.isfinite(per_byte))
    if not len(before) or not len(behind):
        return finding.size_from, finding.size_to
    best = before[np.argmin(per_byte[before])]
    half = per_byte[best] + 0.5 * abs(math.log(finding.magnitude))
    if per_byte[before[-1]] < half:
        best = before[-1]
    slow = [one for one in (*before[before > best], *behind) if per_byte[one] >= half]
    return int(curve.sizes[best]), int(curve.sizes[slow[0] if slow else behind[0]])


class Edge(Symptom):
    """Step, plateau, collapse: how much more the sizes behind an edge take than those before it.

    The growth that size alone explains is what the finding says of it, raw ratio over its magnitude, but at least none
    and at most in proportion. Once the edge is known to the byte (see bisect), nothing is left of that.
    """

    kinds = ("step", "plateau", "collapse", "structure change")

    def __init__(self, finding: Finding, curve: CurveData | None) -> None:
        super().__init__(finding, curve)
        self.low, self.high = edge_of(finding, curve)
        self.sign = 1.0 if finding.magnitude >= 1 else -1.0

    def at(self, low: int, high: int) -> Edge:
        """The same edge, now known to lie between these sizes (or one that is looked for there)."""
        other = Edge(self.finding, None)
        other.low, other.high, other.sign = low, high, self.sign
        return other

    @property
    def sizes(self) -> tuple[int, ...]:
        """Two on either side; none beside a size below BESIDE."""
        return tuple(
            sorted({self.low, self.high, self.high + BESIDE, self.low - BESIDE if self.low > 2 * BESIDE else self.low})
        )

    @property
    def growth(self) -> float:
        """Log of what size alone adds between both sides."""
        if self.high - self.low <= self.low // 16 or self.curve is None:
            return 0.0
        at = {int(size): index for index, size in enumerate(self.curve.sizes)}
        if self.low not in at or self.high not in at:
            return 0.0
        level = np.nanmedian(self.curve.log_ns, axis=0)
        raw = float(level[at[self.high]] - level[at[self.low]])
        return min(max(raw - math.log(self.finding.magnitude), 0.0), math.log(self.high / max(self.low, 1)))

    def amounts(self, measured: Measured) -> list[float]:
        """Log of the ratio behind to before, without the growth of size."""
        found = []
        for row in launch_rows(measured):
            before = [row[size] for size in self.sizes if size <= self.low and size in row]
            behind = [row[size] for size in self.sizes if size >= self.high and size in row]
            if before and behind:
                found.append(self.sign * (float(np.mean(behind)) - float(np.mean(before)) - self.growth))
        return found


class PerByte(Symptom):
    """How much longer a byte takes behind the edge than before it. No kind's own: for causes that ask."""

    def __init__(self, finding: Finding, before: int, behind: int) -> None:
        super().__init__(finding, None)
        self.before, self.behind = before, behind

    @property
    def sizes(self) -> tuple[int, ...]:
        """One size well before the edge, one well behind it."""
        return (self.before, self.behind)

    def amounts(self, measured: Measured) -> list[float]:
        """Log of the ratio of times per byte."""
        growth = math.log(self.behind / self.before)
        return [
            row[self.behind] - row[self.before] - growth
            for row in launch_rows(measured)
            if self.before in row and self.behind in row
        ]


class Spike(Symptom):
    """Single sizes off the curve that their neighbours make; what is odd itself tells nothing of another."""

    kinds = ("spike",)
    NEIGHBOURS = 2

    def __init__(self, finding: Finding, curve: CurveData | None) -> None:
        super().__init__(finding, curve)
        grid = curve.sizes.tolist() if curve is not None else [finding.size_from, finding.size_to]
        self.odd = [size for size in grid if finding.size_from <= size <= finding.size_to][:4]
        quiet = [size for size in grid if size not in _spikes(curve)]
        self.beside = [size for size in quiet if size < finding.size_from][-self.NEIGHBOURS :]
        self.beside += [size for size in quiet if size > finding.size_to][: self.NEIGHBOURS]
        self.sign = 1.0 if finding.magnitude >= 1 else -1.0

    def beside_those(self, which: Callable[[int], bool]) -> Spike:
        """The same spike beside the nearest sizes of a kind."""
        other = Spike(self.finding, self.curve)
        grid = [int(size) for size in self.curve.sizes if which(int(size))] if self.curve is not None else []
        other.beside = [size for size in grid if size < self.finding.size_from][-self.NEIGHBOURS :]
        other.beside += [size for size in grid if size > self.finding.size_to][: self.NEIGHBOURS]
        return other

    @property
    def sizes(self) -> tuple[int, ...]:
        """The odd ones and their neighbours."""
        return tuple(sorted({*self.odd, *self.beside}))

    @property
    def growth(self) -> float:
        """Log of what the odd sizes take more than their neighbours without the spike."""
        if self.curve is None:
            return 0.0
        level = dict(zip(self.curve.sizes.tolist(), np.nanmedian(self.curve.log_ns, axis=0).tolist(), strict=True))
        return self._contrast(level) - math.log(self.finding.magnitude)

    def _contrast(self, row: dict[int, float]) -> float:
        odd = [row[size] for size in self.odd if size in row]
        beside = [row[size] for size in self.beside if size in row]
        return float(np.mean(odd)) - float(np.mean(beside)) if odd and beside else math.nan

    def amounts(self, measured: Measured) -> list[float]:
        """Log of the ratio to the neighbours, without the growth of size."""
        raw = [self._contrast(row) for row in launch_rows(measured)]
        return [self.sign * (one - self.growth) for one in raw if math.isfinite(one)]


def _spikes(curve: CurveData | None) -> set[int]:
    """All sizes that are off a curve."""
    if curve is None:
        return set()
    return {int(size) for one in curve.shape.spikes for size in curve.sizes[one.first : one.last]}


class Ends(Symptom):
    """What is measured at the smallest size that shows it, and at the largest; subclasses say how."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Both ends of the finding."""
        return tuple(sorted({self.finding.size_from, self.finding.size_to}))


class Stall(Ends):
    """Late messages: the share of messages that come at least half as late as the finding says."""

    kinds = ("stall",)
    shares_of = "operations"

    @property
    def expected(self) -> float:
        """Share of messages that are late."""
        evidence = self.finding.evidence
        return float(evidence["stalls_per_launch"]) / max(float(evidence["messages_per_launch"]), 1.0)

    def amounts(self, measured: Measured) -> list[float]:
        """Per stream: late messages over all."""
        late_ns = 0.5 * (self.finding.duration_ns or 0.0)
        found = []
        for stream in measured.material.streams:
            gaps = stream.receiver_gaps_ns
            found.append(float((gaps > look(stream).usual_ns + late_ns).mean()))
        return found


class HeldUp(Ends):
    """An operation that waits for a rank that is away: the share of the absence for which it stands."""

    kinds = ("held up",)
    shares_of = "absences"

    @property
    def expected(self) -> float:
        """All of it."""
        return 1.0

    def amounts(self, measured: Measured) -> list[float]:
        """Per launch, the least of its sizes."""
        told = [[share(fact) for fact in one.facts if fact["fact"] == "absence"] for one in measured.launches]
        return [min(shares) for shares in told if shares]


class Operations(Symptom):
    """What shows in single operations within a launch; subclasses say how."""

    MOST_SIZES = 3

    @property
    def sizes(self) -> tuple[int, ...]:
        """Some of those that show it."""
        grid = self.curve.sizes.tolist() if self.curve is not None else [self.finding.size_from, self.finding.size_to]
        inside = [size for size in grid if self.finding.size_from <= size <= self.finding.size_to]
        inside = inside or [self.finding.size_from]
        step = max(1, len(inside) // self.MOST_SIZES)
        return tuple(inside[::step][: self.MOST_SIZES])

    @abstractmethod
    def of(self, times_ns: Floats) -> float:
        """The amount in one launch's operations of one size."""

    def amounts(self, measured: Measured) -> list[float]:
        """Per launch, the mean over its sizes."""
        if measured.curve is None:
            return []
        by_launch: dict[int, list[float]] = {}
        for series in measured.curve.series:
            if len(series.times_ns) >= 4:
                by_launch.setdefault(series.launch, []).append(self.of(series.times_ns))
        return [float(np.mean(values)) for values in by_launch.values()]


class Modes(Operations):
    """Bimodal: how far the slow tenth lies above the fast half."""

    kinds = ("bimodal",)

    def of(self, times_ns: Floats) -> float:
        """Log of the ratio of the slowest tenth's mean to the fastest half's."""
        ordered = np.sort(times_ns)
        slow, fast = ordered[int(0.9 * len(ordered)) :], ordered[: (len(ordered) + 1) // 2]
        return math.log(float(slow.mean()) / float(fast.mean()))


class Drift(Operations):
    """Drift: the last quarter of a launch's operations against the first."""

    kinds = ("drift",)

    def of(self, times_ns: Floats) -> float:
        """Log of the ratio, positive in the finding's direction."""
        quarter = max(1, len(times_ns) // 4)
        ratio = math.log(float(np.median(times_ns[-quarter:])) / float(np.median(times_ns[:quarter])))
        return ratio if self.finding.magnitude >= 1 else -ratio


class Spread(Symptom):
    """Launch effect: how far launches lie apart, group by group: a single launch cannot show it."""

    kinds = ("launch effect",)
    GROUP = 4
    launches = LAUNCHES * GROUP

    @property
    def sizes(self) -> tuple[int, ...]:
        """Five over the whole curve."""
        grid = self.curve.sizes.tolist() if self.curve is not None else [self.finding.size_from]
        return tuple(grid[:: max(1, len(grid) // 5)][:5])

    def amounts(self, measured: Measured) -> list[float]:
        """Per group of launches, log of the slowest to the fastest, at all sizes alike."""
        rows = launch_rows(measured)
        common = set.intersection(*(set(row) for row in rows)) if rows else set()
        means = [float(np.mean([row[size] for size in common])) for row in rows if common]
        groups = [means[at : at + self.GROUP] for at in range(0, len(means), self.GROUP)]
        return [max(group) - min(group) for group in groups if len(group) == self.GROUP]


class Ended(Symptom):
    """Freeze, failure: launches that ended so."""

    kinds = ("freeze", "failure")
    shares_of = "launches"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Where it stood; if that is not known, some over the whole curve, and the largest."""
        if self.finding.size_from or self.curve is None:
            return (self.finding.size_from,)
        grid = self.curve.sizes.tolist()
        return tuple(sorted({*grid[:: max(1, len(grid) // 4)], grid[-1]}))

    @property
    def expected(self) -> float:
        """All of them."""
        return 1.0

    def amounts(self, measured: Measured) -> list[float]:
        """1 for a launch that ended so."""
        status = "frozen" if self.finding.kind == "freeze" else "failed"
        return [float(launch.status == status) for launch in measured.launches]


class Interrupted(Symptom):
    """Stalls among repetitions: what single late operations add to a launch's time."""

    launches = 7
    MOST_SIZES = 8
    ROOMY_NS, MOST_NS = 20e3, 3e6
    """Sizes whose operations take so long fill their time per point, and have many operations in it."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Some over the curve, those that measure for long before others."""
        if self.curve is None:
            return tuple(sorted({self.finding.size_from, self.finding.size_to}))
        level = np.exp(np.nanmedian(self.curve.log_ns, axis=0))
        roomy = self.curve.sizes[(level >= self.ROOMY_NS) & (level <= self.MOST_NS)].tolist()
        others = [size for size in reversed(self.curve.sizes.tolist()) if size not in roomy]
        step = max(1, len(roomy) // self.MOST_SIZES)
        return tuple(sorted([*roomy[::step], *others][: self.MOST_SIZES]))

    @property
    def expected(self) -> float:
        """What these sizes showed, if that is less than the whole curve did."""
        if self.curve is None:
            return super().expected
        wanted = set(self.sizes)
        some = replace(self.curve, series=[one for one in self.curve.series if one.size in wanted])
        return min(super().expected, math.log(pooled_factor(interruptions(some, all_late=True))))

    def amounts(self, measured: Measured) -> list[float]:
        """Log of the ratio of a launch's time with its late operations to that without."""
        if measured.curve is None:
            return []
        return [log_factor(one) for one in interruptions(measured.curve, all_late=True)]


class Slower(Symptom):
    """Regression: how much longer the sizes take than the version before took, as the finding remembers it.

    The machine may have become faster or slower since. Sizes that took the same in both versions are measured with
    them, and what those take more or less now is not the regression's.
    """

    kinds = ("regression",)
    MOST_SIZES = 6

    def __init__(self, finding: Finding, curve: CurveData | None) -> None:
        super().__init__(finding, curve)
        known, self.steady = (
            {int(size): math.log(value) for size, value in finding.evidence.get(name, {}).items()}
            for name in ("was_ns", "steady_ns")
        )
        # The largest first: what is slow by itself shows there.
        step = max(1, -(-len(known) // self.MOST_SIZES))
        self.was = {size: known[size] for size in sorted(known, reverse=True)[::step]}

    @property
    def sizes(self) -> tuple[int, ...]:
        """Some of those that are slower, and those that are not."""
        return tuple(sorted({*self.was, *self.steady}))

    @property
    def expected(self) -> float:
        """What these sizes showed."""
        rows = {} if self.curve is None else dict(zip(self.curve.sizes.tolist(), self.curve.log_ns.T, strict=True))
        shifts = [float(np.nanmedian(rows[size])) - self.was[size] for size in self.was if size in rows]
        return float(np.mean(shifts)) if shifts else super().expected

    def amounts(self, measured: Measured) -> list[float]:
        """Log of the ratio to the time before, the mean over sizes, over what the steady sizes' ratio is."""
        found = []
        for row in launch_rows(measured):
            slower, steady = (
                [row[size] - before for size, before in known.items() if size in row]
                for known in (self.was, self.steady)
            )
            if slower:
                found.append(float(np.mean(slower)) - (float(np.median(steady)) if steady else 0.0))
        return found


class RankCollapse(Symptom):
    """Rank collapse: how much longer operations take than a smaller world's do, with the growth of traffic."""

    kinds = ("rank collapse",)

    def __init__(self, finding: Finding, curve: CurveData | None, others: Sequence[CurveData] = ()) -> None:
        super().__init__(finding, curve)
        same = (one for one in others if (one.system, one.test, one.variant) == self._key)
        before = next((one for one in same if one.ranks == finding.evidence.get("ranks_before")), None)
        self.reference = reference(before, curve) if before is not None and curve is not None else {}
        self.small = before

    @property
    def _key(self) -> tuple[str, str, str]:
        return (self.finding.system, self.finding.test, self.finding.variant)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The smallest that both worlds have: an operation may take tens of milliseconds."""
        return tuple(sorted(self.reference))[:2]

    def amounts(self, measured: Measured) -> list[float]:
        """Log of the ratio to what the smaller world's time promises `measured`'s world."""
        if self.small is None:
            return []
        smaller = math.log(alltoall_messages(self.finding.ranks) / max(alltoall_messages(measured.arm.ranks), 1))
        rows = launch_rows(measured)
        return [float(np.mean([row[one] - self.reference[one] for one in row])) + smaller for row in rows if row]


KINDS: tuple[type[Symptom], ...] = (Edge, Spike, Stall, HeldUp, Modes, Drift, Spread, Ended, Slower, RankCollapse)


def symptom_of(finding: Finding, curve: CurveData | None, others: Sequence[CurveData] = ()) -> Symptom | None:
    """How `finding` is measured again; None for what cannot be (figures of a table that contradict each other).

    others: the study's curves, where a finding rests on several.
    """
    if finding.evidence.get("interruptions"):
        return Interrupted(finding, curve)
    if finding.kind == "rank collapse":
        return RankCollapse(finding, curve, others)
    if finding.kind == "failure" and curve is None:  # nothing was measured: by the sizes of another system
        curve = next((one for one in others if one.test == finding.test), None)
    kind = next((one for one in KINDS if finding.kind in one.kinds), None)
    return kind(finding, curve) if kind else None
