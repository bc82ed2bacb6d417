# SPDX-License-Identifier: BSD-3-Clause
"""`volley selftest`: can what Volley says be believed?"""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from volley.cli.console import output
from volley.detect.selftest import Result, evaluate
from volley.errors import UsageError

EPILOG = "Example: [cyan]volley selftest --synthetic --rounds 18 --seed 7[/]"


def selftest(
    synthetic: Annotated[bool, typer.Option("--synthetic", help="Invented curves with planted oddities.")] = False,
    rounds: Annotated[int, typer.Option(min=1, help="Every kind is planted once per round.")] = 18,
    seed: Annotated[int, typer.Option(min=0, help="The same seed plants the same.")] = 1,
    examples: Annotated[bool, typer.Option("--examples", help="List what was missed or found wrongly.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Plant oddities of every kind among clean curves, and print recall and precision of finding them."""
    if not synthetic:
        raise UsageError("say what to test", "volley selftest --synthetic")
    result = evaluate(seed, rounds)
    if as_json:
        typer.echo(json.dumps(as_dictionary(result), indent=1, ensure_ascii=False))
    else:
        _print(result, examples)


def as_dictionary(result: Result) -> dict[str, object]:
    """For programs."""
    return {
        "seed": result.seed,
        "kinds": [
            {
                "kind": kind,
                "planted": score.planted,
                "found": score.found,
                "recall": round(score.recall, 4),
                "findings": score.right + score.wrong,
                "wrong": score.wrong,
                "precision": round(score.precision, 4),
            }
            for kind, score in sorted(result.scores.items())
        ],
        "clean": {"cases": result.clean, "with_findings": result.clean_with_findings},
        "missed": result.missed,
    }


def _print(result: Result, examples: bool) -> None:
    table = Table(title=f"Planted oddities, seed {result.seed}", title_justify="left")
    table.add_column("kind")
    for name in ("planted", "found", "recall", "findings", "wrong", "precision"):
        table.add_column(name, justify="right")
    for kind, score in sorted(result.scores.items()):
        table.add_row(
            kind,
            str(score.planted),
            str(score.found),
            f"{score.recall:.0%}" if score.planted else "–",
            str(score.right + score.wrong),
            str(score.wrong),
            f"{score.precision:.0%}",
        )
    console = output()
    console.print(table)
    console.print(f"{result.clean_with_findings} of {result.clean} clean cases gave a finding.", highlight=False)
    for line in result.missed if examples else ():
        console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(selftest)
