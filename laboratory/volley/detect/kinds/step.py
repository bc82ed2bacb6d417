# SPDX-License-Identifier: BSD-3-Clause
"""step: from one size to the next the time jumps, up or down, and stays there."""

from __future__ import annotations

import math

from volley.detect.finding import Finding
from volley.detect.kinds.collapse import COLLAPSE, stretches
from volley.detect.kinds.spike import AGREEMENT
from volley.detect.material import CurveData, Material
from volley.detect.registry import Detector, Search
from volley.detect.shape import Jump
from volley.detect.statistics import SMALLEST_EFFECT, interval
from volley.units import format_time

FEWEST_BEHIND = 2
"""Sizes behind a step in a single launch that make it more than one bad size."""


def steps(curve: CurveData) -> list[Jump]:
    """Jumps large enough to be of interest, not yet tested."""
    return [jump for jump in curve.shape.jumps if abs(jump.effect) >= SMALLEST_EFFECT]


class StepDetector(Detector):
    """Places where two pieces of a curve meet and their lines do not."""

    kinds = ("step",)

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per jump; where a curve only recovers from a plateau, the plateau says so."""
        found = []
        for curve in material.curves:
            recoveries = {bump.last for bump in curve.shape.bumps}
            jumps = {jump.first: jump for jump in steps(curve) if jump.first not in recoveries}
            jumps |= {edge.first: edge for edge in _edges(curve)}
            found += [_finding(curve, jump) for _, jump in sorted(jumps.items())]
        return Search(found, sum(len(curve.sizes) for curve in material.curves))


def _edges(curve: CurveData) -> list[Jump]:
    """Where a collapse begins at once, behind which no line fits: its edge is a step all the same.

    A line that fits badly may start far below the first sizes behind the edge; then the jump to it counts for nothing.
    """
    known = {jump.first: jump.effect for jump in steps(curve)}
    found = []
    for stretch in stretches(curve):
        if stretch.effect < COLLAPSE or stretch.first < 3 or stretch.first + 1 in known:
            continue
        edge = curve.shape.edge(stretch.first, stretch.last)
        if edge.effect >= max(SMALLEST_EFFECT, 2 * known.get(stretch.first, 0.0)):
            found.append(edge)
    return found


def _finding(curve: CurveData, jump: Jump) -> Finding:
    """A step between two sizes; one launch can show it, since all sizes behind it do."""
    level = curve.shape.levels.level
    here, there = math.exp(level[jump.first - 1]), math.exp(level[jump.first])
    promised = there / math.exp(curve.shape.edge(jump.first, jump.last).effect)
    sure = jump.agreement >= AGREEMENT if jump.launches >= 2 else jump.last - jump.first >= FEWEST_BEHIND
    size_from, size_to = int(curve.sizes[jump.first - 1]), int(curve.sizes[jump.first])
    return Finding(
        "step",
        curve.system,
        curve.test,
        size_from,
        size_to,
        math.exp(jump.effect),
        interval(jump.effect, jump.error, jump.freedom),
        1.0,
        status="UNEXPLAINED" if sure else "UNDECIDED",
        evidence={
            "says": f"{format_time(here)} at {size_from:,}, {format_time(there)} at {size_to:,}, "
            f"where the sizes before promise {format_time(promised)}",
            "direction": "up" if jump.effect > 0 else "down",
            "before_ns": here,
            "after_ns": there,
            "width_bytes": size_to - size_from,
            "launches": jump.launches,
            "launches_agreeing": jump.agreement,
        },
        variant=curve.variant,
        ranks=curve.ranks,
        p_value=jump.p_value,
    )
