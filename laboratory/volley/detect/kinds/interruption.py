# SPDX-License-Identifier: BSD-3-Clause
"""stall, where operations are repetitions and no stream: single ones come so late that they take much of the time.

Medians do not show them: a program that shares a core stops one operation in hundreds, for milliseconds. So this looks
at the time that late operations take of all that a launch measured on one curve.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from volley.detect.finding import Finding
from volley.detect.kinds.bimodal import FEWEST_OPERATIONS
from volley.detect.kinds.bimodal import LEAST_SHARE as SHARE_OF_A_MODE
from volley.detect.kinds.stall import COMMON, FEWEST, LEAST_WITHOUT_PERIOD_NS
from volley.detect.kinds.within_launch import AGREEING
from volley.detect.material import CurveData, Floats, Material
from volley.detect.registry import Detector, Search
from volley.detect.statistics import launch_interval, launch_p_value
from volley.units import format_time

LATE = 2.0
"""An operation is late from this many times the usual on, if it is LEAST_WITHOUT_PERIOD_NS late as well."""
LEAST_SHARE = 1 / 3
"""Of a launch's time: interruptions of a busy machine are common, and a few of them tell nothing."""
FAST = 0.2
"""Quantile that is usual even if most operations are late."""


@dataclass(frozen=True)
class Interruptions:
    """The late operations of one launch on one curve."""

    launch: int
    operations: int
    total_ns: float
    lateness_ns: Floats
    """Of each late one, beyond the usual time of its size."""

    @property
    def share(self) -> float:
        """Of the launch's time that is lost."""
        return float(self.lateness_ns.sum()) / self.total_ns if self.total_ns > 0 else 0.0

    @property
    def factor(self) -> float:
        """Time with the interruptions to time without."""
        return 1.0 / (1.0 - self.share)


class InterruptionDetector(Detector):
    """Looks at every launch's late operations, over all sizes together."""

    kinds = ("stall",)

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per curve most of whose launches lose a third of their time."""
        curves = [curve for curve in material.curves if not curve.stream and curve.series]
        found = [one for curve in curves if (one := _look(curve)) is not None]
        return Search(found, len(curves))


def interruptions(curve: CurveData, all_late: bool = False) -> list[Interruptions]:
    """Those of every launch.

    Where many operations of a size are late they are modes, and left out: another kind tells of them. An experiment
    must not lose them so (`all_late`), or one that makes more operations late would seem to remove the effect.
    """
    by_launch: dict[int, list[Floats]] = {}
    for series in curve.series:
        by_launch.setdefault(series.launch, []).append(series.times_ns)
    return [_of_launch(launch, times, all_late) for launch, times in by_launch.items()]


def _of_launch(launch: int, points: Iterable[Floats], all_late: bool) -> Interruptions:
    late, total, operations = [], 0.0, 0
    for times in points:
        beyond = times - np.quantile(times, FAST if all_late else 0.5)
        is_late = (beyond > LEAST_WITHOUT_PERIOD_NS) & (times > LATE * (times - beyond))
        if all_late or len(times) < FEWEST_OPERATIONS or is_late.mean() < SHARE_OF_A_MODE:  # else: modes, or a drift
            late.append(beyond[is_late])
        total += float(times.sum())
        operations += len(times)
    return Interruptions(launch, operations, total, np.concatenate(late) if late else np.zeros(0))


def _look(curve: CurveData) -> Finding | None:
    seen = interruptions(curve)
    told = [one for one in seen if one.share >= LEAST_SHARE]
    if not told or len(told) < AGREEING * len(seen):
        return None
    late = np.concatenate([one.lateness_ns for one in told])
    if len(late) < FEWEST:
        return None
    duration, longest = float(np.median(late)), float(late.max())
    factor = pooled_factor(seen)
    count = int(np.median([len(one.lateness_ns) for one in told]))
    operations = int(np.median([one.operations for one in told]))
    share = 1.0 - 1.0 / factor
    return Finding(
        "stall",
        curve.system,
        curve.test,
        int(curve.sizes[0]),
        int(curve.sizes[-1]),
        factor,
        launch_interval([log_factor(one) for one in seen]),
        0.9,
        status="UNEXPLAINED" if len(told) >= 2 else "UNDECIDED",
        evidence={
            "says": f"{count} of {operations:,} operations of a launch come {format_time(duration)} late (at most "
            f"{format_time(longest)}), wherever they fall: that is {share:.0%} of the launch's time, and medians do "
            "not show it",
            "stalls_per_launch": count,
            "messages_per_launch": operations,
            "longest_ns": longest,
            "share_of_time": share,
            "interruptions": True,
            "launches": len(told),
        },
        variant=curve.variant,
        ranks=curve.ranks,
        duration_ns=duration,
        p_value=launch_p_value([log_factor(one) for one in seen], COMMON),
    )


def pooled_factor(launches: Sequence[Interruptions]) -> float:
    """Time of all launches together to their time without interruptions: one lucky launch weighs no more than it is."""
    lost = sum(float(one.lateness_ns.sum()) for one in launches)
    total = sum(one.total_ns for one in launches)
    return total / (total - lost) if total > lost else 1.0


def log_factor(one: Interruptions) -> float:
    """Log of how much longer the launch took for its interruptions: what experiments compare."""
    return math.log(one.factor)
