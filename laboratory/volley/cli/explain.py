# SPDX-License-Identifier: BSD-3-Clause
"""`volley explain`: why a study's findings are as they are, proven by experiment."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from volley.cli.console import output
from volley.cli.detect import kinds_in
from volley.cli.report import write_files
from volley.cli.study import parse_duration
from volley.errors import DataError
from volley.explain.cause import causes
from volley.explain.investigation import Investigation, investigate, prepare
from volley.explain.verdict_text import lines
from volley.progress import display_for

EPILOG = """Examples:

[cyan]volley explain studies/today[/]: every finding, the strongest first, and the report with the verdicts on top

[cyan]volley explain studies/today --system lam/tcp --test pingpong[/]: one system, one test

[cyan]volley explain studies/today --dry-run[/]: what it would do, and how long that takes

[cyan]volley explain table.csv[/]: what fits the data; nothing can be measured again
"""


def explaining(
    data: Annotated[Path, typer.Argument(help="A study's folder; or a CSV, of which nothing is measured again.")],
    system: Annotated[str | None, typer.Option(help="Only systems whose name contains this.")] = None,
    test: Annotated[str | None, typer.Option(help="Only this test.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only these kinds, comma-separated.")] = None,
    against: Annotated[str | None, typer.Option(help="As in `volley detect`: the older version.")] = None,
    budget: Annotated[str, typer.Option(help="For all findings together; strongest first: 5m, 1h.")] = "10m",
    each: Annotated[str, typer.Option(help="For one finding at most.")] = "60s",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Measure nothing: name causes and cost.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Name the cause of each finding, and prove it by removing it.

    CONFIRMED: the intervention removed the effect and the counter agreed. SUSPECTED: it fits, and could not be
    proven. UNEXPLAINED: no known cause fits, or those that did were ruled out. UNDECIDED: it did not show again.
    """
    console = Console(quiet=True) if as_json else output()
    wanted = prepare(data, system, test, kinds_in(kind), against, parse_duration(budget), parse_duration(each))
    _announce(wanted, dry_run, console)
    try:
        with display_for(console, quiet or as_json) as display:
            verdicts = investigate(wanted, display, dry_run)
    except KeyboardInterrupt:
        console.print(
            f"interrupted: the verdicts reached so far are kept in {data}/explanation.json; "
            f"volley report {data} puts them on the page",
            soft_wrap=True,
        )
        raise
    if as_json:
        typer.echo(json.dumps({"findings": [one.to_json() for one in verdicts]}, indent=1, ensure_ascii=False))
    for line in lines(verdicts):
        console.print(line, soft_wrap=True, highlight=False)
    if wanted.folder is None or wanted.why_not or not verdicts or dry_run:
        return
    console.print(f"\nkept in {wanted.folder.path}/explanation.json", soft_wrap=True, highlight=False)
    with contextlib.suppress(DataError):  # all launches failed: there are no curves to show
        write_files(wanted.folder, console)
        console.print(f"report: {wanted.folder.path}/report.html", soft_wrap=True, highlight=False)


def _announce(wanted: Investigation, dry_run: bool, console: Console) -> None:
    count = len(wanted.groups)
    if wanted.why_not:
        console.print(f"[yellow]nothing is measured again[/]: {wanted.why_not}", soft_wrap=True, highlight=False)
    elif count and not dry_run:
        console.print(
            f"{count} places to explain; up to {wanted.each_seconds:.0f} s of experiments each, "
            f"{min(wanted.expected_seconds, wanted.budget_seconds) / 60:.1f} minutes in all",
            highlight=False,
        )


def list_causes(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """List the causes that `volley explain` knows; docs/causes/ has a page on each."""
    known = causes()
    if as_json:
        rows = [{"cause": one.name, "page": f"docs/causes/{one.page}.md", "summary": one.summary} for one in known]
        typer.echo(json.dumps({"causes": rows}, indent=1, ensure_ascii=False))
        return
    table = Table("cause", "what happens", box=None, pad_edge=False)
    for one in known:
        table.add_row(f"[bold]{one.name}[/]", one.summary)
    output().print(table)


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("explain", epilog=EPILOG)(explaining)
    app.command("causes")(list_causes)
