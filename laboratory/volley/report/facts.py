# SPDX-License-Identifier: BSD-3-Clause
"""The report's words and tables that need no script: what was measured, what was not, and how."""

from __future__ import annotations

import json
import shlex
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from volley import units
from volley.data.results import STATUSES, Curve, Launch, Point, Study
from volley.report import style

GLANCE_SIZES = (1, 64, 1 << 10, 1 << 13, 1 << 16, 1 << 17, 1 << 20, 1 << 23)
"""Columns of the table at the top: small, around the usual limits, and large."""
STOPPED = {
    "precise": "every interval is narrow enough",
    "budget": "the time was up",
    "failed": "it failed",
    "limit": "the most launches allowed were made",
}


@dataclass(frozen=True)
class GlanceCell:
    """One number of the table of times. None is marked as best: the table above it says that, and how sure it is."""

    text: str
    detail: str


def main_test(curves: Iterable[Curve]) -> str:
    """The test whose curves stand for the study at first sight: pingpong, or the first there is; ""."""
    names = list(dict.fromkeys(curve.test for curve in curves if curve.points))
    chosen = [name for name in names if name == "pingpong"] or names
    return chosen[0] if chosen else ""


def glance(curves: Sequence[Curve], test: str) -> dict[str, Any]:
    """Columns and rows of the table at the top: time by system for a few sizes of one test."""
    shown = [curve for curve in curves if curve.test == test and curve.points]
    points = [{point.x: point for point in curve.points} for curve in shown]
    present = Counter(x for one in points for x in one)
    wanted = [size for size in GLANCE_SIZES if present[size] * 2 > len(shown)]
    if not wanted:
        wanted = sorted(x for x, _ in present.most_common(6))
    rows = []
    for curve, own in zip(shown, points, strict=True):
        label = curve.label + (f" · {curve.ranks} ranks" if len({one.ranks for one in shown}) > 1 else "")
        cells = [_glance_cell(own.get(x)) for x in wanted]
        rows.append({"label": label, "cells": cells})
    return {"columns": wanted, "rows": rows}


def _glance_cell(point: Point | None) -> GlanceCell:
    if point is None:
        return GlanceCell("–", "not measured")
    interval = f"{units.format_time(point.low_ns)} … {units.format_time(point.high_ns)}"
    return GlanceCell(units.format_time(point.value_ns), interval)


def machine_line(environment: dict[str, Any]) -> str:
    """The machine in one line: processor, cores, memory, kernel."""
    parts = [str(environment["cpu"])] if environment.get("cpu") else []
    if environment.get("cores"):
        parts.append(f"{environment['cores']} cores" if environment["cores"] != 1 else "1 core")
    if isinstance(environment.get("memory_bytes"), int | float):
        parts.append(f"{environment['memory_bytes'] / (1 << 30):.3g} GiB memory")
    parts += [str(environment[key]) for key in ("kernel", "libc") if environment.get(key)]
    return " · ".join(parts)


