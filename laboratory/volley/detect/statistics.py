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
"""Share of false findings allowed among all of a study (Benjamini, Hochberg 1995), for each detector that looks. What
is tested is a ripple and not nothing, so that clean curves give fewer: see docs/detecting-validation.md."""

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

HYPERVARIABLE = 0.02
"""A variance less likely than this is not of the neighbours' kind; see `_ordinary`."""

ENOUGH_FOR_SPREAD = 5
"""Launches of which a median absolute deviation says something."""

ORDINARY = 0.05
"""Relative standard deviation between launches that is assumed at least: 1 to 5 % over shared memory in the studies of
docs/detecting-validation.md, whatever the MPI."""
LAUNCH_FREEDOM = 4
"""Degrees of freedom that this counts for."""
SMALLEST_P = 1e-300
"""Below, logarithms of p-values end."""

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
    spread = _own_variance(residuals, np.nan_to_num(variance), pooled, counts)
    # A median of variances is worth about half of them.
    prior = min(PRIOR_FREEDOM, max(own.sum() / 2, 2.0)) * _ordinary(spread / pooled, own)
    moderated = (prior * pooled + own * spread) / (prior + own)
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


def _ordinary(ratio: Floats, freedom: NDArray[np.int64]) -> Floats:
    """How much each size's noise is like that of its neighbours, 0 … 1, from their ratio of variances.

    Real launches agree at most sizes and disagree widely at some. There the neighbours' noise says nothing: it would
    make the size sure, and with it the line by which others are judged. The less likely a variance is by chance, the
    less the prior counts (Phipson, Lee, Majewski, Alexander, Smyth 2016: hypervariable cases).
    """
    from scipy.stats import f

    likely = f.sf(ratio, np.maximum(freedom, 1), PRIOR_FREEDOM)
    return np.asarray(np.where(freedom > 0, np.clip(likely / HYPERVARIABLE, 0.0, 1.0), 1.0))


def _own_variance(residuals: Floats, variance: Floats, pooled: Floats, counts: NDArray[np.int64]) -> Floats:
    """Variance of each size's launches; where it is not the neighbours' and there are enough launches, the robust one.

    A single launch that was interrupted does not move a median of five, and must not make it unsure.
    """
    odd = (_ordinary(variance / pooled, counts - 1) < 1) & (counts >= ENOUGH_FOR_SPREAD)
    robust = np.array([robust_spread(column[np.isfinite(column)]) ** 2 for column in residuals.T])
    return np.asarray(np.where(odd, np.minimum(variance, robust), variance))


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


def interval(effect: float, error: float, freedom: float, chosen_from: int = 1) -> tuple[float, float]:
    """95 % interval of a log ratio, as ratios; of the largest of several, which chance makes larger, one for all."""
    from scipy.stats import t

    half = float(t.ppf(1 - 0.025 / chosen_from, max(freedom, 1.0))) * error
    return math.exp(effect - half), math.exp(min(effect + half, 700))


def launch_interval(log_values: Sequence[float]) -> tuple[float, float]:
    """95 % interval, as ratios, of the mean of what launches show each (log ratios), by Student's t."""
    mean, error, freedom = launch_mean(log_values)
    return interval(mean, error, freedom)


def launch_mean(log_values: Sequence[float]) -> tuple[float, float, float]:
    """(mean, its standard error, degrees of freedom) of what launches show each.

    Their variance is moderated (Smyth 2004): launches that happen to agree prove no more precision than launches
    ordinarily have, and one alone has that.
    """
    values = np.asarray(log_values, dtype=float)
    own = float(((values - values.mean()) ** 2).sum())
    freedom = len(values) - 1
    moderated = (own + LAUNCH_FREEDOM * ORDINARY**2) / (freedom + LAUNCH_FREEDOM)
    if freedom and own / freedom > moderated:
        return float(values.mean()), math.sqrt(own / freedom / len(values)), float(freedom)
    return float(values.mean()), math.sqrt(moderated / len(values)), float(freedom + LAUNCH_FREEDOM)


def launch_p_value(log_values: Sequence[float], least: float) -> float:
    """One-sided p-value of launches showing no more than `least` (a log ratio) in the mean, by Student's t."""
    from scipy.stats import t

    mean, error, freedom = launch_mean(log_values)
    return float(t.sf((mean - least) / error, freedom))


def together(p_values: Sequence[float]) -> float:
    """One p-value of several independent ones (Fisher's method): 1 where nothing shows counts as well."""
    from scipy.stats import combine_pvalues

    return float(combine_pvalues(np.clip(p_values, SMALLEST_P, 1.0), method="fisher").pvalue)


def false_discovery(p_values: Sequence[float], tests: int) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values, of `tests` places looked at in all; the others showed none."""
    from scipy.stats import false_discovery_control

    if not p_values:
        return []
    every = np.ones(max(tests, len(p_values)))
    every[: len(p_values)] = p_values
    return [float(one) for one in false_discovery_control(every)[: len(p_values)]]


def robust_spread(values: Floats) -> float:
    """Standard deviation by the median absolute deviation."""
    from scipy.stats import median_abs_deviation

    return float(median_abs_deviation(values, scale="normal")) if len(values) else 0.0
