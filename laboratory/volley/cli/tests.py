# SPDX-License-Identifier: BSD-3-Clause
"""`volley tests`: which tests there are."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from volley.benchmarks import all_tests
from volley.cli.console import output

EPILOG = "Example: [cyan]volley tests[/], then [cyan]volley study --tests pingpong,late_receiver[/]"


def tests(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """List the tests, what each measures, and where it comes from."""
    if as_json:
        typer.echo(json.dumps({"tests": [asdict(test) for test in all_tests().values()]}, indent=1))
        return
    table = Table(title="Tests", title_justify="left")
    for column in ("test", "what it measures", "sizes", "ranks", "from"):
        table.add_column(column, overflow="fold")
    for test in all_tests().values():
        ranks = ", ".join(str(world) if world else "cores" for world in test.ranks)
        table.add_row(test.name, test.summary, "–" if test.sizes == "0" else test.sizes, ranks, test.source)
    output().print(table)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(tests)
