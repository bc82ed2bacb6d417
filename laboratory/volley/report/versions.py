# SPDX-License-Identifier: BSD-3-Clause
"""versions.html: what was concluded about versions, with box plots of every launch and of launch medians."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from volley import units
from volley.compare.summary import failures
from volley.compare.version_text import factor, heading, interval, measured, sections, share, times
from volley.compare.versions import PATHOLOGICAL, Change, Conclusions, Lineage, Value
from volley.data.results import LaunchBox
from volley.report import facts, style
from volley.report.data import ReportData
from volley.report.page import inline_file, template_environment
from volley.report.plots import DOTS_PER_INCH, INK, MUTED, RULE, quiet_frame
from volley.sizes import format_size

MOST_PANELS = 12
"""Sizes in one picture."""
ROOM_ABOVE = 3.0
"""The frame ends at so many times the highest box: one interrupted operation would flatten all boxes."""
LINEAR_BELOW = 3.0
"""Values within this factor stand on a linear axis."""

Pictures = Mapping[str, Figure]


def write_versions(
    data: ReportData, found: Sequence[Lineage], conclusions: Sequence[Conclusions], folder: Path
) -> Path:
    """Writes versions.html, and its pictures as PNG and SVG into plots/; the page."""
    plots = folder / "plots"
    plots.mkdir(parents=True, exist_ok=True)
    parts = []
    for lineage, one in zip(found, conclusions, strict=True):
        pictures = []
        for name, (title, caption, figure) in _pictures(data, lineage).items():
            for kind in ("png", "svg"):
                (plots / f"{_file_part(lineage, one, len(found))}-{name}.{kind}").write_bytes(_image(figure, kind))
            svg = base64.b64encode(_image(figure, "svg")).decode()
            pictures.append({"title": title, "caption": caption, "svg": svg})
        parts.append(_part(data, one, pictures))
    page = folder / "versions.html"
    text = (
        template_environment()
        .get_template("versions.html.j2")
        .render(
            title=data.study.title or "Versions compared",
            study=data.study,
            css=inline_file("report.css"),
            started=facts.readable_moment(data.study.created),
            machine=facts.machine_line(data.study.environment),
            measured=facts.measured_line(data.study, data.curves),
            parts=parts,
            missing=[system for system in data.study.systems if system.status != "ready"],
            failures=failures(data.study),
            pathological=f"{PATHOLOGICAL:g}",
            run_again=facts.run_again(data.study),
        )
    )
    page.write_text(text, encoding="utf-8")
    return page


def _part(data: ReportData, one: Conclusions, pictures: Sequence[dict[str, str]]) -> dict[str, Any]:
    return {
        "heading": heading(one, data.tests),
        "measured": measured(one),
        "sections": sections(one),
        "places": one.places,
        "medians": median_rows(one),
        "factors": [factor(next((span for span in one.spans if span.place == at), None)) for at in one.places],
        "steps": _steps(one),
        "margin": share(one.margin),
        "pictures": pictures,
    }


def median_rows(one: Conclusions) -> list[dict[str, Any]]:
    """Per version its time at every place, the ends of each column marked where they can be told apart."""
    values = {(value.version, value.place): value for value in one.values}
    ends = {(span.before, span.place): "fastest" for span in one.spans if span.claimed}
    ends |= {(span.after, span.place): "slowest" for span in one.spans if span.claimed}
    return [
        {
            "version": version,
            "cells": [_cell(values.get((version, place)), ends.get((version, place), "")) for place in one.places],
        }
        for version in one.versions
    ]


def _cell(value: Value | None, mark: str) -> dict[str, str]:
    if value is None:
        return {"text": "–", "mark": "", "detail": "not measured"}
    detail = f"{units.format_time(value.low_ns)} … {units.format_time(value.high_ns)}, {value.launches} launches"
    return {"text": units.format_time(value.value_ns), "mark": mark, "detail": detail}


def _steps(one: Conclusions) -> list[dict[str, Any]]:
    """Per pair of neighbours a row, per place its ratio."""
    known = {(at.before, at.after, at.place): at for at in one.neighbours}
    pairs = list(zip(one.versions, one.versions[1:], strict=False))
    return [
        {
            "name": f"{before} → {after}",
            "cells": [_step(known.get((before, after, place))) for place in one.places],
        }
        for before, after in pairs
    ]


def _step(one: Change | None) -> dict[str, str]:
    if one is None:
        return {"text": "–", "mark": "", "detail": "not measured in both"}
    mark = one.verdict if one.claimed or one.verdict in ("SAME", "UNDECIDED") else "SMALL"
    sign = {"UNDECIDED": " ?", "SAME": " ="}.get(mark, "")
    detail = f"{one.verdict}: {interval(one)}, p {one.p_value:.2g}"
    return {"text": times(one.ratio) + sign, "mark": mark, "detail": detail}


def _file_part(lineage: Lineage, one: Conclusions, count: int) -> str:
    parts = ["versions"] + ([one.family, one.transport, one.test, one.variant, f"n{one.ranks}"] if count > 1 else [])
    return re.sub(r"[^A-Za-z0-9.-]+", "_", "-".join(part for part in parts if part not in ("", "-")))


def _pictures(data: ReportData, lineage: Lineage) -> dict[str, tuple[str, str, Figure]]:
    """Title, caption and figure of each picture by name."""
    looks = style.looks(style.facts_of(one.system, data.study.systems) for one in lineage.versions)
    colours = {one.system: looks[one.system].light for one in lineage.versions}
    found = {}
    boxes = [
        box
        for box in data.boxes
        if (box.test, box.variant, box.ranks) == (lineage.test, lineage.variant, lineage.ranks)
        and box.system in colours
    ]
    if boxes:
        found["launches"] = (
            "Every launch",
            "One box per launch: half of its operations lie within, the line marks their median, the thin line reaches "
            "from the fastest to the slowest (cut at the frame). Boxes of one version that stand at different heights "
            "mean that its launches differ.",
            _launches_figure(lineage, boxes, colours),
        )
    found["medians"] = (
        "Medians of launches",
        "One point per launch: the median of its operations. The box holds the middle half of the launches.",
        _medians_figure(lineage, colours),
    )
    return found


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), dpi=DOTS_PER_INCH, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _image(figure: Figure, kind: str) -> bytes:
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "volley", "svg.fonttype": "path"}):
        figure.savefig(buffer, format=kind, dpi=DOTS_PER_INCH, metadata={"Date": None} if kind == "svg" else {})
    return buffer.getvalue()


def _launches_figure(lineage: Lineage, boxes: Sequence[LaunchBox], colours: Mapping[str, str]) -> Figure:
    """One panel per size below the other; in each, all launches of every version side by side."""
    sizes = sorted({box.size for box in boxes})[:MOST_PANELS]
    figure = _figure(12.5, 0.9 + 1.55 * len(sizes))
    panels = figure.subplots(len(sizes), 1, sharex=True, squeeze=False)[:, 0]
    for panel, size in zip(panels, sizes, strict=True):
        here = [box for box in boxes if box.size == size]
        start, middles = 0, []
        for version in lineage.versions:
            own = sorted((box for box in here if box.system == version.system), key=lambda box: box.launch)
            _draw_boxes(panel, start, own, colours[version.system])
            room = max(1, sum(1 for box in boxes if box.system == version.system) // len(sizes))
            middles.append(start + (room - 1) / 2)
            start += room + 2
            panel.axvline(start - 1.5, color=RULE, linewidth=0.8)
        panel.set_xlim(-1.5, start - 1.5)
        low, high = min(box.minimum for box in here), max(box.maximum for box in here)
        _time_axis(panel, low / 1.1, min(high * 1.1, ROOM_ABOVE * max(box.q3 for box in here)), format_size(size))
        panel.set_xticks(middles, [one.label for one in lineage.versions])
    return figure


def _draw_boxes(panel: Any, start: int, boxes: Sequence[LaunchBox], colour: str) -> None:
    """Whiskers, boxes and medians of one version; a collection each, since there may be thousands."""
    half = 0.4
    whiskers = [[(start + at, box.minimum), (start + at, box.maximum)] for at, box in enumerate(boxes)]
    bodies = [
        [(start + at + dx, y) for dx, y in ((-half, box.q1), (half, box.q1), (half, box.q3), (-half, box.q3))]
        for at, box in enumerate(boxes)
    ]
    medians = [[(start + at - half, box.median), (start + at + half, box.median)] for at, box in enumerate(boxes)]
    panel.add_collection(LineCollection(whiskers, colors=colour, linewidths=0.6, alpha=0.6))
    panel.add_collection(PolyCollection(bodies, facecolors=colour, edgecolors=colour, linewidths=0.8, alpha=0.55))
    panel.add_collection(LineCollection(medians, colors=INK, linewidths=1.3))


def _medians_figure(lineage: Lineage, colours: Mapping[str, str]) -> Figure:
    """One panel per place: launch medians of every version, their box, and their points."""
    places = lineage.places[:MOST_PANELS]
    columns = min(3, len(places))
    rows = -(-len(places) // columns)
    figure = _figure(12.5, 0.5 + 2.9 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel, place in zip(panels, places, strict=False):
        table = lineage.table.filter(lineage.table["size"] == place.size)
        own = [table.filter(table["system"] == one.system)["value_ns"].to_list() for one in lineage.versions]
        for at, (version, values) in enumerate(zip(lineage.versions, own, strict=True)):
            _draw_medians(panel, at, sorted(values), colours[version.system])
        everything = [value for values in own for value in values]
        _time_axis(panel, min(everything) / 1.02, max(everything) * 1.02, "")
        panel.set_title(place.label, loc="left", fontsize=10, color=INK)
        panel.set_xticks(range(len(own)), [one.label for one in lineage.versions])
        panel.tick_params(
            axis="x", rotation=45 if max(len(one.label) for one in lineage.versions) * len(own) > 30 else 0
        )
        panel.set_xlim(-0.6, len(own) - 0.4)
    for panel in panels[len(places) :]:
        panel.set_visible(False)
    return figure


def _draw_medians(panel: Any, at: int, values: Sequence[float], colour: str) -> None:
    if not values:
        return
    panel.boxplot(
        [values], positions=[at], widths=0.6, showfliers=False, patch_artist=True, manage_ticks=False,
        boxprops={"facecolor": colour, "edgecolor": colour, "alpha": 0.45},
        medianprops={"color": INK, "linewidth": 1.4},
        whiskerprops={"color": colour}, capprops={"color": colour},
    )  # fmt: skip
    step = 0.44 / max(1, len(values) - 1)
    panel.plot(
        [at - 0.22 + step * (place * 7 % len(values)) for place in range(len(values))], values, linestyle="",
        marker="o", markersize=2.2, color=INK, alpha=0.6, markeredgewidth=0,
    )  # fmt: skip


def _time_axis(panel: Any, low: float, high: float, title: str) -> None:
    """Times on a logarithmic axis, or a linear one where they hardly differ."""
    panel.set_ylim(low, high)
    if high < LINEAR_BELOW * low:
        panel.yaxis.set_major_formatter(lambda value, _: units.short(units.format_time(value)))
    else:
        panel.set_yscale("log")
        panel.set_ylim(low, high)
        ticks = units.log_ticks(low, high, 6)
        panel.yaxis.set_major_locator(FixedLocator(ticks))
        panel.yaxis.set_minor_locator(NullLocator())
        panel.set_yticklabels([units.short(units.format_time(tick)) for tick in ticks])
    panel.grid(axis="y", color=RULE, linewidth=0.7, zorder=0)
    panel.set_ylabel(title, color=MUTED, fontsize=9)
    quiet_frame(panel)
