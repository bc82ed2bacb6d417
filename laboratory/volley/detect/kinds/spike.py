# SPDX-License-Identifier: BSD-3-Clause
"""spike: single sizes off the curve that their neighbours make."""

from __future__ import annotations

import math

from volley.detect.finding import Finding
from volley.detect.material import CurveData, Material
from volley.detect.registry import Detector, Search
from volley.detect.shape import Outlier
from volley.detect.statistics import SMALLEST_EFFECT, interval
from volley.units import format_time

AGREEMENT = 0.75
"""Share of launches that must show at least half of the effect: else one or two spoilt ones made it."""


def decided(launches: int, agreement: float) -> bool:
    """Whether launches agree that it is there; one launch cannot tell a hiccup from a property of the size."""
    return launches >= 2 and agreement >= AGREEMENT


class SpikeDetector(Detector):
    """Sizes left out of their piece of the curve."""

    kinds = ("spike",)

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per group of neighbouring odd sizes."""
        found = []
        for curve in material.curves:
            for spike in curve.shape.spikes:
                if abs(spike.effect) >= SMALLEST_EFFECT:
                    found.append(_finding(curve, spike))
        return Search(found, sum(len(curve.sizes) for curve in material.curves))


def _finding(curve: CurveData, spike: Outlier) -> Finding:
    level = curve.shape.levels.level[spike.first : spike.last]
    odd = float(level[abs(level - level.mean()).argmin()])
    expected = math.exp(odd - spike.effect)
    sure = decided(spike.launches, spike.agreement)
    return Finding(
        "spike",
        curve.system,
        curve.test,
        int(curve.sizes[spike.first]),
        int(curve.sizes[spike.last - 1]),
        math.exp(spike.effect),
        interval(spike.effect, spike.error, spike.freedom),
        1.0,
        status="UNEXPLAINED" if sure else "UNDECIDED",
        evidence={
            "says": f"{format_time(math.exp(odd))} where its neighbours make {format_time(expected)}",
            "time_ns": math.exp(odd),
            "expected_ns": expected,
            "launches": spike.launches,
            "launches_agreeing": spike.agreement,
        },
        variant=curve.variant,
        ranks=curve.ranks,
        p_value=spike.p_value,
    )
