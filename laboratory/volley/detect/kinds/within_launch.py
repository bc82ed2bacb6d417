# SPDX-License-Identifier: BSD-3-Clause
"""What bimodal and drift share: a look at every launch's operations, and agreement of launches and sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from volley.detect.material import CurveData, Floats
from volley.detect.statistics import launch_interval, together

T = TypeVar("T")

MOST_OPERATIONS = 4000
"""Of one size that are looked at, evenly spread over time and launches: more would make it no surer."""
AGREEING = 0.6
"""Share of the launches at a size that must show it."""
BRIDGED = 3
"""Sizes this far apart in the list still belong to one finding."""
MOST_RUNS = 2
"""More separate runs in one curve are told as one."""


@dataclass(frozen=True)
class SizeEvidence(Generic[T]):
    """A size at which launches agree."""

    index: int
    size: int
    launches: int
    """Looked at."""
    effect: float
    """Median over those that show it."""
    p_value: float
    """Of all launches at this size together: none would show it by chance."""
    details: tuple[T, ...]


Seen = tuple[float, float, tuple[T, ...]]
Look = Callable[[list[Floats]], "Seen[T] | None"]


def runs(curve: CurveData, look: Look[T]) -> list[list[SizeEvidence[T]]]:
    """Runs of neighbouring sizes that show it in one direction. A gap of two sizes is bridged.

    `look` gets all launches' operations of one size in their order, and gives (effect as log ratio, p-value,
    details of the launches that show it), or None.
    """
    by_size: dict[int, list[Floats]] = {}
    for series in curve.series:
        by_size.setdefault(series.size, []).append(series.times_ns)
    found: list[list[SizeEvidence[T]]] = []
    for index, size in enumerate(curve.sizes.tolist()):
        seen = look(by_size[size]) if size in by_size else None
        if seen is None:
            continue
        effect, p_value, details = seen
        place = SizeEvidence(index, size, len(by_size[size]), effect, p_value, details)
        near = bool(found) and place.index - found[-1][-1].index <= BRIDGED
        if near and math.copysign(1, effect) == math.copysign(1, found[-1][-1].effect):
            found[-1].append(place)
        else:
            found.append([place])
    return found if len(found) <= MOST_RUNS else [_whole(found)]


def _whole(found: list[list[SizeEvidence[T]]]) -> list[SizeEvidence[T]]:
    """Here and there over a curve: told once, in the direction most sizes have."""
    every = [place for run in found for place in run]
    sign = 1 if sum(place.effect > 0 for place in every) * 2 >= len(every) else -1
    return [place for place in every if place.effect * sign > 0]


def run_interval(run: list[SizeEvidence[T]], log_ratio: Callable[[T], float]) -> tuple[float, float]:
    """95 % interval of the effect over a run, as ratios: launches are the unit, each with its middle size."""
    count = max(len(place.details) for place in run)
    by_launch = [[log_ratio(place.details[at]) for place in run if at < len(place.details)] for at in range(count)]
    return launch_interval([float(np.median(one)) for one in by_launch])


def most_agree(seen: list[tuple[float, float, T] | None]) -> Seen[T] | None:
    """Launches looked at one by one: those of the usual direction, if they are AGREEING of all."""
    known = [one for one in seen if one is not None]
    if not known:
        return None
    sign = np.sign(np.median([effect for effect, _, _ in known]))
    alike = [one for one in known if np.sign(one[0]) == sign]
    if len(alike) < AGREEING * len(seen):
        return None
    p_value = together([p for _, p, _ in alike] + [1.0] * (len(seen) - len(alike)))
    effect = float(np.median([effect for effect, _, _ in alike]))
    return effect, p_value, tuple(detail for _, _, detail in alike)
