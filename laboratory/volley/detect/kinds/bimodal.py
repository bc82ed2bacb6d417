# SPDX-License-Identifier: BSD-3-Clause
"""bimodal: the operations of a launch at one size fall into two groups with a trough between."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from volley.detect.finding import Finding
from volley.detect.kinds.within_launch import AGREEING, MOST_OPERATIONS, SizeEvidence, run_interval, runs
from volley.detect.material import CurveData, Floats, Material
from volley.detect.registry import Detector, Search
from volley.units import format_time

FEWEST_OPERATIONS = 24
LEAST_SHARE = 0.12
"""Of the operations in the rarer group: fewer are interruptions, which every machine has."""
LEAST_APART = math.log(1.2)
TROUGH_P = 1e-3
"""That a distribution with one peak has such a trough, at one size; corrected for all sizes afterwards. The split is
chosen by the data, and still the rate is no higher: of 48,000 samples of 60 to 600 values of a uniform, normal, Laplace
or exponential distribution 0.04 % had p below 0.01 and none below 0.001."""


@dataclass(frozen=True)
class TwoModes:
    """Two groups of operations."""

    fast_ns: float
    slow_ns: float
    slow_share: float


class BimodalDetector(Detector):
    """Looks for a trough between two groups, size by size."""

    kinds = ("bimodal",)

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per run of sizes at which most launches have two modes."""
        found, places = [], 0
        for curve in material.curves:
            if not curve.stream:
                places += len(curve.sizes)
                found += [_finding(curve, run) for run in runs(curve, modes)]
        return Search(found, places)


def modes(launches: list[Floats]) -> tuple[float, float, tuple[TwoModes, ...]] | None:
    """(distance as log ratio, p, modes) of one size's operations, or None.

    Launches are put together after each one's mean is taken off, so that launches which merely differ make
    no modes. The split is the one that leaves least variance within two groups (Otsu 1979). A density with
    one peak is nowhere between the groups' middles lower than at the lower of the two: so the middle third of
    the way must not hold significantly fewer operations than equally wide windows around both (binomial).
    """
    share = max(1, MOST_OPERATIONS // len(launches))
    logs = [np.log(times[:: -(-len(times) // share)]) for times in launches]
    centred = [one - one.mean() for one in logs]
    found = _split(np.sort(np.concatenate(centred)))
    if found is None:
        return None
    fast, slow, p_value = found
    each = [_modes(raw, one, fast, slow) for raw, one in zip(logs, centred, strict=True)]
    agreeing = tuple(one for one in each if one is not None)
    if len(agreeing) < AGREEING * len(launches):
        return None
    return slow - fast, p_value, agreeing


def _split(ordered: Floats) -> tuple[float, float, float] | None:
    """(middle of the fast, middle of the slow, p of such a trough) of sorted values, or None."""
    from scipy.stats import binom

    count = len(ordered)
    least = max(3, int(LEAST_SHARE * count))
    if count < FEWEST_OPERATIONS or ordered[int(0.97 * count)] - ordered[int(0.03 * count)] < LEAST_APART:
        return None
    head = np.clip(ordered, ordered[int(0.02 * count)], ordered[int(0.98 * count)])  # interruptions do not split
    sums = np.cumsum(head)
    n = np.arange(1, count)
    between = (sums[:-1] / n - sums[-1] / count) ** 2 * n / (count - n)
    split = int(between[least : count - least].argmax()) + least + 1
    fast, slow = float(np.median(ordered[:split])), float(np.median(ordered[split:]))
    if slow - fast < LEAST_APART:
        return None
    trough, lower = _trough(ordered, fast, slow)
    p_value = float(binom.cdf(trough, trough + lower, 0.5))
    return (fast, slow, p_value) if 2 * trough <= lower and p_value <= TROUGH_P else None


def _trough(ordered: Floats, fast: float, slow: float) -> tuple[int, int]:
    """Operations in the middle third between two middles, and in as wide a window around the emptier one."""
    third = (slow - fast) / 6
    held = [
        int(np.diff(np.searchsorted(ordered, [middle - third, middle + third]))[0])
        for middle in ((fast + slow) / 2, fast, slow)
    ]
    return held[0], min(held[1:])


def _modes(raw: Floats, centred: Floats, fast: float, slow: float) -> TwoModes | None:
    """One launch's own two groups; None if it does not show them."""
    trough, lower = _trough(np.sort(centred), fast, slow)
    above = centred > (fast + slow) / 2
    share = float(above.mean())
    if not LEAST_SHARE / 2 <= share <= 1 - LEAST_SHARE / 2 or trough > lower:
        return None
    return TwoModes(math.exp(float(np.median(raw[~above]))), math.exp(float(np.median(raw[above]))), share)


def _finding(curve: CurveData, run: list[SizeEvidence[TwoModes]]) -> Finding:
    every = [one for place in run for one in place.details]
    apart = np.array([math.log(one.slow_ns / one.fast_ns) for one in every])
    share = float(np.median([one.slow_share for one in every]))
    first, last = run[0].size, run[-1].size
    example = every[0]
    return Finding(
        "bimodal",
        curve.system,
        curve.test,
        first,
        last,
        math.exp(float(np.median(apart))),
        run_interval(run, lambda one: math.log(one.slow_ns / one.fast_ns)),
        1.0,
        status="UNEXPLAINED" if run[0].launches >= 2 or len(run) >= 2 else "UNDECIDED",
        evidence={
            "says": f"{share:.0%} of the operations take about {format_time(example.slow_ns)}, the others "
            f"{format_time(example.fast_ns)} (at {first:,})",
            "slow_share": share,
            "fast_ns": example.fast_ns,
            "slow_ns": example.slow_ns,
            "sizes": len(run),
            "launches": max(place.launches for place in run),
        },
        variant=curve.variant,
        ranks=curve.ranks,
        p_value=min(place.p_value for place in run),
    )
