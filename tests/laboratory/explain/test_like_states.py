# SPDX-License-Identifier: BSD-3-Clause
"""Experiments compare launches of one state of the machine."""

from __future__ import annotations

from collections.abc import Callable

from volley.benchmarks import all_tests
from volley.explain.experiment import Arm, Measured
from volley.measure.launcher import Launcher
from volley.systems import resolve

from .scripted import ScriptedBench, World

NEAR = {"line_ns": 40.0, "copy_ns": 850.0, "step_ns": 0.26}
FAR = {"line_ns": 200.0, "copy_ns": 1950.0, "step_ns": 0.26}


class MovingBench(ScriptedBench):
    """Its machine is in another state in some launches."""

    def __init__(self, far: Callable[[int], bool]) -> None:
        super().__init__(World(lambda arm, size: 1000.0))
        self.far = far

    def _launch(self, measured: Measured, launcher: Launcher) -> None:
        super()._launch(measured, launcher)
        launch = measured.launches[-1]
        state = FAR if self.far(launch.number) else NEAR
        launch.state = {"before": state, "after": state}


def ran(far: Callable[[int], bool], launches: int = 5) -> list[Measured]:
    (system,) = resolve("mpich/shm")
    arms = [Arm(name, system, all_tests()["pingpong"], 2, (8,)) for name in ("as found", "changed")]
    return MovingBench(far).run(arms, launches)


def states(one: Measured) -> set[float]:
    return {launch.state["before"]["line_ns"] for launch in one.launches}


def test_launches_in_a_rarer_state_are_made_again() -> None:
    results = ran(lambda number: number in (2, 5))
    assert [states(one) for one in results] == [{40.0}, {40.0}]
    assert all(len(one.launches) >= 5 for one in results)
    assert all(len(one.frames) == len(one.launches) for one in results)


def test_a_machine_that_moves_all_the_time_leaves_what_there_is() -> None:
    results = ran(lambda number: number % 2 == 0)
    assert all(5 <= len(one.launches) <= 10 for one in results)


def test_a_machine_that_stands_still_costs_nothing() -> None:
    assert [len(one.launches) for one in ran(lambda number: False)] == [5, 5]
