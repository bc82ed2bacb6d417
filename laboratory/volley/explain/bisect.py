# SPDX-License-Identifier: BSD-3-Clause
"""Finding the byte at which a step stands, by measuring sizes between those that enclose it, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from volley.explain.case import Case
from volley.explain.experiment import TimeIsUp
from volley.explain.symptom import Edge, launch_rows

BETWEEN = 15
"""Sizes measured between two that enclose the step: each round narrows it sixteenfold."""
LAUNCHES = 2
"""Per round; a round whose step is not clear gets MORE_LAUNCHES."""
MORE_LAUNCHES = 5
CLEAR = 0.5
"""Share of the step's log that must show at the place chosen."""


@dataclass(frozen=True)
class NarrowedStep:
    """Where a step is: between `low` and `high`, which are neighbours if it was found to the byte."""

    low: int
    high: int
    effect: float
    """Log of the ratio across it, as measured in the last round; 0 if it never showed."""
    exact: bool


def split(sizes: Sequence[int], log_ns: Sequence[float], low: int, high: int) -> tuple[int, float]:
    """(index of the first size behind the step, its log ratio): the best of all places between `low` and `high`.

    Least squares of level + jump + slope · log(size) with the jump at each place in turn; the sizes beyond `low` and
    `high` hold the slope, which is the same on both sides.
    """
    x, y = np.log(np.asarray(sizes, dtype=float)), np.asarray(log_ns, dtype=float)
    best: tuple[float, int, float] | None = None
    for at in range(1, len(sizes)):
        if sizes[at - 1] < low or sizes[at] > high:
            continue
        jump = (np.arange(len(sizes)) >= at).astype(float)
        columns = np.column_stack([np.ones(len(sizes)), jump, x])
        solution = np.linalg.lstsq(columns, y, rcond=None)[0]
        left = float(((y - columns @ solution) ** 2).sum())
        if best is None or left < best[0]:
            best = (left, at, float(solution[1]))
    if best is None:
        raise ValueError(f"no size between {low} and {high}")
    return best[1], best[2]


def locate(case: Case, edge: Edge) -> NarrowedStep:
    """Narrows an edge to the byte, or as far as the step stays clear. Stops early, and says so, if time is up."""
    low, high = edge.low, edge.high
    expected = edge.sign * edge.expected
    effect = 0.0
    while high - low > 1:
        inner = sorted({int(one) for one in np.linspace(low, high, min(BETWEEN, high - low - 1) + 2).round()})
        sizes = sorted({*inner, max(1, low - max(1, low // 8)), high + max(1, high // 8)})
        try:
            found = _round(case, sizes, low, high, LAUNCHES)
            if not _clear(found, expected):
                found = _round(case, sizes, low, high, MORE_LAUNCHES)
        except TimeIsUp:
            return NarrowedStep(low, high, effect, False)
        if found is None or not _clear(found, expected):
            return NarrowedStep(low, high, effect, False)
        (low, high), effect = found
    return NarrowedStep(low, high, effect, effect != 0.0)


Round = tuple[tuple[int, int], float]


def _clear(found: Round | None, expected: float) -> bool:
    return found is not None and found[1] / expected >= CLEAR


def _round(case: Case, sizes: Sequence[int], low: int, high: int, launches: int) -> Round | None:
    """The two sizes that enclose the step now, and its log ratio; None if launches brought nothing."""
    (measured,) = case.bench.run([case.arm(sizes=sizes)], launches)
    rows = [row for row in launch_rows(measured) if all(size in row for size in sizes)]
    if not rows:
        return None
    middle = [float(np.median([row[size] for row in rows])) for size in sizes]
    at, effect = split(sizes, middle, low, high)
    return (sizes[at - 1], sizes[at]), effect
