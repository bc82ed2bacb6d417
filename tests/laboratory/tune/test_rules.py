# SPDX-License-Identifier: BSD-3-Clause
"""From launches to rules: what is picked, what stands, and how it is written."""

from __future__ import annotations

import math

import numpy as np
from volley.tune.rules import Rows, Rule, file_text, judged, pick

SIZES = (8, 64, 512, 4096)


def rows(*times: float, launches: int = 3, noise: float = 0.001, seed: int = 1) -> Rows:
    """Launches that measured these times at SIZES."""
    random = np.random.default_rng(seed)
    return [
        {size: math.log(time) + random.normal(0, noise) for size, time in zip(SIZES, times, strict=True)}
        for _ in range(launches)
    ]


def rule(algorithm: str, sizes: tuple[int, ...], until: int | None) -> Rule:
    return Rule("bcast", algorithm, sizes, until, ranks=4, hosts=2)


def test_what_is_quicker_is_picked_where_it_is() -> None:
    own = rows(10, 10, 20, 40)
    algorithms = {"ring": rows(15, 15, 15, 20, seed=2), "tree": rows(9, 10, 21, 45, seed=3)}
    assert pick(own, algorithms) == [("tree", (8,), 64), ("ring", (512, 4096), None)]


def test_a_gain_too_small_to_matter_is_not_picked() -> None:
    assert pick(rows(10, 10, 20, 40), {"ring": rows(9.8, 9.7, 19.5, 39, seed=2)}) == []


def test_one_algorithm_goes_on_where_another_is_hardly_quicker() -> None:
    algorithms = {"ring": rows(8, 8.05, 10, 20, seed=2), "tree": rows(9, 8, 9.95, 20.2, seed=3)}
    assert pick(rows(10, 10, 20, 40), algorithms) == [("ring", SIZES, None)]


def test_an_algorithm_that_failed_at_some_sizes_is_picked_elsewhere() -> None:
    partly: Rows = [{8: math.log(5)}, {8: math.log(5)}, {8: math.log(5)}]
    assert pick(rows(10, 10, 20, 40), {"ring": partly, "none": []}) == [("ring", (8,), 64)]


def test_only_what_is_certainly_quicker_stands() -> None:
    """The same rule, with launches that agree and with launches that do not."""
    ring = rule("ring", (512, 4096), None)
    own = rows(10, 10, 20, 40, launches=8, noise=0.05, seed=4)
    quick = rows(10, 10, 15, 30, launches=8, noise=0.05, seed=5)
    alike = rows(10, 10, 20, 40, launches=8, noise=0.05, seed=6)
    sure, unsure, slow, unmeasured = judged(
        [(ring, quick, own), (ring, alike, own), (ring, own, quick), (ring, (), ())]
    )
    assert sure.holds
    assert 0.65 < sure.low <= sure.ratio <= sure.high < 0.85
    assert sure.launches == 8
    assert not unsure.holds
    assert slow.verdict == "SLOWER"
    assert not slow.holds
    assert not unmeasured.holds
    assert unmeasured.launches == 0


def test_of_many_rules_without_effect_hardly_one_stands() -> None:
    """Corrected together: 400 rules of noise, in lots of 40."""
    stood = 0
    for lot in range(10):
        proofs = [
            (
                rule("ring", (8, 64), 512),
                rows(1, 1, 1, 1, launches=8, noise=0.1, seed=1000 * lot + 2 * at),
                rows(1, 1, 1, 1, launches=8, noise=0.1, seed=1000 * lot + 2 * at + 1),
            )
            for at in range(40)
        ]
        stood += sum(one.holds for one in judged(proofs))
    assert stood <= 2


def test_rules_are_written_as_the_library_reads_them() -> None:
    whole = Rule("reduce_scatter", "staged", (1024, 2048), 4096, ranks=4, hosts=1, scale=4)
    assert whole.text() == "reduce_scatter=staged@bytes=4096-16383,ranks=4,hosts=1"
    assert rule("ring", (512,), None).text() == "bcast=ring@bytes=512-,ranks=4,hosts=2"
    barrier = Rule("barrier", "dissemination", (0,), None, 13, 13, verdict="FASTER", ratio=0.8, low=0.7, high=0.9)
    assert barrier.text() == "barrier=dissemination@ranks=13,hosts=13"
    text = file_text([barrier, whole], ["About it."])
    assert text.splitlines()[0] == "# About it."
    assert [line.partition(" ")[0] for line in text.splitlines()[1:]] == [barrier.text()]
    assert "certainly" in file_text([whole], [])
