# SPDX-License-Identifier: BSD-3-Clause
"""A curve in pieces of time = start-up + size / rate, with single sizes off them.

The best partition is found exactly by dynamic programming (Jackson et al. 2005, "optimal partitioning"):
the sum over pieces of squared errors, in units of each point's noise, plus a price per piece and per size
left out. A straight line in bytes (not in their logarithm) is what a link is, so neither the bend between
latency and bandwidth nor the neighbours n-64, n-1, n+1 of a size look like a change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

PIECE_PRICE = 18.0
"""Squared standard errors a further piece must save: three parameters (start-up, rate, place) by the
Bayesian information criterion at 64 sizes (3 ln 64 = 12.5), half as much again for tails heavier than normal."""
OUTLIER_PRICE = 14.0
"""The same for a size left out of its piece (one parameter, its place free: 3.7 standard errors)."""
PAIR_PRICE = 8.0
"""Added for a piece of two sizes, through which a line always goes; still less than two sizes left out."""
MOST_OUTLIERS = 5
"""Sizes left out of one piece."""
STEEPEST = 0.5
"""A line may start below zero by this share of what its first size costs: time grows at most like size squared."""


@dataclass(frozen=True)
class Line:
    """time_ns = start_ns + ns_per_byte × size, with the covariance of the two."""

    start_ns: float
    ns_per_byte: float
    covariance: Floats
    points: int

    def at(self, size: float) -> float:
        """Time in ns, never below a millionth of its parts."""
        value = self.start_ns + self.ns_per_byte * size
        return max(value, 1e-6 * (abs(self.start_ns) + abs(self.ns_per_byte) * size), 1e-9)

    def log_error(self, size: float) -> float:
        """Standard error of log(at(size))."""
        row = np.array([1.0, size])
        return float(np.sqrt(max(row @ self.covariance @ row, 0.0)) / self.at(size))


@dataclass(frozen=True)
class Piece:
    """Sizes first … last-1 (indices), of which `outliers` are left out."""

    first: int
    last: int
    outliers: tuple[int, ...]

    def inliers(self) -> list[int]:
        """Indices that follow the piece's line."""
        return [i for i in range(self.first, self.last) if i not in self.outliers]


