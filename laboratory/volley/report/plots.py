# SPDX-License-Identifier: BSD-3-Clause
"""The curves of each test as PNG and SVG, with the page's colours, dashes, ticks and reference lines."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from volley import units
from volley.data.results import Curve, Study
from volley.report import style
from volley.report.payload import caches, described_tests, traffic_per_byte

DOTS_PER_INCH = 110
INK, MUTED, RULE = "#1d232b", "#5f6670", "#dfe3e8"
CURVES_IN_LEGEND = 26
"""More do not fit beside the plot."""

LINES: dict[str, Any] = {
    "solid": "-",
    "dash": (0, (5, 2.5)),
    "dot": (0, (1.2, 1.8)),
    "dashdot": (0, (5, 2, 1.2, 2)),
    "longdash": (0, (9, 3)),
    "longdashdot": (0, (9, 3, 1.2, 3)),
}
MARKERS = "osD^vPX*<>"
QUANTITIES = {"time": "Time of one operation", "bandwidth": "Bandwidth (decimal units)"}

Row = tuple[float, float, float, float]
"""x, value, low, high"""


def write_plots(study: Study, curves: Sequence[Curve], folder: Path) -> list[Path]:
    """``TEST-time`` and ``TEST-bandwidth`` as PNG and SVG for every test with curves; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    canvas = _Canvas(study, curves)
    written = []
    for test in dict.fromkeys(curve.test for curve in curves if curve.points):
        for quantity in QUANTITIES:
            if not canvas.draw(test, quantity):
                continue
            for kind in ("png", "svg"):
                file = folder / f"{_file_part(test)}-{quantity}.{kind}"
                file.write_bytes(canvas.image(kind))
                written.append(file)
    return written


def preview(study: Study, curves: Sequence[Curve], test: str) -> bytes:
    """The time of one test as SVG: what the page shows before, or without, its script. b"" if no curve."""
    own = [curve for curve in curves if curve.test == test]
    canvas = _Canvas(study, own[:CURVES_IN_LEGEND] + ceilings(curves))
    return canvas.image("svg") if canvas.draw(test, "time") else b""


def ceilings(curves: Sequence[Curve]) -> list[Curve]:
    """What the machine can do without any MPI: reference lines in point-to-point plots."""
    own = [curve for curve in curves if curve.system == style.MACHINE and curve.test == style.CEILINGS_TEST]
    return [curve for curve in own if curve.points]


