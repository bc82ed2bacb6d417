# SPDX-License-Identifier: BSD-3-Clause
"""The machine's state goes with every launch, and launches are compared within like states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest
from volley.benchmarks import all_tests
from volley.data.results import Launch, Study
from volley.data.states import MachineState, change_within, states_of
from volley.data.store import StudyFolder
from volley.hosts.this_machine import ThisMachine
from volley.machine.facts import environment, usable_cpus
from volley.measure.launcher import RUN_AGAIN, Launcher
from volley.measure.plan import Cell, Options
from volley.measure.rank_files import SCHEMA
from volley.systems import resolve

NEAR, FAR = MachineState(40, 850, 0.26), MachineState(200, 1950, 0.26)


def launch(number: int, before: MachineState, after: MachineState | None = None, system: str = "a") -> Launch:
    state = {"before": asdict(before), "after": asdict(after or before)}
    return Launch(number, system, "pingpong", 2, number, operations=10, state=state)


def test_launches_in_the_rarer_state_are_left_out_unless_a_cell_has_no_others() -> None:
    launches = [launch(n, NEAR) for n in (1, 2, 3)] + [launch(4, FAR), launch(5, FAR, system="b")]
    states = states_of(launches)
    assert states.groups == (frozenset({1, 2, 3}), frozenset({4, 5}))
    assert states.unlike(launches) == {4}  # of b there is no other
    assert states.words() == "copying 64 KiB from core to core took 850 ns in 3 launches, 1.95 µs in 2" or (
        states.words() == "a cache line from core to core took 40.0 ns in 3 launches, 200 ns in 2"
    )


def test_a_machine_that_stands_still_loses_no_launch() -> None:
    launches = [launch(n, MachineState(40 + n, 850 - 5 * n, 0.26)) for n in range(12)]
    assert not states_of(launches).moved
    assert states_of(launches).unlike(launches) == set()


def test_a_change_in_the_middle_belongs_to_no_state() -> None:
    launches = [launch(1, NEAR), launch(2, NEAR, FAR), launch(3, NEAR)]
    assert "then 200 ns" in change_within(launches[1])
    assert states_of(launches).unlike(launches) == {2}


def test_what_nobody_probed_is_like_everything() -> None:
    launches = [launch(1, NEAR), Launch(2, "a", "pingpong", 2, 1, operations=10), launch(3, NEAR, MachineState())]
    assert states_of(launches).unlike(launches) == set()


def on_hosts(number: int, test: str, **states: tuple[MachineState, MachineState]) -> Launch:
    """A launch that used these hosts, and one that has nothing to say of its state."""
    told = [
        {"name": host, "state": {"before": asdict(before), "after": asdict(after)}}
        for host, (before, after) in states.items()
    ]
    return Launch(number, "a", test, len(states), number, operations=10, hosts=[*told, {"name": "idle"}])


STEADY, SLOW = (NEAR, NEAR), (FAR, FAR)


def test_a_host_in_another_state_touches_launches_that_used_it_and_no_others() -> None:
    launches = [on_hosts(n, "pingpong", n1=STEADY, n2=STEADY) for n in (1, 2, 3)]
    launches += [on_hosts(n, "alltoall", n1=STEADY, n2=STEADY, n3=STEADY) for n in (4, 5)]
    launches += [on_hosts(6, "alltoall", n1=STEADY, n2=STEADY, n3=SLOW)]
    launches += [on_hosts(7, "alltoall", n1=STEADY, n2=STEADY, n3=(NEAR, FAR))]
    states = states_of(launches)
    assert states.usual == frozenset({1, 2, 3, 4, 5})
    assert states.unusual == frozenset({6, 7})
    assert states.unlike(launches) == {6, 7}
    assert states.words().startswith("on host n3 ")
    assert "in 2 launches" in states.words()
    assert change_within(launches[-1]).startswith("on host n3 ")
    assert not change_within(launches[0])


def test_hosts_that_always_differ_from_each_other_lose_no_launch() -> None:
    launches = [on_hosts(n, "alltoall", n1=STEADY, n2=SLOW) for n in range(5)]
    assert not states_of(launches).moved


class Moving(ThisMachine):
    """This machine, with a probe that says what it is told to."""

    def __init__(self, states: list[MachineState]) -> None:
        super().__init__()
        self.states: Iterator[MachineState] = iter(states)

    def _state(self, ranks: int) -> MachineState | None:
        return next(self.states)


def ran(states: list[MachineState]) -> Launch:
    (machine,) = resolve("machine")
    options = Options(sizes=[8], repetitions=3)
    launcher = Launcher(options, environment(), Moving(states))
    try:
        return launcher.launch(Cell(machine, all_tests()["ceilings"], 2), 1, 1)[0]
    finally:
        launcher.close()


def test_a_launch_in_which_the_state_changes_is_run_again() -> None:
    kept = ran([NEAR, FAR, FAR, FAR])
    assert len(kept.state["voided"]) == 1
    assert kept.state["before"] == asdict(FAR)
    assert kept.operations


def test_a_machine_that_always_changes_is_given_up_on_and_the_launch_is_marked() -> None:
    kept = ran([NEAR, FAR] * (RUN_AGAIN + 1))
    assert len(kept.state["voided"]) == RUN_AGAIN
    assert change_within(kept)


@pytest.mark.skipif(len(usable_cpus()) < 2, reason="one CPU has no other to be far from")
def test_the_probe_says_of_two_cores_what_they_can(tmp_path: Path) -> None:
    hosts = ThisMachine()
    one = Launch(1, "a", "pingpong", 2, 1)
    with hosts.opened(tmp_path, lambda _: None), hosts.observed(one, ()):
        pass
    for when in ("before", "after"):
        assert 0 <= one.state[when]["line_ns"] < 5000  # 0: another program had the core all the time
        assert 0 <= one.state[when]["copy_ns"] < 100_000
        assert 0.05 < one.state[when]["step_ns"] < 5


def test_samples_of_unlike_launches_are_not_compared(tmp_path: Path) -> None:
    folder = StudyFolder.create(tmp_path / "study", Study(tests=[]))
    for one in (launch(1, NEAR), launch(2, FAR), launch(3, NEAR)):
        rows = {name: [1] for name in SCHEMA} | {"variant": ["-"]}
        folder.add_launch(one, pl.DataFrame(rows, schema_overrides=SCHEMA))
    assert folder.samples().select("launch").collect()["launch"].unique().to_list() == [1, 2, 3]
    assert folder.comparable_samples().select("launch").collect()["launch"].unique().to_list() == [1, 3]
