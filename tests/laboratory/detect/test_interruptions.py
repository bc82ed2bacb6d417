# SPDX-License-Identifier: BSD-3-Clause
"""Operations that come late now and then, and worlds too large for the machine: told, and not told."""

from __future__ import annotations

import numpy as np
import pytest
from volley.detect import Finding, Material, detect
from volley.detect.kinds.interruption import interruptions
from volley.detect.material import CurveData, Series

SIZES = np.array([8, 1024, 65536, 1 << 20])
USUAL_NS = np.array([800.0, 1_000.0, 12_000.0, 200_000.0])


def curve(
    ranks: int = 2, launches: int = 5, late: int = 0, lateness_ns: float = 4e6, factor: float = 1.0, count: int = 200
) -> CurveData:
    """A launch's operations with 5 % of noise; `late` of each size's come late."""
    random = np.random.default_rng(7)
    series, level = [], np.zeros((launches, len(SIZES)))
    for launch in range(launches):
        for at, size in enumerate(SIZES.tolist()):
            times = factor * USUAL_NS[at] * np.exp(random.normal(0, 0.05, count))
            times[random.choice(count, late, replace=False)] += lateness_ns
            series.append(Series(launch + 1, size, times))
            level[launch, at] = np.log(np.median(times))
    numbers = tuple(range(1, launches + 1))
    return CurveData("m", "allreduce", "-", ranks, SIZES, numbers, level, series)


def found(*curves: CurveData, kind: str) -> list[Finding]:
    return [one for one in detect(Material("invented", list(curves))) if one.kind == kind]


def test_rare_late_operations_are_told_though_medians_do_not_show_them() -> None:
    (stall,) = found(curve(late=6, launches=6), kind="stall")
    total = USUAL_NS.sum() * 200
    assert stall.magnitude == pytest.approx((total + 24 * 4e6) / total, rel=0.1)
    assert stall.duration_ns == pytest.approx(4e6, rel=0.05)
    assert stall.period is None
    assert (stall.size_from, stall.size_to, stall.status) == (8, 1 << 20, "UNEXPLAINED")
    assert "medians do not" in stall.evidence["says"]
    (few,) = found(curve(late=6), kind="stall")
    assert few.status == "UNDECIDED"  # five launches are too few for what comes and goes


@pytest.mark.parametrize(
    "quiet",
    [
        curve(late=0),
        curve(late=1, lateness_ns=2e6),  # eight milliseconds of forty-three
        curve(late=30, lateness_ns=1e5),  # below half a millisecond: timers do not work so
        curve(late=60),  # three in ten: these are modes
    ],
)
def test_a_few_interruptions_short_ones_and_modes_are_no_stalls(quiet: CurveData) -> None:
    assert found(quiet, kind="stall") == []


def test_experiments_count_late_operations_however_many_they_are() -> None:
    most = curve(late=120)
    assert all(one.share == 0 for one in interruptions(most))
    assert all(one.share > 0.9 for one in interruptions(most, all_late=True))


def test_one_launch_alone_is_undecided() -> None:
    (stall,) = found(curve(launches=1, late=6), kind="stall")
    assert (stall.status, stall.confidence) == ("UNDECIDED", 0.5)


def test_a_world_that_is_slow_beyond_its_traffic_is_told() -> None:
    (collapse,) = found(curve(2), curve(4, factor=6 * 100), kind="rank collapse")
    assert (collapse.ranks, collapse.evidence["ranks_before"]) == (4, 2)
    assert collapse.magnitude == pytest.approx(100, rel=0.05)


@pytest.mark.parametrize("factor", [1.0, 6.0, 6.0 * 4])
def test_growth_that_traffic_and_taking_turns_explain_is_not_told(factor: float) -> None:
    assert found(curve(2), curve(4, factor=factor), kind="rank collapse") == []
