# SPDX-License-Identifier: BSD-3-Clause
"""structure change: a step or spike that moved, came or went between two versions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from volley.detect.finding import Finding
from volley.detect.kinds.spike import AGREEMENT
from volley.detect.kinds.step import steps
from volley.detect.material import CurveData, Floats, Integers, Material
from volley.detect.pairs import pairs
from volley.detect.registry import Detector, Search
from volley.detect.shape import Outlier
from volley.detect.statistics import interval, robust_spread
from volley.sizes import format_size

Booleans = NDArray[np.bool_]

NOTABLE = math.log(1.15)
"""A step or spike of this size in one version is looked for in the other."""
ALIKE = 0.3
"""A step moved if sizes differ and effects (log ratios) agree to this share: what costs the same 1 µs more weighs
less at a larger size."""


BEYOND_DOUBT = 0.01
"""Of any feature of a curve that is none (Bonferroni): only such features can change."""
CHANGED = 0.6
"""Share of a feature that must show in the ratio of the two versions."""
SURE = 5.0
"""Standard errors of that: two studies differ by more than their launches say."""


@dataclass(frozen=True)
class Feature:
    """A step (between two sizes) or a spike (at one or some)."""

    what: str
    size_from: int
    size_to: int
    effect: float
    found: Outlier


class StructureChangeDetector(Detector):
    """Features of the new version's curves against those of the old."""

    kinds = ("structure change",)
    compares = True

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per feature that is not where it was."""
        if against is None:
            return Search()
        found: list[Finding] = []
        places = 0
        for new, old in pairs(material, against):
            places += len(new.sizes) + len(old.sizes)
            found += _changes(new, old)
        return Search(found, places)


def _features(curve: CurveData) -> list[Feature]:
    """What the curve has beyond doubt."""
    found = [
        Feature("step", int(curve.sizes[one.first - 1]), int(curve.sizes[one.first]), one.effect, one)
        for one in steps(curve)
    ]
    found += [
        Feature("spike", int(curve.sizes[one.first]), int(curve.sizes[one.last - 1]), one.effect, one)
        for one in curve.shape.spikes
    ]
    sure = BEYOND_DOUBT / max(len(curve.sizes), 1)
    return [
        one
        for one in found
        if abs(one.effect) >= NOTABLE
        and one.found.p_value <= sure
        and (math.isnan(one.found.agreement) or one.found.agreement >= AGREEMENT)
    ]


def _changes(new: CurveData, old: CurveData) -> list[Finding]:
    now, before = _features(new), _features(old)
    for feature in list(now):
        same = next((one for one in before if _same_place(one, feature)), None)
        if same is not None:
            before.remove(same)
            now.remove(feature)
    difference = Difference.of(new, old)
    found = []
    for feature in list(now):
        moved = next(
            (one for one in before if _same_kind(one, feature) and _p_moved(difference, one, feature) < 1), None
        )
        if moved is not None:
            now.remove(feature)
            before.remove(moved)
            found.append(_with(_moved(new, old, moved, feature), _p_moved(difference, moved, feature)))
    lone = [(one, "appeared", 1) for one in now] + [(one, "vanished", -1) for one in before]
    for one, change, sign in lone:
        if (p_value := _p_lone(difference, one, sign)) < 1:
            found.append(_with(_lone(new, old, one, change), p_value))
    return found


def _with(one: Finding, p_value: float) -> Finding:
    """The feature must be there, and be a change: the less sure of both counts."""
    return replace(one, p_value=max(one.p_value or 0.0, p_value))


def _same_place(a: Feature, b: Feature) -> bool:
    """Brackets that overlap: the grids may differ."""
    return a.what == b.what and a.effect * b.effect > 0 and a.size_from <= b.size_to and b.size_from <= a.size_to


def _same_kind(a: Feature, b: Feature) -> bool:
    if a.what != "step" or b.what != "step" or a.effect * b.effect <= 0:
        return False
    return min(abs(a.effect), abs(b.effect)) >= ALIKE * max(abs(a.effect), abs(b.effect))


@dataclass(frozen=True)
class Difference:
    """Log ratio of the new version's times to the old one's, at the sizes both have.

    What both have in common (bends, ripples, steps that stayed) cancels, so a change must show here as well.
    """

    sizes: Integers
    ratio: Floats
    error: float
    """Of one size, by both curves' errors and by how much neighbouring sizes differ."""

    @classmethod
    def of(cls, new: CurveData, old: CurveData) -> Difference:
        """Of two curves."""
        sizes, at_new, at_old = np.intersect1d(new.sizes, old.sizes, return_indices=True)
        ratio = new.shape.levels.level[at_new] - old.shape.levels.level[at_old]
        errors = np.hypot(new.shape.levels.error[at_new], old.shape.levels.error[at_old])
        rough = robust_spread(np.diff(ratio)) / math.sqrt(2) if len(ratio) > 3 else 0.0
        return cls(sizes, ratio, max(float(np.median(errors)) if len(errors) else 0.0, rough))

    def p_value(self, inside: Booleans, outside: Booleans, effect: float) -> float:
        """Of sizes inside not differing from those outside (Student); 1 if not by CHANGED of the effect, and surely."""
        from scipy.stats import t

        if not inside.any() or not outside.any():
            return 1.0
        change = float(np.median(self.ratio[inside]) - np.median(self.ratio[outside])) * math.copysign(1, effect)
        error = self.error * math.sqrt(1 / inside.sum() + 1 / outside.sum()) * math.sqrt(math.pi / 2)
        if change < CHANGED * abs(effect) or change < SURE * error:
            return 1.0
        return float(2 * t.sf(change / max(error, 1e-12), len(self.sizes)))

    def near(self, low: int, high: int) -> tuple[Booleans, Booleans]:
        """The four sizes up to `low`, and the four from `high` on."""
        below, above = np.flatnonzero(self.sizes <= low)[-4:], np.flatnonzero(self.sizes >= high)[:4]
        place = np.arange(len(self.sizes))
        return np.isin(place, below), np.isin(place, above)


