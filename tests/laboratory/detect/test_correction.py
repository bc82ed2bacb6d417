# SPDX-License-Identifier: BSD-3-Clause
"""P-values and intervals are what they say: put together, corrected together, and covering what they claim."""

import numpy as np
import pytest
from volley.detect import Finding
from volley.detect.registry import Search, corrected
from volley.detect.statistics import false_discovery, launch_interval, launch_p_value, together


def finding(p_value: float | None) -> Finding:
    return Finding("spike", "a", "pingpong", 8, 8, 2.0, (1.5, 2.5), 1.0, p_value=p_value)


def test_all_searches_share_one_correction_and_each_has_its_part() -> None:
    clear, sure = finding(0.01), finding(1e-5)
    (kept,) = corrected([Search([clear], 1)])
    assert kept.confidence == 0.99
    assert not corrected([Search([clear], 2)])
    others = [Search([], 1000) for _ in range(10)]
    (kept,) = corrected([Search([clear], 1), *others])  # not drowned by those that look at each size
    assert kept.confidence == pytest.approx(1 - 11 * 0.01)  # but eleven were looked for
    assert len(corrected([Search([finding(0.02)], 1), Search([sure], 100)])) == 2  # one correction: a sure one helps
    assert len(corrected([Search([finding(0.02)], 1), Search([], 100)])) == 0


def test_what_was_seen_needs_no_correction_and_helps_nobody_else() -> None:
    seen, doubtful = finding(None), finding(0.5)
    assert corrected([Search([seen] * 50 + [doubtful], 60)]) == [seen] * 50


def test_p_values_are_put_together_as_fisher_did() -> None:
    assert together([0.01, 0.02, 0.05]) == pytest.approx(0.000788, rel=0.02)
    assert together([1.0, 1.0]) == pytest.approx(1.0)
    values = np.random.default_rng(1).uniform(size=(2000, 4))
    assert np.mean([together(row) <= 0.05 for row in values]) == pytest.approx(0.05, abs=0.015)


def test_places_without_a_candidate_count() -> None:
    assert false_discovery([0.001, 0.01], 100) == pytest.approx([0.1, 0.5])
    assert false_discovery([], 100) == []


@pytest.mark.parametrize("launches", [2, 3, 6, 12])
def test_an_interval_of_launches_covers_what_it_says(launches: int) -> None:
    random = np.random.default_rng(launches)
    covered = 0
    for _ in range(1500):
        low, high = launch_interval(random.normal(0.3, 0.05, launches).tolist())
        covered += low <= np.exp(0.3) <= high
    assert covered / 1500 >= 0.94


def test_launches_that_agree_by_chance_prove_no_more_than_launches_do() -> None:
    assert launch_p_value([0.02, 0.02, 0.02], 0.0) > 0.1
    assert launch_p_value([0.5, 0.52, 0.49], 0.0) < 1e-4
