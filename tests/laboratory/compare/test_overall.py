# SPDX-License-Identifier: BSD-3-Clause
"""Which system is faster over all tests: the geometric mean is right, and its interval is one of 95 %."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner
from volley.benchmarks import all_tests
from volley.cli import app
from volley.compare.overall import champion, overall, pool
from volley.compare.pairwise import Contest
from volley.data.results import Launch, Study
from volley.data.store import StudyFolder
from volley.measure.rank_files import SCHEMA
from volley.report.first_screen import whole_row

Launches = Mapping[str, Sequence[float]]


def table(system: str, by_test: Launches, ranks: int = 2, sizes: tuple[int, ...] = (8, 4096)) -> pl.DataFrame:
    rows = [
        (system, test, "-", ranks, size, launch, factor * (100 + size * 0.01))
        for test, launches in by_test.items()
        for launch, factor in enumerate(launches)
        for size in sizes
    ]
    return pl.DataFrame(rows, schema=["system", "test", "variant", "ranks", "size", "launch", "value_ns"], orient="row")


STEADY = (0.99, 1.0, 1.01)


def times(factor: float) -> list[float]:
    return [factor * one for one in STEADY]


def test_every_test_counts_once_however_many_sizes_and_worlds_it_has() -> None:
    now = pl.concat([table("a", {"pingpong": times(0.5)}), table("a", {"bcast": times(2), "scan": times(0.8)})])
    now = pl.concat([now, table("a", {"bcast": times(2)}, ranks=4, sizes=(1, 2, 3))])
    before = pl.concat(
        [
            table("b", dict.fromkeys(("pingpong", "bcast", "scan"), times(1))),
            table("b", {"bcast": times(1)}, ranks=4, sizes=(1, 2, 3)),
        ]
    )
    (one,) = overall([Contest("a", now, "b", before)], 0.02, cores=4)
    assert one.ratio == pytest.approx((0.5 * 2 * 0.8) ** (1 / 3), rel=1e-6)
    assert one.tests == pytest.approx({"pingpong": 0.5, "bcast": 2, "scan": 0.8})
    assert (one.verdict, one.launches) == ("FASTER", 3)
    assert one.low < one.ratio < one.high < 1
    assert "0.928" in one.words()
    assert "3 tests" in one.words()
    assert one.words().endswith("FASTER.")


def test_the_interval_covers_what_is_true_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    hits = 0
    for _ in range(1000):
        cells = {
            (f"test{k}", "-", 2): {
                side: random.normal(shift, noise, count).tolist()
                for side, shift, count in (("a", 0.1, 3), ("b", 0.0, 4))
            }
            for k, noise in enumerate((0.01, 0.02, 0.05, 0.1))
        }
        pooled, _ = pool(cells, "a", "b")
        assert pooled is not None
        hits += pooled.interval[0] <= 0.1 <= pooled.interval[1]
    assert 930 <= hits <= 985  # 95 %; 3 launches' errors are known poorly


def test_noise_is_undecided_and_a_tiny_difference_the_same() -> None:
    random = np.random.default_rng(2)
    noisy = {test: random.lognormal(0, 0.3, 4).tolist() for test in ("pingpong", "bcast")}
    other = {test: random.lognormal(0, 0.3, 4).tolist() for test in ("pingpong", "bcast")}
    assert [one.verdict for one in overall([Contest("a", table("a", noisy), "b", table("b", other))], 0.02, 2)] == [
        "UNDECIDED"
    ]
    fine = {"pingpong": times(1.004), "bcast": times(1.0)}
    same = {"pingpong": times(1.0), "bcast": times(1.0)}
    (one,) = overall([Contest("a", table("a", fine), "b", table("b", same))], 0.05, 2)
    assert one.verdict == "SAME"


def test_a_test_of_one_launch_is_left_out_and_named_and_crowded_worlds_do_not_count() -> None:
    now = pl.concat([table("a", {"pingpong": times(0.5), "bcast": [3.0]}), table("a", {"pingpong": times(9)}, ranks=8)])
    before = pl.concat(
        [table("b", {"pingpong": times(1), "bcast": times(1)}), table("b", {"pingpong": times(1)}, ranks=8)]
    )
    (one,) = overall([Contest("a", now, "b", before)], 0.02, cores=4)
    assert one.tests == pytest.approx({"pingpong": 0.5})
    assert one.left_out == ("bcast",)


def test_the_first_screen_names_who_leads_over_all_tests() -> None:
    both = ("pingpong", "bcast")
    values = pl.concat([table(name, dict.fromkeys(both, times(factor))) for name, factor in (("a", 1), ("b", 1.5))])
    found = champion(values, 2, (), 0.02)
    assert found is not None
    row = whole_row(found)
    assert row is not None
    assert (row.best, row.sure) == ("a", True)
    assert row.ahead.startswith("b takes 1.5")
    close = pl.concat([table(name, dict.fromkeys(both, times(factor))) for name, factor in (("a", 1), ("b", 1.005))])
    found = champion(close, 2, (), 0.02)
    assert found is not None
    row = whole_row(found)
    assert row is not None
    assert row.best.startswith("perhaps ")
    assert not row.sure


@pytest.fixture
def two_tests(tmp_path: Path) -> Path:
    """A study of two systems in two tests."""
    facts = Study(environment={"cores": 2}, tests=[asdict(all_tests()[name]) for name in ("pingpong", "sendrecv")])
    folder = StudyFolder.create(tmp_path / "study", facts)
    number = 0
    for system, factor in (("one", 1.0), ("two", 1.3)):
        for test in ("pingpong", "sendrecv"):
            for value in times(1000 * factor):
                number += 1
                rows = [("-", rank, 8, i, 1000 + i, value) for rank in (0, 1) for i in range(5)]
                launch = Launch(number, system, test, 2, 1, operations=len(rows))
                folder.add_launch(launch, pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    folder.save()
    return tmp_path / "study"


def test_the_command_says_it_in_words_and_json(two_tests: Path) -> None:
    said = CliRunner().invoke(app, ["compare", str(two_tests), "--baseline", "one"])
    assert said.exit_code == 0, said.output
    assert "Overall two takes" in said.output
    read = json.loads(CliRunner().invoke(app, ["compare", str(two_tests), "--baseline", "one", "--json"]).stdout)
    (row,) = read["overall"]
    assert row["system"] == "two"
    assert len(row["tests"]) == 2
    assert row["low"] <= row["ratio"] <= row["high"]
    assert math.isclose(row["ratio"], math.prod(row["tests"].values()) ** 0.5)


def test_one_launch_of_each_says_nothing_over_all(tmp_path: Path) -> None:
    facts = Study(environment={"cores": 2}, tests=[asdict(all_tests()["pingpong"])])
    folder = StudyFolder.create(tmp_path / "study", facts)
    for number, system in enumerate(("one", "two"), 1):
        rows = [("-", rank, 8, i, 1000 + i, 1000.0 * number) for rank in (0, 1) for i in range(5)]
        launch = Launch(number, system, "pingpong", 2, 1, operations=len(rows))
        folder.add_launch(launch, pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    folder.save()
    runner = CliRunner(env={"COLUMNS": "200"})
    said = runner.invoke(app, ["compare", str(tmp_path / "study"), "--baseline", "one"]).output
    assert "Overall nothing can be said: that takes 2 launches of a test on both sides." in said
    assert "one launch has none" in said  # of an interval
    assert "1 launch;" in said
