# SPDX-License-Identifier: BSD-3-Clause
"""What has one cause is told once, and what costs most first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from volley.data.results import Launch, Study
from volley.detect.certainty import CLEARLY_FIXED, FIXED, PASSING, weighed
from volley.detect.finding import Finding
from volley.detect.material import CurveData, Material
from volley.machine.facts import OTHERS
from volley.report.ranking import SEEN, Ranked, Ranking

SIZES = (1, 64, 1024, 4096, 8192, 65536, 1 << 20)
SYSTEMS = ("one/shm", "two/shm", "three/tcp")


def finding(kind: str = "step", system: str = "one/shm", low: int = 4096, high: int = 8192, **more: Any) -> Finding:
    more = {"test": "pingpong", "ranks": 2, "magnitude": 2.0, "confidence": 0.99, **more}
    evidence = {"says": "something", "direction": "up", "launches": 9, **more.pop("evidence", {})}
    return Finding(kind, system, size_from=low, size_to=high, interval=(1.8, 2.2), evidence=evidence, **more)


def material(ranks: int = 2, others: float = 0.0, launches: int = 4, **state: Any) -> Material:
    level = np.log([1000 + size / 4 for size in SIZES])
    rows = np.array([level] * launches)
    numbers = tuple(range(1, launches + 1))
    curves = [
        CurveData(system, test, "-", ranks, np.array(SIZES), numbers, rows)
        for system in SYSTEMS
        for test in ("pingpong", "bcast")
    ]
    run = [
        Launch(n, system, test, ranks, n, seconds=1.0, operations=9, counters={OTHERS: others}, state=dict(state))
        for n, (system, test) in enumerate([(s, t) for s in SYSTEMS for t in ("pingpong", "bcast")], 1)
    ]
    return Material("invented", curves, launches=run)


def ranked(findings: list[Finding], where: Material | None = None, **more: Any) -> list[Ranked]:
    study = Study(environment={"cores": 2})
    return Ranking(where or material(), study, Path("studies/here"), **more).ranked(findings)


def test_a_step_its_collapse_and_its_plateau_at_one_place_are_one_finding() -> None:
    (one,) = ranked([finding(), finding("collapse", low=8192, high=1 << 20), finding("plateau", low=4096, high=65536)])
    assert len(one.members) == 3


def test_places_apart_are_two_findings() -> None:
    assert len(ranked([finding(), finding(low=64, high=1024)])) == 2


def test_one_limit_that_several_tests_show_is_one_finding() -> None:
    (one,) = ranked([finding(), finding(test="bcast", low=4096, high=4097)])
    assert one.tests == ("bcast", "pingpong")
    assert "in 2 tests" in one.title


def test_what_costs_more_comes_first() -> None:
    dear = finding("collapse", "two/shm", 64, 1 << 20, magnitude=8.0)
    cheap = finding("spike", low=1024, high=1024, magnitude=1.2)
    assert [one.systems for one in ranked([cheap, dear])] == [("two/shm",), ("one/shm",)]


def spikes(*sizes: int, **more: Any) -> list[Finding]:
    return [finding("spike", low=size, high=size, **more) for size in sizes]


def test_many_slow_sizes_of_a_curve_are_one_finding_wherever_they_lie() -> None:
    (one,) = ranked([*spikes(64, 4096, 1 << 20), *spikes(64, 4096, 65536, test="bcast")])
    assert one.title.startswith("one/shm: Spikes at 3 sizes from 64 B to ")
    assert one.title.endswith(", in 2 tests")
    assert len(one.members) == 6


def test_two_slow_sizes_and_those_quicker_than_their_neighbours_are_told_by_themselves() -> None:
    assert len(ranked(spikes(64, 65536))) == 2
    assert len(ranked(spikes(64, 4096, 65536, magnitude=0.5))) == 3


def test_spikes_cost_as_much_as_the_sizes_they_touch() -> None:
    (many,) = ranked(spikes(64, 4096, 65536))
    (one,) = ranked(spikes(4096))
    assert many.cost == pytest.approx(3 * one.cost)


def test_findings_of_the_same_sizes_cost_what_the_worst_of_them_does() -> None:
    (both,) = ranked([finding("collapse", low=4096, high=65536), finding("plateau", low=4096, high=65536)])
    (alone,) = ranked([finding("collapse", low=4096, high=65536)])
    assert both.cost == pytest.approx(alone.cost)


def test_what_is_undecided_comes_last_whatever_it_would_cost() -> None:
    doubtful = finding("collapse", "two/shm", 1, 1 << 20, magnitude=50.0, status="UNDECIDED", confidence=0.5)
    first, last = ranked([doubtful, finding()])
    assert first.decided
    assert not last.decided
    assert "--resume" in last.advice


@pytest.mark.parametrize("kind", ["launch effect", "bimodal"])
def test_what_most_systems_show_at_once_is_the_machines(kind: str) -> None:
    own = finding(system="two/shm")
    machine, other = sorted(
        ranked([*(finding(kind, system) for system in SYSTEMS), own]), key=lambda one: not one.about_machine
    )
    assert machine.about_machine
    assert machine.status == SEEN
    assert set(machine.systems) == set(SYSTEMS)
    assert other.members == (own,)


def test_what_one_system_shows_is_its_own() -> None:
    assert not any(
        one.about_machine for one in ranked([finding("launch effect"), finding("launch effect", test="bcast")])
    )


def test_other_programs_are_told_once_with_what_they_touch() -> None:
    passing = [finding("stall"), finding("launch effect", "two/shm"), finding("drift", "three/tcp")]
    (machine,) = ranked(passing, material(others=0.9))
    assert machine.title.startswith("Other programs")
    assert len(machine.members) == 3
    assert len(ranked(passing)) == 3


def test_more_ranks_than_cores_are_told_once() -> None:
    crowded = material(ranks=4)
    found = ranked([finding(kind, ranks=4) for kind in ("step", "bimodal", "rank collapse", "spike")], crowded)
    assert [one.title for one in found] == ["More ranks than cores: 4 ranks share 2 cores"]


def test_what_failed_is_never_excused_by_the_machine() -> None:
    found = ranked([finding("failure", ranks=4)], material(ranks=4))
    assert [one.about_machine for one in found] == [False]


def test_a_machine_that_changed_its_state_is_told_by_its_probe() -> None:
    near = {"line_ns": 40.0, "copy_ns": 850.0, "step_ns": 0.26}
    far = {"line_ns": 200.0, "copy_ns": 1950.0, "step_ns": 0.26}
    where = material(before=near, after=near)
    where.launches[0].state = {"before": far, "after": far}
    (machine,) = ranked([finding("launch effect")], where)
    assert machine.title == "The machine changed its state while it was measured"
    assert machine.members
    assert "5 launches" in " ".join(machine.says)


def test_a_proven_cause_speaks_and_its_remedy_is_what_to_do() -> None:
    known = {
        **replace(finding(), cause="eager limit", status="CONFIRMED").to_json(),
        "headline": "CONFIRMED: eager limit. Above it the receiver is asked first.",
        "causes": [{"cause": "eager limit", "remedy": "set the limit higher", "said": ["It moved."], "reasons": []}],
        "command": "volley study --systems one/shm",
    }
    (one,) = ranked([finding()], explained=[known])
    assert (one.status, one.cause, one.advice) == ("CONFIRMED", "eager limit", "set the limit higher")


@pytest.mark.parametrize(
    ("kind", "magnitude", "least"),
    [("step", 1.3, FIXED), ("step", 4.0, CLEARLY_FIXED), ("launch effect", 9.0, PASSING), ("bimodal", 3.0, PASSING)],
)
def test_repetitions_alone_prove_nothing(kind: str, magnitude: float, least: int) -> None:
    for launches in (least - 1, least):
        one = finding(kind, magnitude=magnitude, evidence={"launches": launches})
        found = weighed(one, material())
        assert (found.status == "UNDECIDED") == (launches < least)
        assert found.status != "UNDECIDED" or found.confidence <= 0.5


def few(test: str, launches: int = 1, **more: Any) -> Finding:
    return weighed(finding(test=test, magnitude=1.5, evidence={"launches": launches}, **more), material())


def test_one_place_in_several_tests_adds_up_their_launches() -> None:
    (one,) = ranked([few("pingpong"), few("bcast", launches=2)])
    assert one.decided
    (alone,) = ranked([few("pingpong", launches=2)])
    assert not alone.decided
    assert not any(it.decided for it in ranked([few("pingpong"), few("bcast", low=64, high=128)]))  # two places


def test_what_comes_and_goes_is_not_surer_for_coming_in_several_tests() -> None:
    assert not any(it.decided for it in ranked([few("pingpong", kind="drift"), few("bcast", 5, kind="drift")]))
