# SPDX-License-Identifier: BSD-3-Clause
"""Two versions: what moved, what became slower; and nothing where both are the same."""

import numpy as np
import pytest
from volley.compare.partners import partners
from volley.detect import Finding, Material, detect
from volley.detect.material import CurveData
from volley.selftest.synthetic import Conditions, draft
from volley.sizes import powers_of_two, with_neighbours


def halves(number: int) -> tuple[Material, Material]:
    """One measurement's launches dealt into two."""
    random = np.random.default_rng([77, number])
    launches, noise, offset = (
        float(random.choice(any_of)) for any_of in ([6, 10, 20], [0.01, 0.04, 0.1], [0.01, 0.15])
    )
    setting = Conditions(int(launches), 20, noise, offset, neighbours=bool(random.integers(2)))
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
    assert partners(["mpich==5.0.2/shm"], ["mpich==4.1.3/shm"]) == {"mpich==5.0.2/shm": "mpich==4.1.3/shm"}


def test_two_versions_in_one_study_are_compared_by_name() -> None:
    both = mpich("5.0.2", 8112, 1)
    both.curves += mpich("4.1.3", 16304, 2).curves
    (moved,) = found(detect(both, against=both.only({"mpich==4.1.3/shm"})), "structure change")
    assert moved.system == "mpich==5.0.2/shm"


def test_a_collapse_whose_first_size_is_its_slowest_begins_there() -> None:
    # Open MPI over TCP with buffers of 8 KiB (us; six launches): behind the edge no line fits.
    sizes = [64, 512, 1024, 2048, 4096, 5000, 6000, 7000, 8192, 10000, 12288, 16384, 20000, 24576, 32768, 49152]
    rows = [
        [4.67, 5.00, 5.07, 5.26, 8.30, 9.37, 7.23, 10.54, 11.01, 12.63, 66.75, 12.45, 58.53, 100.0, 111.1, 21993.0],
        [4.74, 4.88, 5.00, 5.31, 5.80, 6.15, 6.38, 9.40, 9.28, 9.46, 66.46, 47.13, 45.43, 46.63, 78.35, 85.92],
        [4.63, 5.04, 5.04, 5.34, 5.81, 6.22, 6.45, 9.79, 10.96, 9.56, 54.98, 68.28, 46.19, 49.07, 91.80, 127.31],
        [4.84, 4.92, 5.07, 5.33, 5.88, 7.68, 9.14, 9.25, 9.22, 9.39, 65.21, 47.54, 48.76, 64.55, 92.26, 127.92],
        [4.69, 4.97, 5.14, 5.33, 5.89, 6.18, 6.31, 9.51, 22.90, 9.44, 66.83, 67.73, 45.80, 51.47, 92.36, 134.63],
        [4.59, 4.65, 4.67, 4.80, 5.04, 5.08, 5.16, 8.77, 11.25, 29.94, 91.87, 93.17, 37.67, 109.7, 104.2, 154.62],
    ]
    log_ns = np.log(1e3 * np.array(rows))
    curve = CurveData("openmpi", "pingpong", "-", 2, np.array(sizes), tuple(range(1, 7)), log_ns)
    findings = detect(Material("a table", [curve]))
    begins = {one.size_from for one in findings if one.kind in ("step", "collapse") and one.magnitude > 2}
    assert begins == {10000}
    assert not found(findings, "spike")
