# SPDX-License-Identifier: BSD-3-Clause
"""A sender that nobody wakes: what is taken for it, what only looks like it, and what the counters say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from volley.benchmarks import all_tests
from volley.data.results import Launch
from volley.detect import Finding
from volley.detect.material import Material, StreamData
from volley.explain.cause import WORTH_A_WORD
from volley.explain.causes.late_wake_up import LateWakeUp, Standing, _counter, standing
from volley.explain.experiment import Arm, Measured
from volley.explain.scene import Scene
from volley.systems import resolve
from volley.systems.flavours import LOST_WAKE_UPS
from volley.systems.flavours.mpich import Hydra
from volley.systems.flavours.volley import Volley

SYSTEM = "volley==0.1.0/process"
WORK_NS, TIMER_NS = 50e3, 100e6
MESSAGES, PERIOD = 600, 48
LATE = tuple(range(PERIOD, MESSAGES, PERIOD))


def stream(late: Sequence[int] = LATE, sender_late: Sequence[int] = LATE) -> StreamData:
    """A receiver that computes 50 us, and messages that come 100 ms late; the sender stands at its own."""
    received, sent = np.full(MESSAGES, WORK_NS), np.full(MESSAGES, WORK_NS)
    received[list(late)] += TIMER_NS
    sent[list(sender_late)] += TIMER_NS
    return StreamData(SYSTEM, "slow_receiver", "50us", 2, 2048, 1, received, sent, 0)


def sides(asleep: float, variant: str = "50us") -> list[dict[str, Any]]:
    """What both ranks say of themselves, with a sender that sleeps for that share of the time."""
    lost, work = len(LATE) * TIMER_NS, MESSAGES * WORK_NS
    here = {"fact": "side", "size": 2048, "variant": variant, "messages": MESSAGES, "no_core_ns": 0, "sleeps": 12}
    wall = lost + work
    return [
        {**here, "rank": 0, "wall_ns": wall, "computed_ns": 0, "cpu_ns": (1 - asleep) * wall},
        {**here, "rank": 1, "wall_ns": wall, "computed_ns": work, "cpu_ns": work},
    ]


def suspect(one: StreamData, asleep: float = 0.98, lost: int = 0, test: str = "slow_receiver") -> float:
    """The weight of the suspicion; 0 without one."""
    finding = Finding(
        "stall", SYSTEM, test, 2048, 2048, 2000.0, (1900.0, 2100.0), 0.99, variant="50us", ranks=2, duration_ns=TIMER_NS
    )
    counters = {LOST_WAKE_UPS: float(lost)} if lost else {}
    launch = Launch(1, SYSTEM, test, 2, 1, counters=counters, facts=sides(asleep))
    found = LateWakeUp().suspect(finding, Scene(Material("invented", streams=[one], launches=[launch])))
    return found.weight if found is not None else 0.0


def test_both_stand_and_the_sender_sleeps() -> None:
    assert suspect(stream()) > 0.8


def test_the_library_s_own_count_makes_it_likelier() -> None:
    assert suspect(stream(), lost=12) > suspect(stream())


def test_a_sender_that_runs_meanwhile_waits_for_something_else() -> None:
    assert suspect(stream(), asleep=0.1) == 0


def test_a_sender_that_slept_for_part_of_the_time_only_is_not_told_without_a_proof() -> None:
    assert 0 < suspect(stream(), asleep=0.5) < WORTH_A_WORD


def test_a_receiver_that_takes_its_time_finds_messages_waiting() -> None:
    """The sender stands as well, for want of room, but at a message far ahead of the late one."""
    assert suspect(stream(sender_late=[one + 30 for one in LATE if one + 30 < MESSAGES])) == 0


def test_a_few_late_messages_are_a_busy_machine_s() -> None:
    one = stream([100], [100])
    one.receiver_gaps_ns[100] = one.receiver_gaps_ns[0] + 4e6
    assert suspect(one) == 0


def test_other_tests_have_no_such_sender() -> None:
    assert suspect(stream(), test="stream") == 0


def measured(variant: str, late: Sequence[int], asleep: float) -> Measured:
    """An arm of two launches with absolute times: the late messages leave when they arrive."""
    frames = []
    for launch in (1, 2):
        gaps = np.full(MESSAGES, WORK_NS + 200)
        gaps[list(late)] += TIMER_NS
        ends = np.cumsum(gaps)
        for rank, shift in ((0, -100.0), (1, 0.0)):
            frames.append(
                pl.DataFrame(
                    {
                        "variant": [variant] * MESSAGES,
                        "launch": [launch] * MESSAGES,
                        "rank": [rank] * MESSAGES,
                        "size": [2048] * MESSAGES,
                        "repetition": range(MESSAGES),
                        "start_ns": (ends - gaps + shift + 1e9).astype(np.int64),
                        "duration_ns": gaps,
                    }
                )
            )
    (system,) = resolve("volley/process")
    arm = Arm("as found", system, all_tests()["slow_receiver"], 2, (2048,))
    launches = [Launch(n, SYSTEM, "slow_receiver", 2, n, facts=sides(asleep, variant)) for n in (1, 2)]
    merged = [pl.concat(frames[:2]), pl.concat(frames[2:])]
    return Measured(arm, launches, merged)


def test_how_long_both_stand() -> None:
    found = standing(measured("50us", LATE, 0.98))
    assert found.messages == 2 * MESSAGES
    assert found.late == 2 * len(LATE)
    assert found.both_ns == pytest.approx(found.lateness_ns, rel=0.01)
    assert found.asleep_ns == pytest.approx(2 * 0.98 * (len(LATE) * TIMER_NS + MESSAGES * WORK_NS), rel=0.01)
    assert standing(measured("50us,window:2", (), 0.98)).both_ns == 0


FOUND = Standing(1200, 24, 2.4e9, 2.4e9, 2.4e9)
GONE = Standing(1200, 0, 0.0, 0.0, 0.02e9)
BUSY = Standing(1200, 24, 2.4e9, 2.4e9, 0.1e9)
ELSEWHERE = Standing(1200, 24, 2.4e9, 0.1e9, 2.4e9)
UNKNOWN = Standing(1200, 24, 2.4e9, 2.4e9, None)


@pytest.mark.parametrize(
    ("found", "after", "lost", "agrees"),
    [
        (FOUND, GONE, (0, 0), True),
        (FOUND, FOUND, (0, 0), False),  # it sleeps without any wait for room
        (FOUND, BUSY, (0, 0), None),
        (BUSY, GONE, (0, 0), False),
        (ELSEWHERE, GONE, (0, 0), False),
        (UNKNOWN, GONE, (0, 0), None),
        (UNKNOWN, GONE, (24, 0), True),
    ],
)
def test_the_counter(found: Standing, after: Standing, lost: tuple[float, float], agrees: bool | None) -> None:
    assert _counter(found, after, *lost) is agrees


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        ("Volley: rank 1: 3 waits nobody ended in time, which cost at least 0.1 s each (lost wake-ups). This is", 3),
        ("hello\nVolley: rank 0: 1 wait nobody ended in time, which cost at least 0.1 s each (lost wake-ups).\n", 1),
        ("Volley: rank 0: 2 messages were never received\n", 0),
    ],
)
def test_what_the_library_says_is_counted(said: str, lost: int) -> None:
    assert Volley().counted(said) == ({LOST_WAKE_UPS: lost} if lost else {})
    assert Volley().counted(2 * (said + "\n")).get(LOST_WAKE_UPS, 0) == 2 * lost
    assert Hydra().counted(said) == {}
