# SPDX-License-Identifier: BSD-3-Clause
"""`volley check`: which MPI a program needs, and whether it runs here."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from volley.errors import EXIT_FAILED
from volley.systems.programs import check_program

EPILOG = "Example: [cyan]volley check lmp[/]"


def check(
    program: Annotated[str, typer.Argument(help="A path, or a name that is looked for in PATH.")],
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Say which MPI a program needs, which functions of it Volley lacks, and whether ranks can share an address space.

    The program is not started. The exit status is 1 if it could not run, or would miss a function.
    """
    checked = check_program(program)
    if as_json:
        typer.echo(json.dumps(checked.facts | {"runs": checked.runs}, indent=1))
    else:
        typer.echo(checked.facts["program"])
        for sentence in checked.sentences:
            typer.echo(f"  {sentence}")
    if not checked.runs:
        raise typer.Exit(EXIT_FAILED)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(check)
