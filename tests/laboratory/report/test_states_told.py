# SPDX-License-Identifier: BSD-3-Clause
"""A study while whose machine changed its state, from samples to ranked findings: what the probe explains is told once,
of the machine, with what it touches; what it does not explain stays the system's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from volley.benchmarks import all_tests
from volley.data.results import Launch, Study
from volley.data.states import MachineState
from volley.data.store import StudyFolder
from volley.detect import detect, read_material
from volley.measure.rank_files import SCHEMA
from volley.report.ranking import Ranked, Ranking

NEAR, FAR, FARTHER = MachineState(40, 850, 0.26), MachineState(200, 1950, 0.26), MachineState(900, 8000, 0.26)
SIZES = [1 << power for power in range(14)]
Made = Sequence[tuple[MachineState, MachineState, float]]
"""Per launch: the state before and after, and how much slower it is."""


def ranked(path: Path, systems: dict[str, Made], cause: str = "") -> list[Ranked]:
    """Ranked, after all findings were explained by `cause`, if there is one."""
    facts = Study(environment={"cores": 2}, tests=[asdict(all_tests()["pingpong"])])
    folder = StudyFolder.create(path, facts)
    random = np.random.default_rng(4)
    number = 0
    for system, launches in systems.items():
        for before, after, factor in launches:
            number += 1
            rows = [
                ("-", rank, size, i, 1000 + i, factor * (500 + size / 4) * random.lognormal(0, 0.02))
                for size in SIZES
                for i in range(12)
                for rank in (0, 1)
            ]
            state = {"before": asdict(before), "after": asdict(after)}
            launch = Launch(number, system, "pingpong", 2, 1, operations=len(rows), seconds=1.0, state=state)
            folder.add_launch(launch, pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    folder.save()
    material = read_material(path)
    findings = detect(material)
    why = {"cause": cause, "status": "CONFIRMED", "headline": "", "causes": [{"said": ["The probe moved."]}]}
    return Ranking(material, facts, path, [one.to_json() | why for one in findings] if cause else ()).ranked(findings)


STEADY: Made = [(NEAR, NEAR, 1.0)] * 8
MOVED: Made = [*STEADY, *[(FAR, FAR, 2.5)] * 3]


def test_launches_in_another_state_are_no_finding_of_any_system_and_told_once(tmp_path: Path) -> None:
    (machine,) = ranked(tmp_path / "study", {"a": MOVED, "b": MOVED, "c": STEADY})
    assert machine.title == "The machine changed its state while it was measured"
    said = " ".join(machine.says)
    assert "24 launches" in said
    assert "6 launches in another state than most are left out" in said
    assert "a, b in pingpong" in said  # and not c


def test_what_likewise_launches_differ_by_stays_the_systems(tmp_path: Path) -> None:
    own: Made = [*MOVED[3:], *[(NEAR, NEAR, 2.0)] * 4]  # slow in the usual state, too
    found = ranked(tmp_path / "study", {"a": MOVED, "b": own})
    assert sorted((one.about_machine, one.systems) for one in found) == [(False, ("b",)), (True, ())]


@pytest.mark.parametrize("how", ["of two rare states", "changed within"])
def test_what_launches_of_several_states_differ_by_is_the_machines(tmp_path: Path, how: str) -> None:
    rare: Made = [(FAR, FAR, 1.0)] * 5
    slow = (FARTHER, FARTHER, 2.5) if how == "of two rare states" else (FAR, FARTHER, 2.5)
    found = ranked(tmp_path / "study", {"a": STEADY, "b": [*rare, slow, slow]})  # no launch of b in the usual state
    assert found
    assert all(one.about_machine for one in found), [one.title for one in found]
    assert [one.systems for one in found if one.members] == [("b",)]


def test_what_explain_says_of_the_machine_is_told_of_the_machine(tmp_path: Path) -> None:
    differing: Made = [*STEADY, *[(NEAR, NEAR, 2.0)] * 4]
    (own,) = ranked(tmp_path / "study", {"a": STEADY, "b": differing})
    assert (own.about_machine, own.systems) == (False, ("b",))
    (told,) = ranked(tmp_path / "explained", {"a": STEADY, "b": differing}, cause="machine's state")
    assert (told.about_machine, told.systems) == (True, ("b",))
    assert "The probe moved." in told.says[0]
