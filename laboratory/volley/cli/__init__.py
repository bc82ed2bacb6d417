# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one module per command; here what they share, and how errors reach a person."""

from __future__ import annotations

import errno
import inspect
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from typer.models import CommandInfo

from volley import __version__
from volley.cli import (
    check,
    cluster,
    compare,
    detect,
    env,
    explain,
    gdb,
    importing,
    limits,
    nodes,
    report,
    selftest,
    study,
    systems,
    tests,
    tune,
    versions,
)
from volley.errors import EXIT_FAILED, EXIT_INTERRUPTED, DiskFull, VolleyError

app = typer.Typer(
    name="volley",
    help="Measures any MPI by the same rules, compares, and shows it in one page.",
    epilog="Exit status: 0 fine · 1 it could not be done · 2 the command line is wrong · 3 a file or folder given is "
    "damaged or of another kind · 4 compare --fail-on-slower found a SLOWER · 5 it could not be told · "
    "130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for module in (
    study,
    cluster,
    systems,
    tests,
    report,
    compare,
    detect,
    explain,
    limits,
    tune,
    importing,
    gdb,
    check,
    nodes,
    env,
    selftest,
    versions,
):
    module.register(app)


def _flowing(text: str) -> str:
    """With lines put together to paragraphs: a terminal breaks them where it ends."""
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _all_commands(group: typer.Typer) -> Iterator[CommandInfo]:
    yield from group.registered_commands
    for inner in group.registered_groups:
        if inner.typer_instance is not None:
            yield from _all_commands(inner.typer_instance)


for command in _all_commands(app):
    if command.callback is not None:
        command.help = _flowing(inspect.getdoc(command.callback) or "")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"volley {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and end."),
    ] = False,
) -> None:
    """Measures any MPI by the same rules, compares, and shows it in one page."""


def main() -> None:
    """The program `volley`. Ends the process; no traceback reaches a user."""
    errors = Console(stderr=True)
    try:
        app()
    except VolleyError as problem:
        _tell(errors, problem)
    except KeyboardInterrupt:
        errors.print("[bold]volley:[/] interrupted; every finished launch is kept", highlight=False)
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
            _tell_fault(errors, problem)
        _tell(errors, DiskFull(Path(problem.filename2 or problem.filename or tempfile.gettempdir())))
    except Exception as problem:
        _tell_fault(errors, problem)


def _tell(errors: Console, problem: VolleyError) -> NoReturn:
    errors.print(f"[bold red]volley:[/] {escape(problem.problem)}", soft_wrap=True, highlight=False)
    if problem.remedy:
        errors.print(f"        {escape(problem.remedy)}", soft_wrap=True, highlight=False)
    sys.exit(problem.exit_code)


def _tell_fault(errors: Console, problem: Exception) -> NoReturn:
    """A fault of ours: kept for the report of it, not thrown at the user."""
    handle, name = tempfile.mkstemp(prefix="volley-error-", suffix=".txt")
    os.close(handle)
    Path(name).write_text(traceback.format_exc())
    errors.print(
        f"[bold red]volley:[/] a fault in volley itself: {escape(type(problem).__name__)}: "
        f"{escape(str(problem)[:300])}\n        please report it with the file {name}",
        soft_wrap=True,
        highlight=False,
    )
    sys.exit(EXIT_FAILED)
