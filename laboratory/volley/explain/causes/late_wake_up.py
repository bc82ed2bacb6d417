# SPDX-License-Identifier: BSD-3-Clause
"""A late wake-up: the sender sleeps on though the receiver has given it room, until some timer ends its sleep.

Only the test slow_receiver shows it: its receiver computes, so that the buffers fill and the sender has to wait for
room. Signature: messages come late, and at each of these both ranks stand: the receiver in MPI_Recv with nothing to
receive, the sender asleep in MPI_Send of that very message. Intervention: the sender waits for an answer after every
second message, so that the buffers never fill and nobody waits for room; the late messages must go. Counters: the time
that the sender slept must be there as found (a copy that is slow, or a sender that polls, runs; one that lacks a core
wants to run), and the time that both stand must go with the change; or the library itself counts waits that nobody
ended, and none with the change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from volley.data.results import Launch
from volley.detect.finding import Finding
from volley.detect.kinds.stall import LATE, Stalls, look
from volley.detect.material import StreamData
from volley.explain.case import STAYED, Case
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.experiment import Measured
from volley.explain.scene import Scene
from volley.systems.flavours import LOST_WAKE_UPS
from volley.units import format_time

TEST = "slow_receiver"
WINDOW = 2
"""Messages after which the sender waits for an answer: no MPI's buffers are full then, whatever their size."""
LEAST_SHARE = 0.3
"""Of the stream's time that late messages must take: a busy machine makes a few late as well."""
STANDS = 0.6
"""Share of the late messages' lateness for which both ranks must stand."""
ASLEEP, AWAKE = 0.7, 0.3
"""Asleep for so much of the time that is lost the sender was not woken; for so little it was busy, or lacked a core."""
CERTAIN, LIKELY, POSSIBLE, UNLIKELY = 0.97, 0.92, 0.5, 0.35
"""Weights. What it takes to be LIKELY other load does not show: it is looked at first."""
LEFT = 0.3
"""Share of the time both stand, per message, that may be left with the change."""


class LateWakeUp(Cause):
    """Nobody wakes the sender when there is room."""

    name = "late wake-up"
    page = "late-wake-up"
    summary = "The sender sleeps on though there is room for its message again: it is woken late, or not at all."
    seconds = 25.0
    to_the_byte = False

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """Both ranks stand at the late messages, and the sender sleeps."""
        if finding.test != TEST or finding.kind in ("failure", "freeze", "wrong figures"):
            return None
        late = _worst([one for one in map(look, _streams(finding, scene)) if one.places], finding)
        if late is None:
            return None
        slept = _slept(scene.launches(finding), late.stream.size, finding.variant)
        if slept is not None and slept < AWAKE:
            return None
        milliseconds = float(np.median(late.lateness_ns)) / 1e6
        reasons = [
            f"At {late.stream.size:,} B {late.share:.0%} of the time is lost at messages that come "
            f"{milliseconds:.3g} ms late, and at {late.sender_too:.0%} of them the sender stands in MPI_Send meanwhile."
        ]
        if slept is not None:
            reasons.append(f"The sender was asleep for {min(slept, 1.0):.0%} of the time that is lost.")
        told = [one.counters.get(LOST_WAKE_UPS, 0.0) for one in scene.launches(finding)]
        if any(told):
            reasons.append(f"The library itself counted {max(told):,.0f} waits in a launch that nobody ended.")
        # In between it slept, but for want of work as well: worth an experiment, not a word.
        weight = UNLIKELY if slept is not None and slept < ASLEEP else LIKELY if slept is not None else POSSIBLE
        if scene.uses_tcp(finding):
            weight = min(weight, POSSIBLE)  # the kernel's buffers and timers have causes of their own
        return Suspicion(CERTAIN if any(told) else weight, tuple(reasons), {"size": late.stream.size})

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """A sender that is never more than two messages ahead."""
        at = suspicion.details["size"]
        changed = case.arm(
            f"answered every {WINDOW} messages",
            variant=f"{case.finding.variant},window:{WINDOW}",
            sizes=(at,) if case.finding.kind == "stall" else None,
        )
        contrast = case.contrast(changed)
        if not contrast.reproduced:
            return not_shown(contrast)
        found, after = standing(contrast.found), standing(contrast.changed)
        lost, lost_after = (sum(one.counter(LOST_WAKE_UPS)) for one in (contrast.found, contrast.changed))
        said = [
            f"With a sender that waits for an answer after every {WINDOW} messages, so that it never waits for room, "
            f"the effect {contrast.outcome} ({contrast.words()}).",
            f"Time that both ranks stand at late messages: {found.words()} as found, {after.words()} with it.",
        ]
        if found.asleep_ns is not None:
            share = min(found.asleep_ns / max(found.both_ns, 1.0), 1.0)
            said.append(f"As found the sender was asleep for {share:.0%} of that.")
        if lost:
            said.append(
                f"The library counted {lost:,.0f} waits that nobody ended as found, and {lost_after:,.0f} with it."
            )
        figures = {
            **contrast.figures(),
            "both_stand_ns": [found.each_ns, after.each_ns],
            "asleep_ns": found.asleep_ns,
            "lost_wake_ups": [lost, lost_after],
        }
        return Examination(
            contrast.removed, _counter(found, after, lost, lost_after), tuple(said), REMEDY, figures, reproduced=True
        )