def _p_lone(difference: Difference, feature: Feature, sign: int) -> float:
    """Of a step or spike in one of two versions: their ratio steps or spikes at the same place."""
    effect = sign * feature.effect
    if feature.what == "step":
        left, right = difference.near(feature.size_from, feature.size_to)
        return difference.p_value(right, left, effect)
    inside = (difference.sizes >= feature.size_from) & (difference.sizes <= feature.size_to)
    left, right = difference.near(feature.size_from - 1, feature.size_to + 1)
    return max(difference.p_value(inside, left, effect), difference.p_value(inside, right, effect))


def _p_moved(difference: Difference, was: Feature, now: Feature) -> float:
    """Between the two places the versions differ by the step, beside them not."""
    low, high = sorted((was, now), key=lambda one: one.size_from)
    inside = (difference.sizes >= low.size_to) & (difference.sizes <= high.size_from)
    outside = np.logical_or(*difference.near(low.size_from, high.size_to))
    effect = min(abs(was.effect), abs(now.effect)) * math.copysign(1, now.effect)
    return difference.p_value(inside, outside, effect if now is low else -effect)


def _finding(new: CurveData, feature: Feature, size_from: int, size_to: int, says: str, **more: object) -> Finding:
    one = feature.found
    return Finding(
        "structure change",
        new.system,
        new.test,
        size_from,
        size_to,
        math.exp(one.effect),
        interval(one.effect, one.error, one.freedom),
        1.0,
        status="UNEXPLAINED" if one.launches >= 2 else "UNDECIDED",
        evidence={"says": says, "feature": feature.what, **more},
        variant=new.variant,
        ranks=new.ranks,
        p_value=one.p_value,
    )


def _moved(new: CurveData, old: CurveData, was: Feature, now: Feature) -> Finding:
    sizes = (was.size_from, now.size_from)
    says = f"the step moved from {was.size_from:,} to {now.size_from:,} bytes ({old.system} to {new.system})"
    return _finding(
        new, now, min(sizes), max(was.size_to, now.size_to), says,
        change="moved", was_from=was.size_from, was_to=was.size_to, is_from=now.size_from, is_to=now.size_to,
        was_magnitude=math.exp(was.effect), versions=[old.system, new.system],
    )  # fmt: skip


def _lone(new: CurveData, old: CurveData, feature: Feature, change: str) -> Finding:
    where = f"between {feature.size_from:,} and {feature.size_to:,} bytes"
    if feature.what == "spike":
        where = f"at {format_size(feature.size_from)}"
    says = f"a {feature.what} {where} ({np.exp(feature.effect):.2f} times) has {change} ({old.system} to {new.system})"
    return _finding(
        new, feature, feature.size_from, feature.size_to, says, change=change, versions=[old.system, new.system]
    )
