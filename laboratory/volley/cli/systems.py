# SPDX-License-Identifier: BSD-3-Clause
"""`volley systems`: which systems can be measured."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from volley.cli.console import output
from volley.systems import System, families

EPILOG = "Example: [cyan]volley systems[/], then [cyan]volley study --systems mpich==4.1.3,lam/tcp[/]"


def systems(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """List the systems that can be measured, their transports, and what is installed."""
    if as_json:
        typer.echo(json.dumps({"systems": [_row(name, kind) for name, kind in families().items()]}, indent=1))
        return
    table = Table(title="Systems under test", title_justify="left")
    for column in ("family", "what", "transports (* measured by default)", "installed here"):
        table.add_column(column, overflow="fold")
    for name, kind in families().items():
        defaults = kind.default_transports if kind.by_default else ()
        marks = [f"{transport}{' *' if transport in defaults else ''}" for transport in kind.transports]
        table.add_row(name, kind.summary, ", ".join(marks), ", ".join(kind.installed()) or "no")
    output().print(table)


def _row(name: str, kind: type[System]) -> dict[str, object]:
    return {
        "family": name,
        "summary": kind.summary,
        "transports": dict(kind.transports),
        "by_default": list(kind.default_transports) if kind.by_default else [],
        "installed": kind.installed(),
    }


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(systems)
