# SPDX-License-Identifier: BSD-3-Clause
"""Signatures of the causes that live in TCP, on invented curves: what they suspect, and what only looks like them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from volley.benchmarks import all_tests
from volley.data.results import Launch, Study
from volley.detect import Finding
from volley.detect.material import CurveData, Material, Series
from volley.explain.case import Contrast
from volley.explain.causes.congestion_control import CongestionControl
from volley.explain.causes.congestion_control import _agrees as disorder_agrees
from volley.explain.causes.nagle import Nagle
from volley.explain.causes.nagle import _agrees as acks_agree
from volley.explain.causes.retransmission_timeout import RetransmissionTimeout
from volley.explain.causes.retransmission_timeout import _agrees as losses_agree
from volley.explain.causes.socket_buffers import SocketBuffers
from volley.explain.experiment import Arm, Measured
from volley.explain.scene import Scene
from volley.systems import resolve

SIZES = (64, 1024, 16384, 65536, 262144, 1048576)
LAUNCHES = (1, 2, 3, 4, 5)
REPETITIONS = 20
FAST_NS = {size: 15e3 + size / 10 for size in SIZES}
ACKS = "TcpExt.DelayedACKs"


def scene_of(
    times_ns: Mapping[int, Sequence[float]],
    counters: Mapping[str, float],
    system: str = "lam==7.1.4/tcp",
    test: str = "pingpong",
    facts: Sequence[dict[str, Any]] = (),
) -> Scene:
    """A study of one curve: every launch has the same operations (ns, half round trips) and counters."""
    series = [Series(launch, size, np.asarray(times_ns[size])) for launch in LAUNCHES for size in SIZES]
    row = [math.log(float(np.median(times_ns[size]))) for size in SIZES]
    curve = CurveData(system, test, "-", 2, np.array(SIZES), LAUNCHES, np.array([row] * len(LAUNCHES)), series=series)
    launches = [Launch(n, system, test, 2, n, counters=dict(counters), facts=list(facts)) for n in LAUNCHES]
    study = Study(environment={"congestion_control": "bbr", "congestion_controls": ["bbr", "reno", "cubic"]})
    return Scene(Material("invented", [curve], launches=launches), study, {test: all_tests()[test]})


def slow_from(size: int, by_ns: float) -> dict[int, list[float]]:
    """Operations that all take `by_ns` longer from `size` on."""
    return {one: [FAST_NS[one] + (by_ns if one >= size else 0)] * REPETITIONS for one in SIZES}


def step_at(low: int, high: int, magnitude: float = 100.0, **changes: Any) -> Finding:
    fixed: dict[str, Any] = {"system": "lam==7.1.4/tcp", "test": "pingpong", "ranks": 2, **changes}
    return Finding("step", size_from=low, size_to=high, magnitude=magnitude, interval=(0, 0), confidence=0.99, **fixed)


STEP = step_at(1024, 16384)
LATE = 4 * REPETITIONS  # operations of a launch at the four sizes from 16 KiB on


def test_nagle_needs_lateness_by_its_timer_and_delayed_acknowledgements() -> None:
    waits = slow_from(16384, 44e6)
    found = Nagle().suspect(STEP, scene_of(waits, {ACKS: 2 * LATE}))
    assert found is not None
    assert found.weight > 0.8
    assert "2 times 4" in found.reasons[0]
    assert Nagle().suspect(STEP, scene_of(waits, {ACKS: 3, "Tcp.OutSegs": 1000})) is None  # a receiver that sleeps
    assert Nagle().suspect(STEP, scene_of(slow_from(16384, 8e6), {ACKS: 2 * LATE})) is None
    assert Nagle().suspect(STEP, scene_of(slow_from(16384, 150e6), {ACKS: 2 * LATE})) is None


def test_nagle_is_for_tcp_alone() -> None:
    waits = slow_from(16384, 44e6)
    shared = scene_of(waits, {ACKS: 2 * LATE}, system="mpich==5.0.2/shm")
    assert Nagle().suspect(step_at(1024, 16384, system="mpich==5.0.2/shm"), shared) is None


def test_a_few_late_operations_do_not_make_a_step_nagles() -> None:
    rare = slow_from(16384, 200e3)
    for size in SIZES[2:]:
        rare[size][0] += 44e6
    assert Nagle().suspect(STEP, scene_of(rare, {ACKS: 8})) is None


def test_a_step_down_is_judged_by_the_sizes_before_it() -> None:
    waits = {size: [FAST_NS[size] + (44e6 if size < 65536 else 0)] * REPETITIONS for size in SIZES}
    assert Nagle().suspect(step_at(16384, 65536, 0.002), scene_of(waits, {ACKS: 100})) is not None


def test_timeouts_and_losses_are_suspected_spurious_retransmissions_are_not() -> None:
    late = slow_from(16384, 105e6)
    lost = {"Tcp.OutSegs": 20000, "Tcp.RetransSegs": 2000, "TcpExt.TCPTimeouts": LATE, "TcpExt.TCPDSACKRecv": 5}
    found = RetransmissionTimeout().suspect(STEP, scene_of(late, lost))
    assert found is not None
    assert found.weight > 0.8
    without_timers = {**lost, "TcpExt.TCPTimeouts": 0}
    weaker = RetransmissionTimeout().suspect(STEP, scene_of(slow_from(16384, 5e6), without_timers))
    assert weaker is not None
    assert weaker.weight < found.weight
    spurious = {"Tcp.OutSegs": 20000, "Tcp.RetransSegs": 60, "TcpExt.TCPDSACKRecv": 55}
    assert RetransmissionTimeout().suspect(STEP, scene_of(slow_from(16384, 5e6), spurious)) is None
    assert RetransmissionTimeout().suspect(STEP, scene_of(late, {})) is None


def test_buffers_are_suspected_where_connections_were_limited() -> None:
    def limited(by_us: int) -> list[dict[str, Any]]:
        base = {"fact": "tcp_connection", "variant": "-", "busy_us": 100, "send_buffer_limited_us": 0}
        return [{**base, "size": 65536, "receive_window_limited_us": by_us, "congestion": "cubic"}]

    slow, finding = slow_from(16384, 1e6), step_at(1024, 16384, test="tcp", system="machine")
    much = SocketBuffers().suspect(finding, scene_of(slow, {}, "machine", "tcp", limited(60)))
    assert much is not None
    assert much.weight > 0.7
    assert SocketBuffers().suspect(finding, scene_of(slow, {}, "machine", "tcp", limited(2))) is None
    unknown = SocketBuffers().suspect(STEP, scene_of(slow, {}))
    assert unknown is not None
    assert unknown.weight < 0.4
    assert SocketBuffers().suspect(step_at(64, 1024, 0.3), scene_of(slow, {})) is None


def test_congestion_control_is_suspected_under_bbr_and_large_messages() -> None:
    slow, large = slow_from(1048576, 300e3), step_at(262144, 1048576, 3.0)
    disorder = {"TcpExt.TCPOFOQueue": 60, "TcpExt.TCPDSACKRecv": 30}
    found = CongestionControl().suspect(large, scene_of(slow, disorder))
    assert found is not None
    assert found.weight > 0.7
    assert found.details["other"] == "cubic"
    orderly = CongestionControl().suspect(large, scene_of(slow, {}))
    assert orderly is not None
    assert orderly.weight < found.weight
    assert CongestionControl().suspect(step_at(262144, 1048576, 0.3), scene_of(slow, disorder)) is None


def contrast_of(before: Mapping[str, float], after: Mapping[str, float], late_ns: float = 44e6) -> Contrast:
    """Two arms of five launches with these counters; the first with five late operations a launch."""
    arms = []
    for counters, extra in ((before, late_ns), (after, 0.0)):
        (system,) = resolve("machine")
        measured = Measured(Arm("arm", system, all_tests()["pingpong"], 2, (16384, 65536)))
        measured.launches = [Launch(n, "machine", "pingpong", 2, n, counters=dict(counters)) for n in LAUNCHES]
        times = {16384: [FAST_NS[16384] + extra] * 5, 65536: [FAST_NS[65536]] * 5}
        series = [Series(n, size, np.array(times[size])) for n in LAUNCHES for size in times]
        curve = CurveData("machine", "pingpong", "-", 2, np.array(list(times)), LAUNCHES, np.zeros((5, 2)), series)
        measured.__dict__["material"] = Material("arm", [curve])
        arms.append(measured)
    return Contrast(arms[0], arms[1], (4.0,) * 5, (0.0,) * 5, 4.0)


@pytest.mark.parametrize(
    ("before", "after", "agrees"),
    [(10, 0, True), (10, 1, True), (10, 6, False), (1, 0, False), (0, 0, False)],
)
def test_delayed_acknowledgements_must_be_as_many_as_late_operations_and_vanish(
    before: float, after: float, agrees: bool
) -> None:
    assert acks_agree(contrast_of({ACKS: before}, {ACKS: after})) is agrees


def test_losses_must_vanish_and_spurious_ones_do_not_count() -> None:
    many = {"Tcp.RetransSegs": 300, "TcpExt.TCPTimeouts": 5}
    assert losses_agree(contrast_of(many, {"Tcp.RetransSegs": 6, "TcpExt.TCPDSACKRecv": 6}))
    assert not losses_agree(contrast_of(many, {"Tcp.RetransSegs": 200}))
    assert not losses_agree(contrast_of({"Tcp.RetransSegs": 6, "TcpExt.TCPDSACKRecv": 6}, {}))


def test_disorder_says_something_only_where_there_was_some_and_nothing_was_lost() -> None:
    assert disorder_agrees(contrast_of({"TcpExt.TCPOFOQueue": 4}, {})) is True
    assert disorder_agrees(contrast_of({"TcpExt.TCPOFOQueue": 4}, {"TcpExt.TCPOFOQueue": 3})) is False
    assert disorder_agrees(contrast_of({"TcpExt.TCPOFOQueue": 1}, {})) is None
    lossy = {"Tcp.OutSegs": 1000, "Tcp.RetransSegs": 50}
    assert disorder_agrees(contrast_of({"TcpExt.TCPOFOQueue": 40}, lossy)) is None
