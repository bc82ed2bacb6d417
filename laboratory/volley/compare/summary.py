# SPDX-License-Identifier: BSD-3-Clause
"""A study in a few sentences that its intervals bear out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from volley.benchmarks import Test
from volley.data.results import Curve, Point, Study
from volley.sizes import format_size
from volley.units import format_ratio, format_time

LOOKS: tuple[tuple[str, int, int], ...] = (
    ("pingpong", 2, 8),
    ("pingpong", 2, 65536),
    ("pingpong", 2, 8388608),
    ("allreduce", 2, 8),
    ("barrier", 2, 0),
    ("alltoall", 2, 65536),
)
"""Test, ranks and size that the first lines speak of, where they were measured."""


LEAST_LAUNCHES = 3
"""Fewer are no ground for a ranking."""


def _apart(a: Point, b: Point) -> bool:
    """Whether the two intervals do not overlap, and both rest on enough launches."""
    return min(a.launches, b.launches) >= LEAST_LAUNCHES and (a.high_ns < b.low_ns or b.high_ns < a.low_ns)


def _ranking(curves: Iterable[Curve], test: str, ranks: int, size: int) -> list[tuple[Point, str]]:
    """Systems by time at one point, fastest first."""
    found = []
    for curve in curves:
        if curve.test == test and curve.ranks == ranks and curve.variant == "-":
            found += [(point, curve.system) for point in curve.points if point.x == size]
    return sorted(found, key=lambda pair: pair[0].value_ns)


def _fastest(curves: Sequence[Curve], tests: Mapping[str, Test], test: str, ranks: int, size: int) -> str | None:
    """One sentence on who is fastest, by how much, and whether that can be told."""
    order = _ranking(curves, test, ranks, size)
    if len(order) < 2:
        return None
    (best, name), (second, other) = order[0], order[1]
    what = tests[test].title if test in tests else test
    where = f"{what}{f', {format_size(size)}' if size else ''}, {ranks} ranks"
    if _apart(best, second):
        ratio = format_ratio(second.value_ns / best.value_ns, 2)
        text = f"{where}: {name} is fastest with {format_time(best.value_ns)}; "
        text += f"{other} takes {ratio} times as long ({format_time(second.value_ns)})"
    else:
        few = min(best.launches, second.launches)
        reason = "cannot be told apart by their intervals"
        if few < LEAST_LAUNCHES:
            reason = f"are nearest the front, by {few} launch{'es' if few > 1 else ''} only: no ranking"
        text = f"{where}: {name} ({format_time(best.value_ns)}) and {other} ({format_time(second.value_ns)}) " + reason
    if len(order) > 2:
        last, slowest = order[-1]
        text += f"; {slowest} takes {format_ratio(last.value_ns / best.value_ns, 2)} times as long"
    return text + "."


def _limits(study: Study) -> list[str]:
    """What late_receiver found, one sentence for all systems."""
    found: dict[str, set[int]] = {}
    for launch in study.launches:
        for fact in launch.facts:
            if fact.get("fact") == "limit" and fact.get("largest_returning") is not None:
                found.setdefault(launch.system, set()).add(int(fact["largest_returning"]))
    if not found:
        return []
    parts = [
        f"{system} {' or '.join(f'{limit:,}' for limit in sorted(limits))}" for system, limits in sorted(found.items())
    ]
    return ["Largest blocking send (bytes) that returns while the receiver is outside MPI: " + "; ".join(parts) + "."]


SHOWN_FAILURES = 6


def failures(study: Study) -> list[str]:
    """The launches that did not end well, one line each, at most SHOWN_FAILURES; what is left is counted."""
    bad = [launch for launch in study.launches if launch.status not in ("measured", "not measured")]
    lines = [
        f"{launch.status}: {launch.test} on {launch.system}, launch {launch.number}: {launch.reason}"
        for launch in bad[:SHOWN_FAILURES]
    ]
    if len(bad) > SHOWN_FAILURES:
        lines.append(f"{len(bad) - SHOWN_FAILURES} more launches did not end well; the report's table names them")
    return lines


def summarise(study: Study, curves: Sequence[Curve], tests: Mapping[str, Test]) -> list[str]:
    """Sentences for the top of the report and the end of the terminal's output."""
    sentences = [
        text for test, ranks, size in LOOKS if (text := _fastest(curves, tests, test, ranks, size)) is not None
    ]
    sentences += _limits(study)
    overhead = max((launch.overhead_ns for launch in study.launches), default=0.0)
    if overhead:
        sentences.append(f"Recording one operation costs {overhead:.1f} ns at most (measured in every launch).")
    narrow = sum(cell.stopped == "precise" for cell in study.cells)
    if study.cells:
        sentences.append(
            f"{narrow} of {len(study.cells)} cells reached the wanted precision; "
            "the others stopped when the time was up or their launches were used."
        )
    return sentences
