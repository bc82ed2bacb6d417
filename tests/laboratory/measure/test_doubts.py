# SPDX-License-Identifier: BSD-3-Clause
"""A study that goes on launches first what a verdict hangs on."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from volley.benchmarks import find_tests
from volley.data.results import Launch
from volley.data.store import StudyFolder
from volley.measure.plan import Options
from volley.measure.rank_files import SCHEMA
from volley.measure.study import ENOUGH_LAUNCHES, conduct, new_facts
from volley.progress import Silent
from volley.report.first_screen import doubts
from volley.systems import resolve


def test_cells_in_doubt_come_first_until_they_have_enough(tmp_path: Path) -> None:
    tests = find_tests("ceilings,tcp")
    options = Options(sizes=[8], repetitions=2, precision=0.0, maximum_launches=ENOUGH_LAUNCHES + 1)
    folder = StudyFolder.create(tmp_path / "study", new_facts("", [], options, tests))
    conduct(folder, resolve("machine"), tests, options, Silent(), doubts={("machine", "tcp", 2)})
    order = [launch.test for launch in folder.facts.launches]
    assert order[:ENOUGH_LAUNCHES] == ["tcp"] * ENOUGH_LAUNCHES
    assert order.count("ceilings") == order.count("tcp") == ENOUGH_LAUNCHES + 1


def test_what_is_in_doubt_is_who_may_be_fastest_and_what_is_undecided(tmp_path: Path) -> None:
    tests = find_tests("pingpong,bcast")
    folder = StudyFolder.create(tmp_path / "study", new_facts("", [], Options(), tests))
    number = 0
    for system, nanoseconds in (("one", 100.0), ("two", 101.0), ("slow", 900.0)):
        for test in ("pingpong", "bcast"):
            for block in range(4 if test == "bcast" else 1):
                number += 1
                rows = [("-", rank, 8, at, 0, nanoseconds + at) for rank in (0, 1) for at in range(9)]
                samples = pl.DataFrame(rows, schema=SCHEMA, orient="row")
                folder.add_launch(Launch(number, system, test, 2, block, operations=len(rows)), samples)
    found = doubts(folder)
    assert {("one", "pingpong", 2), ("two", "pingpong", 2)} <= found  # one launch each: nobody can tell
    assert doubts(StudyFolder.create(tmp_path / "empty", new_facts("", [], Options(), tests))) == set()
