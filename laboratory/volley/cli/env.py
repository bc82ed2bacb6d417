# SPDX-License-Identifier: BSD-3-Clause
"""`volley env`: the variables with which installed programs find Volley without its mpiexec."""

from __future__ import annotations

import json
import shlex
from typing import Annotated

import typer

from volley.errors import VolleyError
from volley.systems.programs import check_program

EPILOG = 'Example: [cyan]eval "$(volley env)"; srun -n 4 lmp -in in.lj[/]'


def env(
    program: Annotated[str | None, typer.Argument(help="For this program; otherwise for any.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Print the exports that a shell needs so that programs built for another MPI run on Volley.

    mpiexec sets them itself: this is for programs that are started without it, or by srun.
    """
    checked = check_program(program)
    if program is not None and checked.facts["problem"]:
        raise VolleyError(str(checked.facts["problem"]))
    if as_json:
        typer.echo(json.dumps(checked.environment, indent=1))
        return
    for name, value in checked.environment.items():
        typer.echo(f"export {name}={shlex.quote(value)}")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(env)
