# SPDX-License-Identifier: BSD-3-Clause
"""rank collapse: with more ranks an operation takes far longer than its traffic explains."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from volley.detect.finding import Finding
from volley.detect.material import CurveData, Material
from volley.detect.registry import Detector, Search
from volley.detect.statistics import launch_interval, launch_p_value
from volley.units import format_time

LEAST = 8.0
"""Beyond what all-to-all traffic would take: ranks that take turns on the cores explain some factors of two."""


class RankCollapseDetector(Detector):
    """Compares each world with the next smaller one of the same test on the same system."""

    kinds = ("rank collapse",)

    def search(self, material: Material, against: Material | None) -> Search:
        """At most one candidate per pair of neighbouring worlds."""
        worlds: dict[tuple[str, str, str], list[CurveData]] = {}
        for curve in material.curves:
            if curve.ranks >= 2 and curve.comparable:
                worlds.setdefault((curve.system, curve.test, curve.variant), []).append(curve)
        found, places = [], 0
        for curves in worlds.values():
            ordered = sorted(curves, key=lambda one: one.ranks)
            for small, large in pairwise(ordered):
                places += 1
                one = _look(small, large)
                found += [one] if one is not None else []
        return Search(found, places)


def alltoall_messages(ranks: int) -> int:
    """Messages of an all-to-all: no common operation's traffic grows faster with the ranks."""
    return ranks * (ranks - 1)


def reference(small: CurveData, large: CurveData) -> dict[int, float]:
    """Size → log of the most that `large` should take there, by `small`'s time and the growth of all-to-all traffic."""
    growth = math.log(alltoall_messages(large.ranks) / alltoall_messages(small.ranks))
    level = np.nanmedian(small.log_ns, axis=0)
    common = set(large.sizes.tolist())
    return {int(size): float(one) + growth for size, one in zip(small.sizes, level, strict=True) if size in common}


def _look(small: CurveData, large: CurveData) -> Finding | None:
    expected = reference(small, large)
    at = [index for index, size in enumerate(large.sizes.tolist()) if size in expected]
    if not at:
        return None
    beyond = large.log_ns[:, at] - np.array([expected[int(large.sizes[index])] for index in at])
    launches = beyond[np.isfinite(beyond).any(axis=1)]
    each = [float(np.nanmedian(row)) for row in launches]
    effect = float(np.median(each)) if each else 0.0
    if effect < math.log(LEAST) or min(each) < math.log(LEAST) / 2:
        return None
    index = at[int(np.nanargmax(np.nanmedian(beyond, axis=0)))]
    size = int(large.sizes[index])
    before = math.exp(expected[size]) * alltoall_messages(small.ranks) / alltoall_messages(large.ranks)
    return Finding(
        "rank collapse",
        large.system,
        large.test,
        int(large.sizes[at[0]]),
        int(large.sizes[at[-1]]),
        math.exp(effect),
        launch_interval(each),
        1.0,
        status="UNEXPLAINED" if len(each) >= 2 else "UNDECIDED",
        evidence={
            "says": f"with {large.ranks} ranks an operation takes {format_time(math.exp(_level(large, index)))}, with "
            f"{small.ranks} ranks {format_time(before)} (at {size:,} B); all-to-all traffic would explain "
            f"{alltoall_messages(large.ranks) / alltoall_messages(small.ranks):.0f} times the time",
            "ranks_before": small.ranks,
            "launches": len(each),
        },
        variant=large.variant,
        ranks=large.ranks,
        p_value=launch_p_value(each, 0.0),
    )


def _level(curve: CurveData, index: int) -> float:
    return float(np.nanmedian(curve.log_ns[:, index]))
