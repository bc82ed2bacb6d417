# SPDX-License-Identifier: BSD-3-Clause
"""Findings as the page shows them: what is odd, why, how sure, what to do about it, and a picture of the proof."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from volley import units
from volley.benchmarks import all_tests
from volley.data.results import Curve
from volley.report.first_screen import cost_words
from volley.report.plots import INK, MUTED, RULE, quiet_frame
from volley.report.ranking import Ranked

MOST_PICTURES = 40
"""In one page: each takes 25 kB, and a page 5 MB at most."""
ARMS = ("#0072b2", "#d55e00", "#009e73", "#aa3377", "#5f6670")
"""Colours of a picture's lines, as found first; so many at most."""
STUDY = "#c9d3dc"


@dataclass(frozen=True)
class Row:
    """One finding, or several of one cause, as the page shows it."""

    status: str
    title: str
    cost: str
    sentences: Sequence[str]
    advice: str
    ruled_out: Sequence[str]
    command: str
    picture: str
    """SVG as base64; '' if there is nothing to draw."""
    systems: Sequence[str]
    tests: Sequence[str]
    worst: float
    """For sorting: the largest ratio of times."""
    share: float
    """For sorting: what it costs."""


def rows(ranked: Sequence[Ranked], curves: Sequence[Curve] = ()) -> list[Row]:
    """In the order given. `curves` are the study's own, for the pictures."""
    return [_row(one, curves, drawn=number < MOST_PICTURES) for number, one in enumerate(ranked)]


def _row(one: Ranked, curves: Sequence[Curve], drawn: bool) -> Row:
    known = one.explained[0] if one.explained else None
    tried = (known["causes"][1:] if one.cause else known["causes"]) if known is not None else ()
    image = picture(known, curves) if drawn and known is not None else b""
    return Row(
        one.status,
        one.title,
        cost_words(one),
        one.says,
        one.advice,
        [f"{it['cause']}: {' '.join(it['said'])}" for it in tried if it.get("said")],
        one.command,
        base64.b64encode(image).decode(),
        one.systems,
        one.tests,
        one.worst,
        one.cost,
    )


def picture(one: Mapping[str, Any], study: Sequence[Curve] = ()) -> bytes:
    """SVG: the study's curve and both arms of the experiment that decided, and each launch's amount; b'' if none was
    made.
    """
    contrast = _deciding(one)
    curves = _shown(one)
    if not curves and contrast is None:
        return b""
    own = _own_curve(one, study)
    figure = Figure(figsize=(7.6 if curves and contrast else 4.6, 2.7), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, bool(curves) + bool(contrast), squeeze=False)[0]
    if curves:
        _draw_curves(panels[0], one, curves, own)
    if contrast:
        _draw_amounts(panels[-1], contrast)
    output = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "volley", "svg.fonttype": "none"}):
        figure.savefig(output, format="svg", metadata={"Date": None})
    return output.getvalue()


def _own_curve(one: Mapping[str, Any], study: Sequence[Curve]) -> Curve | None:
    """The study's curve that the finding is in."""
    key = (one["system"], one["test"], one["evidence"]["variant"], one["evidence"]["ranks"])
    return next((curve for curve in study if (curve.system, curve.test, curve.variant, curve.ranks) == key), None)


def _draw_curves(axes: Any, one: Mapping[str, Any], curves: Sequence[Mapping[str, Any]], own: Curve | None) -> None:
    """Time by size: the study's own, and one line per arm, with the finding's place marked."""
    if own is not None:
        x = [max(point.x, 0.5) for point in own.points]
        axes.plot(x, [point.value_ns for point in own.points], color=STUDY, linewidth=3, label="the study", zorder=1)
    for index, curve in enumerate(curves):
        sizes = [max(size, 0.5) for size in curve["sizes"]]
        dash = "-" if index == 0 else "--"
        axes.plot(sizes, curve["ns"], dash, marker="o", markersize=3, color=ARMS[index], label=curve["arm"])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(LogLocator(base=4, numticks=7))
    axes.xaxis.set_major_formatter(lambda value, _: units.tick_size(round(value)))
    axes.yaxis.set_major_formatter(lambda value, _: units.format_time(value))
    axes.minorticks_off()
    axes.axvline(max(one["size_from"], 0.5), color=RULE, linewidth=1, zorder=0)
    axes.set_xlabel(_axis(one["test"]), color=MUTED, fontsize=8)
    axes.legend(frameon=False, fontsize=7.5, labelcolor=INK)
    quiet_frame(axes)


def _draw_amounts(axes: Any, contrast: Mapping[str, Any]) -> None:
    """How much of the effect each launch shows, in both arms."""
    arms = (("as found", contrast["before"]), (_short(contrast["arm"]), contrast["after"]))
    for index, (_, values) in enumerate(arms):
        axes.plot([index] * len(values), values, "o", color=ARMS[index], alpha=0.7)
    axes.axhline(0, color=RULE, linewidth=1, zorder=0)
    axes.set_xlim(-0.6, 1.6)
    axes.set_xticks([0, 1], [name for name, _ in arms])
    unit = str(contrast.get("unit"))
    share = unit.startswith("share")
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(
        lambda value, _: f"{value:.1%}" if share else f"{units.format_ratio(math.exp(value), 2)}×"
    )
    title = f"{unit} that show it, by launch" if share else "times the time, by launch"
    axes.set_title(title, fontsize=8.5, color=MUTED)
    quiet_frame(axes)


def _short(name: str) -> str:
    return name if len(name) <= 28 else name[:12] + "…" + name[-14:]


def _deciding(one: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The experiment that removed it; else the last."""
    made = [contrast for contrast in one["contrasts"] if contrast["before"] and contrast["after"]]
    removing = [contrast for contrast in made if contrast["removed"]]
    chosen: list[Mapping[str, Any]] = removing or made
    return chosen[-1] if chosen else None


def _shown(one: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Curves worth a line: of the finding's own test, as found first."""
    own = [curve for curve in one["curves"] if curve["test"] == one["test"]]
    deciding = _deciding(one)
    wanted = {"as found", deciding["arm"]} if deciding else {curve["arm"] for curve in own}
    chosen = [curve for curve in own if curve["arm"] in wanted]
    return sorted(chosen, key=lambda curve: curve["arm"] != "as found")[: len(ARMS)]


def write_pictures(odd: Sequence[Row], plots: Path) -> None:
    """plots/verdict-N.svg for every verdict that has a picture, in the order of the page."""
    for old in plots.glob("verdict-*.svg"):
        old.unlink()
    for number, row in enumerate((row for row in odd if row.picture), 1):
        (plots / f"verdict-{number}.svg").write_bytes(base64.b64decode(row.picture))


def _axis(test: str) -> str:
    """What the curves of a test go over."""
    known = all_tests().get(test)
    return "ranks" if known is not None and known.axis == "ranks" else "bytes"
