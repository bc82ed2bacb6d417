# SPDX-License-Identifier: BSD-3-Clause
"""Is one system faster than another? FASTER, SLOWER, SAME (within a stated margin) or UNDECIDED.

Per test and band of sizes each launch gives one value: the geometric mean over the sizes that every
launch of both systems measured. Two systems' launches are compared by their shift on a log scale:
Hodges-Lehmann estimate, interval by inverting the Wilcoxon rank-sum test, p-values from its exact
distribution, corrected for the number of comparisons by Holm's method. Nothing assumes normality.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl

BANDS: tuple[tuple[str, int, int], ...] = (
    ("up to 1 KiB", 0, 1024),
    ("1 to 64 KiB", 1025, 65536),
    ("above 64 KiB", 65537, 1 << 62),
)
"""Names and inclusive bounds in bytes: where latency, copies through a cache, and memory rule."""

SIGNIFICANCE = 0.05
MAXIMUM_LAUNCHES_EXACT = 40
"""Up to this many launches a side, p-values come from the exact distribution."""


@dataclass(frozen=True)
class Comparison:
    """System against baseline in one band of one test. Ratios are times: below 1 is faster."""

    test: str
    variant: str
    ranks: int
    band: str
    system: str
    baseline: str
    verdict: str
    ratio: float
    """Hodges-Lehmann estimate of time / baseline's time."""
    low: float
    high: float
    """Interval of the ratio, of at least 95 % unless `coverage` says less."""
    coverage: float
    p_value: float
    """Corrected by Holm's method for all comparisons made together."""
    launches: int
    baseline_launches: int
    sizes: int
    note: str = ""
    launches_needed: int = 0
    """UNDECIDED for want of launches: how many each side needs at least; else 0."""


@cache
def _rank_sum_counts(n: int, m: int) -> tuple[int, ...]:
    """Number of arrangements with Mann-Whitney U = 0, 1, …, n·m (Mann, Whitney 1947: their recursion)."""
    # The number of partitions of u into at most n parts of at most m each: Gaussian binomial coefficients.
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):
            counts[u] -= counts[u - m - i]
        for u in range(i, n * m + 1):
            counts[u] += counts[u - i]
    return tuple(counts)


def shift_interval(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float, float]:
    """(estimate, low, high, coverage) of the shift of `a` against `b`: all pairwise differences.

    The k-th smallest and largest differences enclose the shift with probability 1 - 2 P(U <= k-1)
    (Hodges, Lehmann 1963). With too few values for 95 % it is the whole range, with the coverage that has.
    """
    differences = np.sort(np.subtract.outer(np.asarray(a, float), np.asarray(b, float)).ravel())
    n, m = len(a), len(b)
    if max(n, m) > MAXIMUM_LAUNCHES_EXACT:
        spread = math.sqrt(n * m * (n + m + 1) / 12)
        k = max(1, math.floor(n * m / 2 - 1.959964 * spread)) - 1  # Hollander, Wolfe 1999, (4.41): counts from 1
        return float(np.median(differences)), float(differences[k]), float(differences[-1 - k]), 0.95
    counts = _rank_sum_counts(n, m)
    total = math.comb(n + m, n)
    k, below = 0, counts[0]
    while 2 * (below + counts[k + 1] if k + 1 < len(counts) else total) / total <= SIGNIFICANCE:
        k += 1
        below += counts[k]
    coverage = 1 - 2 * below / total
    return (
        float(np.median(differences)),
        float(differences[k]),
        float(differences[-1 - k]),
        max(coverage, 0.0),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's (1979) step-down correction, in the order given."""
    order = np.argsort(p_values)
    corrected = [0.0] * len(p_values)
    worst = 0.0
    for position, index in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - position) * p_values[index]))
        corrected[index] = worst
    return corrected


def launches_needed(comparisons: int, *sides: int) -> int:
    """Launches per side below which no difference, however large, could be significant.

    sides: how many there are already on both; a side that has more than it needs helps the other.
    """
    a, b = sides or (0, 0)
    n = 2
    while 2 / math.comb(max(n, a) + max(n, b), max(n, a)) * comparisons > SIGNIFICANCE:
        n += 1
    return n


@dataclass(frozen=True)
class _Pair:
    test: str
    variant: str
    ranks: int
    band: str
    a: tuple[float, ...]
    b: tuple[float, ...]
    sizes: int


