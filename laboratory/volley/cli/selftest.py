# SPDX-License-Identifier: BSD-3-Clause
"""`volley selftest`: can what Volley says be believed?"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from volley.benchmarks import find_tests
from volley.cli.console import output
from volley.cli.report import make_report
from volley.cli.study import QUICK_BUDGET_SECONDS, suits
from volley.data.store import StudyFolder
from volley.errors import EXIT_FAILED, EXIT_FINE, EXIT_UNDECIDED, UsageError
from volley.explain.surroundings import busy
from volley.machine import facts as machine_facts
from volley.measure.plan import Options
from volley.measure.study import conduct, new_facts
from volley.progress import Display, display_for
from volley.selftest.again import look_again
from volley.selftest.plant import Plant
from volley.selftest.planted import Outcome, choose, conclude
from volley.selftest.recall import Result, evaluate, evaluate_measured
from volley.systems import default_systems

EPILOG = """Examples:

[cyan]volley selftest[/]: invented curves, then every cause planted on this machine (half an hour)

[cyan]volley selftest --synthetic --rounds 18 --seed 7[/]: invented curves alone

[cyan]volley selftest --measured STUDY[/]: oddities planted in the noise of real launches

[cyan]volley selftest --again[/]: two quick studies: is what the one says first in the other, too? (nine minutes)

[cyan]volley selftest --plants --only "CPU quota,late receiver"[/]: two plants alone
"""


def selftest(
    synthetic: Annotated[bool, typer.Option("--synthetic", help="Only invented curves with planted oddities.")] = False,
    planted: Annotated[bool, typer.Option("--plants", help="Only causes planted on this machine.")] = False,
    measured: Annotated[
        Path | None, typer.Option(help="Only oddities planted in the noise of this study's launches.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Only these plants, comma-separated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few plants that take little time.")] = False,
    keep: Annotated[
        Path | None, typer.Option(help="A folder in which every plant's study stays, with its report.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Every kind is invented once per round.")] = 18,
    seed: Annotated[int, typer.Option(min=0, help="The same seed invents the same.")] = 1,
    examples: Annotated[bool, typer.Option("--examples", help="List what was missed or found wrongly.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Two quick studies: do findings appear again?")] = False,
    busy_core: Annotated[bool, typer.Option("--busy", help="With --again: while another program uses a core.")] = False,
    studies: Annotated[
        str | None, typer.Option(help="With --again: two studies that are there already, comma-separated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Plant oddities and causes on purpose, and print how many are found and named rightly.

    Exit status 1 if a wrong cause was called CONFIRMED, or a planted one was not told though the machine was quiet,
    twice; 5 if one was not told and the machine never rested.
    """
    if again or studies:
        _again(studies, busy_core, keep, as_json)
        return
    if measured is not None:
        seen = evaluate_measured(measured, seed, rounds)
        if as_json:
            typer.echo(json.dumps(as_dictionary(seen, []), indent=1, ensure_ascii=False))
        else:
            _print(seen, examples)
        return
    both = synthetic == planted and only is None
    chosen = [] if synthetic and not both else choose(only, quick)
    result = evaluate(seed, rounds) if synthetic or both else None
    if result is not None and not as_json:
        _print(result, examples)
    results = _plant(chosen, as_json, examples, keep)
    if as_json:
        typer.echo(json.dumps(as_dictionary(result, results), indent=1, ensure_ascii=False))
    status = exit_status(results)
    if status:
        raise typer.Exit(status)


def exit_status(results: Sequence[Outcome]) -> int:
    """What the plants come to."""
    if any(one.told.wrongly_confirmed or one.missed for one in results):
        return EXIT_FAILED
    return EXIT_UNDECIDED if any(one.undecided for one in results) else EXIT_FINE


def _again(studies: str | None, busy_core: bool, keep: Path | None, as_json: bool) -> None:
    """Measures twice what a quick study measures, unless that is there already, and compares what is told first."""
    console = output()
    with contextlib.ExitStack() as stack:
        if studies:
            paths = [Path(name.strip()) for name in studies.split(",")]
            if len(paths) != 2:
                raise UsageError(f'"{studies}" does not name two studies', "write --studies FIRST,SECOND")
        else:
            where = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="volley-again-")))
            paths = [where / "first", where / "second"]
            load = busy(machine_facts.usable_cpus()[-1:]) if busy_core else contextlib.nullcontext()
            with load, display_for(console, as_json) as display:
                for path in paths:
                    _quick_study(path, display)
        seen = look_again(paths[0], paths[1])
    if as_json:
        shown = [{"finding": one.title, "appeared": there} for one, there in seen.shown]
        said = {"shown": shown, "questions": seen.answers, "agreeing": seen.agreeing}
        typer.echo(json.dumps(said, indent=1, ensure_ascii=False))
        return
    for one, there in seen.shown:
        mark = "[green]again[/]" if there else "[red]not again[/]"
        console.print(f"{mark}  {escape(one.title)}", highlight=False, soft_wrap=True)
    console.print(f"\n{seen.words()}.", highlight=False, soft_wrap=True)


