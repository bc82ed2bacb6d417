# SPDX-License-Identifier: BSD-3-Clause
"""From single operations to curves with intervals.

The launch is the unit of inference: operations within a launch share its memory layout, its placement and
its luck, so they are no independent evidence (Hunold, Carpen-Amarie 2016: each start of the same program
has a mean of its own). A launch's operations become one value; a point's value is the median of those,
with an interval made of order statistics, which holds for any distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np
import polars as pl

from volley.benchmarks import Test
from volley.data.results import Curve, LaunchBox, Point, Stream

CURVE_KEY = ["system", "test", "variant", "ranks"]
LAUNCH_KEY = [*CURVE_KEY, "size", "launch"]

WANTED_COVERAGE = 0.95


@cache
def median_interval_ranks(count: int) -> tuple[int, int, float]:
    """Which order statistics (0-based: low, high) of `count` values enclose the median, and how surely.

    Those of the narrowest interval with at least WANTED_COVERAGE; fewer than six values have none, then it is the
    smallest and largest, with the coverage they do have (0 for a single value).
    """
    from scipy.stats import binom, quantile_test  # takes 0.7 s to import: not for `volley --help`

    if count < 1:
        raise ValueError("an interval needs at least one value")
    told = quantile_test(np.arange(count, dtype=float)).confidence_interval(WANTED_COVERAGE).low
    low = int(told) if np.isfinite(told) else 0
    return low, count - 1 - low, float(1 - 2 * binom.cdf(low, count, 0.5)) if count > 1 else 0.0


def median_interval(values: Sequence[float]) -> tuple[float, float, float, float]:
    """(median, low, high, coverage) of independent values."""
    ordered = np.sort(np.asarray(values, dtype=float))
    low, high, coverage = median_interval_ranks(len(ordered))
    return float(np.median(ordered)), float(ordered[low]), float(ordered[high]), coverage


def operations(samples: pl.LazyFrame, operation: str, key: Sequence[str] = LAUNCH_KEY) -> pl.LazyFrame:
    """One row per operation: `key` and duration_ns, by whose duration counts (tests.OPERATIONS)."""
    if operation in ("rank 0", "rank 1"):
        return samples.filter(pl.col("rank") == int(operation[-1]))
    if operation == "slowest rank":
        together = pl.col("duration_ns").max()
    else:
        end = pl.col("start_ns").cast(pl.Float64) + pl.col("duration_ns").cast(pl.Float64)
        together = (end.max() - pl.col("start_ns").min().cast(pl.Float64)).cast(pl.Float32)
    return samples.group_by([*key, "repetition"]).agg(together.alias("duration_ns"))


def launch_values(samples: pl.LazyFrame, tests: Iterable[Test]) -> pl.DataFrame:
    """One row per launch and point: LAUNCH_KEY, value_ns, operations, and the five numbers of a box plot.

    Samples of a test that is not among `tests` are left out.
    """
    by_shape: dict[tuple[str, float, str], list[str]] = {}
    for test in tests:
        by_shape.setdefault((test.operation, test.scale, test.statistic), []).append(test.name)
    tables = []
    for (operation, scale, statistic), names in by_shape.items():
        chosen = samples.filter(pl.col("test").cast(pl.String).is_in(names))
        time = pl.col("duration_ns").cast(pl.Float64) * scale
        tables.append(
            operations(chosen, operation)
            .group_by(LAUNCH_KEY)
            .agg(
                (time.mean() if statistic == "mean" else time.median()).alias("value_ns"),
                pl.len().alias("operations"),
                time.min().alias("fastest_ns"),
                time.quantile(0.25).alias("q1_ns"),
                time.median().alias("median_ns"),
                time.quantile(0.75).alias("q3_ns"),
                time.max().alias("slowest_ns"),
            )
        )
    if not tables:
        return pl.DataFrame()
    return pl.concat(pl.collect_all(tables)).sort(LAUNCH_KEY)


def curves(values: pl.DataFrame, tests: Mapping[str, Test]) -> list[Curve]:
    """Curves of every system, test, variant and world size, from launch_values()."""
    if values.is_empty():
        return []
    by_ranks = [name for name, test in tests.items() if test.axis == "ranks"]
    text = values.with_columns(
        pl.col("system", "test", "variant").cast(pl.String),
        pl.col("ranks").cast(pl.Int64),
        pl.col("size").cast(pl.Int64),
    ).with_columns(
        pl.when(pl.col("test").is_in(by_ranks)).then("ranks").otherwise("size").alias("x"),
        pl.when(pl.col("test").is_in(by_ranks)).then(0).otherwise("ranks").alias("ranks"),
    )
    grouped = (
        text.group_by([*CURVE_KEY, "x"])
        .agg(
            pl.col("value_ns"),
            pl.col("operations").sum(),
            pl.col("fastest_ns").min(),
            pl.col("slowest_ns").max(),
        )
        .sort([*CURVE_KEY, "x"])
    )
    found: dict[tuple[str, str, str, int], list[Point]] = {}
    for system, test, variant, ranks, x, launches, operations, fastest, slowest in grouped.iter_rows():
        value, low, high, coverage = median_interval(launches)
        found.setdefault((system, test, variant, ranks), []).append(
            Point(x, value, low, high, coverage, len(launches), operations, fastest, slowest, tuple(launches))
        )
    return [Curve(*key, tuple(points)) for key, points in found.items()]


def half_width(point: Point) -> float:
    """The interval's wider half, relative to the value."""
    if point.value_ns <= 0:
        return 0.0
    return max(point.high_ns - point.value_ns, point.value_ns - point.low_ns) / point.value_ns


