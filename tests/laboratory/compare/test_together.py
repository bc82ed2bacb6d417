# SPDX-License-Identifier: BSD-3-Clause
"""Who is fastest for what: said only where the launches of all tests together bear it out."""

from __future__ import annotations

import random

import polars as pl
from volley.benchmarks import all_tests
from volley.compare.together import Answer, answers, launches_needed

TESTS = ("allreduce", "bcast", "reduce", "alltoall", "allgather", "scan")


def table(
    factors: dict[str, float], launches: int, noise: float = 0.03, tests: tuple[str, ...] = TESTS
) -> pl.DataFrame:
    """Every system's launches of some collectives at 8 bytes, so many times as slow as the first."""
    chance = random.Random(7)
    rows = [
        (system, test, "-", 2, 8, number, 1000 * factor * chance.lognormvariate(0, noise))
        for test in tests
        for at, (system, factor) in enumerate(factors.items())
        for number in range(100 * at, 100 * at + launches)
    ]
    names = ["system", "test", "variant", "ranks", "size", "launch", "value_ns"]
    return pl.DataFrame(rows, schema=names, orient="row")


def asked(values: pl.DataFrame, cores: int = 2) -> list[Answer]:
    return answers(values, all_tests(), cores)


def test_two_launches_of_many_tests_that_all_agree_are_enough() -> None:
    (answer,) = asked(table({"fast": 1.0, "slow": 1.5}, launches=3))
    assert (answer.question, answer.band) == ("collective operations", "up to 1 KiB")
    assert answer.leader == "fast"
    assert answer.sure
    (rival,) = answer.rivals
    assert 1.4 < rival.ratio < 1.6
    assert rival.low < rival.ratio < rival.high


def test_one_test_with_two_launches_is_no_ground_for_a_ranking() -> None:
    (answer,) = asked(table({"fast": 1.0, "slow": 3.0}, launches=2, tests=("bcast",)))
    assert not answer.sure
    assert answer.level == ("slow",)
    assert answer.needed > answer.launches == 2


def test_equals_are_not_ranked() -> None:
    (answer,) = asked(table({"one": 1.0, "other": 1.0, "slow": 2.0}, launches=6))
    assert not answer.sure
    assert len(answer.level) == 1
    assert "slow" not in answer.level


def test_equals_are_told_apart_by_chance_at_most_one_time_in_twenty() -> None:
    told = 0
    for seed in range(60):
        chance = random.Random(seed)
        values = table({"one": 1.0, "other": 1.0}, launches=4).with_columns(
            pl.Series("value_ns", [1000 * chance.lognormvariate(0, 0.05) for _ in range(2 * 4 * len(TESTS))])
        )
        told += asked(values)[0].sure
    assert told <= 6  # 60 / 20, and what chance adds to that


def test_worlds_that_outnumber_the_cores_are_a_question_of_their_own() -> None:
    few = table({"fast": 1.0, "slow": 1.5}, launches=3)
    many = table({"slow": 1.0, "fast": 1.5}, launches=3).with_columns(pl.lit(4, pl.Int64).alias("ranks"))
    found = {one.question: one.leader for one in asked(pl.concat([few, many]))}
    assert found == {
        "collective operations": "fast",
        "collective operations, more ranks than the 2 cores": "slow",
    }


def test_a_system_that_lacks_a_test_is_judged_by_those_it_has() -> None:
    values = table({"whole": 1.5, "part": 1.0}, launches=3)
    (answer,) = asked(values.filter((pl.col("system") != "part") | (pl.col("test") != "bcast")))
    assert answer.leader == "part"
    assert [one.strata for one in answer.rivals] == [len(TESTS) - 1]


def test_launches_needed_shrink_with_the_number_of_tests() -> None:
    assert launches_needed(1, 10) > launches_needed(4, 10) > launches_needed(20, 10) == 2
