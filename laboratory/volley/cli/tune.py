# SPDX-License-Identifier: BSD-3-Clause
"""`volley tune`: which algorithm each collective operation should take on these hosts."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from volley.benchmarks import Test, find_tests
from volley.cli.console import errors, output
from volley.cli.study import parse_duration, parse_ranks
from volley.data.store import replace_file
from volley.errors import EXIT_INTERRUPTED, UsageError, VolleyError
from volley.explain.experiment import Bench
from volley.hosts.base import Hosts
from volley.hosts.choose import choose, opened
from volley.machine import facts as machine_facts
from volley.machine.processes import adopt_orphans, ending_on_signals, guarded
from volley.measure.study import prepare_systems, reaching, sessions
from volley.progress import Display, display_for
from volley.sizes import parse_sizes
from volley.systems import System, on_hosts, resolve
from volley.tune.rules import Rule, file_text
from volley.tune.search import Found, Search, World, choices

EPILOG = """Examples:

[cyan]volley tune --out tuned[/]: on this machine, then [cyan]mpiexec --collectives @tuned -n 4 ./program[/]

[cyan]volley tune --hosts a,b,c --ranks-per-host 4 --tests allreduce,bcast --budget 20m[/]
"""
DEFAULT_TESTS = "bcast,reduce,allreduce,allgather,alltoall,reduce_scatter"


def tune(
    tests: Annotated[str, typer.Option(help="Collective operations, comma-separated.")] = DEFAULT_TESTS,
    system: Annotated[str, typer.Option(help="Which library: volley\\[/TRANSPORT] or NAME=PREFIX.")] = "volley",
    ranks: Annotated[str | None, typer.Option(help="On this machine, so many: 2,4. Default: its cores.")] = None,
    hosts: Annotated[str | None, typer.Option(help="Several hosts: a,b,c by ssh; slurm: this allocation.")] = None,
    hostfile: Annotated[Path | None, typer.Option(help="The same, HOST or HOST slots=N per line.")] = None,
    cluster: Annotated[str | None, typer.Option(help="The same: an emulated cluster; see `volley cluster`.")] = None,
    ranks_per_host: Annotated[int | None, typer.Option(min=1, help="On each of several hosts. Default: 1.")] = None,
    interface: Annotated[str | None, typer.Option(help="Network interface between hosts: eth0.")] = None,
    largest: Annotated[str, typer.Option(help="Messages up to this size.")] = "1Mi",
    budget: Annotated[str, typer.Option(help="Time for measuring: 5m, 1h.")] = "10m",
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("collectives.tuned"),
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Find algorithms of collective operations that are quicker here than the library's own choice.

    All algorithms of an operation take turns. What looks quicker is measured again, with and without, and only what is
    certainly quicker becomes a rule of the file, which `mpiexec --collectives @FILE` reads. Rules hold for so many
    ranks on so many hosts as were measured.
    """
    console = Console(quiet=True) if as_json else output()
    where = choose(hosts, hostfile, cluster, ranks_per_host, interface)
    if ranks and len(where.names) > 1:
        raise UsageError("--ranks is for this machine", "on several hosts: --ranks-per-host")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {out.absolute().parent}", "name a file in a folder that is there: --out")
    operations = find_tests(tests)
    chosen = _system(system, len(where.names) > 1)
    seconds, most, worlds = parse_duration(budget), max(parse_sizes(largest)), parse_ranks(ranks)
    try:
        with display_for(console, quiet or as_json) as display:
            found, world_text = _search(chosen, operations, where, worlds, seconds, most, display)
    except KeyboardInterrupt:
        errors().print(f"[bold]volley:[/] interrupted; {out} was not written", highlight=False, soft_wrap=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if not found.rules and len(found.unfinished) == len(operations):
        raise VolleyError("the time was too short for any operation", "give more: --budget 20m; or name fewer: --tests")
    about = [
        f"Written by volley tune on {date.today().isoformat()}: {chosen.name}, {world_text}.",
        f"Operations: {', '.join(test.name for test in operations)}; messages up to {largest}.",
        *(f"Not finished: {one}." for one in found.unfinished),
    ]
    replace_file(out, lambda path: path.write_text(file_text(found.rules, about), encoding="utf-8"))
    if as_json:
        typer.echo(json.dumps({"file": str(out), "rules": [_json(one) for one in found.rules]}, indent=1))
    else:
        _print(found, out, console)


def _system(name: str, several_hosts: bool) -> System:
    found = on_hosts(name) if several_hosts else resolve(name)
    if not found:
        raise UsageError(f"there is no system {name}", "see `volley systems`")
    return found[0]


def _search(
    system: System,
    tests: list[Test],
    where: Hosts,
    ranks: list[int] | None,
    budget_seconds: float,
    largest: int,
    display: Display,
) -> tuple[Found, str]:
    adopt_orphans()
    with guarded(), ending_on_signals():
        ready, facts = prepare_systems([system], display)
        with opened(where.spec, where.ranks_per_host, where.interface, display.note) as hosts:
            ready = reaching(ready, facts, hosts, display)
            environment = machine_facts.environment() | hosts.environment()
            with sessions(ready, facts, display) as usable:
                if not usable:
                    raise VolleyError(f"{system.name} cannot be measured: {facts[0].reason}", facts[0].remedy)
                for test in tests:
                    choices(usable[0], test)
                count = len(hosts.names)
                several = count > 1
                worlds = [count * hosts.ranks_per_host] if several else ranks or [max(2, environment["cores"])]
                search = Search(usable[0], Bench(environment, display, hosts=hosts), display, budget_seconds, largest)
                found = search.run(tests, [World(one, count) for one in worlds])
                text = f"{' and '.join(map(str, worlds))} ranks on {count} host{'s' if several else ''}"
                return found, text


def _json(rule: Rule) -> dict[str, Any]:
    return {
        "rule": rule.text(),
        "operation": rule.operation,
        "algorithm": rule.algorithm,
        "bytes_from": rule.bytes_from,
        "bytes_to": rule.bytes_to,
        "ranks": rule.ranks,
        "hosts": rule.hosts,
        "verdict": rule.verdict,
        "kept": rule.holds,
        "ratio": rule.ratio if rule.launches else None,
        "interval": [rule.low, rule.high] if rule.launches else None,
        "launches": rule.launches,
    }


def _print(found: Found, out: Path, console: Console) -> None:
    table = Table("operation", "ranks", "bytes", "algorithm", "time with it", "", box=None, pad_edge=False)
    for rule in found.rules:
        last = rule.bytes_to
        until = "and more" if last is None else f"to {last:,}"
        size = "–" if rule.sizes == (0,) else f"{rule.bytes_from:,} {until}"
        gain = f"{rule.ratio:.2f} ({rule.low:.2f} to {rule.high:.2f})" if rule.launches else "–"
        kept = "[green]kept[/]" if rule.holds else "left out: not certainly quicker"
        table.add_row(rule.operation, f"{rule.ranks}", size, rule.algorithm, gain, kept)
    if found.rules:
        console.print(table)
    for one in found.unfinished:
        console.print(f"[yellow]not finished[/]: {one} (--budget)", highlight=False)
    held = sum(rule.holds for rule in found.rules)
    if held:
        said = f"{out}: {held} rule{'s' if held > 1 else ''}. Use: mpiexec --collectives @{out} -n ... PROGRAM"
    else:
        said = f"{out}: no rules, since nothing here is certainly quicker than what the library chooses itself."
    console.print(said, highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(tune)