def _solve(x: Floats, t: Floats, w: Floats, first: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Weighted lines of many pieces at once: (start, slope, and the sums w, wx, wxx).

    A slope below 0, or a start-up time below -STEEPEST × slope × first size, is no line of a link: the
    nearest allowed one is taken.
    """
    sw, sx, sxx = w.sum(1), w @ x, w @ (x * x)
    st, sxt = w @ t, w @ (x * t)
    determinant = sw * sxx - sx * sx
    fine = determinant > 1e-12 * sw * sxx + 1e-300
    safe = np.where(fine, determinant, 1.0)
    slope = np.where(fine, (sw * sxt - sx * st) / safe, 0.0)
    start = np.where(fine, (sxx * st - sx * sxt) / safe, st / np.maximum(sw, 1e-300))
    flat = slope < 0
    slope = np.where(flat, 0.0, slope)
    start = np.where(flat, st / np.maximum(sw, 1e-300), start)
    steep = start < -STEEPEST * slope * first
    low = STEEPEST * first
    top, below = sxt - low * st, sxx - 2 * low * sx + low * low * sw
    steep_slope = np.maximum(top / np.maximum(below, 1e-300), 0.0)
    slope = np.where(steep, steep_slope, slope)
    start = np.where(steep, -low * steep_slope, start)
    return start, slope, sw, sx, sxx


def fit_line(x: Floats, t: Floats, error: Floats) -> Line:
    """The line through times t (ns) whose relative errors are `error`."""
    w = (1 / (t * error) ** 2)[None, :]
    start, slope, sw, sx, sxx = (value[0] for value in _solve(x, t, w, x[:1]))
    determinant = sw * sxx - sx * sx
    if len(x) < 2 or determinant <= 1e-12 * sw * sxx or slope == 0.0:
        covariance = np.array([[1 / sw, 0.0], [0.0, 0.0]])
    elif start <= -STEEPEST * slope * x[0] * (1 - 1e-9) and start < 0:
        covariance = np.array([[0.0, 0.0], [0.0, 1 / sxx]])
    else:
        covariance = np.array([[sxx, -sx], [-sx, sw]]) / determinant
    return Line(float(start), float(slope), covariance, len(x))


def _costs(
    x: Floats, t: Floats, w: Floats, begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[Floats, Booleans]:
    """Cost of every piece begin…end, and which sizes it keeps: the worst is left out while that pays."""
    place = np.arange(len(x))
    inside = (place >= begin[:, None]) & (place < end[:, None])
    keep = inside.copy()
    cost = np.full(len(begin), np.inf)
    active = np.arange(len(begin))
    for round_ in range(MOST_OUTLIERS + 1):
        weights = np.where(keep[active], w, 0.0)
        start, slope, sw, sx, sxx = _solve(x, t, weights, x[begin[active]])
        squared = weights * (t - start[:, None] - slope[:, None] * x) ** 2
        determinant = np.maximum(sw * sxx - sx * sx, 1e-300)[:, None]
        leverage = weights * (sxx[:, None] - 2 * sx[:, None] * x + sw[:, None] * x * x) / determinant
        cost[active] = squared.sum(1) + OUTLIER_PRICE * round_
        gain = squared / np.maximum(1 - leverage, 0.05)
        worst = gain.argmax(1)
        pays = gain[np.arange(len(active)), worst] > OUTLIER_PRICE
        pays &= keep[active].sum(1) >= 4
        if not pays.any():
            break
        active, worst = active[pays], worst[pays]
        if round_ == MOST_OUTLIERS:
            break
        keep[active, worst] = False
    return cost, inside & ~keep


def _smooth(level: Floats) -> Floats:
    """Running median of five: times to weight by, which one odd size does not move."""
    padded = np.concatenate([level[:1], level[:1], level, level[-1:], level[-1:]])
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1))


LARGEST = 120
"""Sizes partitioned at once; longer curves are cut, and joined by the tests that follow."""


def partition(sizes: Floats, level: Floats, error: Floats) -> list[Piece]:
    """The best pieces of a curve: sizes in bytes, level in log ns, error its standard error."""
    if len(sizes) > LARGEST:
        half = len(sizes) // 2
        left = partition(sizes[:half], level[:half], error[:half])
        right = partition(sizes[half:], level[half:], error[half:])
        return left + [Piece(one.first + half, one.last + half, tuple(i + half for i in one.outliers)) for one in right]
    count = len(sizes)
    begin, end = np.triu_indices(count)
    end = end + 1
    t = np.exp(level - level.mean())
    w = 1 / (np.exp(_smooth(level) - level.mean()) * error) ** 2
    cost, outliers = _costs(sizes, t, w, begin, end)
    cost = np.where(end - begin < 2, np.inf if count > 1 else 0.0, cost) + PIECE_PRICE
    cost += np.where(end - begin == 2, PAIR_PRICE, 0.0)
    table = np.full((count, count + 1), np.inf)
    index = np.zeros((count, count + 1), dtype=np.int64)
    table[begin, end], index[begin, end] = cost, np.arange(len(begin))
    best = np.zeros(count + 1)
    origin = np.zeros(count + 1, dtype=np.int64)
    for last in range(1, count + 1):
        totals = best[:last] + table[:last, last]
        origin[last] = totals.argmin()
        best[last] = totals[origin[last]]
    pieces: list[Piece] = []
    last = count
    while last > 0:
        first = int(origin[last])
        out = np.flatnonzero(outliers[index[first, last]])
        pieces.append(Piece(first, last, tuple(int(i) for i in out)))
        last = first
    return pieces[::-1]


def joint_cost(sizes: Floats, level: Floats, error: Floats, chosen: list[int]) -> float:
    """Squared errors of one line through the chosen sizes."""
    at = np.array(chosen)
    x, t = sizes[at], np.exp(level[at])
    line = fit_line(x, t, error[at])
    predicted = np.log([line.at(size) for size in x])
    return float((((level[at] - predicted) / error[at]) ** 2).sum())
