# SPDX-License-Identifier: BSD-3-Clause
"""Planted oddities of every kind are found, clean cases give none, and the same seed gives the same."""

from dataclasses import replace

import numpy as np
import pytest
from volley.selftest.recall import Result, evaluate, judge
from volley.selftest.synthetic import CLEAN, MAKERS, SETTINGS, Planted, cases, clean, spike, step


@pytest.fixture(scope="module")
def result() -> Result:
    return evaluate(seed=11, rounds=36)


@pytest.mark.parametrize(
    "kind",
    [
        "spike",
        "step",
        "drift",
        "bimodal",
        "launch effect",
        "stall",
        "freeze",
        "failure",
        "structure change",
        "regression",
    ],
)
def test_most_planted_ones_are_found(result: Result, kind: str) -> None:
    score = result.scores[kind]
    assert score.planted >= 36
    assert score.recall >= 0.93  # 36 of each: one miss more or less is 3 %
    assert score.precision >= 0.97


def test_plateaus_and_collapses_are_found(result: Result) -> None:
    both = [result.scores[kind] for kind in ("plateau", "collapse")]
    assert sum(score.found for score in both) >= 0.95 * sum(score.planted for score in both)


def test_over_all_kinds_recall_is_what_is_promised(result: Result) -> None:
    planted = sum(score.planted for score in result.scores.values())
    assert sum(score.found for score in result.scores.values()) >= 0.95 * planted


def test_at_most_one_clean_case_in_a_hundred_gives_a_finding(result: Result) -> None:
    assert result.clean >= 300
    assert result.clean_with_findings <= result.clean / 100


def test_single_launches_give_no_false_findings_either() -> None:
    made = []
    for number in range(60):
        random = np.random.default_rng([3, number])
        setting = replace(SETTINGS[number % len(SETTINGS)], launches=1 + number % 2)
        made.append(clean(random, setting, 1.0))
    assert judge(3, made).clean_with_findings <= 1


def test_the_same_seed_gives_the_same() -> None:
    first, second = evaluate(seed=5, rounds=1), evaluate(seed=5, rounds=1)
    assert first == second


def test_every_kind_is_planted() -> None:
    kinds = {case.kind for case in cases(1, 2)}
    assert {"", "spike", "step", "bimodal", "drift", "launch effect", "stall", "freeze"} <= kinds
    assert len(MAKERS) >= 10
    assert clean in CLEAN


def one(planted: Planted) -> Result:
    return judge(0, [planted])


def test_a_step_is_placed_between_the_right_two_sizes() -> None:
    setting = replace(SETTINGS[0], noise=0.005, launches=5)
    for number in range(10):
        planted = step(np.random.default_rng(number), setting, 1.5)
        assert one(planted).scores["step"].found == 1, planted.size_from


def test_large_noise_hides_and_nothing_is_invented() -> None:
    setting = replace(SETTINGS[0], noise=0.3, launch_noise=0.03, launches=3)
    found = [one(spike(np.random.default_rng(number), setting, 1.2)) for number in range(10)]
    assert sum(score.wrong for result in found for score in result.scores.values()) <= 1
