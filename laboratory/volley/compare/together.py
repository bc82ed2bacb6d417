# SPDX-License-Identifier: BSD-3-Clause
"""Which system is fastest for what: several tests of one kind taken together, each a stratum of its own.

Two launches of one test prove little; that the same system is ahead in both launches of nine tests proves much. Per
test the launches of two systems are compared by the exact rank-sum test, one-sided; Fisher's method combines the tests,
and Holm's corrects for all comparisons made together. "Fastest" is said only of what comes first in all of that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from volley.benchmarks import Test
from volley.compare.pairwise import BANDS, SIGNIFICANCE, holm, shift_interval

QUESTIONS: Mapping[str, str] = {
    "messages": "messages between two ranks",
    "collective": "collective operations",
    "windows": "windows (one-sided communication)",
    "files": "files",
    "start": "starting programs",
}
"""Patterns of tests (volley.benchmarks.PATTERNS) that a person asks about, in this order."""
MARGIN = math.log(1.02)
"""Less is no difference to a user (as in `volley compare`)."""
MOST_LAUNCHES = 60

Stratum = tuple[str, str, int]
"""Test, variant, ranks."""


@dataclass(frozen=True)
class Rival:
    """Another system against the one that leads. Ratios are its time over the leader's."""

    system: str
    ratio: float
    low: float
    high: float
    """Smallest and largest ratio of single tests."""
    p_value: float
    """Corrected; that the leader is not faster."""
    strata: int
    slower: bool
    """Surely."""


@dataclass(frozen=True)
class Answer:
    """Who leads in one question and band of sizes."""

    question: str
    band: str
    tests: tuple[str, ...]
    leader: str
    rivals: tuple[Rival, ...]
    """Nearest first."""
    launches: int
    """Of the system and test that has fewest."""
    needed: int
    """Launches per test at which the nearest rival could be told apart."""
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def sure(self) -> bool:
        """Whether the leader is the fastest without doubt."""
        return bool(self.rivals) and all(one.slower for one in self.rivals)

    @property
    def level(self) -> tuple[str, ...]:
        """Systems that may be as fast as the leader, for all that is known."""
        return tuple(one.system for one in self.rivals if not one.slower)


@dataclass
class _Group:
    question: str
    band: str
    values: dict[Stratum, dict[str, list[float]]]
    """Stratum → system → its launches' mean log times."""


def answers(values: pl.DataFrame, tests: Mapping[str, Test], cores: int, left_out: Iterable[str] = ()) -> list[Answer]:
    """For every question that the study's tests answer, who leads. `values`: analyse.launch_values()."""
    groups = list(_groups(values, tests, cores, set(left_out)))
    drafts = [draft for group in groups if (draft := _draft(group)) is not None]
    everything = [rival for _, _, rivals in drafts for rival in rivals]
    corrected = iter(holm([one.p_value for one in everything]))
    found = []
    for group, leader, rivals in drafts:
        decided = []
        for one in rivals:
            p = next(corrected)
            slower = p <= SIGNIFICANCE and math.log(one.ratio) > MARGIN
            decided.append(Rival(one.system, one.ratio, one.low, one.high, p, one.strata, slower))
        launches = [len(each) for by_system in group.values.values() for each in by_system.values()]
        found.append(
            Answer(
                group.question,
                group.band,
                tuple(dict.fromkeys(test for test, _, _ in group.values)),
                leader,
                tuple(sorted(decided, key=lambda one: (one.slower, one.ratio))),
                min(launches, default=0),
                launches_needed(len(group.values), max(len(everything), 1)),
            )
        )
    return found


def launches_needed(strata: int, comparisons: int) -> int:
    """Launches per side and test below which no difference, however large, could be told."""
    for n in range(2, MOST_LAUNCHES):
        if 2 * _fisher([1 / math.comb(2 * n, n)] * strata) * comparisons <= SIGNIFICANCE:
            return n
    return MOST_LAUNCHES


