# SPDX-License-Identifier: BSD-3-Clause
"""Which system is faster over all tests together, by how much, and how sure that is.

The ratio is a geometric mean: of a test's sizes, of its variants and worlds, then of the tests, each of which counts
once. Its interval is about these tests on this machine: what launches differ by makes it, by Student's t with Welch's
degrees of freedom over all tests. What other tests would say it does not tell; the smallest and largest ratio of single
tests stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from volley.compare.pairwise import SIGNIFICANCE, Contest, decide, holm
from volley.compare.together import Stratum, strata

FEWEST_LAUNCHES = 2
"""Of either system in a test: one launch says nothing of how much launches differ."""
STEADIEST = 0.005
"""Standard deviation that launches of a test are taken to have at least (a log ratio): what agrees better does so by
chance."""


@dataclass(frozen=True)
class Pooled:
    """One system's time over another's, over all tests that both have."""

    shift: float
    """Mean over tests of the log ratio."""
    error: float
    freedom: float
    by_test: Mapping[str, float]
    """Log ratio of each."""
    launches: int
    """Of the test and side that has fewest."""

    @property
    def p_value(self) -> float:
        """Two-sided, of no difference."""
        from scipy.stats import t

        return float(min(1.0, 2 * t.sf(abs(self.shift) / self.error, self.freedom)))

    @property
    def interval(self) -> tuple[float, float]:
        """Of 95 %, as log ratios."""
        from scipy.stats import t

        half = float(t.ppf(1 - SIGNIFICANCE / 2, self.freedom)) * self.error
        return self.shift - half, self.shift + half


@dataclass(frozen=True)
class Overall:
    """A system against a baseline over all tests. Ratios are times: below 1 is faster."""

    system: str
    baseline: str
    verdict: str
    ratio: float
    low: float
    high: float
    """Interval of the ratio, of 95 %."""
    p_value: float
    """Corrected by Holm's method for all systems."""
    tests: Mapping[str, float]
    """Ratio of each."""
    left_out: tuple[str, ...]
    """Tests with fewer than FEWEST_LAUNCHES launches on either side."""
    launches: int

    def words(self) -> str:
        """One sentence."""
        tests = f"{len(self.tests)} tests" if len(self.tests) != 1 else "one test"
        spread = (
            f"; single tests from {min(self.tests.values()):.2f} to {max(self.tests.values()):.2f}"
            if len(self.tests) > 1
            else ""
        )
        return (
            f"Overall {self.system} takes {self.ratio:.3f} times as long as {self.baseline} "
            f"(95 % interval {self.low:.3f} to {self.high:.3f}, geometric mean of {tests}{spread}): {self.verdict}."
        )


Cells = Mapping[Stratum, Mapping[str, Sequence[float]]]


def pool(cells: Cells, system: str, baseline: str) -> tuple[Pooled | None, tuple[str, ...]]:
    """Both over the tests that have enough launches of them, None if there is none; and the tests left out."""
    by_test: dict[str, list[tuple[float, float, int, int]]] = {}
    few = set()
    for (test, _, _), by_system in cells.items():
        a, b = by_system.get(system, ()), by_system.get(baseline, ())
        if a and b and min(len(a), len(b)) >= FEWEST_LAUNCHES:
            variance = sum(max(float(np.var(one, ddof=1)), STEADIEST**2) / len(one) for one in (a, b))
            shift = float(np.mean(a) - np.mean(b))
            by_test.setdefault(test, []).append((shift, math.sqrt(variance), len(a) + len(b) - 2, min(len(a), len(b))))
        elif a and b:
            few.add(test)
    left_out = tuple(sorted(few - set(by_test)))
    if not by_test:
        return None, left_out
    shifts = {test: float(np.mean([one[0] for one in parts])) for test, parts in by_test.items()}
    # Variants of a test may share its launches: their errors are taken to be the same error, not to cancel.
    errors = [float(np.mean([one[1] for one in parts])) for parts in by_test.values()]
    freedoms = [min(one[2] for one in parts) for parts in by_test.values()]
    total = sum(one**2 for one in errors)
    freedom = total**2 / sum(error**4 / free for error, free in zip(errors, freedoms, strict=True))
    launches = min(one[3] for parts in by_test.values() for one in parts)
    shift = float(np.mean(list(shifts.values())))
    return Pooled(shift, math.sqrt(total) / len(errors), freedom, shifts, launches), left_out


