# SPDX-License-Identifier: BSD-3-Clause
"""`volley report`: the page, the plots and the scripts of a study, and its summary in the terminal."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from volley.cli.console import output
from volley.compare.summary import failures
from volley.data.results import Study
from volley.data.store import StudyFolder
from volley.errors import DataError, VolleyError
from volley.explain.verdict_text import COLOURS
from volley.report.data import ReportData, gather
from volley.report.first_screen import FirstScreen, cost_words, first_screen
from volley.report.ranking import Ranked
from volley.units import format_time

EPILOG = "Example: [cyan]volley report studies/2026-11-21-1200[/] writes report.html and plots/ there again"


def report(
    study: Annotated[Path, typer.Argument(help="A study's folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print answers, findings and curves; write nothing.")] = False,
) -> None:
    """Write report.html, plots (PNG, SVG) and MATLAB/Octave scripts of a study, and print its summary."""
    folder = StudyFolder.open(study)
    if as_json:
        data = gather(folder)
        typer.echo(json.dumps(_as_dictionary(data, first_screen(folder, data)), allow_nan=False))
        return
    make_report(folder, output())


def _as_dictionary(data: ReportData, screen: FirstScreen) -> dict[str, object]:
    """For programs."""
    findings = [
        {
            "title": one.title,
            "status": one.status,
            "cost": round(one.cost, 5),
            "about_machine": one.about_machine,
            "cause": one.cause or None,
            "systems": one.systems,
            "tests": one.tests,
            "says": one.says,
            "what_to_do": one.advice,
        }
        for one in (*screen.findings, *screen.others)
    ]
    return {
        "answers": [asdict(one) for one in screen.answers],
        "shown_first": len(screen.findings),
        "findings": findings,
        "summary": data.summary,
        "curves": [asdict(curve) for curve in data.curves],
    }


def make_report(folder: StudyFolder, console: Console) -> None:
    """Analyses, writes everything a person looks at, and prints the summary. Raises DataError if empty."""
    data, screen = write_files(folder, console)
    print_summary(data, screen, console)
    console.print(f"\n[bold]report[/]: {folder.path / 'report.html'}", highlight=False, soft_wrap=True)


def write_files(folder: StudyFolder, console: Console) -> tuple[ReportData, FirstScreen]:
    """Analyses, and writes everything a person looks at. Raises DataError if there is nothing."""
    # With matplotlib: 0.3 s that no other command needs.
    from volley.report.network import write_pairs
    from volley.report.octave import write_octave
    from volley.report.page import write_report
    from volley.report.plots import write_plots
    from volley.report.verdicts import rows, write_pictures

    with console.status("analysing and drawing") if console.is_terminal else contextlib.nullcontext():
        data = gather(folder)
        if not data.curves:
            raise DataError(
                f"{folder.path} holds no samples to report",
                f"go on measuring: volley study --resume --out {folder.path}",
            )
        plots = folder.path / "plots"
        page = folder.path / "report.html"
        screen = first_screen(folder, data)
        try:
            write_report(data.study, data.curves, data.streams, data.summary, page, data.boxes, screen)
            write_plots(data.study, data.curves, plots)
            write_pairs(data.study, plots)
            write_pictures(rows([*screen.findings, *screen.others], data.curves), plots)
            write_octave(data.study, data.curves, plots)
        except OSError as problem:
            raise VolleyError(
                f"cannot write {problem.filename or folder.path}: {problem.strerror or problem}",
                f"make room or the folder writable, then: volley report {folder.path}; the samples are whole",
            ) from problem
    return data, screen


SHOWN_SIZES = (8, 1024, 4096, 65536, 1048576)
"""Columns of the terminal's table, where they were measured."""


