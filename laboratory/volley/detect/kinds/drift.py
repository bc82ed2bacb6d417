# SPDX-License-Identifier: BSD-3-Clause
"""drift: the operations of a launch at one size become slower or faster from the first to the last."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from volley.detect.finding import Finding
from volley.detect.kinds.within_launch import SizeEvidence, most_agree, run_interval, runs
from volley.detect.material import CurveData, Floats, Material
from volley.detect.registry import Detector, Search
from volley.detect.statistics import together
from volley.units import format_time

BLOCKS = 10
FEWEST_OPERATIONS = 30
LEAST = math.log(1.10)
"""From the first fifth to the last."""
TREND = 0.55
"""Kendall's tau of the blocks' medians with time: a warm-up of one block, or a burst, has less."""


@dataclass(frozen=True)
class Trend:
    """One launch's change."""

    first_ns: float
    last_ns: float
    tau: float


class DriftDetector(Detector):
    """Looks for a trend of block medians, launch by launch and size by size."""

    kinds = ("drift",)

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per run of sizes at which most launches drift the same way."""
        found, places = [], 0
        for curve in material.curves:
            if not curve.stream:
                places += len(curve.sizes)
                found += [_finding(curve, run) for run in runs(curve, trends)]
        return Search(found, places)


def trends(launches: list[Floats]) -> tuple[float, float, tuple[Trend, ...]] | None:
    """What most launches at one size show."""
    return most_agree([trend(times) for times in launches])


def trend(times_ns: Floats) -> tuple[float, float, Trend] | None:
    """(log ratio of last to first fifth, p, trend) of one launch's operations, or None.

    Medians of ten blocks in time are free of single interruptions; Kendall's tau of them says whether they
    go one way (Mann 1945), its exact distribution how rarely they would by chance.
    """
    from scipy.stats import kendalltau

    if len(times_ns) < FEWEST_OPERATIONS:
        return None
    width = len(times_ns) // BLOCKS
    blocks = np.log(np.median(times_ns[: BLOCKS * width].reshape(BLOCKS, width), axis=1))
    effect = float(blocks[-2:].mean() - blocks[:2].mean())
    if not abs(effect) >= LEAST:
        return None
    seen = kendalltau(np.arange(BLOCKS), blocks)
    tau, p_value = float(seen.statistic), float(seen.pvalue)
    if tau * math.copysign(1, effect) < TREND:
        return None
    return effect, p_value, Trend(math.exp(blocks[:2].mean()), math.exp(blocks[-2:].mean()), tau)


def _finding(curve: CurveData, run: list[SizeEvidence[Trend]]) -> Finding:
    effects = np.array([math.log(one.last_ns / one.first_ns) for place in run for one in place.details])
    example = run[0].details[0]
    return Finding(
        "drift",
        curve.system,
        curve.test,
        run[0].size,
        run[-1].size,
        math.exp(float(np.median(effects))),
        run_interval(run, lambda one: math.log(one.last_ns / one.first_ns)),
        1.0,
        status="UNEXPLAINED" if run[0].launches >= 2 or len(run) >= 2 else "UNDECIDED",
        evidence={
            "says": f"from {format_time(example.first_ns)} at the beginning of a point to "
            f"{format_time(example.last_ns)} at its end (at {run[0].size:,})",
            "first_ns": example.first_ns,
            "last_ns": example.last_ns,
            "tau": float(np.median([one.tau for place in run for one in place.details])),
            "sizes": len(run),
            "launches": max(place.launches for place in run),
        },
        variant=curve.variant,
        ranks=curve.ranks,
        # Neighbouring sizes that drift alike support each other; a third of them counts as independent.
        p_value=together([place.p_value for place in run[::3]]),
    )
