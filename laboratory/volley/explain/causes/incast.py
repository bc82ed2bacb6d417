# SPDX-License-Identifier: BSD-3-Clause
"""Incast: many hosts send to one at once, and the queue of its port has no room for that.

Signature: a test in which several ranks send to one at the same time, over a network, is slow from some size on, while
packets are lost at ports or TCP's retransmission timers run out. Intervention: where the port's queue can be set (an
emulated cluster), a queue as deep as what can be under way to one host; and where a test can be told to (incast), one
sender at a time, which needs no more queue than there is. Counter: retransmission timeouts and segments sent again, and
packets that ports had no room for: with the intervention they must vanish.

Of the general case, in which any queue overflows anywhere, speaks the cause "retransmission timeout".
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from volley.detect.finding import Finding
from volley.explain.case import Case, Contrast
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.experiment import LAUNCHES, Arm, Measured
from volley.explain.scene import Scene
from volley.explain.symptom import Symptom
from volley.explain.tcp import (
    RETRANSMITS,
    SPURIOUS,
    TIMEOUTS,
    LateShare,
    late_at,
    lost_per_launch,
    moved,
    narrow,
    per_launch,
)
from volley.sizes import format_size
from volley.units import format_time

DROPS = "port.drops"
"""Packets that ports of the network had no room for, where that can be told."""
MANY_TO_ONE = ("all pairs", "all to one", "every rank")
"""Traffic of tests in which a rank may have several senders at once."""
SENDERS = 3
"""At least so many hosts: two senders for one receiver."""
LOST_PER_LAUNCH = 3.0
COUNTED_LEFT = 0.2
"""Share of losses that may be left with the effect gone."""
PACED = "window:1"
"""The test's variant in which one rank sends at a time (tests/incast.c)."""
REPETITIONS = 8
"""Of 64 KiB from each of 12 senders to a port of 60 KB, two in five lose packets and wait: 8 times not is no chance."""
WAITED_NS = 100e6
"""Half of the shortest retransmission timeout: while one sender waits, the others' data come in."""
LEAST_SHARE = 0.03
"""Of operations that wait for a timer, from which on their number is looked at."""


class Incast(Cause):
    """Many to one, and a shallow port between."""

    name = "incast: losses at a shallow port"
    page = "incast"
    summary = (
        "Many hosts send to one at once, its port's queue overflows, and TCP waits for its retransmission timer, which "
        "is thousands of round trips long."
    )
    seconds = 60.0
    to_the_byte = False

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """Several senders for one receiver, and losses counted."""
        test, hosts = scene.tests.get(finding.test), len(scene.environment.get("hosts", ()))
        kinds = ("step", "plateau", "collapse", "spike", "stall", "bimodal", "launch effect", "drift")
        if test is None or finding.kind not in kinds or finding.magnitude < 1 or not scene.uses_tcp(finding):
            return None
        if hosts < SENDERS or finding.ranks < SENDERS or test.traffic not in MANY_TO_ONE:
            return None
        launches = scene.launches(finding)
        dropped, timeouts = moved(launches, DROPS), moved(launches, TIMEOUTS)
        lost = moved(launches, RETRANSMITS) - moved(launches, SPURIOUS)
        if max(dropped, lost) < LOST_PER_LAUNCH * len(launches):
            return None
        queue = scene.environment.get("network", {}).get("buffer_bytes")
        room = f", whose queue holds {format_size(int(queue))}" if queue else ""
        reasons = [
            f"In this test up to {finding.ranks - 1} ranks send to one at the same time, over its one port{room}."
        ]
        if dropped:
            reasons.append(f"{dropped:,.0f} packets found no room at ports during the study's launches ({DROPS}).")
        reasons.append(
            f"{lost:,.0f} segments were sent again ({RETRANSMITS}); {timeouts:,.0f} timers ran out ({TIMEOUTS})."
        )
        return Suspicion(0.95 if timeouts >= len(launches) else 0.7, tuple(reasons))

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """A deeper queue; else one sender at a time."""
        changed = self._changed(case)
        if changed is None:
            why_not = "The port's queue cannot be set from here, and only the test incast can send in turns."
            return Examination(None, None, (why_not,))
        symptom = _symptom(case)
        arms = [_steady(replace(one, sizes=symptom.sizes)) for one in (case.arm(), changed)]
        found, other = case.bench.run(arms, LAUNCHES)
        contrast = case.compare(found, other, symptom)
        figures = {**contrast.figures(), "lost": _counts(contrast)}
        if not contrast.reproduced:
            return not_shown(contrast)
        said: tuple[str, ...] = (f"With {changed.name}: {contrast.words()}.", _took(contrast), _counted(contrast))
        before, after = _lost(contrast.found), _lost(contrast.changed)
        agrees = before >= LOST_PER_LAUNCH and after <= COUNTED_LEFT * before
        if not agrees and not contrast.removed:
            said += ("Packets were lost nevertheless, so this refutes nothing.",)
            return Examination(None, None, said, figures=figures)
        return Examination(contrast.removed, agrees, said, REMEDY, figures)

    def _changed(self, case: Case) -> Arm | None:
        deeper = case.bench.hosts.deeper_queue()
        if deeper is not None:
            return case.arm(deeper.words, surroundings=deeper.within)
        if case.test.name == "incast":
            return case.arm("one sender at a time", variant=PACED)
        return None


