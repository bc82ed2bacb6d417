# SPDX-License-Identifier: BSD-3-Clause
import math
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from scipy.stats import mannwhitneyu
from volley.compare.pairwise import Contest, compare, holm, launches_needed, shift_interval


def table(system: str, per_launch: list[float], sizes: tuple[int, ...] = (8, 4096, 1 << 20)) -> pl.DataFrame:
    rows = [
        (system, "pingpong", "-", 2, size, launch, factor * (100 + size * 0.01))
        for launch, factor in enumerate(per_launch)
        for size in sizes
    ]
    return pl.DataFrame(rows, schema=["system", "test", "variant", "ranks", "size", "launch", "value_ns"], orient="row")


def verdicts(a: list[float], b: list[float], margin: float = 0.02) -> list[str]:
    contest = Contest("a", table("a", a), "b", table("b", b))
    return [one.verdict for one in compare([contest], margin)]


STEADY = [1.000, 1.002, 0.998, 1.001, 0.999, 1.003, 0.997, 1.0015]


def test_each_band_of_sizes_gets_its_verdict() -> None:
    assert verdicts([1.2 * x for x in STEADY], STEADY) == ["SLOWER"] * 3
    assert verdicts([0.8 * x for x in STEADY], STEADY) == ["FASTER"] * 3
    assert verdicts(STEADY[::-1], STEADY) == ["SAME"] * 3


def test_a_real_but_tiny_difference_is_the_same_within_the_margin() -> None:
    assert verdicts([1.008 * x for x in STEADY], STEADY, margin=0.02) == ["SAME"] * 3
    assert verdicts([1.008 * x for x in STEADY], STEADY, margin=0.001) == ["SLOWER"] * 3


def test_too_few_launches_are_undecided_and_the_number_needed_is_told() -> None:
    contest = Contest("a", table("a", [1.5, 1.5, 1.5]), "b", table("b", [1.0, 1.0, 1.0]))
    found = compare([contest], 0.02)
    assert {one.verdict for one in found} == {"UNDECIDED"}
    assert "need at least 5" in found[0].note
    assert launches_needed(1) == 4
    assert launches_needed(3) == 5


def test_an_interval_that_touches_equality_is_never_a_verdict() -> None:
    # Values as coarse as a clock's ticks tie, and the rank test may call significant what the interval does not.
    a = [1.6, 0.6, 1.8, 0.5, 0.4, 0.4, 2.1]
    b = [0.7, 2.0, 1.8, 2.0, 2.3, 1.8, 3.0]
    assert mannwhitneyu(a, b, method="exact").pvalue <= 0.05
    contest = Contest("a", table("a", a, (8,)), "b", table("b", b, (8,)))
    assert [one.verdict for one in compare([contest], 0.02)] == ["UNDECIDED"]


def test_noise_wider_than_the_margin_is_undecided_not_same() -> None:
    random = np.random.default_rng(3)
    assert verdicts(random.lognormal(0, 0.3, 8).tolist(), random.lognormal(0, 0.3, 8).tolist()) == ["UNDECIDED"] * 3


def test_sizes_that_one_side_lacks_do_not_count() -> None:
    contest = Contest("a", table("a", STEADY, (8, 100)), "b", table("b", STEADY, (8, 200)))
    (one,) = compare([contest], 0.02)
    assert (one.band, one.sizes) == ("up to 1 KiB", 1)


def test_the_shift_interval_has_the_coverage_it_claims() -> None:
    """Against every arrangement of ranks: how often the interval's ends enclose a shift of zero."""
    n, m = 4, 4
    _, _, _, coverage = shift_interval([0.0] * n, [0.0] * m)
    values = np.arange(n + m, dtype=float)
    seen = hits = 0
    for chosen in {tuple(sorted(order[:n])) for order in permutations(range(n + m))}:
        a = values[list(chosen)]
        b = np.delete(values, list(chosen))
        _, low, high, _ = shift_interval(a.tolist(), b.tolist())
        seen += 1
        hits += low <= 0 <= high
    assert seen == math.comb(n + m, n)
    assert coverage == pytest.approx(hits / seen)
    assert coverage >= 0.95


def test_holm_multiplies_by_what_is_left_and_never_goes_down() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
