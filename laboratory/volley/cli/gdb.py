# SPDX-License-Identifier: BSD-3-Clause
"""`volley gdb`: a debugger on one rank of a running job."""

from __future__ import annotations

import os
import shlex
from typing import Annotated

import typer

from volley.debug.attach import find_rank, gdb_command

EPILOG = "Example: [cyan]volley gdb 3[/], or [cyan]volley gdb 3 --batch bt[/] for its stack alone"


def gdb(
    rank: Annotated[int, typer.Argument(help="Its number in MPI_COMM_WORLD.")],
    job: Annotated[int | None, typer.Option(help="Process id of the job's mpiexec. Default: the only job.")] = None,
    batch: Annotated[list[str] | None, typer.Option(help="Run this command of gdb and end; may be repeated.")] = None,
    show: Annotated[bool, typer.Option("--print", help="Show the command instead of running it.")] = False,
) -> None:
    """Attach gdb to one rank of a running job of Volley's library.

    Ranks that share an address space look like mpiexec to gdb; this gives it the rank's own program and
    libraries. The rank stands still while gdb is attached; the others go on.
    """
    command = gdb_command(find_rank(rank, job), batch or [])
    if show:
        typer.echo(shlex.join(command))
        return
    os.execvp(command[0], command)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(gdb)