def _band_values(values: pl.DataFrame, low: int, high: int) -> tuple[dict[str, list[float]], int]:
    """Per side, each launch's mean log time over the sizes all launches share."""
    chosen = values.filter((pl.col("size") >= low) & (pl.col("size") <= high) & (pl.col("value_ns") > 0))
    if chosen.is_empty():
        return {}, 0
    launches = chosen.select(pl.struct("side", "launch").n_unique()).item()
    complete = (
        chosen.group_by("size").agg(pl.struct("side", "launch").n_unique().alias("n")).filter(pl.col("n") == launches)
    )
    common = chosen.join(complete, on="size", how="semi")
    if common.is_empty():
        return {}, 0
    means = common.group_by("side", "launch").agg(pl.col("value_ns").log().mean().alias("mean")).sort("side", "launch")
    sides: dict[str, list[float]] = {}
    for side, _, mean in means.iter_rows():
        sides.setdefault(side, []).append(mean)
    return sides, len(complete)


def _pairs(a: pl.DataFrame, b: pl.DataFrame, per_size: bool) -> Iterable[_Pair]:
    both = pl.concat(
        [
            side.select(
                pl.lit(name).alias("side"),
                pl.col("test", "variant").cast(pl.String),
                pl.col("ranks").cast(pl.Int64),
                pl.col("size").cast(pl.Int64),
                pl.col("launch").cast(pl.Int64),
                "value_ns",
            )
            for name, side in (("a", a), ("b", b))
        ]
    )
    for (test, variant, ranks), values in both.group_by(["test", "variant", "ranks"], maintain_order=True):
        bands: Sequence[tuple[str, int, int]] = BANDS
        sizes = sorted(values["size"].unique().to_list())
        if per_size:
            bands = [(f"{size} B", size, size) for size in sizes]
        elif sizes == [0]:
            bands = [("–", 0, 0)]
        for band, low, high in bands:
            sides, count = _band_values(values, low, high)
            if sides.get("a") and sides.get("b"):
                yield _Pair(
                    str(test),
                    str(variant),
                    int(str(ranks)),
                    band,
                    tuple(sides["a"]),
                    tuple(sides["b"]),
                    count,
                )


@dataclass(frozen=True)
class Contest:
    """A system against a baseline, each with the table of analyse.launch_values() it is in."""

    system: str
    values: pl.DataFrame
    baseline: str
    baseline_values: pl.DataFrame

    def pairs(self, per_size: bool) -> list[_Pair]:
        """What can be compared: tests, variants, world sizes and bands that both have."""
        a = self.values.filter(pl.col("system").cast(pl.String) == self.system)
        b = self.baseline_values.filter(pl.col("system").cast(pl.String) == self.baseline)
        return list(_pairs(a, b, per_size))


def compare(contests: Sequence[Contest], margin: float, per_size: bool = False) -> list[Comparison]:
    """Verdicts of all contests, corrected together.

    margin: relative difference within which two are the SAME to the user (0.02 is 2 %). An effect must
    be significant *and* its interval must not lie within the margin to be FASTER or SLOWER.
    """
    pairs = [(contest, pair) for contest in contests for pair in contest.pairs(per_size)]
    corrected = holm([rank_sum_p_value(pair.a, pair.b) for _, pair in pairs])
    verdicts = []
    for (contest, pair), p in zip(pairs, corrected, strict=True):
        shift, low, high, coverage = shift_interval(pair.a, pair.b)
        verdict = decide(low, high, coverage, p, margin)
        have, needed = min(len(pair.a), len(pair.b)), launches_needed(len(pairs), len(pair.a), len(pair.b))
        lacking = verdict == "UNDECIDED" and have < needed
        verdicts.append(
            Comparison(
                test=pair.test,
                variant=pair.variant,
                ranks=pair.ranks,
                band=pair.band,
                system=contest.system,
                baseline=contest.baseline,
                verdict=verdict,
                ratio=math.exp(shift),
                low=math.exp(low),
                high=math.exp(high),
                coverage=coverage,
                p_value=p,
                launches=len(pair.a),
                baseline_launches=len(pair.b),
                sizes=pair.sizes,
                note=f"{have} launch{'' if have == 1 else 'es'}; {len(pairs)} comparisons need at least {needed}"
                if lacking
                else "",
                launches_needed=needed if lacking else 0,
            )
        )
    return verdicts


def rank_sum_p_value(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided, of the Wilcoxon rank-sum test: exact up to MAXIMUM_LAUNCHES_EXACT values a side."""
    from scipy.stats import mannwhitneyu  # takes 0.7 s to import: not for `volley --help`

    method = "exact" if max(len(a), len(b)) <= MAXIMUM_LAUNCHES_EXACT else "asymptotic"
    return float(mannwhitneyu(a, b, alternative="two-sided", method=method).pvalue)


def decide(low: float, high: float, coverage: float, p: float, margin: float) -> str:
    """FASTER, SLOWER, SAME or UNDECIDED, of an interval of log ratios."""
    inside = math.log1p(-margin) <= low and high <= math.log1p(margin)
    if inside and coverage >= 1 - SIGNIFICANCE:
        return "SAME"
    if p <= SIGNIFICANCE and not inside and (high < 0 or low > 0):
        return "FASTER" if high < 0 else "SLOWER"
    return "UNDECIDED"