def _groups(values: pl.DataFrame, tests: Mapping[str, Test], cores: int, left_out: set[str]) -> Iterable[_Group]:
    if values.is_empty():
        return
    table = values.with_columns(
        pl.col("system", "test", "variant").cast(pl.String), pl.col("ranks", "size", "launch").cast(pl.Int64)
    ).filter((pl.col("value_ns") > 0) & ~pl.col("system").is_in(sorted(left_out)))
    for pattern, words in QUESTIONS.items():
        names = [name for name, test in tests.items() if test.pattern == pattern and test.ranked and test.needs_mpi]
        own = table.filter(pl.col("test").is_in(names))
        worlds = own["ranks"].unique().to_list() if any(tests[name].axis != "ranks" for name in names) else []
        crowded = [ranks for ranks in worlds if cores and ranks > cores]
        for chosen, suffix in (
            (own.filter(~pl.col("ranks").is_in(crowded)), ""),
            (own.filter(pl.col("ranks").is_in(crowded)), f", more ranks than the {cores} cores"),
        ):
            for band, low, high in BANDS:
                inside = chosen.filter((pl.col("size") >= low) & (pl.col("size") <= high))
                values_of = strata(inside)
                if values_of:
                    sized = inside["size"].max() != 0
                    yield _Group(words + suffix, band if sized else "", values_of)


def strata(table: pl.DataFrame) -> dict[Stratum, dict[str, list[float]]]:
    """Per test, each system's launches: mean log time over the sizes that all launches of all systems share."""
    found: dict[Stratum, dict[str, list[float]]] = {}
    for key, rows in table.group_by(["test", "variant", "ranks"], maintain_order=True):
        launches = rows["launch"].n_unique()
        shared = rows.group_by("size").agg(pl.col("launch").n_unique().alias("n"))
        # Launches that ran out of time lack some sizes: of those that most have, launches with all of them count.
        usual = shared.filter(pl.col("n") >= 0.8 * launches)["size"].to_list()
        if not usual:
            continue
        means = (
            rows.filter(pl.col("size").is_in(usual))
            .group_by("system", "launch")
            .agg(pl.col("value_ns").log().mean().alias("mean"), pl.len().alias("n"))
            .filter(pl.col("n") == len(usual))
            .sort("system", "launch")
        )
        by_system: dict[str, list[float]] = {}
        for system, _, mean, _ in means.iter_rows():
            by_system.setdefault(str(system), []).append(float(mean))
        if len(by_system) > 1:
            found[(str(key[0]), str(key[1]), int(str(key[2])))] = by_system
    return found


def _draft(group: _Group) -> tuple[_Group, str, list[Rival]] | None:
    """The leader, and all others against it, not yet corrected. The leader is ahead of most others in the tests that
    both were measured in: a system may lack one.
    """
    systems = sorted({system for by_system in group.values.values() for system in by_system})
    ahead = {one: sum(_shift(group.values, other, one) > 0 for other in systems if other != one) for one in systems}
    tested = {one: sum(one in by_system for by_system in group.values.values()) for one in systems}
    if len(systems) < 2:
        return None
    leader = max(systems, key=lambda one: (ahead[one], tested[one]))
    rivals = [_rival(group.values, leader, one) for one in systems if one != leader]
    return group, leader, [one for one in rivals if one.strata]


def _shift(values: Mapping[Stratum, Mapping[str, Sequence[float]]], slow: str, fast: str) -> float:
    """Mean log ratio of two systems over the tests both have; 0 where they have none."""
    shifts = [
        float(np.median(by_system[slow]) - np.median(by_system[fast]))
        for by_system in values.values()
        if slow in by_system and fast in by_system
    ]
    return float(np.mean(shifts)) if shifts else 0.0


def _rival(values: Mapping[Stratum, Mapping[str, Sequence[float]]], leader: str, other: str) -> Rival:
    from scipy.stats import mannwhitneyu

    shifts, p_values = [], []
    for by_system in values.values():
        if other in by_system and leader in by_system:
            shifts.append(shift_interval(by_system[other], by_system[leader])[0])
            p_values.append(
                float(mannwhitneyu(by_system[leader], by_system[other], alternative="less", method="exact").pvalue)
            )
    if not shifts:
        return Rival(other, 1.0, 1.0, 1.0, 1.0, 0, False)
    ratios = np.exp(shifts)
    mean = float(np.exp(np.mean(shifts)))
    # Twice: which of the two leads was seen in the same data.
    p_value = min(1.0, 2 * _fisher(p_values))
    return Rival(other, mean, float(ratios.min()), float(ratios.max()), p_value, len(shifts), False)


def _fisher(p_values: Sequence[float]) -> float:
    from scipy.stats import combine_pvalues

    return float(combine_pvalues(p_values, method="fisher").pvalue)
