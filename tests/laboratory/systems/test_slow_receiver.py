# SPDX-License-Identifier: BSD-3-Clause
"""The stream to a receiver that computes, on Volley's library where it is: all arrives, and no wake-up is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from volley.benchmarks import all_tests
from volley.explain.causes.late_wake_up import asleep_ns
from volley.explain.experiment import Arm, Bench, Measured
from volley.machine import facts as machine_facts
from volley.progress import Silent
from volley.systems import System

Ready = Callable[[str], System]
SIZES = (8, 2048)
LATE_NS = 50e6
"""Half of the time limit that ends a sleep nobody else ends."""


def measure(system: System, variant: str) -> Measured:
    test = replace(all_tests()["slow_receiver"], variants=(variant,))
    (found,) = Bench(machine_facts.environment(), Silent()).run([Arm("as found", system, test, 2, SIZES)], 1)
    assert [one.status for one in found.launches] == ["measured"], found.launches
    return found


def late(found: Measured) -> int:
    """Messages that came so late that only a time limit can have ended a sleep."""
    return sum(int((one.receiver_gaps_ns > LATE_NS).sum()) for one in found.material.streams)


@pytest.mark.parametrize("variant", ["0us", "50us", "50us,window:2"])
@pytest.mark.parametrize("name", ["volley/shared", "volley/process"])
def test_no_message_waits_for_a_time_limit(name: str, variant: str, ready: Ready) -> None:
    found = measure(ready(name), variant)
    assert not found.facts("mismatch")
    sides = found.facts("side")
    assert sorted((one["rank"], one["size"]) for one in sides) == [(rank, size) for rank in (0, 1) for size in SIZES]
    for one in sides:
        assert one["messages"] >= all_tests()["slow_receiver"].minimum_repetitions
        least = 1e3 * float(variant.partition("us")[0]) * one["messages"] if one["rank"] == 1 else 0.0
        assert one["wall_ns"] >= one["computed_ns"] >= least
        slept = asleep_ns(one)
        assert slept is None or slept <= one["wall_ns"]
    assert late(found) <= 1  # other programs may keep a rank from its core once


def test_a_planted_loss_of_wakes_shows(ready: Ready) -> None:
    system = ready("volley/process").adjusted({"messages": "unheard"})
    assert late(measure(system, "50us")) >= 4
    assert late(measure(system, "50us,window:2")) <= 1


@pytest.mark.parametrize(("words", "counted"), [("busy:50:60000", 12), ("asleep:50:60000", 12)])
def test_decoys_are_late_by_themselves(words: str, counted: int, ready: Ready) -> None:
    found = measure(ready("volley/process").adjusted({"messages": words}), "50us,window:2")
    assert late(found) >= 2 * counted


def test_a_word_it_does_not_know_ends_the_program(ready: Ready) -> None:
    system = ready("volley/process").adjusted({"messages": "unheard+teleport"})
    with pytest.raises(AssertionError, match="failed"):
        measure(system, "50us")