REMEDY = (
    "report it to the makers of the MPI, with the command; until it is mended, let the sender wait for an answer after "
    "every few messages (or use MPI_Ssend), or have waiting ranks spin if the MPI can be set so"
)


def _streams(finding: Finding, scene: Scene) -> list[StreamData]:
    return [
        one
        for one in scene.material.streams
        if (one.system, one.test, one.variant, one.ranks)
        == (finding.system, finding.test, finding.variant, finding.ranks)
    ]


def _worst(stalls: Iterable[Stalls], finding: Finding) -> Stalls | None:
    """Of those that lose time while both stand, the one that loses most, first where the finding is."""
    fitting = [one for one in stalls if one.share >= LEAST_SHARE and one.sender_too >= STANDS]
    inside = [one for one in fitting if finding.size_from <= one.stream.size <= finding.size_to]
    return max(inside or fitting, key=lambda one: one.share, default=None)


def asleep_ns(side: dict[str, Any]) -> float | None:
    """How long a rank neither ran nor wanted a core; None where the kernel does not say."""
    if side["no_core_ns"] < 0:
        return None
    return max(float(side["wall_ns"] - side["cpu_ns"] - side["no_core_ns"]), 0.0)


def _sides(launches: Iterable[Launch]) -> list[dict[str, Any]]:
    return [fact for one in launches for fact in one.facts if fact["fact"] == "side"]


def _slept(launches: Iterable[Launch], size: int, variant: str) -> float | None:
    """The sender's sleep over the time that is lost, which is what the receiver takes beyond its own computing."""
    here = [one for one in _sides(launches) if one["size"] == size and one["variant"] == variant]
    lost = sum(float(one["wall_ns"] - one["computed_ns"]) for one in here if one["rank"] == 1)
    slept = _sleep_of_senders(here)
    return slept / lost if slept is not None and lost > 0 else None


def _sleep_of_senders(sides: Iterable[dict[str, Any]]) -> float | None:
    known = [asleep for one in sides if one["rank"] == 0 and (asleep := asleep_ns(one)) is not None]
    return sum(known) if known else None


@dataclass(frozen=True)
class Standing:
    """Late messages of an arm, all launches and sizes together."""

    messages: int
    late: int
    lateness_ns: float
    both_ns: float
    """While a late message is in MPI_Send, and the receiver in MPI_Recv."""
    asleep_ns: float | None
    """Of the sender, in all; None: not known."""

    @property
    def each_ns(self) -> float:
        """Time both stand, per message."""
        return self.both_ns / max(self.messages, 1)

    def words(self) -> str:
        """``1.90 ms a message``."""
        return f"{format_time(self.each_ns)} a message"


def standing(measured: Measured) -> Standing:
    """How long sender and receiver stood together at late messages."""
    total = Standing(0, 0, 0.0, 0.0, None)
    for frame in measured.frames:
        for (variant, _size), rows in frame.group_by("variant", "size"):
            total = _add(total, rows, work_ns(str(variant)))
    return replace(total, asleep_ns=_sleep_of_senders(_sides(measured.launches)))


def work_ns(variant: str) -> float:
    """What the receiver computes before each receive, by the variant's name: ``50us`` or ``50us,window:2``."""
    return 1e3 * float(variant.partition("us")[0])


def _add(total: Standing, rows: pl.DataFrame, work: float) -> Standing:
    """`total` with one stream more: messages are late as the detector of stalls has it."""
    sent, received = (
        rows.filter(pl.col("rank") == rank).sort("repetition").select("start_ns", "duration_ns") for rank in (0, 1)
    )
    count = min(len(sent), len(received))
    if not count:
        return total
    begun, sent_ns = (sent[name].to_numpy()[:count].astype(np.float64) for name in sent.columns)
    previous, gap = (received[name].to_numpy()[:count].astype(np.float64) for name in received.columns)
    usual = float(np.median(gap))
    late = np.flatnonzero(gap > LATE * usual)
    both = np.minimum(begun + sent_ns, previous + gap) - np.maximum(begun, previous + work)
    return replace(
        total,
        messages=total.messages + count,
        late=total.late + len(late),
        lateness_ns=total.lateness_ns + float((gap[late] - usual).sum()),
        both_ns=total.both_ns + float(np.maximum(both[late], 0.0).sum()),
    )


def _counter(found: Standing, after: Standing, lost: float, lost_after: float) -> bool | None:
    """Both stood and the sender slept as found, and no longer do; or the library says so itself."""
    if lost and lost_after <= LEFT * lost:
        return True
    if found.both_ns <= 0 or found.asleep_ns is None:
        return None
    if found.both_ns < (1 - STANDS) * found.lateness_ns or found.asleep_ns < AWAKE * found.both_ns:
        return False
    still_asleep = after.asleep_ns is not None and after.asleep_ns >= ASLEEP * after.both_ns
    if after.each_ns >= STAYED * found.each_ns and still_asleep:
        return False  # it sleeps where there is no room to wait for
    stood = found.both_ns >= STANDS * found.lateness_ns and found.asleep_ns >= ASLEEP * found.both_ns
    return True if stood and after.each_ns <= LEFT * found.each_ns else None
