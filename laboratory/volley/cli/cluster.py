# SPDX-License-Identifier: BSD-3-Clause
"""`volley cluster`: an emulated cluster on this machine, for whoever has none."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Annotated

import typer

from volley.cli.console import output
from volley.errors import EXIT_FAILED, UsageError
from volley.hosts import cluster as emulated
from volley.machine.processes import ending_on_signals

Name = Annotated[str, typer.Option(help="Of the cluster, where there are several.")]

program = typer.Typer(
    name="cluster",
    help="An emulated cluster: hosts on a switch with shaped ports, all on this machine.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@program.command()
def up(
    hosts: Annotated[int, typer.Option(min=1, max=emulated.MOST_HOSTS, help="How many.")] = 4,
    rate: Annotated[str, typer.Option(help="Of every port, both ways.")] = "100mbit",
    buffer: Annotated[str, typer.Option(help="Queue of each of the switch's ports; what exceeds it is lost.")] = "60KB",
    congestion: Annotated[str, typer.Option(help="TCP's congestion control in the hosts.")] = "cubic",
    clock_step: Annotated[int, typer.Option(help="Each host's clock is so many seconds ahead of the last.")] = 0,
    name: Name = "volley",
) -> None:
    """Set up hosts n1, n2, … on a switch. They stay until `volley cluster down`."""
    if not re.fullmatch(r"[A-Za-z][\w-]{0,40}", name):
        raise UsageError(f'"{name}" is no name for a cluster', "letters, digits, - and _, a letter first")
    names = [f"n{number}" for number in range(1, hosts + 1)]
    wanted = emulated.Cluster(
        name, names, emulated.parse_rate(rate), emulated.parse_bytes(buffer), congestion, clock_step
    )
    with ending_on_signals():
        made = emulated.up(wanted)
    console = output()
    console.print(
        f"{hosts} hosts are up: {names[0]} to {names[-1]}, {rate} each, {buffer} per port of the switch\n"
        f"hostfile: {made.hostfile}\nagent, in place of ssh: {made.agent}\n"
        f"try: volley cluster exec n1 hostname   end: volley cluster down"
        + (f" --name {name}" if name != "volley" else ""),
        highlight=False,
        soft_wrap=True,
    )


@program.command()
def status(
    name: Name = "volley",
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Say which hosts there are, and what their ports have lost."""
    there = emulated.load(name)
    said = there.to_json()
    gone = there.gone()
    if not gone:
        said["port_drops"] = there.port_drops()
    if as_json:
        typer.echo(json.dumps(said, indent=1))
    else:
        for key, value in said.items():
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            typer.echo(f"{key.replace('_', ' ')}: {text or 'none'}")
    if gone:
        typer.echo(f"half removed: {', '.join(gone)} gone; volley cluster down --name {name}", err=True)
        sys.exit(EXIT_FAILED)


@program.command()
def down(name: Name = "volley") -> None:
    """Remove the cluster, and end whatever runs in its hosts."""
    there = emulated.down(name)
    typer.echo(f"the emulated cluster {name} is gone" if there else f"there is no emulated cluster {name}")


@program.command(
    "exec", context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True}, no_args_is_help=True
)
def execute(
    words: Annotated[list[str], typer.Argument(metavar="HOST COMMAND...", help="As ssh takes them.")],
    name: Name = "volley",
) -> None:
    """Run a command in a host, as `ssh HOST COMMAND…` would; options of ssh are ignored."""
    there = emulated.whole(name)
    emulated.require_means()
    os.execv(there.agent, [str(there.agent), *words])


def register(app: typer.Typer) -> None:
    """Adds the command with its own commands."""
    app.add_typer(program)
