# SPDX-License-Identifier: BSD-3-Clause
"""From launches with each algorithm to rules, and to the file of them that ``mpiexec --collectives @FILE`` reads.

A rule comes from two lots of launches: on the first, the algorithms of an operation are looked at, and the quickest is
picked at each size; on the second, the operation with these rules is compared with the operation without them. What was
picked because it happened to look quick does not stand the second.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from volley.compare.pairwise import decide, holm, rank_sum_p_value, shift_interval

Rows = Sequence[Mapping[int, float]]
"""Per launch, size → log of the time of an operation."""

WORTH_IT = math.log(1.05)
"""What is not quicker than the library's own choice by this is not picked."""
AS_QUICK = math.log(1.02)
"""An algorithm goes on being picked at the next size if none is quicker there by more than this: fewer rules."""
MARGIN = 0.02
"""A rule whose gain may as well be this small says nothing."""


@dataclass(frozen=True)
class Rule:
    """An algorithm for some sizes of an operation, and what it is worth."""

    operation: str
    algorithm: str
    sizes: tuple[int, ...]
    """Of the test, at which it was picked."""
    until: int | None
    """The next larger size measured, where it was not; None: there is none."""
    ranks: int
    hosts: int
    scale: int = 1
    """Bytes that the library counts of a size of the test."""
    verdict: str = "UNDECIDED"
    """FASTER: the rule holds."""
    ratio: float = math.nan
    """Time with the rule over time without."""
    low: float = math.nan
    high: float = math.nan
    launches: int = 0

    @property
    def holds(self) -> bool:
        """Whether it is certainly quicker with the rule."""
        return self.verdict == "FASTER"

    @property
    def bytes_from(self) -> int:
        """The first, as the library counts."""
        return self.sizes[0] * self.scale

    @property
    def bytes_to(self) -> int | None:
        """The last; None: no end was seen."""
        return None if self.until is None else self.until * self.scale - 1

    def text(self) -> str:
        """As VOLLEY_COLLECTIVES has it."""
        last = "" if self.bytes_to is None else str(self.bytes_to)
        size = "" if self.sizes == (0,) else f"bytes={self.bytes_from}-{last},"
        return f"{self.operation}={self.algorithm}@{size}ranks={self.ranks},hosts={self.hosts}"


def medians(rows: Rows) -> dict[int, float]:
    """Size → median over those launches that measured it."""
    sizes = sorted({size for row in rows for size in row})
    return {size: statistics.median(row[size] for row in rows if size in row) for size in sizes}


def pick(own: Rows, algorithms: Mapping[str, Rows]) -> list[tuple[str, tuple[int, ...], int | None]]:
    """(algorithm, sizes, next size) wherever one looks quicker than the library's own choice."""
    usual = medians(own)
    others = {name: medians(rows) for name, rows in algorithms.items()}
    picked: list[tuple[int, str]] = []
    for size, time in usual.items():
        at = {name: times[size] for name, times in others.items() if size in times}
        best = min(at, key=at.__getitem__, default="")
        before = picked[-1][1] if picked else ""
        if before in at and at[before] <= min(at[best] + AS_QUICK, time - AS_QUICK):
            best = before
        elif not best or at[best] > time - WORTH_IT:
            best = ""
        picked.append((size, best))
    found: list[tuple[str, tuple[int, ...], int | None]] = []
    for at_, (size, name) in enumerate(picked):
        following = picked[at_ + 1][0] if at_ + 1 < len(picked) else None
        if name and found and found[-1][0] == name and found[-1][2] == size:
            found[-1] = (name, (*found[-1][1], size), following)
        elif name:
            found.append((name, (size,), following))
    return found


def judged(rules: Sequence[tuple[Rule, Rows, Rows]]) -> list[Rule]:
    """The rules with their verdicts, all corrected together; each with launches with the rule, and without it."""
    sides = [(_means(with_it, rule.sizes), _means(without, rule.sizes)) for rule, with_it, without in rules]
    known = [at for at, (a, b) in enumerate(sides) if a and b]
    p_values = dict(zip(known, holm([rank_sum_p_value(*sides[at]) for at in known]), strict=True))
    verdicts = []
    for at, (rule, _, _) in enumerate(rules):
        if at not in p_values:
            verdicts.append(rule)
            continue
        a, b = sides[at]
        shift, low, high, coverage = shift_interval(a, b)
        verdict = decide(low, high, coverage, p_values[at], MARGIN)
        verdicts.append(
            replace(
                rule,
                verdict=verdict,
                ratio=math.exp(shift),
                low=math.exp(low),
                high=math.exp(high),
                launches=min(len(a), len(b)),
            )
        )
    return verdicts


def _means(rows: Rows, sizes: Iterable[int]) -> list[float]:
    """Per launch that measured all these sizes, the mean."""
    wanted = list(sizes)
    return [statistics.fmean(row[size] for size in wanted) for row in rows if all(size in row for size in wanted)]


def file_text(rules: Sequence[Rule], about: Iterable[str]) -> str:
    """The file: what it is `about` as comments, then a rule a line. Only rules that hold."""
    lines = [f"# {line}" for line in about]
    for rule in rules:
        if rule.holds:
            gain = f"{rule.ratio:.2f} ({rule.low:.2f} to {rule.high:.2f}) of the time, {rule.launches} launches"
            lines.append(f"{rule.text()}  # {gain}")
    if not any(rule.holds for rule in rules):
        lines.append("# Nothing here is certainly quicker than what the library chooses itself.")
    return "\n".join(lines) + "\n"
