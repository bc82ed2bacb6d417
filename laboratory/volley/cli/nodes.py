# SPDX-License-Identifier: BSD-3-Clause
"""`volley boot`, `nodes`, `clean`, `halt`: daemons that stay on hosts, by which mpiexec starts jobs without ssh.

All of it is mpiexec's (`mpiexec --boot` and so on), as the daemons are.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from volley.errors import UsageError, VolleyError
from volley.systems.volley import REMEDY, prefix


def become_mpiexec(*words: str) -> NoReturn:
    """Ends as mpiexec ends. Raises VolleyError if that is not there."""
    mpiexec = prefix() / "bin" / "mpiexec"
    try:
        os.execv(mpiexec, [str(mpiexec), *words])
    except OSError as problem:
        raise VolleyError(f"there is no mpiexec of Volley: {mpiexec}", REMEDY) from problem


def boot(
    hostfile: Annotated[Path | None, typer.Argument(help="One host a line, as A:4, A slots=4 or A cpu=4.")] = None,
    hosts: Annotated[str | None, typer.Option(help="The same in a word: A:4,B:4.")] = None,
    agent: Annotated[str | None, typer.Option(help="Starts programs on other hosts; called as ssh is.")] = None,
    interface: Annotated[str | None, typer.Option(help="The network between hosts: its name, or 10.1.0.0/16.")] = None,
    port_range: Annotated[str | None, typer.Option(help="Ports at which daemons listen, as 50000-50100.")] = None,
) -> None:
    """Leave a node daemon running on each host, so that jobs start there without ssh: mpirun C, mpirun n0-3, --hosts.

    They stay until volley halt. All start, or none.
    """
    if (hostfile is None) == (hosts is None):
        raise UsageError(
            "hosts are named by a hostfile or by --hosts", "for example: volley boot --hosts node1:4,node2:4"
        )
    words = ["--hosts", hosts] if hosts is not None else [str(hostfile)]
    for option, value in (("--agent", agent), ("--interface", interface), ("--port-range", port_range)):
        if value is not None:
            words += [option, value]
    become_mpiexec("--boot", *words)


def nodes(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """Show the node daemons of volley boot: hosts, addresses, slots, whether they answer, and how many jobs they have.

    The exit status is 1 if there are none, or one does not answer.
    """
    become_mpiexec("--nodes", *(["--json"] if as_json else []))


def clean() -> None:
    """End all jobs that were started through the node daemons, and what they have left. The daemons stay."""
    become_mpiexec("--clean")


def halt() -> None:
    """End the node daemons of volley boot, and all jobs that were started through them."""
    become_mpiexec("--halt")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command(epilog="Example: [cyan]volley boot --hosts node1:4,node2:4[/], then [cyan]mpirun C ./solver[/]")(boot)
    app.command(epilog="Example: [cyan]volley nodes --json[/]")(nodes)
    app.command()(clean)
    app.command()(halt)
