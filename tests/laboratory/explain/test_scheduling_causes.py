# SPDX-License-Identifier: BSD-3-Clause
"""Causes that lie in the scheduler: each is suspected where its own counters speak for it, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
import pytest
from volley.data.results import Launch, Study
from volley.detect import Finding, Material
from volley.detect.material import CurveData
from volley.explain import Suspicion
from volley.explain.causes.cpu_quota import CpuQuota
from volley.explain.causes.migration import Migration
from volley.explain.causes.more_ranks_than_cores import MoreRanksThanCores
from volley.explain.causes.other_load import OtherLoad
from volley.explain.occupancy import occupancy
from volley.explain.scene import Scene
from volley.explain.symptom import Interrupted, RankCollapse, Spread, symptom_of

QUIET = {
    "ranks.waiting_seconds": 0.004,
    "ranks.cpu_seconds": 1.9,
    "ranks.involuntary_switches": 8,
    "others.cpu_seconds": 0.01,
    "cpu.user_seconds": 2.0,
}
HOG = QUIET | {"ranks.waiting_seconds": 0.7, "ranks.involuntary_switches": 500, "others.cpu_seconds": 0.8}
QUOTA = QUIET | {"cgroup.nr_throttled": 9, "cgroup.throttled_usec": 1.2e6, "ranks.waiting_seconds": 0.6}
CROWD = QUIET | {"ranks.waiting_seconds": 2.0, "ranks.involuntary_switches": 60_000}
CAUSES = (OtherLoad(), CpuQuota(), MoreRanksThanCores(), Migration())


def launch(
    number: int, counters: Mapping[str, float], ranks: int = 2, affinity: list[list[int]] | None = None
) -> Launch:
    bound = affinity if affinity is not None else [[rank] for rank in range(ranks)]
    return Launch(number, "m", "t", ranks, 1, seconds=1.0, operations=2000, affinity=bound, counters=dict(counters))


def finding(kind: str = "stall", ranks: int = 2, magnitude: float = 3.0) -> Finding:
    evidence = {"interruptions": True} if kind == "stall" else {}
    return Finding(kind, "m", "t", 8, 8, magnitude, (2, 4), 0.9, evidence=evidence, ranks=ranks, duration_ns=4e6)


def suspects(
    counters: Mapping[str, float], one: Finding | None = None, cores: int = 2, affinity: list[list[int]] | None = None
) -> dict[str, Suspicion]:
    """Which of the causes suspect themselves, by name."""
    one = one or finding()
    launches = [launch(number, counters, one.ranks, affinity) for number in range(1, 7)]
    study = Study(environment={"cores": cores, "cpu_quota": None})
    scene = Scene(Material("study", launches=launches), study)
    seen = {cause.name: cause.suspect(one, scene) for cause in CAUSES}
    return {name: suspicion for name, suspicion in seen.items() if suspicion is not None}


def test_each_cause_is_the_likeliest_where_its_counter_speaks() -> None:
    for counters, one, wanted in (
        (HOG, finding(), "other load"),
        (QUOTA, finding(), "CPU quota"),
        (QUOTA | HOG, finding(), "CPU quota"),
        (CROWD, finding("rank collapse", ranks=1000), "more ranks than cores"),
    ):
        told = suspects(counters, one)
        assert max(told, key=lambda name: told[name].weight) == wanted
        assert told[wanted].weight >= 0.4


def test_late_operations_without_any_counter_are_no_ones() -> None:
    assert suspects(QUIET) == {}


def test_load_alone_explains_nothing_if_ranks_had_their_cores() -> None:
    assert suspects(QUIET | {"others.cpu_seconds": 0.9}) == {}


def test_a_quota_that_was_never_reached_is_not_suspected() -> None:
    assert "CPU quota" not in suspects(HOG | {"cgroup.nr_throttled": 0})


def test_faster_is_not_explained_by_lack_of_cores() -> None:
    assert suspects(HOG, finding("spike", magnitude=0.7)) == {}


def test_as_many_ranks_as_cores_are_not_too_many() -> None:
    assert "more ranks than cores" not in suspects(CROWD, finding(ranks=2), cores=2)
    assert "more ranks than cores" in suspects(CROWD, finding(ranks=4), cores=2)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core only")
def test_unbound_and_confined_ranks_are_suspected_bound_ones_are_not() -> None:
    bound, unbound, confined = [[0], [1]], [[0, 1], [0, 1]], [[0], [0]]
    assert "pinning and migration" not in suspects(HOG, affinity=bound)
    loose = suspects(HOG, affinity=unbound)["pinning and migration"]
    shared = suspects(HOG, affinity=confined)["pinning and migration"]
    assert shared.weight > loose.weight
    assert any("core 0" in reason for reason in shared.reasons)


def test_reasons_are_whole_sentences() -> None:
    for suspicion in (*suspects(HOG | QUOTA | CROWD, finding(ranks=4)).values(), *suspects(HOG).values()):
        for reason in suspicion.reasons:
            assert reason[0].isupper() or reason[0].isdigit(), reason
            assert reason.endswith("."), reason


def test_shares_are_of_what_ranks_wanted_and_old_studies_count_switches() -> None:
    seen = occupancy([launch(1, HOG)])
    assert seen.waiting == pytest.approx(0.7 / 2.6)
    assert (seen.others, seen.own) == pytest.approx((0.8, 1.2))
    assert seen.per_operation == pytest.approx(0.5)
    old = {name: value for name, value in HOG.items() if name not in ("ranks.waiting_seconds", "ranks.cpu_seconds")}
    assert occupancy([launch(1, old)]).waiting is None
    assert occupancy([launch(1, old)]).wanting
    assert not occupancy([launch(1, QUIET)]).wanting
    assert occupancy([]).launches == 0


def test_each_kind_is_measured_again_in_its_own_way() -> None:
    sizes = np.array([8, 64])
    small = CurveData("m", "t", "-", 2, sizes, (1,), np.log([[1e3, 2e3]]))
    large = CurveData("m", "t", "-", 4, sizes, (1,), np.log([[6e6, 12e6]]))
    one = Finding("rank collapse", "m", "t", 8, 64, 1e3, (1e3, 1e3), 1, evidence={"ranks_before": 2}, ranks=4)
    collapse = symptom_of(one, large, [small, large])
    assert isinstance(collapse, RankCollapse)
    assert collapse.sizes == (8, 64)
    assert isinstance(symptom_of(finding(), small), Interrupted)
    assert isinstance(symptom_of(finding("launch effect"), small), Spread)
