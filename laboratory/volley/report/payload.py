# SPDX-License-Identifier: BSD-3-Clause
"""The numbers inside the page: what report.js draws, small enough that the page stays below 5 MB."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from volley.benchmarks import TRAFFIC
from volley.data.results import Curve, LaunchBox, Stream, Study
from volley.report import style
from volley.sizes import format_size

MESSAGES_PER_STREAM = 4000
"""A picture of more cells cannot be told apart on a screen."""
STREAM_NUMBERS = 150_000
"""In all streams together: about 0.7 MB of the page."""
BOXES = 12_000
"""About 0.5 MB of the page."""


def payload(
    study: Study,
    curves: Sequence[Curve],
    streams: Sequence[Stream],
    boxes: Sequence[LaunchBox],
    touched: Mapping[tuple[str, str, str, int], Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Everything report.js draws, as JSON knows it. `touched`: what the machine did, by system, test, variant
    and ranks.
    """
    tests = described_tests(study, curves, streams, boxes)
    kept_streams = _kept_streams(streams)
    kept_boxes = _kept_boxes(boxes)
    return {
        "title": study.title,
        "tests": tests,
        "systems": _systems(study, [*curves, *streams, *boxes]),
        "caches": caches(study),
        "ceilings": style.CEILINGS,
        "curves": [
            _curve(curve, tests[curve.test])
            | {"touched": list((touched or {}).get((curve.system, curve.test, curve.variant, curve.ranks), ()))}
            for curve in curves
            if curve.points
        ],
        "streams": [_stream(stream) for stream in kept_streams],
        "streams_left_out": len(streams) - len(kept_streams),
        "boxes": _grouped_boxes(kept_boxes),
        "boxes_left_out": len(boxes) - len(kept_boxes),
    }