def readable_moment(text: str) -> str:
    """``21 November 2026, 10:00 UTC`` of an ISO 8601 moment; what cannot be read stays as it is."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    zone = f" {moment.tzname()}" if moment.tzinfo else ""
    return f"{moment.day} {moment:%B %Y, %H:%M}{zone}"


def measured_line(study: Study, curves: Sequence[Curve]) -> str:
    """How much was measured, in one line."""
    systems = {curve.system for curve in curves if curve.system != style.MACHINE}
    tests = {curve.test for curve in curves}
    operations = sum(launch.operations for launch in study.launches)
    parts = [
        _counted(len(systems), "system"),
        _counted(len(tests), "test"),
        _counted(len(study.launches), "launch", "launches"),
        f"{operations:,} operations timed one by one",
    ]
    seconds = sum(launch.seconds for launch in study.launches)
    if seconds:
        parts.append(f"{seconds / 60:.0f} min of launches" if seconds >= 90 else f"{seconds:.0f} s of launches")
    return " · ".join(parts)


def _counted(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def troubled_launches(launches: Iterable[Launch]) -> list[dict[str, Any]]:
    """Launches that were not simply measured, those of one kind together, worst first."""
    groups: dict[tuple[str, str, str, str], list[int]] = {}
    for launch in launches:
        if launch.status != "measured":
            key = (launch.status, launch.system, launch.test, launch.reason)
            groups.setdefault(key, []).append(launch.number)
    order = ["wrong bytes", *STATUSES]
    return [
        {
            "status": status,
            "system": system,
            "test": test,
            "reason": reason,
            "numbers": numbers,
            "meaning": STATUSES.get(status, ""),
        }
        for (status, system, test, reason), numbers in sorted(
            groups.items(), key=lambda one: order.index(one[0][0]) if one[0][0] in order else len(order)
        )
    ]


def late_receivers(launches: Iterable[Launch]) -> list[dict[str, Any]]:
    """Per system, the largest blocking send that returns while its receiver is outside MPI."""
    limits: dict[str, list[dict[str, Any]]] = {}
    for launch in launches:
        for fact in launch.facts:
            if fact.get("fact") == "limit" and "largest_returning" in fact:
                variant = str(fact.get("variant", "-"))
                label = launch.system if variant == "-" else f"{launch.system} · {variant}"
                limits.setdefault(label, []).append(fact)
    rows = []
    for label, facts in limits.items():
        returning = sorted({int(fact["largest_returning"]) for fact in facts})
        blocking = sorted({int(fact["smallest_blocking"]) for fact in facts if fact.get("smallest_blocking")})
        rows.append(
            {
                "label": label,
                "launches": len(facts),
                "returning": _span(returning),
                "sort": returning[0],
                "blocking": _span(blocking) if blocking else "none found",
                "stands": _median_time(facts, "sender_stands_ns"),
                "absent": _median_time(facts, "receiver_absent_ns"),
            }
        )
    return rows


def _span(values: Sequence[int]) -> str:
    first, last = values[0], values[-1]
    return f"{first:,}" if first == last else f"{first:,} – {last:,}"


def _median_time(facts: Sequence[dict[str, Any]], key: str) -> str:
    values = [float(fact[key]) for fact in facts if fact.get(key) is not None]
    return units.format_time(statistics.median(values)) if values else "–"


def coverage_rows(curves: Iterable[Curve]) -> list[dict[str, Any]]:
    """For each number of launches: what the interval covers, how many points, and how wide in the middle."""
    groups: dict[tuple[int, float], list[float]] = {}
    for curve in curves:
        for point in curve.points:
            width = (point.high_ns - point.low_ns) / 2 / point.value_ns if point.value_ns else 0.0
            groups.setdefault((point.launches, round(point.coverage, 4)), []).append(width)
    return [
        {"launches": launches, "coverage": coverage, "points": len(widths), "width": statistics.median(widths)}
        for (launches, coverage), widths in sorted(groups.items())
    ]


def environment_rows(environment: dict[str, Any]) -> list[tuple[str, str]]:
    """The environment as names and values, words instead of underscores."""
    return [(key.replace("_", " "), _as_text(key, value)) for key, value in environment.items()]


def _as_text(key: str, value: Any) -> str:
    if key == "caches" and isinstance(value, list):
        return "; ".join(_cache_text(cache) for cache in value)
    if key.endswith("bytes") and isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list) and all(isinstance(one, str | int | float) for one in value):
        return ", ".join(str(one) for one in value)
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _cache_text(cache: Any) -> str:
    if not isinstance(cache, dict):
        return str(cache)
    size = units.tick_size(int(cache.get("bytes") or 0))
    return f"L{cache.get('level', '?')} {str(cache.get('type', '')).lower()} {size}"


def launch_rows(launches: Iterable[Launch]) -> list[dict[str, Any]]:
    """All launches, their lists and dictionaries as text."""
    return [
        {
            "launch": launch,
            "affinity": " ".join(",".join(map(str, cpus)) for cpus in launch.affinity),
            "counters": ", ".join(f"{key} {value:g}" for key, value in launch.counters.items() if value),
            "facts": _shortened("; ".join(_fact_text(fact) for fact in launch.facts)),
        }
        for launch in launches
    ]


def _fact_text(fact: dict[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in fact.items())


def _shortened(text: str, longest: int = 240) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def overhead_line(launches: Sequence[Launch]) -> str:
    """What the recording of one operation costs, at worst."""
    worst = max(launches, key=lambda launch: launch.overhead_ns, default=None)
    if worst is None or not worst.overhead_ns:
        return ""
    return (
        f"Recording one operation cost at most {worst.overhead_ns:.1f} ns (launch {worst.number}, "
        f"{worst.test} on {worst.system})."
    )


def run_again(study: Study) -> str:
    """The command that measures the same again, as a shell reads it."""
    return shlex.join(study.command) if study.command else ""
