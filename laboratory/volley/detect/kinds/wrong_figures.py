# SPDX-License-Identifier: BSD-3-Clause
"""wrong figures: numbers of one table that contradict each other, and bytes that arrived wrong.

A table often states a rate beside the time it was computed from. From both follows how many messages an
operation moved, and from that how many ranks there were: a whole number. If the rows of other systems give
the number of ranks their table states, and those of one system another, one of its figures is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from volley.detect.finding import Finding
from volley.detect.material import Floats, Material
from volley.detect.registry import Detector, Search

MESSAGES: Mapping[str, Callable[[float], float]] = {
    "p(p-1) messages": lambda p: p * (p - 1),
    "p-1 messages": lambda p: p - 1,
    "p messages": lambda p: p,
    "p(p-1) messages per rank": lambda p: p - 1,
    "one message": lambda p: 1.0,
    "two messages": lambda p: 2.0,
}
"""What an operation may move, by the number of ranks p."""

RATE = re.compile(r"(?P<prefix>[kmg]?i?)b(?:ytes)?(?:_per_s(?:ec(?:ond)?)?|ps|/s)", re.IGNORECASE)
"""Names of columns that hold a rate: total_MB_per_s, bandwidth_MBps, GB/s."""
UNITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "ki": 1024.0, "mi": 1024.0**2, "gi": 1024.0**3}
COUNTS = ("ranks", "processes", "nprocs", "np", "nodes")
"""Columns that may say how many took part."""
EXACT = 0.004
"""Relative: rates and times of three printed digits agree to this."""
MOST_RANKS = 100_000


@dataclass(frozen=True)
class Column:
    """A rate as a table states it, and how many messages per time it stands for, system by system."""

    name: str
    factors: Mapping[str, float]
    """System: rate × time / size, the median over its rows."""
    spreads: Mapping[str, float]


class WrongFiguresDetector(Detector):
    """Rates against times and numbers of ranks; and what the tests' own check of bytes said."""

    kinds = ("wrong figures",)

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per system and contradiction."""
        found = _wrong_bytes(material)
        if material.figures is not None:
            found += _contradictions(material.figures)
        return Search(found, max(len(found), 1))


def _wrong_bytes(material: Material) -> list[Finding]:
    bad: dict[tuple[str, str, int], list[str]] = {}
    for launch in material.launches:
        if launch.status == "wrong bytes":
            bad.setdefault((launch.system, launch.test, launch.ranks), []).append(launch.reason)
    return [
        Finding(
            "wrong figures",
            system,
            test,
            0,
            0,
            1.0,
            (1.0, 1.0),
            1.0,
            evidence={"says": f"bytes arrived wrong in {len(reasons)} launches: {reasons[0]}"},
            ranks=ranks,
        )
        for (system, test, ranks), reasons in bad.items()
    ]


def _contradictions(table: pl.DataFrame) -> list[Finding]:
    """For each rate column: the rule that most systems follow, and who does not."""
    counts = [name for name in COUNTS if name in table.columns and name != "ranks"] or ["ranks"]
    numbers: dict[str, dict[str, float]] = {name: _per_system(table, name) for name in counts}
    found: list[Finding] = []
    for name in table.columns:
        match = RATE.search(name)
        if not match or table[name].dtype != pl.String:
            continue
        column = _column(table, name, UNITS.get(match["prefix"].lower(), 1.0))
        found += _against_rule(table, column, numbers)
    return _merged(found)


def _per_system(table: pl.DataFrame, name: str) -> dict[str, float]:
    """A column that is the same in all rows of a system."""
    values = table.select("system", pl.col(name).cast(pl.Float64, strict=False))
    grouped = values.group_by("system").agg(pl.col(name).first(), pl.col(name).n_unique().alias("n"))
    return {system: float(value) for system, value, n in grouped.iter_rows() if n == 1 and value is not None}


def _column(table: pl.DataFrame, name: str, unit: float) -> Column:
    factor = pl.col(name).cast(pl.Float64, strict=False) * unit * pl.col("duration_ns") * 1e-9 / pl.col("size")
    rows = table.filter(pl.col("size") > 0).select("system", factor.alias("factor")).drop_nulls()
    factors, spreads = {}, {}
    for (system,), group in rows.group_by("system"):
        values: Floats = group["factor"].to_numpy()
        factors[str(system)] = float(np.median(values))
        spreads[str(system)] = float(np.median(np.abs(values / np.median(values) - 1)))
    return Column(name, factors, spreads)


def _against_rule(table: pl.DataFrame, column: Column, numbers: Mapping[str, Mapping[str, float]]) -> list[Finding]:
    """The rule (what is moved, by which count) that most systems follow; the others contradict it."""
    best: tuple[int, str, str] = (0, "", "")
    for count, values in numbers.items():
        for rule, messages in MESSAGES.items():
            fits = sum(
                system in values and _same(factor, messages(values[system]))
                for system, factor in column.factors.items()
            )
            if fits > best[0]:
                best = (fits, rule, count)
    fits, rule, count = best
    if fits < max(2, len(column.factors) / 2):
        return []
    found = []
    for system, factor in column.factors.items():
        stated = numbers[count].get(system)
        if stated is None or _same(factor, MESSAGES[rule](stated)):
            continue
        fitting = _fitting(rule, factor)
        found.append(_contradiction(table, system, column.name, rule, count, stated, fitting, factor))
    return found


def _same(a: float, b: float) -> bool:
    return b > 0 and abs(a / b - 1) <= EXACT


def _fitting(rule: str, factor: float) -> int | None:
    """The whole number of ranks with which the rule gives the factor."""
    guess = round((1 + math.sqrt(1 + 4 * factor)) / 2) if rule.startswith("p(p-1) messages") else round(factor)
    for p in (guess - 1, guess, guess + 1):
        if 0 < p <= MOST_RANKS and _same(factor, MESSAGES[rule](p)):
            return p
    return None


def _contradiction(
    table: pl.DataFrame,
    system: str,
    name: str,
    rule: str,
    count: str,
    stated: float,
    fitting: int | None,
    factor: float,
) -> Finding:
    rows = table.filter(pl.col("system") == system)
    expected = MESSAGES[rule](stated)
    fits = f"they fit {fitting}" if fitting else "no number of ranks fits"
    return Finding(
        "wrong figures",
        system,
        str(rows["test"][0]),
        int(str(rows["size"].min())),
        int(str(rows["size"].max())),
        factor / expected,
        (factor / expected * (1 - EXACT), factor / expected * (1 + EXACT)),
        1.0,
        evidence={
            "says": f"{name} and the times contradict {count} = {stated:g}: {fits}",
            "columns": [name],
            "count": count,
            "stated": stated,
            "fitting": fitting,
            "rule": rule,
        },
        ranks=int(str(rows["ranks"][0])),
    )


def _merged(found: Sequence[Finding]) -> list[Finding]:
    """Contradictions of one system that point to the same number are one."""
    by_number: dict[tuple[str, str, object], list[Finding]] = {}
    for one in found:
        by_number.setdefault((one.system, str(one.evidence["count"]), one.evidence["fitting"]), []).append(one)
    merged = []
    for same in by_number.values():
        first = same[0]
        names = [name for one in same for name in one.evidence["columns"]]
        says = f"{' and '.join(names)} and the times contradict " + str(first.evidence["says"]).split("contradict ")[1]
        evidence = {**first.evidence, "columns": names, "says": says}
        merged.append(Finding(**{**vars(first), "evidence": evidence}))
    return merged
