# SPDX-License-Identifier: BSD-3-Clause
"""regression: slower than the version before, in a band of sizes, launch against launch."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from volley.compare.pairwise import BANDS, shift_interval
from volley.detect.finding import Finding
from volley.detect.material import CurveData, Floats, Integers, Material
from volley.detect.pairs import pairs
from volley.detect.registry import Detector, Search
from volley.detect.statistics import interval

LEAST = math.log(1.05)
"""Slower by a twentieth: less is for `volley compare`, with more launches."""
ORDINARY = 0.03
"""Relative standard deviation between launches that is assumed at least: three launches that happen to agree
to 0.1 % prove no precision of 0.1 %."""
FREEDOM = 4
"""Degrees of freedom that assumption counts for."""
FEWEST_LAUNCHES = 3
MOST_STEADY = 3
"""Sizes beside a regression that are remembered with it: whoever measures again sees by them what the machine does."""


@dataclass(frozen=True)
class VersionBand:
    """Both versions' launches in one band: mean log time of the sizes both have."""

    new: CurveData
    old: CurveData
    sizes: Integers
    now: Floats
    before: Floats
    shifts: Floats
    """Per size."""


class RegressionDetector(Detector):
    """Every curve of the new version against the old one's, over all sizes and per band."""

    kinds = ("regression",)
    compares = True

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per band that is slower; over all sizes if all bands agree."""
        if against is None:
            return Search()
        found, places = [], 0
        for new, old in pairs(material, against):
            contests = [one for low, high in _bands(new) if (one := _contest(new, old, low, high)) is not None]
            places += len(contests)
            found += _slower(contests)
        return Search(found, places)


def _bands(curve: CurveData) -> list[tuple[int, int]]:
    return [(0, 1 << 62)] + ([(low, high) for _, low, high in BANDS] if len(curve.sizes) > 1 else [])


def _contest(new: CurveData, old: CurveData, low: int, high: int) -> VersionBand | None:
    """Launches of both that measured most sizes both have in the band; None if there are too few."""
    sizes = np.intersect1d(new.sizes, old.sizes)
    sizes = sizes[(sizes >= low) & (sizes <= high)]
    if not len(sizes) or not new.comparable:
        return None
    tables = [one.log_ns[:, np.isin(one.sizes, sizes)] for one in (new, old)]
    complete = np.ones(len(sizes), dtype=bool)
    for table in tables:
        complete &= np.isfinite(table).mean(axis=0) > 0.5
    if not complete.any():
        return None
    means = []
    for table in tables:
        whole = np.isfinite(table[:, complete]).all(axis=1)
        means.append(table[whole][:, complete].mean(axis=1))
    if min(map(len, means)) < FEWEST_LAUNCHES:
        return None
    shifts = np.nanmedian(tables[0][:, complete], axis=0) - np.nanmedian(tables[1][:, complete], axis=0)
    return VersionBand(new, old, sizes[complete], means[0], means[1], shifts)


def _difference(one: VersionBand) -> tuple[float, float, float]:
    """(difference of launch means, its standard error, degrees of freedom): their variance is never below what
    ORDINARY for FREEDOM launches and the launches' own make together (moderated; Smyth 2004)."""
    n, m = len(one.now), len(one.before)
    own = float(((one.now - one.now.mean()) ** 2).sum() + ((one.before - one.before.mean()) ** 2).sum())
    freedom = n + m - 2
    moderated = (own + FREEDOM * ORDINARY**2) / (freedom + FREEDOM)
    noisy = own / freedom > moderated
    error = math.sqrt((own / freedom if noisy else moderated) * (1 / n + 1 / m))
    return float(one.now.mean() - one.before.mean()), error, float(freedom if noisy else freedom + FREEDOM)


def _p_value(one: VersionBand) -> float:
    """One-sided, of no slowdown: Student's t of the difference of launch means."""
    from scipy.stats import t

    difference, error, freedom = _difference(one)
    return float(t.sf(difference / error, freedom))


def _slower(contests: list[VersionBand]) -> list[Finding]:
    """The whole curve if every size is slower; otherwise the bands that are."""
    found = []
    for one in contests:
        effect = shift_interval(one.now.tolist(), one.before.tolist())[0]
        if effect >= LEAST and _apart(one):
            found.append((one, effect))
    whole = [pair for pair in found if pair[0] is contests[0]]
    if whole and float(np.mean(contests[0].shifts > LEAST / 2)) >= 0.8:
        return [_finding(*whole[0], contests[0])]
    return [_finding(*pair, contests[0]) for pair in found if pair[0] is not contests[0]]


def _apart(one: VersionBand) -> bool:
    """Few launches must not overlap; of many, the median must lie beyond the others' upper quartile."""
    if min(len(one.now), len(one.before)) <= 5:
        return float(one.now.min()) > float(one.before.max())
    return float(np.median(one.now)) > float(np.quantile(one.before, 0.75))


def _steady(whole: VersionBand, first: int, last: int) -> list[int]:
    """The nearest sizes outside of these that take what they took."""
    outside = (whole.sizes < first) | (whole.sizes > last)
    sizes = whole.sizes[outside & (np.abs(whole.shifts) <= LEAST / 2)].tolist()
    return sorted(sorted(sizes, key=lambda size: max(first / max(size, 1), size / max(last, 1)))[:MOST_STEADY])


def _finding(one: VersionBand, effect: float, whole: VersionBand) -> Finding:
    slower = one.sizes[one.shifts > effect / 2]
    first, last = (int(slower[0]), int(slower[-1])) if len(slower) else (int(one.sizes[0]), int(one.sizes[-1]))
    worst = int(one.sizes[one.shifts.argmax()])
    was = dict(zip(one.old.sizes.tolist(), np.exp(np.nanmedian(one.old.log_ns, axis=0)).tolist(), strict=True))
    return Finding(
        "regression",
        one.new.system,
        one.new.test,
        first,
        last,
        math.exp(effect),
        interval(*_difference(one)),
        1.0,
        evidence={
            "says": f"{(math.exp(effect) - 1):.0%} slower than {one.old.system} was; most at {worst:,} "
            f"({math.exp(float(one.shifts.max())):.2f} times)",
            "launches": [len(one.before), len(one.now)],
            "sizes": len(one.sizes),
            "worst_size": worst,
            "versions": [one.old.system, one.new.system],
            "was_ns": {size: round(was[size], 1) for size in one.sizes.tolist() if first <= size <= last},
            "steady_ns": {size: round(was[size], 1) for size in _steady(whole, first, last)},
        },
        variant=one.new.variant,
        ranks=one.new.ranks,
        p_value=_p_value(one),
    )
