# SPDX-License-Identifier: BSD-3-Clause
"""launch effect: launches differ from each other by more than their repetitions explain."""

from __future__ import annotations

import math

import numpy as np

from volley.detect.finding import Finding
from volley.detect.material import CurveData, Material
from volley.detect.registry import Detector, Search
from volley.detect.statistics import interval, robust_spread
from volley.units import format_time

ORDINARY = 0.05
"""Relative standard deviation between launches that is nothing to report: 1 to 5 % over shared memory in the
studies of docs/detecting.md, whatever the MPI."""
LEAST = math.log(1.15)
"""The launch furthest from the middle one differs by this at least."""
FEWEST_SIZES = 3


class LaunchEffectDetector(Detector):
    """What each launch adds to all sizes alike, against ordinary differences and against the other launches."""

    kinds = ("launch effect",)

    def search(self, material: Material, against: Material | None) -> Search:
        """At most one candidate per curve."""
        found = [one for curve in material.curves if (one := _look(curve)) is not None]
        return Search(found, len(material.curves))


def _look(curve: CurveData) -> Finding | None:
    from scipy.stats import chi2

    if len(curve.launches) < 2 or not curve.comparable:
        return None
    log_ns, offsets, error = _complete(curve)
    if len(offsets) < 2 or log_ns < min(FEWEST_SIZES, len(curve.sizes)):
        return None
    furthest = int(np.argmax(np.abs(offsets)))
    effect = float(offsets[furthest])
    if abs(effect) < LEAST or abs(effect) < 4 * error:
        return None
    p_spread = float(chi2.sf(((offsets - offsets.mean()) ** 2).sum() / ORDINARY**2, len(offsets) - 1))
    p_value = min(2 * p_spread, 2 * _p_of_one(np.delete(offsets, furthest), effect), 1.0)
    launches = [curve.launches[i] for i in range(len(curve.launches))]
    ratio = math.exp(float(offsets.max() - offsets.min()))
    return Finding(
        "launch effect",
        curve.system,
        curve.test,
        int(curve.sizes[0]),
        int(curve.sizes[-1]),
        ratio,
        interval(math.log(ratio), error * math.sqrt(2), 20),
        1.0,
        status="UNEXPLAINED" if len(offsets) >= 3 else "UNDECIDED",
        evidence={
            "says": f"launches differ by a factor of {ratio:.2f} at all sizes alike, "
            f"launch {launches[furthest]} is furthest from the middle "
            f"({math.exp(effect):.2f} times, at {int(curve.sizes[0]):,} B "
            f"{format_time(math.exp(float(np.nanmedian(curve.log_ns[:, 0]))))})",
            "launches": len(offsets),
            "furthest_launch": launches[furthest],
            "standard_deviation": float(np.std(offsets, ddof=1)),
            "repetitions_error": error,
        },
        variant=curve.variant,
        ranks=curve.ranks,
        p_value=p_value,
    )


def _complete(curve: CurveData) -> tuple[int, np.ndarray[tuple[int], np.dtype[np.float64]], float]:
    """(sizes, offset per launch, its standard error), from the sizes that most launches have."""
    levels = curve.shape.levels
    residuals = levels.residuals[np.isfinite(levels.residuals)]
    sizes = int(np.median(np.sum(np.isfinite(curve.log_ns), axis=1)))
    # Neighbouring sizes are not independent: their errors average out as those of a third as many would.
    error = max(robust_spread(residuals), 0.003) / math.sqrt(max(sizes / 3, 1))
    return sizes, levels.offsets, error


def _p_of_one(others: np.ndarray[tuple[int], np.dtype[np.float64]], effect: float) -> float:
    """p-value of one launch apart from all others, by their spread (Student); 1 with fewer than three others."""
    from scipy.stats import t

    if len(others) < 3:
        return 1.0
    spread = max(float(np.std(others, ddof=1)), 0.01) * math.sqrt(1 + 1 / len(others))
    distance = abs(effect - float(others.mean())) / spread
    return float(2 * (len(others) + 1) * t.sf(distance, len(others) - 1))
