# SPDX-License-Identifier: BSD-3-Clause
"""`volley import`: somebody else's output as a study."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from volley.benchmarks import Test, all_tests
from volley.cli.console import output
from volley.cli.report import make_report
from volley.data.imports import Measurement, formats, read_file
from volley.data.results import Launch, Study, SystemFacts
from volley.data.store import StudyFolder
from volley.errors import UsageError
from volley.measure.rank_files import SCHEMA

EPILOG = """Examples:

[cyan]volley import osu_latency-*.txt --system mvapich --out studies/osu[/]: each file is one launch

[cyan]volley import table.csv --out studies/table[/]: columns system, test, size_bytes, launch, repetition, seconds
"""


def _frame(rows: list[Measurement]) -> pl.DataFrame:
    """One launch's samples; rows of one point that the file does not number are operations of their own."""
    seen: Counter[tuple[str, int, int]] = Counter()
    repetitions = []
    for row in rows:
        point = (row.variant, row.rank, row.size)
        repetitions.append(seen[point] if row.repetition is None else row.repetition)
        seen[point] += 1
    return pl.DataFrame(
        {
            "variant": [row.variant for row in rows],
            "rank": [row.rank for row in rows],
            "size": [row.size for row in rows],
            "repetition": repetitions,
            "start_ns": [row.start_ns for row in rows],
            "duration_ns": [row.seconds * 1e9 for row in rows],
        },
        schema=SCHEMA,
    )


def _test(name: str, meaning: str, ranks: tuple[int, ...]) -> Test:
    """The test as the report shall show it: times as the file states them, not scaled again."""
    ours = all_tests().get(name)
    stamps = name == "stream"
    return Test(
        name=name,
        title=ours.title if ours else name,
        summary=meaning,
        source="imported",
        ranks=ranks,
        operation="rank 1" if stamps else "slowest rank",
        statistic="mean" if stamps else "median",
        traffic=ours.traffic if ours else "one message",
        stamps=stamps,
    )


def importing(
    files: Annotated[list[Path], typer.Argument(help="Files of OSU, IMB or CSV; several of one kind are launches.")],
    out: Annotated[Path, typer.Option(help="The study's folder to make.")],
    system: Annotated[str, typer.Option(help="What was measured, where the files do not say.")] = "imported",
    test: Annotated[str, typer.Option(help="The test's name, where the files do not say.")] = "",
    ranks: Annotated[int | None, typer.Option(min=1, help="World size, where the files do not say.")] = None,
    title: Annotated[str, typer.Option(help="The report's title.")] = "",
) -> None:
    """Make a study of somebody else's output, to look at it and compare it like one of one's own.

    What such files leave out stays left out: averages become single samples, and an interval needs
    several files or several launches in a file.
    """
    launches: dict[tuple[str, str, int, int, str], list[Measurement]] = {}
    meanings: dict[str, str] = {}
    for number, file in enumerate(files, 1):
        kind, rows = read_file(file)
        for row in rows:
            name = test if test and row.test == file.stem else row.test
            meanings.setdefault(name, kind.meaning(name))
            world = row.ranks or ranks or 2
            key = (row.system or system, name, world, row.launch, "" if row.launch else str(number))
            launches.setdefault(key, []).append(row)
    worlds = {name: tuple(sorted({key[2] for key in launches if key[1] == name})) for name in meanings}
    facts = Study(
        title=title or f"Imported: {', '.join(file.name for file in files[:3])}{' …' if len(files) > 3 else ''}",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        command=["volley", *sys.argv[1:]],
        systems=[
            SystemFacts(
                name=name,
                family=name,
                version="",
                transport="",
                details={"imported from": ", ".join(map(str, files))},
            )
            for name in sorted({key[0] for key in launches})
        ],
        tests=[asdict(_test(name, meaning, worlds[name])) for name, meaning in meanings.items()],
    )
    if not launches:
        raise UsageError("no file was given", f"formats: {', '.join(one.title for one in formats())}")
    folder = StudyFolder.create(out, facts)
    for number, ((name, what, world, block, _), rows) in enumerate(launches.items(), 1):
        launch = Launch(number=number, system=name, test=what, ranks=world, block=block, operations=len(rows))
        folder.add_launch(launch, _frame(rows))
    folder.merge()
    make_report(folder, output())


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("import", epilog=EPILOG)(importing)
