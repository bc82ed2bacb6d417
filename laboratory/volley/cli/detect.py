# SPDX-License-Identifier: BSD-3-Clause
"""`volley detect`: what is odd in a study or a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from volley.cli.console import output
from volley.detect import Finding, Material, all_kinds, detect, read_material, read_older
from volley.detect.finding_text import blind_spots, sentences
from volley.errors import UsageError

EPILOG = """Examples:

[cyan]volley detect studies/today[/]: everything odd in a study

[cyan]volley detect table.csv --kind step --json[/]: columns system, test, size_bytes, launch, repetition, seconds

[cyan]volley detect stream.csv[/]: columns message, send_ns, receive_ns

[cyan]volley detect studies/new --against studies/old[/]: also what changed between two versions

[cyan]volley detect studies/both --against mpich==4.1.3/shm[/]: the same for versions in one study
"""

COLOURS = {"UNEXPLAINED": "bold yellow", "UNDECIDED": "dim", "SUSPECTED": "bold magenta", "CONFIRMED": "bold red"}


def detecting(
    data: Annotated[Path, typer.Argument(help="A study's folder, a CSV, or output of OSU or IMB.")],
    kind: Annotated[str | None, typer.Option(help="Only these kinds, comma-separated.")] = None,
    against: Annotated[
        str | None, typer.Option(help="The older version's study or file; or the name of an older system in DATA.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Find what is odd: spikes, steps, plateaus, stalls, modes, drifts, launch effects, freezes, wrong figures.

    With --against also regressions and changes of structure. UNEXPLAINED: it is there, and this command does
    not say why. UNDECIDED: it shows, but the data cannot tell whether it would show again.
    """
    kinds = kinds_in(kind)
    material = read_material(data)
    older = read_older(against, material) if against is not None else None
    findings = detect(material, kinds, older)
    if as_json:
        typer.echo(json.dumps({"findings": [one.to_json() for one in findings]}, indent=1, ensure_ascii=False))
    else:
        _print(findings, material, output())


def kinds_in(text: str | None) -> list[str] | None:
    """The kinds in ``step,launch-effect``; None for all. Raises UsageError before anything long is read."""
    if text is None:
        return None
    kinds = [name.strip().replace("_", " ").replace("-", " ") for name in text.split(",") if name.strip()]
    for name in kinds:
        if name not in all_kinds():
            raise UsageError(f'unknown kind "{name}"', f"there are: {', '.join(all_kinds())}")
    return kinds


def _print(findings: list[Finding], material: Material, console: Console) -> None:
    """Per system and test: what, where, how much, how sure, in words."""
    last = ""
    for one in findings:
        title = one.system + " · " + one.test + (f" {one.variant}" if one.variant != "-" else "")
        title += f", {one.ranks} ranks" if one.ranks else ""
        if title != last:
            console.print(f"\n[bold]{escape(title)}[/]", highlight=False)
            last = title
        said = sentences(one)
        console.print(f"  [{COLOURS[one.status]}]{one.status}[/] {escape(said)}", soft_wrap=True, highlight=False)
    curves = len(material.curves) or len({(one.system, one.test, one.variant) for one in material.streams})
    if not findings:
        console.print(f"Nothing odd in {curves} curve{'s' if curves != 1 else ''}.", highlight=False)
    else:
        decided = sum(one.status != "UNDECIDED" for one in findings)
        console.print(
            f"\n{decided} findings, {len(findings) - decided} undecided, in {curves} curves.", highlight=False
        )
    for line in blind_spots(material):
        console.print(line, highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("detect", epilog=EPILOG)(detecting)