REMEDY = (
    "let fewer ranks send to one at once (a pairwise or ring algorithm, smaller pieces), turn on flow control or ECN, "
    "lengthen the port's queue, or shorten the wait on a network of your own: `ip route change ... rto_min 5ms`"
)


def _symptom(case: Case) -> Symptom:
    """Operations that wait for a retransmission timer, where the study had those; else the finding's own."""
    late = late_at(case.finding, case.scene)
    share = float((late.excess_ns >= WAITED_NS).sum()) / max(late.operations, 1) if late is not None else 0.0
    if share < LEAST_SHARE:
        return narrow(case.symptom)
    return LateShare(case.finding, case.scene.curve(case.finding), WAITED_NS, share)


def _steady(arm: Arm) -> Arm:
    """Whether a burst loses packets hangs on what its connection carried before, and on chance: sizes go in order, each
    with the same few operations."""
    return replace(arm, in_order=True, repetitions=REPETITIONS)


def _took(contrast: Contrast) -> str:
    """Means, since single operations are either quick or late."""
    size = max(contrast.found.arm.sizes)
    found, changed = (_mean_ns(one, size) for one in (contrast.found, contrast.changed))
    mean = f"{format_time(found)} in the mean as found, {format_time(changed)} with it"
    return f"An operation of {format_size(size)} took {mean}."


def _mean_ns(measured: Measured, size: int) -> float:
    series = measured.curve.series if measured.curve is not None else []
    times = [float(one.times_ns.mean()) for one in series if one.size == size]
    return float(np.mean(times)) if times else float("nan")


def _lost(measured: Measured) -> float:
    """Per launch, segments sent again, timers that ran out, and packets that ports had no room for."""
    return lost_per_launch(measured) + per_launch(measured, TIMEOUTS) + per_launch(measured, DROPS)


def _counts(contrast: Contrast) -> dict[str, float]:
    return {
        f"{name}{suffix}": per_launch(arm, counter)
        for arm, suffix in ((contrast.found, ""), (contrast.changed, "_with_it"))
        for name, counter in (("drops", DROPS), ("retransmits", RETRANSMITS), ("timeouts", TIMEOUTS))
    }


def _counted(contrast: Contrast) -> str:
    told = _counts(contrast)

    def words(suffix: str) -> str:
        drops, again, timers = (told[name + suffix] for name in ("drops", "retransmits", "timeouts"))
        return f"ports dropped {drops:,.0f} packets, {again:,.0f} segments were sent again, {timers:.1f} timers ran out"

    return f"Per launch, as found: {words('')}. With it: {words('_with_it')}."