NARROW_SHARE = 0.9
"""A cell is precise once this share of its points is: a noisy machine always leaves a few wide ones."""


def achieved_half_width(points: Sequence[Point]) -> float:
    """The half-width that NARROW_SHARE of the points reach; infinite while coverage is below 95 %."""
    if not points or any(point.coverage < WANTED_COVERAGE for point in points):
        return float("inf")
    widths = sorted(half_width(point) for point in points)
    return widths[min(len(widths) - 1, int(np.ceil(NARROW_SHARE * len(widths))) - 1)]


BOX_SIZES = 16
BOX_CHOICE = (0, 1, 8, 64, 512, 4096, 65536, 1 << 20, 1 << 22)


def launch_boxes(values: pl.DataFrame) -> list[LaunchBox]:
    """One box per row of launch_values(); of tests with more than BOX_SIZES sizes only those of BOX_CHOICE."""
    if values.is_empty():
        return []
    columns = [*LAUNCH_KEY, "fastest_ns", "q1_ns", "median_ns", "q3_ns", "slowest_ns"]
    few = pl.col("size").n_unique().over("test") <= BOX_SIZES
    chosen = values.filter(few | pl.col("size").is_in(BOX_CHOICE))
    return [LaunchBox(*row) for row in chosen.select(columns).iter_rows()]


STREAM_MESSAGES = 1200
"""Messages of one stream that a report shows."""
STREAM_SIZES = 4
"""Sizes of one test whose streams a report shows, spread over those measured."""


def _spread(values: Sequence[int], count: int) -> list[int]:
    """At most `count` of the sorted values, from the first to the last at even distances."""
    places = np.linspace(0, len(values) - 1, min(count, len(values))).round().astype(int)
    return [values[place] for place in places]


def streams(samples: pl.LazyFrame, tests: Iterable[Test]) -> list[Stream]:
    """The first launch of every stream, at STREAM_SIZES sizes and STREAM_MESSAGES messages each at most."""
    names = [test.name for test in tests if test.stamps]
    if not names:
        return []
    all_sizes = samples.filter(pl.col("test").cast(pl.String).is_in(names) & (pl.col("rank") <= 1))
    by_test = all_sizes.group_by("test").agg(pl.col("size").unique().sort()).collect()
    shown = [
        (pl.col("test").cast(pl.String) == test) & pl.col("size").is_in(_spread(sizes, STREAM_SIZES))
        for test, sizes in by_test.iter_rows()
    ]
    if not shown:
        return []
    chosen = all_sizes.filter(pl.any_horizontal(shown))
    first = chosen.group_by([*CURVE_KEY, "size"]).agg(pl.col("launch").min())
    key = ["system", "test", "variant", "size", "launch"]
    rows = (
        chosen.join(first, on=[*CURVE_KEY, "size", "launch"], how="semi")
        .filter(pl.col("repetition") < STREAM_MESSAGES)
        .sort("repetition")
        .group_by([*key, "rank"], maintain_order=True)
        .agg("duration_ns")
        .collect()
    )
    found: dict[tuple[str, str, str, int, int], dict[int, tuple[float, ...]]] = {}
    for system, test, variant, size, launch, rank, gaps in rows.iter_rows():
        found.setdefault((system, test, variant, size, launch), {})[rank] = tuple(gaps)
    return [Stream(*at, gaps.get(0, ()), gaps.get(1, ())) for at, gaps in sorted(found.items())]