def print_first_screen(screen: FirstScreen, console: Console) -> None:
    """Who is best for what, and what costs most."""
    console.print()
    if screen.answers:
        table = Table(title="Which MPI is best here, and for what", title_justify="left")
        for column in ("for", "fastest", "by how much", "how sure"):
            table.add_column(column, overflow="fold")
        for row in screen.answers:
            colour = "green" if row.sure else "dim"
            table.add_row(escape(row.question), escape(row.best), escape(row.ahead), f"[{colour}]{row.certainty}[/]")
        console.print(table)
    if screen.findings:
        console.print("\n[bold]What costs most[/]", highlight=False)
    for number, one in enumerate(screen.findings, 1):
        print_finding(number, one, console)
    if not screen.findings:
        console.print("\nNothing odd that these launches could be sure of.", highlight=False)
    if screen.perhaps:
        console.print("\n[bold]Perhaps[/], if more launches show it again:", highlight=False)
    for one in screen.perhaps:
        console.print(f"   {escape(one.title)} ({cost_words(one)})", highlight=False, soft_wrap=True)
    left = len(screen.others) - screen.undecided
    if screen.others:
        told = [f"{left} more findings cost less" if left else "", _undecided(screen.undecided)]
        console.print(f"\n{'; '.join(part for part in told if part)} (all are in the report's table).", highlight=False)
    if screen.resume:
        console.print(f"To be surer where it matters: {screen.resume}", highlight=False, soft_wrap=True)


def _undecided(count: int) -> str:
    return f"{count} {'is' if count == 1 else 'are'} UNDECIDED for want of launches" if count else ""


def print_finding(number: int, one: Ranked, console: Console) -> None:
    """Its title, what it costs, its first grounds, and what to do."""
    colour = COLOURS.get(one.status, "bold cyan")
    console.print(
        f"[bold]{number}.[/] [{colour}]{one.status}[/] [bold]{escape(one.title)}[/] ({cost_words(one)})",
        highlight=False,
        soft_wrap=True,
    )
    for line in one.says[:SHOWN_GROUNDS]:
        console.print(f"   {escape(line)}", highlight=False, soft_wrap=True)
    console.print(f"   [bold]what to do[/]: {escape(one.advice)}", highlight=False, soft_wrap=True)


SHOWN_GROUNDS = 2


def print_summary(data: ReportData, screen: FirstScreen, console: Console) -> None:
    """What a person should know without opening the page."""
    print_first_screen(screen, console)
    console.print()
    for sentence in data.summary:
        console.print(f"• {escape(sentence)}", highlight=False, soft_wrap=not console.is_terminal)
    for line in failures(data.study):
        console.print(f"[yellow]![/] {escape(line)}", highlight=False, soft_wrap=True)
    _print_pingpong(data, console)
    for fact in data.study.systems:
        if fact.status != "ready":
            console.print(
                f"[yellow]not measured[/]: {escape(fact.name)}: {escape(fact.reason)}. {escape(fact.remedy)}",
                highlight=False,
            )
    _print_effort(data.study, console)


def _print_pingpong(data: ReportData, console: Console) -> None:
    rows = [curve for curve in data.curves if curve.test == "pingpong" and curve.variant == "-"]
    if len(rows) < 1:
        return
    sizes = [size for size in SHOWN_SIZES if any(point.x == size for curve in rows for point in curve.points)]
    if not sizes:
        return
    table = Table(title="Half a ping-pong round trip (median of launches)", title_justify="left")
    table.add_column("system")
    for size in sizes:
        table.add_column(f"{size:,} B", justify="right")
    for curve in sorted(rows, key=lambda one: min(point.value_ns for point in one.points)):
        by_size = {point.x: point for point in curve.points}
        table.add_row(
            curve.system, *(format_time(by_size[size].value_ns) if size in by_size else "–" for size in sizes)
        )
    console.print()
    console.print(table)


def _print_effort(study: Study, console: Console) -> None:
    measured = [launch for launch in study.launches if launch.operations]
    operations = sum(launch.operations for launch in measured)
    seconds = sum(launch.seconds for launch in study.launches)
    if seconds:
        console.print(
            f"{len(measured)} launches, {operations:,} operations timed, {seconds:.0f} s of measuring",
            highlight=False,
        )


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(report)
