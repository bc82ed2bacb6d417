# SPDX-License-Identifier: BSD-3-Clause
"""From samples to what detectors look at: curves by launch and size, and streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from volley.benchmarks import Test, all_tests
from volley.data import analyse
from volley.data.analyse import CURVE_KEY, LAUNCH_KEY
from volley.detect.material import CurveData, Floats, Material, Series, StreamData

FEWEST_MESSAGES = 100
"""A stream of fewer has no period to be sure of."""


def imported_test(name: str, ranked: bool = True) -> Test:
    """A test as files of others state it: times as they are, of the slowest rank where ranks are given."""
    known = all_tests().get(name)
    stream = known.stamps if known else name.endswith("_stream")
    return Test(
        name=name,
        title=name,
        summary="",
        source="imported",
        pattern=known.pattern if known else "",
        ranks=(),
        operation="rank 0" if not ranked else "rank 1" if stream else "slowest rank",
        statistic="mean" if stream else "median",
        stamps=stream,
    )


def build(name: str, samples: pl.LazyFrame, tests: Mapping[str, Test]) -> Material:
    """Curves and streams of samples as results.SAMPLE_COLUMNS describes them."""
    by_operation: dict[str, list[str]] = {}
    for test in tests.values():
        by_operation.setdefault(test.operation, []).append(test.name)
    tables = [
        analyse.operations(samples.filter(pl.col("test").cast(pl.String).is_in(names)), operation)
        .group_by(LAUNCH_KEY)
        .agg(pl.col("duration_ns").cast(pl.Float32).sort_by("repetition").alias("times"))
        for operation, names in by_operation.items()
    ]
    material = Material(name)
    for table in pl.collect_all(tables):
        material.samples += int(table["times"].list.len().sum() or 0)
        material.curves += _curves(table, tests)
    material.streams = _streams(samples, [test.name for test in tests.values() if test.stamps])
    return material


def _text_keys(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(
        pl.col("system", "test", "variant").cast(pl.String), pl.col("ranks", "size", "launch").cast(pl.Int64)
    )


def _curves(table: pl.DataFrame, tests: Mapping[str, Test]) -> list[CurveData]:
    """One curve per system, test, variant and world size, from one row per launch and point."""
    by_ranks = [name for name, test in tests.items() if test.axis == "ranks"]
    keyed = _text_keys(table).with_columns(
        pl.when(pl.col("test").is_in(by_ranks)).then("ranks").otherwise("size").alias("size"),
        pl.when(pl.col("test").is_in(by_ranks)).then(0).otherwise("ranks").alias("ranks"),
    )
    found = []
    for key, rows in keyed.sort([*CURVE_KEY, "size", "launch"]).group_by(CURVE_KEY, maintain_order=True):
        curve = _curve(key, rows, tests[str(key[1])])
        if curve is not None:
            found.append(curve)
    return found


def _curve(key: tuple[Any, ...], rows: pl.DataFrame, test: Test) -> CurveData | None:
    """The launches' values on one grid; points whose time is zero are left out."""
    flat = rows["times"].explode().to_numpy().astype(np.float64) * test.scale
    ends = np.cumsum(rows["times"].list.len().to_numpy())
    parts = np.split(flat, ends[:-1])
    sizes, launches = rows["size"].to_numpy(), rows["launch"].to_numpy()
    value = np.mean if test.statistic == "mean" else np.median
    values = np.array([value(part) if len(part) else 0.0 for part in parts])
    good = values > 0
    if not good.any():
        return None
    grid, numbers = np.unique(sizes[good]), np.unique(launches[good])
    log_ns = np.full((len(numbers), len(grid)), np.nan)
    log_ns[np.searchsorted(numbers, launches[good]), np.searchsorted(grid, sizes[good])] = np.log(values[good])
    series = [Series(int(launches[i]), int(sizes[i]), parts[i]) for i in np.flatnonzero(good)]
    system, name, variant, ranks = (str(key[0]), str(key[1]), str(key[2]), int(key[3]))
    launch_numbers = tuple(int(number) for number in numbers)
    return CurveData(
        system,
        name,
        variant,
        ranks,
        grid.astype(np.int64),
        launch_numbers,
        log_ns,
        series,
        axis=test.axis,
        stream=test.stamps and test.axis == "size",
        comparable=test.ranked,
    )


def _streams(samples: pl.LazyFrame, names: list[str]) -> list[StreamData]:
    """Both sides' gaps of every stream in the order of messages."""
    if not names:
        return []
    key = ["system", "test", "variant", "ranks", "size", "launch"]
    table = (
        samples.filter(pl.col("test").cast(pl.String).is_in(names) & (pl.col("rank") <= 1))
        .group_by([*key, "rank"])
        .agg(
            pl.col("duration_ns").cast(pl.Float32).sort_by("repetition").alias("gaps"),
            pl.col("repetition").min().cast(pl.Int64).alias("first"),
        )
        .collect()
    )
    sides: dict[tuple[Any, ...], dict[int, tuple[Floats, int]]] = {}
    for *at, rank, gaps, first in _text_keys(table).sort([*key, "rank"]).iter_rows():
        sides.setdefault(tuple(at), {})[int(rank)] = (np.asarray(gaps, dtype=np.float64), int(first))
    found = []
    for (system, test, variant, ranks, size, launch), gaps_of in sides.items():
        received, first = gaps_of.get(1) or gaps_of[0]
        sent = gaps_of[0][0] if 0 in gaps_of and 1 in gaps_of else None
        if len(received) >= FEWEST_MESSAGES:
            found.append(StreamData(system, test, variant, ranks, size, launch, received, sent, first))
    return found