def _quick_study(path: Path, display: Display) -> None:
    """As `volley study --quick` makes it."""
    tests = [test for test in find_tests(None) if suits(test, True, False)]
    options = Options(quick=True, budget_seconds=QUICK_BUDGET_SECONDS)
    systems = default_systems()
    facts = new_facts("Is it found again?", ["volley", "study", "--quick"], options, tests)
    facts.options["requested_systems"] = [system.request for system in systems]
    conduct(StudyFolder.create(path, facts), systems, tests, options, display)


def _plant(chosen: list[Plant], as_json: bool, examples: bool, keep: Path | None) -> list[Outcome]:
    """Runs the plants, one after the other, and prints each as it ends."""
    if not chosen:
        return []
    console = output()
    results = []
    with display_for(console, as_json) as display:
        for at, plant in enumerate(chosen):
            results.append(conclude(plant, display, keep))
            if keep is not None and results[-1].told.found:
                make_report(StudyFolder.open(keep / plant.slug), Console(quiet=True))
            if not as_json:
                display.line(_plant_line(results[-1]))
                for line in results[-1].told.seen if examples else ():
                    display.line(f"    {escape(line)}")
            spent = sum(one.seconds for one in results)
            display.advance(spent, spent / (at + 1) * (len(chosen) - at - 1))
    if not as_json:
        console.print(f"\n{escape(plant_summary(results))}", highlight=False, soft_wrap=True)
    return results


def _plant_line(outcome: Outcome) -> str:
    """``CONFIRMED  eager limit moved: eager limit (12 s)``."""
    one = outcome.told
    name = f"[bold]{escape(one.plant.name)}[/]"
    if one.why_not:
        return f"[dim]not planted[/]  {name}: {escape(one.why_not)}"
    told = f"{one.status}, {one.first_cause or 'no cause told'}" if one.found else "not found"
    wanted = one.plant.cause or "none of the known causes"
    mark = (
        "[bold red]WRONGLY CONFIRMED[/]"
        if one.wrongly_confirmed
        else "[green]right[/]"
        if one.right
        else "[red]MISSED[/]"
        if outcome.missed
        else "[yellow]UNDECIDED[/] for want of quiet"
    )
    why = f"; {escape(one.disturbed)}" if outcome.undecided and one.disturbed else ""
    tries = f", {len(outcome.tries)} tries" if len(outcome.tries) > 1 else ""
    return f"{mark}  {name}: {escape(told)}; planted: {escape(wanted)}{why} ({outcome.seconds:.0f} s{tries})"


def plant_summary(results: Sequence[Outcome]) -> str:
    """How many were found, named, proven, and wrongly proven."""
    tried = [one for one in results if not one.told.why_not]
    causes = [one.told for one in tried if one.told.plant.cause is not None]
    decoys = [one for one in tried if one.told.plant.cause is None]
    return (
        f"{sum(one.found for one in causes)} of {len(causes)} planted causes were found, "
        f"{sum(one.right for one in causes)} named first and rightly, "
        f"{sum(one.confirmed for one in causes)} CONFIRMED; "
        f"a wrong cause was CONFIRMED {sum(one.told.wrongly_confirmed for one in tried)} times "
        f"({len(decoys)} decoys); {sum(one.missed for one in tried)} were MISSED on a quiet machine, "
        f"{sum(one.undecided for one in tried)} are UNDECIDED for want of quiet; "
        f"{len(results) - len(tried)} could not be planted here."
    )


def as_dictionary(result: Result | None, results: Sequence[Outcome]) -> dict[str, object]:
    """For programs."""
    said: dict[str, object] = {}
    if result is not None:
        said |= {
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
            "clean": {
                "cases": result.clean,
                "with_findings": result.clean_with_findings,
                "with_findings_not_undecided": result.clean_with_sure_findings,
            },
            "excused": result.excused,
            "missed": result.missed,
        }
    if results:
        said["plants"] = [
            {
                "plant": one.plant.name,
                "planted_cause": one.plant.cause,
                "why_not": one.why_not,
                "found": one.found,
                "cause": one.first_cause,
                "status": one.status if one.verdicts else None,
                "right": one.right,
                "missed": outcome.missed,
                "undecided": outcome.undecided,
                "tries": len(outcome.tries),
                "disturbed": one.disturbed,
                "wrongly_confirmed": one.wrongly_confirmed,
                "seconds": round(outcome.seconds, 1),
                "findings": list(one.seen),
                "verdicts": [verdict.to_json() for verdict in one.verdicts],
            }
            for outcome in results
            for one in (outcome.told,)
        ]
    return said


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
    console.print(
        f"{result.clean_with_findings} of {result.clean} clean cases gave a finding, "
        f"{result.clean_with_sure_findings} one that is not UNDECIDED.",
        highlight=False,
    )
    if result.excused:
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(result.excused.items()))
        console.print(f"Not counted, since measured noise may have them of its own: {told}.", highlight=False)
    for line in result.missed if examples else ():
        console.print(f"  {line}", highlight=False, markup=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(selftest)