def _file_part(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip(".") or "test"


class _Canvas:
    """One figure, drawn over and over: making a new one costs more than drawing."""

    def __init__(self, study: Study, curves: Sequence[Curve]) -> None:
        self.curves = [curve for curve in curves if curve.points]
        self.tests = described_tests(study, self.curves)
        self.caches = caches(study)
        names = dict.fromkeys([facts.name for facts in study.systems])
        names.update(dict.fromkeys(curve.system for curve in self.curves))
        self.order = list(names)
        self.looks = style.looks(style.facts_of(name, study.systems) for name in names)
        self.figure = Figure(figsize=(10.4, 5.2), dpi=DOTS_PER_INCH, facecolor="white")
        FigureCanvasAgg(self.figure)

    def draw(self, test: str, quantity: str) -> bool:
        """Draws one picture; False where there is nothing to draw in it."""
        shown = [curve for curve in self.curves if curve.test == test]
        shown.sort(key=lambda curve: (self.order.index(curve.system), curve.variant, curve.ranks))
        rows = [(curve, self._rows(curve, quantity)) for curve in shown]
        rows = [(curve, points) for curve, points in rows if points]
        if not rows:
            return False
        self.figure.clear()
        axes = self.figure.add_axes((0.08, 0.11, 0.6, 0.78))
        described = self.tests[test]
        if len({point[0] for _, points in rows for point in points}) == 1:
            self._draw_single(axes, rows, quantity)
        else:
            self._draw_curves(axes, rows, described, quantity)
        axes.set_title(f"{described['title']}: {QUANTITIES[quantity].lower()}", loc="left", color=INK, pad=12)
        return True

    def image(self, kind: str) -> bytes:
        """What was drawn last, as "png" or "svg"; the same input gives the same bytes."""
        buffer = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {}
        with matplotlib.rc_context({"svg.hashsalt": "volley", "svg.fonttype": "path"}):
            self.figure.savefig(buffer, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
        return buffer.getvalue()

    def _rows(self, curve: Curve, quantity: str) -> list[Row]:
        points = [point for point in sorted(curve.points, key=lambda point: point.x) if point.value_ns > 0]
        if quantity == "time":
            return [(point.x, point.value_ns, point.low_ns, point.high_ns) for point in points]
        traffic = traffic_per_byte(self.tests[curve.test], curve.ranks)
        scale = traffic * 1e9
        return [
            (point.x, scale * point.x / point.value_ns, scale * point.x / point.high_ns, scale * point.x / point.low_ns)
            for point in points
            if traffic and point.x and point.low_ns > 0
        ]

    def _draw_curves(self, axes: Any, rows: list[tuple[Curve, list[Row]]], test: dict[str, Any], quantity: str) -> None:
        by_size = test["axis"] == "size"
        rows = [(curve, [row for row in points if row[0] > 0]) for curve, points in rows]
        kinds = list(dict.fromkeys((curve.variant, curve.ranks) for curve, _ in rows))
        one_system = len({curve.system for curve, _ in rows}) == 1
        for curve, points in rows:
            look, kind = self.looks[curve.system], kinds.index((curve.variant, curve.ranks))
            colour = variant_colour(kind) if one_system and len(kinds) > 1 else look.light
            x, y, low, high = zip(*points, strict=True) if points else ((), (), (), ())
            axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
            axes.plot(
                x, y, color=colour, linestyle=LINES[look.dash], linewidth=1.5, label=self._label(curve, kinds),
                marker=MARKERS[kind % len(MARKERS)], markersize=2.6, markeredgewidth=0,
            )  # fmt: skip
        xs = [row[0] for _, points in rows for row in points]
        values = [value for _, points in rows for row in points for value in row[1:]]
        values += self._flat_ceilings(test, quantity)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(min(xs) / 1.15, max(xs) * 1.15)
        axes.set_ylim(min(values) / 1.5, max(values) * 1.5)
        if by_size:
            self._mark_caches(axes)
        if test["point_to_point"]:
            self._draw_ceilings(axes, quantity)
        self._finish(axes, "Message size" if by_size else "Ranks", quantity, by_size)
        if len(rows) <= CURVES_IN_LEGEND:
            handles, labels = axes.get_legend_handles_labels()
            axes.legend(
                handles, labels, loc="upper left", bbox_to_anchor=(1.01, 1.01), frameon=False, fontsize=8,
                handlelength=3.2, labelcolor=INK,
            )  # fmt: skip

    def _draw_single(self, axes: Any, rows: list[tuple[Curve, list[Row]]], quantity: str) -> None:
        """One value per system: names down the side, the value and its interval across."""
        kinds = list(dict.fromkeys((curve.variant, curve.ranks) for curve, _ in rows))
        for place, (curve, points) in enumerate(rows):
            _, value, low, high = points[0]
            colour = self.looks[curve.system].light
            axes.plot((low, high), (place, place), color=colour, linewidth=5, alpha=0.3, solid_capstyle="butt")
            axes.plot((value,), (place,), color=colour, marker="o", markersize=6)
            axes.annotate(
                FORMATS[quantity](value), (high, place), (8, 0), textcoords="offset points", va="center",
                fontsize=8.5, color=INK,
            )  # fmt: skip
        values = [value for _, points in rows for value in points[0][1:]]
        axes.set_position((0.3, 0.11, 0.62, 0.78))
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 1.3, max(values) * 2)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        low, high = axes.get_xlim()
        ticks = units.log_ticks(low, high, 7)
        axes.xaxis.set_major_locator(FixedLocator(ticks))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticklabels([units.short(FORMATS[quantity](tick)) for tick in ticks])
        axes.set_yticks(range(len(rows)), [self._label(curve, kinds) for curve, _ in rows])
        axes.set_xlabel(QUANTITIES[quantity], color=MUTED)
        quiet_frame(axes)

    def _label(self, curve: Curve, kinds: list[tuple[str, int]]) -> str:
        ranks = len({ranks for _, ranks in kinds}) > 1 and curve.ranks
        label = curve.label + (f" · {curve.ranks} ranks" if ranks else "")
        return _plain(label if len(label) <= 44 else label[:43] + "…")

    def _mark_caches(self, axes: Any) -> None:
        low, high = axes.get_xlim()
        for cache in self.caches:
            if low < cache["bytes"] < high:
                axes.axvline(cache["bytes"], color="#c9ced6", linewidth=0.8, zorder=0)
                axes.annotate(
                    cache["label"], (cache["bytes"], 1), (3, -3), xycoords=("data", "axes fraction"),
                    textcoords="offset points", rotation=90, va="top", fontsize=7, color=MUTED,
                )  # fmt: skip

    def _flat_ceilings(self, test: dict[str, Any], quantity: str) -> list[float]:
        """Values of ceilings that do not depend on size: the axis is to reach them."""
        if not test["point_to_point"] or quantity != "time":
            return []
        return [one.points[0].value_ns for one in ceilings(self.curves) if len(one.points) == 1]

    def _draw_ceilings(self, axes: Any, quantity: str) -> None:
        low, high = axes.get_xlim()
        for number, curve in enumerate(ceilings(self.curves)):
            points = self._rows(curve, quantity)
            if len(points) == 1 and quantity == "time":
                points = [(low, *points[0][1:]), (high, *points[0][1:])]
            if len(points) > 1:
                x, y, *_ = zip(*points, strict=True)
                line = (0, (3 + 2 * number, 2))
                label = _plain(f"machine: {style.CEILINGS.get(curve.variant, curve.variant)}")
                axes.plot(x, y, color=MUTED, linestyle=line, linewidth=0.8, label=label, zorder=1)

    def _finish(self, axes: Any, x_title: str, quantity: str, by_size: bool) -> None:
        low, high = axes.get_xlim()
        ticks: Sequence[float] = units.size_ticks(low, high, 9)
        axes.xaxis.set_major_locator(FixedLocator(list(ticks)))
        axes.set_xticklabels([units.tick_size(int(tick)) if by_size else f"{tick:g}" for tick in ticks])
        bottom, top = axes.get_ylim()
        ticks = units.log_ticks(bottom, top, 9)
        axes.yaxis.set_major_locator(FixedLocator(list(ticks)))
        axes.set_yticklabels([units.short(FORMATS[quantity](tick)) for tick in ticks])
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_locator(NullLocator())
        axes.set_xlabel(x_title, color=MUTED)
        axes.grid(color=RULE, linewidth=0.7, zorder=0)
        quiet_frame(axes)


FORMATS: dict[str, Callable[[float], str]] = {"time": units.format_time, "bandwidth": units.format_rate}


def variant_colour(number: int) -> str:
    """Colours for the variants of a system that is alone in its plot."""
    palette = ["#0072b2", "#d55e00", "#009e73", "#aa3377", "#b8860b", "#332288", "#56a0d3", "#882255"]
    return palette[number % len(palette)]


def _plain(text: str) -> str:
    """Text that matplotlib does not read as mathematics or a private legend entry."""
    return text.replace("$", r"\$").lstrip("_") or "?"


def quiet_frame(axes: Any) -> None:
    """Only what is needed to read the values: a line below, no ticks."""
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8.5, labelcolor=INK)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color("#9aa1ab")
