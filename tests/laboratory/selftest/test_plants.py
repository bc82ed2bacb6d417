# SPDX-License-Identifier: BSD-3-Clause
"""What the plants come to: a cause that is not told fails on a quiet machine, and says nothing on another."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest
from volley.cli.selftest import exit_status
from volley.data.results import Launch
from volley.data.states import MachineState
from volley.detect.finding import Finding
from volley.errors import EXIT_FAILED, EXIT_FINE, EXIT_UNDECIDED
from volley.explain.cause import Examination, Suspicion, causes
from volley.explain.explain import Tried, judge
from volley.machine.facts import OTHERS
from volley.selftest.planted import Outcome, PlantResult
from volley.selftest.plants.eager_limit_moved import EagerLimitMoved
from volley.selftest.plants.forty_milliseconds import DelayedSender
from volley.selftest.quiet import disturbance

STEP = Finding("step", "lam/tcp", "pingpong", 20480, 28672, 2.0, (1.9, 2.1), 0.99)


def told(name: str, proven: bool) -> PlantResult:
    """A try whose only verdict names a cause, proven or likely."""
    cause = next(one for one in causes() if one.name == name)
    seen = Examination(True, True) if proven else None
    return PlantResult(EagerLimitMoved(), (judge([STEP], [Tried(cause, Suspicion(0.9, ()), seen)], ""),), (), 1.0)


MISSED = PlantResult(EagerLimitMoved(), (), (), 1.0)
NOISY = replace(MISSED, disturbed="other programs used the cores")
RIGHT = told("eager limit", True)


@pytest.mark.parametrize(
    ("tries", "settled", "status"),
    [
        ((RIGHT,), True, EXIT_FINE),
        ((told("eager limit", False),), True, EXIT_FINE),  # named first; the proof may be out of reach here
        ((MISSED,), False, EXIT_UNDECIDED),  # may be chance: tried again
        ((MISSED, RIGHT), True, EXIT_FINE),
        ((MISSED, MISSED), True, EXIT_FAILED),
        ((told("late wake-up", False), MISSED), True, EXIT_FAILED),  # another cause first is a miss, too
        ((NOISY, NOISY), False, EXIT_UNDECIDED),
        ((NOISY, NOISY, NOISY), True, EXIT_UNDECIDED),
        ((NOISY, MISSED, NOISY), True, EXIT_UNDECIDED),
        ((NOISY, MISSED, MISSED), True, EXIT_FAILED),
        ((NOISY, told("late wake-up", True)), True, EXIT_FAILED),  # noise excuses a miss, no wrong proof
        ((replace(MISSED, why_not="no LAM here"),), True, EXIT_FINE),
    ],
)
def test_a_miss_fails_where_the_machine_was_quiet_twice(
    tries: tuple[PlantResult, ...], settled: bool, status: int
) -> None:
    outcome = Outcome(tries)
    assert outcome.settled == settled
    assert exit_status([Outcome((RIGHT,)), outcome]) == status


def test_a_decoy_that_is_not_found_is_a_miss_and_one_not_explained_is_right() -> None:
    seen = PlantResult(DelayedSender(), (judge([STEP], [], ""),), (), 1.0)
    assert exit_status([Outcome((seen,))]) == EXIT_FINE
    missed = replace(seen, verdicts=())
    assert exit_status([Outcome((missed, missed))]) == EXIT_FAILED


def launch(number: int, line_ns: float = 40, others: float = 0.0, status: str = "measured") -> Launch:
    state = asdict(MachineState(line_ns, 850, 0.26))
    return Launch(
        number,
        "lam/tcp",
        "pingpong",
        2,
        number,
        status=status,
        operations=100,
        seconds=1.0,
        counters={OTHERS: others},
        state={"before": state, "after": state},
    )


def test_quiet_is_what_probes_and_counters_of_launches_say() -> None:
    quiet = [launch(n) for n in range(8)]
    assert disturbance(quiet, []) == ""
    assert disturbance([*quiet, launch(8, others=1.0)], []) == ""  # one in nine hides no plant
    assert "other programs" in disturbance([launch(n, others=0.4) for n in range(8)], [])
    assert "changed" in disturbance([*quiet[:5], *(launch(n, line_ns=200) for n in (5, 6, 7))], [])
    assert "in their time" in disturbance([*quiet[:2], launch(2, status="frozen")], [])