def as_json(data: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end that element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def described_tests(
    study: Study,
    curves: Iterable[Curve] = (),
    streams: Iterable[Stream] = (),
    boxes: Iterable[LaunchBox] = (),
) -> dict[str, dict[str, Any]]:
    """Each test's description; for tests the study does not describe (imported data), its name alone."""
    wanted = ("title", "summary", "source", "axis", "operation", "scale", "statistic", "traffic", "ranks", "pattern")
    found = {
        str(test["name"]): {key: test[key] for key in wanted if key in test} for test in study.tests if "name" in test
    }
    users: Iterable[Curve | Stream | LaunchBox] = itertools.chain(curves, streams, boxes)
    for one in users:
        found.setdefault(one.test, {})
    for name, test in found.items():
        test["title"] = test.get("title") or name
        test.setdefault("summary", "")
        test.setdefault("axis", "size")
        test.setdefault("traffic", "none")
        test["ranks"] = list(test.get("ranks", ()))
        test["point_to_point"] = test["ranks"] == [2] and test["axis"] == "size" and test.get("pattern") != "machine"
    return found


def traffic_per_byte(test: dict[str, Any], ranks: int) -> float:
    """Bytes that one operation moves for each byte of its size; 0 where a bandwidth has no meaning."""
    rule = TRAFFIC.get(test.get("traffic", "none"), TRAFFIC["none"])
    if test.get("axis") == "ranks" or ranks < 1:
        return 0.0
    # Every rule is proportional to the size; asked at a large one so that a rule rounding to bytes is too.
    return rule(1 << 20, ranks) / (1 << 20)


def caches(study: Study) -> list[dict[str, Any]]:
    """Data caches of the machine: label and bytes, smallest first."""
    found: dict[int, str] = {}
    listed = study.environment.get("caches")
    for cache in listed if isinstance(listed, list) else []:
        if isinstance(cache, dict) and cache.get("type") != "Instruction" and cache.get("bytes"):
            found[int(cache["bytes"])] = f"L{cache.get('level', '?')} {format_size(int(cache['bytes']))}"
    return [{"bytes": size, "label": label} for size, label in sorted(found.items())]


def number(value: float | None) -> float | int | None:
    """A measured number with the seven digits that float32 samples have; None for what is no number."""
    if value is None or not math.isfinite(value):
        return None
    short = float(f"{value:.7g}")
    return int(short) if short.is_integer() else short


def _column(values: Iterable[float]) -> Any:
    """A list of numbers, or the one number they all are."""
    numbers = [number(value) for value in values]
    return numbers[0] if len(set(numbers)) == 1 else numbers


def _curve(curve: Curve, test: dict[str, Any]) -> dict[str, Any]:
    points = sorted(curve.points, key=lambda point: point.x)
    return {
        "system": curve.system,
        "test": curve.test,
        "variant": curve.variant,
        "ranks": curve.ranks,
        "traffic": number(traffic_per_byte(test, curve.ranks)),
        "x": [point.x for point in points],
        "y": [number(point.value_ns) for point in points],
        "low": [number(point.low_ns) for point in points],
        "high": [number(point.high_ns) for point in points],
        "coverage": _column(point.coverage for point in points),
        "launches": _column(point.launches for point in points),
        "operations": _column(point.operations for point in points),
        "fastest": [number(point.fastest_ns) for point in points],
        "slowest": [number(point.slowest_ns) for point in points],
    }


def _systems(study: Study, users: Iterable[Curve | Stream | LaunchBox]) -> list[dict[str, str]]:
    used = dict.fromkeys(one.system for one in users)
    order = [facts.name for facts in study.systems if facts.name in used]
    facts = [style.facts_of(name, study.systems) for name in dict.fromkeys([*order, *used])]
    appearance = style.looks(facts)
    return [
        {
            "name": one.name,
            "family": one.family,
            "transport": one.transport,
            "light": appearance[one.name].light,
            "dark": appearance[one.name].dark,
            "dash": appearance[one.name].dash,
        }
        for one in facts
    ]


def _kept_streams(streams: Sequence[Stream]) -> list[Stream]:
    """The first launch of every cell, then the second..., while the page has room; in the order given."""
    seen: dict[tuple[str, str, str, int], int] = {}
    turns = []
    for index, stream in enumerate(streams):
        cell = (stream.system, stream.test, stream.variant, stream.size)
        seen[cell] = seen.get(cell, -1) + 1
        turns.append((seen[cell], index))
    kept, room = [], STREAM_NUMBERS
    for _, index in sorted(turns):
        sides = (streams[index].sender_gaps_ns, streams[index].receiver_gaps_ns)
        room -= sum(min(len(side), MESSAGES_PER_STREAM) for side in sides if side is not None)
        if room < 0:
            break
        kept.append(index)
    return [streams[index] for index in sorted(kept)]


def _stream(stream: Stream) -> dict[str, Any]:
    return {
        "system": stream.system,
        "test": stream.test,
        "variant": stream.variant,
        "size": stream.size,
        "launch": stream.launch,
        "sender": _gaps(stream.sender_gaps_ns),
        "receiver": _gaps(stream.receiver_gaps_ns),
        "messages": max(
            len(side) if side is not None else 0 for side in (stream.sender_gaps_ns, stream.receiver_gaps_ns)
        ),
    }


def _gaps(gaps: Sequence[float] | None) -> list[int | None] | None:
    if gaps is None:
        return None
    return [round(gap) if math.isfinite(gap) else None for gap in gaps[:MESSAGES_PER_STREAM]]


def _kept_boxes(boxes: Sequence[LaunchBox]) -> list[LaunchBox]:
    """All boxes, or, where they are too many for the page, those of fewer sizes: powers of 2, 4, 16, 256."""
    kept = list(boxes)
    for step in (1, 2, 4, 8):
        if len(kept) <= BOXES:
            break
        sizes = {0, *(1 << exponent for exponent in range(0, 63, step))}
        kept = [box for box in kept if box.size in sizes]
    return kept[:BOXES]


def _grouped_boxes(boxes: Iterable[LaunchBox]) -> list[dict[str, Any]]:
    """Boxes of one picture together: same test, variant, ranks and size."""
    pictures: dict[tuple[str, str, int, int], list[list[Any]]] = {}
    for box in boxes:
        numbers = [number(one) for one in (box.minimum, box.q1, box.median, box.q3, box.maximum)]
        if None not in numbers:
            row = [box.system, box.launch, *numbers]
            pictures.setdefault((box.test, box.variant, box.ranks, box.size), []).append(row)
    return [
        {"test": test, "variant": variant, "ranks": ranks, "size": size, "boxes": rows}
        for (test, variant, ranks, size), rows in sorted(pictures.items())
    ]
