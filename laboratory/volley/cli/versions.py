# SPDX-License-Identifier: BSD-3-Clause
"""`volley versions`: which version of an MPI is best, which to avoid, and where something changed."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from volley.benchmarks import Test, find_tests
from volley.cli.console import output
from volley.cli.report import make_report
from volley.cli.study import parse_duration, parse_ranks
from volley.compare.pairwise import launches_needed
from volley.compare.summary import failures
from volley.compare.version_text import factor, heading, measured, sections
from volley.compare.versions import Conclusions, Lineage, conclude, lineages
from volley.data.results import SystemFacts
from volley.data.store import StudyFolder
from volley.errors import DataError, UsageError, VolleyError
from volley.machine.facts import AFTERWARDS
from volley.measure.plan import Options
from volley.measure.study import conduct, new_facts, options_of
from volley.progress import display_for
from volley.report.data import ReportData, gather
from volley.sizes import parse_sizes
from volley.systems import System, resolve
from volley.systems.ranges import Chosen, choose_versions
from volley.units import format_time

EPILOG = """Examples:

[cyan]volley versions mpich[/]: the newest of each minor series, MPI_Reduce at six sizes, 30 launches each

[cyan]volley versions openmpi==4.1..5.0/tcp --test alltoall --launches 12[/]: every version from 4.1 to 5.0, over TCP

[cyan]volley versions old=/opt/mpi-1,new=/opt/mpi-2 --test reduce[/]: versions of your own

[cyan]volley versions --from studies/today[/]: conclusions from a study that is there, without measuring
"""

SIZES = "30,300,3000,30000,300000,3000000"
"""Those of the study of twelve versions of MVAPICH2 of 2016 (tests/reduce.c)."""
NO_BUDGET_SECONDS = 1e7
"""Longer than anybody waits."""
START_SECONDS = 0.3
"""An MPI's start and end with two ranks: 0.1 to 0.5 s for those on PyPI; for what is said before measuring."""
SECONDS_PER_OPERATION, SECONDS_PER_BYTE = 20e-6, 1e-9
"""Of a collective with its synchronisation, roughly; likewise."""


def versions(
    request: Annotated[
        str | None, typer.Argument(help="FAMILY\\[==VERSIONS]\\[/TRANSPORT], or NAME=PREFIX,NAME=PREFIX.")
    ] = None,
    listed: Annotated[
        str | None, typer.Option("--versions", help="Versions and ranges: 3.4.3,4.0..5.0. Default: newest of series.")
    ] = None,
    test: Annotated[str, typer.Option(help="What to measure, comma-separated; see `volley tests`.")] = "reduce",
    sizes: Annotated[str, typer.Option(help="Message sizes: 8,1Ki,64Ki or 1..8Mi.")] = SIZES,
    launches: Annotated[int, typer.Option(min=2, help="Launches of each version: they are what counts.")] = 30,
    repetitions: Annotated[int, typer.Option("--reps", min=1, help="Operations per launch and size.")] = 100,
    ranks: Annotated[str, typer.Option(help="World size; several: 2,4.")] = "2",
    margin: Annotated[float, typer.Option(help="Differences up to this share do not matter.")] = 0.05,
    budget: Annotated[str | None, typer.Option(help="Most time for measuring: 10m, 2h. Default: as it takes.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random order of launches and sizes.")] = 1,
    out: Annotated[Path | None, typer.Option(help="The study's folder. Default: studies/ and date and time.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the study in --out.")] = False,
    source: Annotated[
        Path | None, typer.Option("--from", help="A study's folder to conclude from, without measuring.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the conclusions.")] = False,
) -> None:
    """Compare versions of an MPI: which to avoid and why, which is best, where a regression came in.

    Launches of all versions are mixed in random order. Leaves versions.html with box plots of every launch.
    """
    if not 0 < margin < 1:
        raise UsageError(f"--margin {margin} is no share", "write for example --margin 0.05 for 5 %")
    console = output()
    talk = Console(quiet=True) if as_json else console
    if source is not None:
        folder = StudyFolder.open(source)
    elif resume:
        folder = _resume(out, budget, talk, quiet or as_json)
    else:
        if request is None:
            raise UsageError("which MPI?", "write for example: volley versions mpich (or --from STUDY)")
        options = Options(
            budget_seconds=parse_duration(budget) if budget else NO_BUDGET_SECONDS,
            precision=0.0,
            maximum_launches=launches,
            seed=seed,
            repetitions=repetitions,
            sizes=parse_sizes(sizes),
            ranks=parse_ranks(ranks),
        )
        folder = _begin(request, listed, find_tests(test), options, out, talk, quiet or as_json)
    _conclude(folder, request if source is not None else None, margin, console, as_json, measured_now=source is None)


