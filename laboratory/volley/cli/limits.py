# SPDX-License-Identifier: BSD-3-Clause
"""`volley limits`: how much each MPI sends without the receiver's help."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from volley.benchmarks import find_tests
from volley.cli.console import output
from volley.cli.study import choose_systems
from volley.data.results import Study
from volley.data.store import StudyFolder
from volley.errors import VolleyError
from volley.measure.plan import Options
from volley.measure.study import conduct, new_facts
from volley.progress import display_for
from volley.units import format_time

EPILOG = "Example: [cyan]volley limits --systems mpich==4.1.3/shm,mpich==5.0.2/shm,openmpi[/]"


def limits(
    systems: Annotated[str | None, typer.Option(help="As for `volley study`. Default: the default systems.")] = None,
    launches: Annotated[int, typer.Option(min=1, help="Launches per system: do they agree?")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Find, to the byte, the largest blocking send that returns while the receiver is outside MPI.

    Above it the sender stands until the receiver comes: a program that computes between receiving makes
    its partners wait. Some seconds per system.
    """
    tests = find_tests("late_receiver")
    chosen = [system for system in choose_systems(systems, tests) if system.needs_mpi]
    options = Options(maximum_launches=launches, precision=0.0, budget_seconds=3600)
    console = output()
    with tempfile.TemporaryDirectory(prefix="volley-limits-") as name:
        folder = StudyFolder.create(Path(name) / "study", new_facts("limits", [], options, tests))
        with display_for(console, quiet=as_json) as display:
            conduct(folder, chosen, tests, options, display)
        rows = limit_rows(folder.facts)
        if as_json:
            typer.echo(json.dumps({"limits": rows}, indent=1))
        else:
            print_limits(rows, console)
        if not any(row["largest_returning"] is not None for row in rows):
            raise VolleyError("no limit could be measured", "the reasons stand above")


def limit_rows(study: Study) -> list[dict[str, object]]:
    """One row per launch of late_receiver that found a limit, or says why not."""
    rows: list[dict[str, object]] = []
    for launch in study.launches:
        facts = [fact for fact in launch.facts if fact.get("fact") == "limit"]
        for fact in facts or [{}]:
            rows.append(
                {
                    "system": launch.system,
                    "launch": launch.number,
                    "status": launch.status,
                    "reason": launch.reason,
                    "largest_returning": fact.get("largest_returning"),
                    "smallest_blocking": fact.get("smallest_blocking"),
                    "sender_stands_ns": fact.get("sender_stands_ns"),
                    "receiver_absent_ns": fact.get("receiver_absent_ns"),
                }
            )
    return sorted(rows, key=lambda row: (str(row["system"]), row["launch"]))


def print_limits(rows: list[dict[str, object]], console: Console) -> None:
    """A line per system; where its launches do not agree, one per limit that they found."""
    table = Table(title="Largest blocking send that returns while the receiver is outside MPI", title_justify="left")
    table.add_column("system")
    table.add_column("bytes", justify="right")
    table.add_column("launches", justify="right")
    table.add_column("how long a larger one stands")
    groups: dict[tuple[str, str], list[dict[str, object]]] = {}
    for row in rows:
        limit = row["largest_returning"]
        found = f"{limit:,}" if isinstance(limit, int) else str(row["reason"] or "–")
        groups.setdefault((str(row["system"]), found), []).append(row)
    for (system, found), alike in groups.items():
        table.add_row(system, found, str(len(alike)), _stands(alike))
    console.print(table)
    several = sorted({system for system, _ in groups if sum(system == other for other, _ in groups) > 1})
    if several:
        console.print(f"Launches do not agree: {', '.join(several)}. More of them: --launches 5", highlight=False)


def _stands(rows: list[dict[str, object]]) -> str:
    """Of the launch in which it stood for the shortest, as other programs only add to it."""
    told = [
        (stands, absent)
        for row in rows
        if isinstance(stands := row["sender_stands_ns"], int | float)
        and isinstance(absent := row["receiver_absent_ns"], int | float)
    ]
    if not told:
        return "–"
    stands, absent = min(told)
    return f"{format_time(stands)}, with the receiver away for {format_time(absent)}"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(limits)
