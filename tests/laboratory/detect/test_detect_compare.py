# SPDX-License-Identifier: BSD-3-Clause
"""Two versions: what moved, what became slower; and nothing where both are the same."""

import numpy as np
import pytest
from volley.detect import Finding, Material, detect
from volley.detect.material import CurveData
from volley.detect.pairs import partners
from volley.detect.synthetic import Setting, draft
from volley.sizes import powers_of_two, with_neighbours


def halves(number: int) -> tuple[Material, Material]:
    """One measurement's launches dealt into two."""
    random = np.random.default_rng([77, number])
    launches, noise, offset = (
        float(random.choice(any_of)) for any_of in ([6, 10, 20], [0.01, 0.04, 0.1], [0.01, 0.15])
    )
    setting = Setting(int(launches), 20, noise, offset, neighbours=bool(random.integers(2)))
    curve = draft(random, setting).times()
    dealt = random.permutation(setting.launches)
    parts = np.sort(dealt[: setting.launches // 2]), np.sort(dealt[setting.launches // 2 :])
    first, second = (
        CurveData("a", "pingpong", "-", 2, curve.sizes, tuple(map(int, part)), curve.log_ns[part]) for part in parts
    )
    return Material("new", [first]), Material("old", [second])


def test_two_halves_of_the_same_data_show_no_regression_beyond_one_percent() -> None:
    wrong = 0
    for number in range(200):
        new, old = halves(number)
        wrong += bool(detect(new, ["regression", "structure change"], old))
    assert wrong <= 2


SIZES = np.array(with_neighbours(powers_of_two(1024, 1 << 20), 1024, 1 << 20), dtype=np.int64)
LIMITS = np.unique(np.concatenate([SIZES, [8112, 8113, 16304, 16305]]))


def mpich(version: str, limit: int, seed: int, factor: float = 1.0) -> Material:
    """A step beyond `limit`, as a change of protocol makes it: 1200 ns more."""
    random = np.random.default_rng(seed)
    base = (500 + LIMITS / 4.0 + np.where(limit < LIMITS, 1200, 0)) * factor
    log_ns = np.log(base) + random.normal(0, 0.015, (8, len(LIMITS))) + random.normal(0, 0.015, (8, 1))
    curve = CurveData(f"mpich=={version}/shm", "pingpong", "-", 2, LIMITS, tuple(range(1, 9)), log_ns)
    return Material(version, [curve])


def found(findings: list[Finding], kind: str) -> list[Finding]:
    return [one for one in findings if one.kind == kind]


def test_a_step_that_moved_between_versions_is_said_to_have_moved() -> None:
    findings = detect(mpich("5.0.2", 8112, 1), against=mpich("4.1.3", 16304, 2))
    (moved,) = found(findings, "structure change")
    assert moved.evidence["change"] == "moved"
    assert (moved.evidence["was_from"], moved.evidence["is_from"]) == (16304, 8112)
    assert "moved from 16,304 to 8,112 bytes" in moved.evidence["says"]


def test_a_step_that_stayed_is_no_change() -> None:
    findings = detect(mpich("5.0.2", 8112, 1), ["structure change", "regression"], mpich("4.1.3", 8112, 2))
    assert findings == []


def test_a_slower_version_is_a_regression_by_the_right_amount() -> None:
    findings = detect(mpich("5.0.2", 8112, 1, factor=1.3), ["regression"], mpich("4.1.3", 8112, 2))
    assert [one.kind for one in findings] == ["regression"]
    assert findings[0].magnitude == pytest.approx(1.3, rel=0.05)
    assert findings[0].interval[0] < 1.3 < findings[0].interval[1]


def test_a_faster_version_is_none() -> None:
    assert detect(mpich("5.0.2", 8112, 1, factor=0.7), ["regression"], mpich("4.1.3", 8112, 2)) == []


def test_versions_of_one_family_are_partners() -> None:
    assert partners(mpich("5.0.2", 8112, 1), mpich("4.1.3", 8112, 2)) == {"mpich==5.0.2/shm": "mpich==4.1.3/shm"}


def test_two_versions_in_one_study_are_compared_by_name() -> None:
    both = mpich("5.0.2", 8112, 1)
    both.curves += mpich("4.1.3", 16304, 2).curves
    (moved,) = found(detect(both, against=both.only({"mpich==4.1.3/shm"})), "structure change")
    assert moved.system == "mpich==5.0.2/shm"