def _begin(
    request: str, listed: str | None, tests: list[Test], options: Options, out: Path | None, talk: Console, quiet: bool
) -> StudyFolder:
    """Measures a new study."""
    for one in tests:
        if not one.needs_mpi:
            raise UsageError(f'the test "{one.name}" needs no MPI: versions make no difference', "name another")
    chosen = choose_versions(request, listed)
    title = f"Versions of {chosen.systems[0].family}" if "=" not in request.replace("==", "") else "Versions compared"
    facts = new_facts(title, ["volley", *sys.argv[1:]], options, tests)
    facts.options["requested_systems"] = [system.request for system in chosen.systems]
    facts.systems = [_left_out(name, reason) for name, reason in chosen.missing.items()]
    folder = StudyFolder.create(out or Path("studies") / datetime.now().strftime("%Y-%m-%d-%H%M%S"), facts)
    if not quiet:
        _say_cost(chosen, tests, options, talk)
    _measure(folder, chosen.systems, tests, options, talk, quiet)
    return folder


def _left_out(name: str, reason: str) -> SystemFacts:
    family, _, version = name.partition("==")
    number, _, transport = version.partition("/")
    return SystemFacts(name, family, number, transport, "unavailable", reason, "name a version that PyPI has")


def _resume(out: Path | None, budget: str | None, talk: Console, quiet: bool) -> StudyFolder:
    """Goes on with a study."""
    if out is None:
        raise UsageError("--resume needs the study's folder", "add --out FOLDER")
    folder = StudyFolder.open(out)
    options = options_of(folder.facts)
    options.budget_seconds = parse_duration(budget) if budget else options.budget_seconds
    tests = find_tests(",".join(str(test["name"]) for test in folder.facts.tests))
    systems = [system for name in folder.facts.options["requested_systems"] for system in resolve(str(name))]
    _measure(folder, systems, tests, options, talk, quiet)
    return folder


def _measure(
    folder: StudyFolder, systems: list[System], tests: list[Test], options: Options, talk: Console, quiet: bool
) -> None:
    """Carries the study out; versions that were left out before stay named."""
    left_out = [facts for facts in folder.facts.systems if facts.status != "ready"]
    for warning in [] if quiet else folder.facts.warnings:
        talk.print(f"[yellow]{warning.name}[/]: {escape(warning.what)}", highlight=False, soft_wrap=True)
    try:
        with display_for(talk, quiet) as display:
            conduct(folder, systems, tests, options, display)
    except KeyboardInterrupt:
        talk.print(
            f"interrupted: {len(folder.facts.launches)} launches are kept in {folder.path}\n"
            f"go on: volley versions --resume --out {folder.path}",
            highlight=False,
            soft_wrap=True,
        )
        raise
    finally:
        names = {facts.name for facts in folder.facts.systems}
        folder.facts.systems += [facts for facts in left_out if facts.name not in names]
        folder.save()
    if not any(launch.operations for launch in folder.facts.launches):
        raise VolleyError(
            f"nothing could be measured; the reasons are in {folder.path}/study.json",
            "see `volley systems` for what this machine has",
        )


def _say_cost(chosen: Chosen, tests: list[Test], options: Options, talk: Console) -> None:
    """What will be measured, what that takes roughly, and whether it can decide anything."""
    sizes, repetitions = options.sizes or [], options.repetitions or 0
    seconds = START_SECONDS + repetitions * sum(SECONDS_PER_OPERATION + size * SECONDS_PER_BYTE for size in sizes)
    count, cells = len(chosen.systems), len(tests) * len(options.ranks or [0])
    total = count * options.maximum_launches * cells * seconds
    talk.print(
        f"{count} versions ({', '.join(system.name for system in chosen.systems)}), oldest first\n"
        f"{count} versions × {options.maximum_launches} launches"
        + (f" × {cells} tests and world sizes" if cells > 1 else "")
        + f" × about {seconds:.1f} s: about {_minutes(total)} of measuring, more with more ranks than cores; "
        "what is not installed is fetched first",
        highlight=False,
        soft_wrap=True,
    )
    comparisons = count * (count - 1) // 2 * (len(sizes) + (len(sizes) > 1)) * cells
    needed = launches_needed(comparisons)
    if options.maximum_launches < needed:
        talk.print(
            f"[yellow]few launches[/]: {options.maximum_launches} per version cannot tell any difference among "
            f"{comparisons} comparisons; {needed} can (--launches {needed})",
            highlight=False,
            soft_wrap=True,
        )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(seconds, 1):.0f} s"


