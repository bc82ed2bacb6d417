# SPDX-License-Identifier: BSD-3-Clause
"""plateau and collapse: a stretch of sizes that is slower than the sizes before and behind it promise.

Two signs, either is enough: the time rises above the line that joins both sides; or the rate (bytes per
second) falls below the best of a smaller size. A collapse is one by a factor of two or more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from volley.detect.finding import Finding
from volley.detect.material import CurveData, Material
from volley.detect.registry import Detector, Search
from volley.detect.shape import NARROW
from volley.detect.statistics import interval, two_sided
from volley.units import format_rate

Floats = NDArray[np.float64]

FALL = math.log(1.25)
"""A rate a fifth below the best of a smaller size: it has fallen."""
RECOVERED = math.log(1.1)
"""Within a tenth of it: it has recovered."""
COLLAPSE = math.log(2.0)
LEAST_RISE = math.log(1.15)
"""Of a stretch above the line that joins its sides."""


@dataclass(frozen=True)
class Stretch:
    """Sizes first … last-1 (indices) by exp(effect) too slow; `recovered` is the index where it ends, or None."""

    first: int
    last: int
    recovered: int | None
    effect: float
    error: float
    freedom: float
    falls: bool
    """Found by its rate: compared with the best of smaller sizes."""
    typical: float
    """The effect in the middle: what is tested, as the largest is larger by chance."""


class CollapseDetector(Detector):
    """Stretches by time or by rate."""

    kinds = ("plateau", "collapse")

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per stretch."""
        found = []
        for curve in material.curves:
            if curve.comparable:
                found += [_finding(curve, one) for one in stretches(curve)]
        return Search(found, sum(len(curve.sizes) for curve in material.curves))


def stretches(curve: CurveData) -> list[Stretch]:
    """All stretches of a curve that do not overlap; of two that do, the one whose rate falls."""
    if curve.axis != "size" or not curve.shape.pieces:
        return []
    rises = [
        Stretch(one.first, one.last, one.last, one.effect, one.error, one.freedom, False, one.effect)
        for one in curve.shape.bumps
        if one.effect >= LEAST_RISE and curve.sizes[one.last - 1] > NARROW * max(curve.sizes[one.first], 1)
    ]
    chosen: list[Stretch] = []
    for one in sorted([*rises, *_falls(curve)], key=lambda stretch: (not stretch.falls, -stretch.effect)):
        if all(one.last <= other.first or other.last <= one.first for other in chosen):
            chosen.append(one)
    return chosen


def _falls(curve: CurveData) -> list[Stretch]:
    """Where the rate stays below the best of smaller sizes over more than an octave."""
    shape = curve.shape
    odd = {i for spike in shape.spikes for i in range(spike.first, spike.last)}
    kept = [i for i in range(len(curve.sizes)) if i not in odd and curve.sizes[i] > 0]
    if len(kept) < 3:
        return []
    at = np.array(kept)
    rate = np.log(curve.sizes[at]) - _supported(shape.levels.level[at], np.log(curve.sizes[at]))
    own = np.log(curve.sizes[at]) - shape.levels.level[at]
    best = np.maximum.accumulate(rate)
    fall = best - own
    found, place = [], 0
    while place < len(at):
        if fall[place] < FALL:
            place += 1
            continue
        end = place
        while end < len(at) and fall[end] >= RECOVERED:
            end += 1
        if curve.sizes[at[end - 1]] > NARROW * curve.sizes[at[place]]:
            found.append(_fall(curve, at, fall, place, end))
        place = end
    return [one for one in found if one.falls and not _is_step(curve, one)]


def _supported(level: Floats, log_size: Floats) -> Floats:
    """A size's level, or what its faster neighbour makes of it: no single lucky size sets the best rate."""
    rate = log_size - level
    neighbours = np.maximum(np.append(rate[:-1], -np.inf)[np.arange(-1, len(rate) - 1)], np.append(rate[1:], -np.inf))
    return np.asarray(log_size - np.minimum(rate, np.maximum(neighbours, rate - 0.3)))


def _fall(curve: CurveData, at: NDArray[np.int64], fall: Floats, place: int, end: int) -> Stretch:
    """The stretch, judged by its median fall: a single deep size does not make it."""
    inside = at[place:end]
    levels = curve.shape.levels
    effect = float(fall[place:end].max())
    typical = float(np.median(fall[place:end]))
    error = float(np.median(levels.error[inside]) * math.sqrt(2))
    recovered = int(at[end]) if end < len(at) else None
    falls = typical >= FALL and two_sided(typical, error, float(levels.freedom[inside].min())) < 1e-3
    return Stretch(
        int(inside[0]), int(inside[-1]) + 1, recovered, effect, error, float(levels.freedom[inside[0]]), falls, typical
    )


def _is_step(curve: CurveData, one: Stretch) -> bool:
    """A mild fall for good that a step begins is that step, and not told twice."""
    if one.recovered is not None or one.effect >= COLLAPSE:
        return False
    begins = [jump for jump in curve.shape.jumps if abs(jump.first - one.first) <= 1 and jump.effect > 0]
    return any(jump.effect >= 0.6 * one.effect for jump in begins)


def _finding(curve: CurveData, one: Stretch) -> Finding:
    sizes, levels = curve.sizes, curve.shape.levels
    before = max(one.first - 1, 0)
    end = int(sizes[one.recovered]) if one.recovered is not None else int(sizes[one.last - 1])
    rates = np.exp(np.log(np.maximum(sizes, 1)) - levels.level) * 1e9
    lowest = float(rates[one.first : one.last].min()) if one.falls else float(rates[one.first])
    best = float(rates[: one.first].max()) if one.first else float(rates[0])
    back = f"recovers at {end:,}" if one.recovered is not None else "does not recover in what was measured"
    single = bool((levels.counts[one.first : one.last] < 2).all())
    sure = not single or one.last - one.first >= 3 or one.effect > COLLAPSE
    return Finding(
        "collapse" if one.effect >= COLLAPSE else "plateau",
        curve.system,
        curve.test,
        int(sizes[before]),
        end,
        math.exp(one.effect),
        interval(one.effect, one.error, one.freedom, one.last - one.first if one.falls else 1),
        1.0,
        status="UNEXPLAINED" if sure else "UNDECIDED",
        evidence={
            "says": f"{format_rate(best)} up to {int(sizes[before]):,}, then {format_rate(lowest)}; {back}",
            "limit_bytes": int(sizes[before]),
            "slow_from": int(sizes[one.first]),
            "slow_to": int(sizes[one.last - 1]),
            "recovers_at": end if one.recovered is not None else None,
            "best_bytes_per_second": best,
            "lowest_bytes_per_second": lowest,
        },
        variant=curve.variant,
        ranks=curve.ranks,
        p_value=two_sided(one.typical, one.error, one.freedom),
    )
