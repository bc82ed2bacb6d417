# SPDX-License-Identifier: BSD-3-Clause
"""What a study over several hosts says of its network: who is slow to whom, and rates in total and per host."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from volley import units
from volley.data.results import Curve, Launch, Study
from volley.report.payload import traffic_per_byte
from volley.sizes import format_size

WRITTEN_UP_TO = 16
"""Ranks, up to which the cells of a matrix have their times written in."""
SLOW = 1.5
"""A pair that takes so many times the median of all is named."""
PICTURES_IN_PAGE = 6


@dataclass(frozen=True)
class Pairs:
    """Half round trips between every two ranks, one system and size."""

    system: str
    size: int
    hosts: tuple[str, ...]
    """Of each rank."""
    ns: NDArray[np.float64]
    """From row to column, the best of all launches; NaN on the diagonal."""

    @property
    def title(self) -> str:
        """For picture and page."""
        return f"Every pair, {format_size(self.size)}: {self.system}"

    def slow(self) -> list[str]:
        """Sentences about pairs that stand out, slowest first."""
        middle = float(np.nanmedian(self.ns))
        odd = [(float(self.ns[at]), at) for at in np.ndindex(*self.ns.shape) if self.ns[at] > SLOW * middle]
        return [
            f"{self.hosts[row]} (rank {row}) to {self.hosts[column]} (rank {column}): {units.format_time(ns)}, "
            f"{ns / middle:.1f} times the median"
            for ns, (row, column) in sorted(odd, reverse=True)[:5]
        ]


def pairs_of(launches: Iterable[Launch]) -> list[Pairs]:
    """From what the test `pairs` said of itself."""
    best: dict[tuple[str, int, int], dict[tuple[int, int], float]] = {}
    hosts: dict[tuple[str, int, int], dict[int, str]] = {}
    for launch in launches:
        for fact in launch.facts:
            if fact.get("fact") == "pair":
                key, at = (launch.system, int(fact["size"]), launch.ranks), (int(fact["from"]), int(fact["to"]))
                ns = float(fact["half_round_trip_ns"])
                best.setdefault(key, {})[at] = min(ns, best.get(key, {}).get(at, ns))
                hosts.setdefault(key, {})[at[0]] = str(fact.get("host") or "here")
    found = []
    for (system, size, ranks), times in sorted(best.items()):
        matrix = np.full((ranks, ranks), np.nan)
        for at, ns in times.items():
            matrix[at] = ns
        names = hosts[system, size, ranks]
        found.append(Pairs(system, size, tuple(names.get(rank, "?") for rank in range(ranks)), matrix))
    return found


def picture(pairs: Pairs, kind: str = "svg") -> bytes:
    """The matrix: light is the fastest pair, dark the slowest."""
    ranks = len(pairs.hosts)
    figure = Figure(figsize=(2.2 + 0.55 * min(ranks, 24), 1.6 + 0.45 * min(ranks, 24)), dpi=110, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    fastest, slowest = float(np.nanmin(pairs.ns)), float(np.nanmax(pairs.ns))
    # Darkness is for what matters: pairs that differ by a few percent look alike.
    scale = {"vmin": np.log(fastest), "vmax": np.log(max(slowest, 2 * fastest))}
    axes.imshow(np.log(pairs.ns), cmap="Blues", aspect="auto", **scale)
    labels = [f"{rank} {host}" for rank, host in enumerate(pairs.hosts)]
    step = max(1, ranks // 24)
    axes.set_xticks(range(0, ranks, step), labels[::step], rotation=60, ha="right", fontsize=8)
    axes.set_yticks(range(0, ranks, step), labels[::step], fontsize=8)
    axes.set_xlabel("to rank, host")
    axes.set_ylabel("from rank, host")
    axes.set_title(pairs.title, loc="left", fontsize=10)
    if ranks <= WRITTEN_UP_TO:
        dark = (scale["vmin"] + scale["vmax"]) / 2
        for row, column in np.ndindex(ranks, ranks):
            if np.isfinite(pairs.ns[row, column]):
                colour = "white" if np.log(pairs.ns[row, column]) > dark else "#1d232b"
                text = units.short(units.format_time(float(pairs.ns[row, column])))
                axes.text(column, row, text, ha="center", va="center", fontsize=6, color=colour)
    figure.tight_layout()
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "volley", "svg.fonttype": "path"}):
        figure.savefig(buffer, format=kind, metadata={"Date": None} if kind == "svg" else {})
    return buffer.getvalue()


def write_pairs(study: Study, folder: Path) -> list[Path]:
    """``pairs-SYSTEM-SIZE`` as PNG and SVG; the files written."""
    written = []
    for pairs in pairs_of(study.launches):
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", f"pairs-{pairs.system}-{pairs.size}")
        for kind in ("png", "svg"):
            file = folder / f"{name}.{kind}"
            file.write_bytes(picture(pairs, kind))
            written.append(file)
    return written


def rate_rows(study: Study, curves: Sequence[Curve], described: dict[str, dict[str, Any]]) -> list[dict[str, str]]:
    """Of tests with traffic between all hosts: time, and the rate in total and per host, at each size."""
    hosts = len(study.environment.get("hosts", ()))
    rows = []
    for curve in curves:
        traffic = traffic_per_byte(described[curve.test], curve.ranks)
        if hosts < 2 or traffic <= 2:
            continue
        for point in curve.points:
            total = traffic * point.x * 1e9 / point.value_ns if point.x and point.value_ns > 0 else 0.0
            if total:
                rows.append(
                    {
                        "label": curve.label,
                        "test": described[curve.test]["title"],
                        "size": format_size(point.x),
                        "bytes": str(point.x),
                        "time": units.format_time(point.value_ns),
                        "total": units.format_rate(total),
                        "total_value": f"{total:.0f}",
                        "per_host": units.format_rate(total / min(hosts, curve.ranks)),
                    }
                )
    return rows