def _conclude(
    folder: StudyFolder, only: str | None, margin: float, console: Console, as_json: bool, measured_now: bool
) -> None:
    """Analyses, writes the pages, and says it."""
    data = gather(folder)
    found = [one for one in lineages(data.values, data.study.systems) if _wanted(one, only)]
    if not found:
        raise DataError(
            f"{folder.path} holds no two versions of one MPI that can be compared" + (f' of "{only}"' if only else ""),
            f"measured were: {', '.join(sorted({curve.system for curve in data.curves})) or 'none'}",
        )
    conclusions = conclude(found, data.study.launches, margin)
    if as_json:
        told = [{**asdict(one), "words": sections(one)} for one in conclusions]
        missing = {one.name: one.reason for one in data.study.systems if one.status != "ready"}
        answer = {"study": str(folder.path), "conclusions": told, "not_measured": missing}
        typer.echo(json.dumps(answer, indent=1, ensure_ascii=False))
        if not measured_now:
            return
    page = _write(folder, data, found, conclusions, measured_now)
    if not as_json:
        for one in conclusions:
            _print(one, data, console)
        _print_missing(data, console)
        console.print(f"\n[bold]report[/]: {page}", highlight=False, soft_wrap=True)


def _wanted(one: Lineage, only: str | None) -> bool:
    family, _, transport = (only or "").partition("/")
    return only is None or (family == one.family and transport in ("", one.transport))


def _write(
    folder: StudyFolder, data: ReportData, found: list[Lineage], conclusions: list[Conclusions], measured_now: bool
) -> Path:
    from volley.report.versions import write_versions  # with matplotlib: 0.3 s

    try:
        if measured_now or not (folder.path / "report.html").exists():
            make_report(folder, Console(quiet=True))
        return write_versions(data, found, conclusions, folder.path)
    except OSError as problem:
        raise VolleyError(
            f"cannot write {problem.filename or folder.path}: {problem.strerror or problem}",
            f"make room or the folder writable, then: volley versions --from {folder.path}; the samples are whole",
        ) from problem


def _print(one: Conclusions, data: ReportData, console: Console) -> None:
    console.print(f"\n[bold]{escape(heading(one, data.tests))}[/]", highlight=False)
    console.print(escape(measured(one)), highlight=False, soft_wrap=not console.is_terminal)
    for name, lines in sections(one).items():
        console.print(f"\n[bold]{name}[/]", highlight=False)
        for line in lines:
            console.print(f"• {escape(line)}", highlight=False, soft_wrap=not console.is_terminal)
    console.print()
    console.print(_table(one))


def _table(one: Conclusions) -> Table:
    """Medians by version and place, and by how much the versions differ."""
    table = Table(title="Median of the launches' medians; † and ‡ differ most for sure", title_justify="left")
    table.add_column("version")
    for place in one.places:
        table.add_column(place.label, justify="right")
    values = {(value.version, value.place): value.value_ns for value in one.values}
    marks = {(span.before, span.place): " †" for span in one.spans if span.claimed}
    marks |= {(span.after, span.place): " ‡" for span in one.spans if span.claimed}
    for version in one.versions:
        cells = [(version, place) for place in one.places]
        table.add_row(
            version, *(format_time(values[at]) + marks.get(at, "  ") if at in values else "–  " for at in cells)
        )
    table.add_section()
    spans = {span.place: span for span in one.spans}
    table.add_row("slowest / fastest", *(f"{factor(spans.get(place))}  " for place in one.places))
    return table


def _print_missing(data: ReportData, console: Console) -> None:
    """What was seen to disturb, what failed, what could not be had."""
    for warning in data.study.warnings:
        if warning.name in AFTERWARDS:
            console.print(f"[yellow]{warning.name}[/]: {escape(warning.what)}", highlight=False, soft_wrap=True)
    for line in failures(data.study):
        console.print(f"[yellow]![/] {escape(line)}", highlight=False, soft_wrap=True)
    for fact in data.study.systems:
        if fact.status != "ready":
            console.print(
                f"[yellow]not measured[/]: {escape(fact.name)}: {escape(fact.reason)}. {escape(fact.remedy)}",
                highlight=False,
                soft_wrap=True,
            )


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(versions)