def overall(contests: Sequence[Contest], margin: float, cores: int) -> list[Overall]:
    """A row for every contest that has a test with enough launches. Worlds of more ranks than cores do not count where
    a test has others: they tell of the scheduler."""
    rows: list[tuple[Contest, Pooled, tuple[str, ...]]] = []
    for contest in contests:
        pooled, left_out = pool(_cells(contest, cores), "a", "b")
        if pooled is not None:
            rows.append((contest, pooled, left_out))
    found = []
    for (contest, pooled, left_out), p in zip(rows, holm([one.p_value for _, one, _ in rows]), strict=True):
        low, high = pooled.interval
        found.append(
            Overall(
                contest.system,
                contest.baseline,
                decide(low, high, 1 - SIGNIFICANCE, p, margin),
                math.exp(pooled.shift),
                math.exp(low),
                math.exp(high),
                p,
                {test: math.exp(shift) for test, shift in pooled.by_test.items()},
                left_out,
                pooled.launches,
            )
        )
    return found


def _cells(contest: Contest, cores: int) -> Cells:
    sides = [
        values.filter(pl.col("system").cast(pl.String) == name).select(
            pl.lit(side).alias("system"),
            pl.col("test", "variant").cast(pl.String),
            pl.col("ranks", "size", "launch").cast(pl.Int64),
            "value_ns",
        )
        for side, name, values in (
            ("a", contest.system, contest.values),
            ("b", contest.baseline, contest.baseline_values),
        )
    ]
    return uncrowded(strata(pl.concat(sides).filter(pl.col("value_ns") > 0)), cores)


def uncrowded(cells: Cells, cores: int) -> Cells:
    """Without worlds of more ranks than cores, where the same test has others."""
    fitting = {test for test, _, ranks in cells if not cores or ranks <= cores}
    return {key: one for key, one in cells.items() if not cores or key[2] <= cores or key[0] not in fitting}


@dataclass(frozen=True)
class Champion:
    """The system that is ahead of most others over all tests, and the others against it, nearest first."""

    leader: str
    rivals: tuple[Overall, ...]
    """As `system` each, with the leader as baseline: ratios above 1."""

    @property
    def level(self) -> tuple[str, ...]:
        """Systems that may be as fast, for all that is known."""
        return tuple(one.system for one in self.rivals if one.verdict != "SLOWER")


def champion(values: pl.DataFrame, cores: int, left_out: Collection[str], margin: float) -> Champion | None:
    """Of a study's launch values (analyse.launch_values()) of tests that are ranked; None where nothing compares."""
    table = values.with_columns(
        pl.col("system", "test", "variant").cast(pl.String), pl.col("ranks", "size", "launch").cast(pl.Int64)
    ).filter((pl.col("value_ns") > 0) & ~pl.col("system").is_in(sorted(left_out)))
    cells = uncrowded(strata(table), cores)
    systems = sorted({system for by_system in cells.values() for system in by_system})
    against = {
        (one, other): pooled
        for one in systems
        for other in systems
        if one != other and (pooled := pool(cells, one, other)[0]) is not None
    }
    if not against:
        return None
    ahead = {one: sum(pooled.shift < 0 for (who, _), pooled in against.items() if who == one) for one in systems}
    tested = {one: sum(one in by_system for by_system in cells.values()) for one in systems}
    leader = max(systems, key=lambda one: (ahead[one], tested[one]))
    rivals = [(one, against[one, leader]) for one in systems if (one, leader) in against]
    # Times how many could have led: which one leads was seen in the same data.
    corrected = holm([min(1.0, len(systems) * pooled.p_value) for _, pooled in rivals])
    rows = []
    for (system, pooled), p in zip(rivals, corrected, strict=True):
        low, high = pooled.interval
        verdict = decide(low, high, 1 - SIGNIFICANCE, p, margin)
        ratios = {test: math.exp(shift) for test, shift in pooled.by_test.items()}
        ends = (math.exp(low), math.exp(high))
        rows.append(Overall(system, leader, verdict, math.exp(pooled.shift), *ends, p, ratios, (), pooled.launches))
    return Champion(leader, tuple(sorted(rows, key=lambda one: (one.verdict == "SLOWER", one.ratio))))
