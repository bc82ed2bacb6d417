# SPDX-License-Identifier: BSD-3-Clause
"""The statistics that all detectors share.

Times are compared as logarithms: noise is relative to the time, and a ratio is a difference. A launch is
the unit of inference; what a launch adds to all sizes alike (its memory layout, its placement) is taken off
before the shape of a curve is judged, because it cannot make a spike or a step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FALSE_DISCOVERIES = 0.01
"""Share of false findings allowed (Benjamini, Hochberg 1995): the aim is one per 100 clean curves. Several kinds
are looked for, but each tests against a ripple and not against nothing, so that clean curves give fewer."""

SMALLEST_EFFECT = math.log(1.12)
"""Less is not reported, however sure."""

RIPPLE = 0.03
"""Relative. Real curves stray from straight lines by some percent everywhere: what is tested is not whether an
effect is zero, but whether it is no more than this."""

NOISE_FLOOR = 0.004
"""Relative. Launches of a quiet machine agree by chance more closely than clocks and loops allow."""

MAD_TO_SD = 1.4826
"""A normal distribution's standard deviation over its median absolute deviation."""

MEDIAN_VARIANCE = 1.4
"""Variance of a median of n >= 3 normal values over that of their mean: 1.35 for 3, 1.43 for 5, to pi/2."""

PRIOR_FREEDOM = 12
"""Degrees of freedom given to the noise of neighbouring sizes when a size's own is estimated from few
launches: the moderated variance of Smyth (2004), with a fixed prior instead of a fitted one."""

WINDOW = 13
"""Sizes whose noise is pooled: about three octaves of a sweep with neighbours."""


@dataclass(frozen=True)
class Levels:
    """A curve without its launches' own offsets."""

    level: Floats
    """Per size: median over launches of log ns."""
    error: Floats
    """Per size: standard error of `level`."""
    freedom: Floats
    """Degrees of freedom of `error`."""
    offsets: Floats
    """Per launch: what it adds to all sizes."""
    residuals: Floats
    """[launch, size]: what neither size nor launch explains."""
    counts: NDArray[np.int64]
    """Launches per size."""
    noise: float
    """Typical standard deviation of one launch at one size."""


def median_polish(log_ns: Floats, rounds: int = 4) -> tuple[Floats, Floats]:
    """(level per size, offset per launch) of log_ns[launch, size] (Tukey 1977); NaN marks what is missing."""
    offsets = np.zeros(len(log_ns))
    level = np.nanmedian(log_ns, axis=0)
    for _ in range(rounds if len(log_ns) > 1 else 0):
        offsets = np.nanmedian(log_ns - level, axis=1)
        offsets -= np.median(offsets)
        level = np.nanmedian(log_ns - offsets[:, None], axis=0)
    return level, offsets


def chi_square_median(freedom: Floats) -> Floats:
    """Median of chi-square over its degrees of freedom (Wilson, Hilferty 1931)."""
    return (1 - 2 / (9 * np.maximum(freedom, 1))) ** 3


def roughness(sizes: Floats, level: Floats) -> float:
    """Noise of single points, from how far each lies off the line through its neighbours (log-log).

    Robust (a median), so spikes and steps at up to a third of the sizes do not count. The bend of a clean
    curve of latency and bandwidth is taken off: at most 0.06 for sizes that double.
    """
    if len(level) < 4:
        return 0.05
    x = np.log(np.maximum(sizes, 0.5))
    share = (x[1:-1] - x[:-2]) / np.maximum(x[2:] - x[:-2], 1e-12)
    off = level[1:-1] - ((1 - share) * level[:-2] + share * level[2:])
    spread = np.sqrt(1 + share**2 + (1 - share) ** 2)
    return float(np.median(np.abs(off) / spread) * MAD_TO_SD)


def levels(sizes: Floats, log_ns: Floats) -> Levels:
    """Level and noise of every size of a curve."""
    level, offsets = median_polish(log_ns)
    residuals = log_ns - offsets[:, None] - level
    counts = np.sum(np.isfinite(log_ns), axis=0).astype(np.int64)
    replicated = counts >= 2
    if not replicated.any():
        noise = max(roughness(sizes, level), NOISE_FLOOR)
        return Levels(
            level,
            np.full(len(level), noise),
            np.full(len(level), max(len(level) / 2, 2.0)),
            offsets,
            residuals,
            counts,
            noise,
        )
    variance = np.full(len(level), np.nan)
    variance[replicated] = np.nanvar(residuals[:, replicated], axis=0, ddof=1)
    pooled = _pooled(variance, counts)
    own = np.maximum(counts - 1, 0)
    prior = min(PRIOR_FREEDOM, max(own.sum() / 2, 2.0))  # a median of variances is worth about half of them
    moderated = (prior * pooled + own * np.nan_to_num(variance)) / (prior + own)
    efficiency = np.where(counts >= 3, MEDIAN_VARIANCE, 1.0)
    error = np.sqrt(moderated * efficiency / counts)
    return Levels(
        level,
        np.maximum(error, NOISE_FLOOR),
        prior + own.astype(float),
        offsets,
        residuals,
        counts,
        float(np.sqrt(np.median(pooled))),
    )


def _pooled(variance: Floats, counts: NDArray[np.int64]) -> Floats:
    """Median variance of the WINDOW sizes around each that have several launches, unbiased."""
    known = np.flatnonzero(np.isfinite(variance))
    scaled = variance[known] / chi_square_median((counts[known] - 1).astype(np.float64))
    half = WINDOW // 2
    local = np.array(
        [
            np.median(scaled[max(0, min(i - half, len(known) - WINDOW)) : max(i + half + 1, WINDOW)])
            for i in range(len(known))
        ]
    )
    everywhere = np.median(scaled)
    nearest = np.abs(np.arange(len(variance))[:, None] - known).argmin(axis=1)
    # Seven values of 2 degrees of freedom are a poor median: half of the evidence stays with the whole curve.
    return np.asarray(np.maximum(np.sqrt(local[nearest] * everywhere), 0.25 * everywhere) + NOISE_FLOOR**2)


def two_sided(effect: float, error: float, freedom: float) -> float:
    """p-value of an effect being no more than RIPPLE, by its standard error of so many degrees (Student)."""
    from scipy.stats import t

    return float(min(2 * t.sf((abs(effect) - RIPPLE) / max(error, 1e-12), max(freedom, 1.0)), 1.0))


def interval(effect: float, error: float, freedom: float) -> tuple[float, float]:
    """95 % interval of a log ratio, as ratios."""
    from scipy.stats import t

    half = float(t.ppf(0.975, max(freedom, 1.0))) * error
    return math.exp(effect - half), math.exp(min(effect + half, 700))


def false_discovery(p_values: Sequence[float], tests: int) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values, where `tests` places were looked at in all."""
    order = np.argsort(p_values)[::-1]
    adjusted = [0.0] * len(p_values)
    smallest = 1.0
    for place, index in zip(range(len(p_values), 0, -1), order, strict=True):
        smallest = min(smallest, p_values[index] * max(tests, len(p_values)) / place)
        adjusted[index] = smallest
    return adjusted


def robust_spread(values: Floats) -> float:
    """Standard deviation by the median absolute deviation."""
    return float(np.median(np.abs(values - np.median(values))) * MAD_TO_SD) if len(values) else 0.0
