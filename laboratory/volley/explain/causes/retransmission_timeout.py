# SPDX-License-Identifier: BSD-3-Clause
"""Lost packets: a queue on the way overflows (incast: many send to one at once), and TCP waits for a timer.

Signature: operations late by 200 ms (Linux's shortest retransmission timeout, HZ/5) or its doublings, and timeouts
counted meanwhile; or, where the loss is noticed sooner, segments sent again that had not arrived. Intervention: a
receive buffer so small that hardly anything is under way at once, so that no queue overflows. Counter: retransmitted
segments and timeouts, which must vanish with the effect: what else small buffers do (less cache used, smaller batches)
leaves them alone. Where packets go on being lost (a bad cable), the intervention did not work, and nothing is refuted.
"""

from __future__ import annotations

from volley.detect.finding import Finding
from volley.explain.case import Case, Contrast
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.experiment import Measured
from volley.explain.scene import Scene
from volley.explain.tcp import (
    LOST_SHARE,
    RETRANSMITS,
    SEGMENTS,
    SPURIOUS,
    TIMEOUTS,
    late_at,
    late_in_launches,
    lost_per_launch,
    moved,
    narrow,
    per_launch,
    sockets,
)

TIMEOUT_NS = 180e6
"""TCP_RTO_MIN is HZ/5 = 200 ms (include/net/tcp.h); the timer started when the last segment went out."""
TIMEOUTS_PER_LATE = 0.3
"""Of operations that are late by 30 ms or more: some timers run out in both directions of one operation."""
LOST_PER_LAUNCH = 5.0
LOST_COUNTED = 1.0
"""Losses and timers per launch of an experiment, which measures few operations."""
COUNTED_LEFT = 0.2
"""Share of retransmissions and timeouts that may be left with the effect gone."""
RECEIVE_BUFFER = 8192
"""Bytes. The kernel doubles it, and offers a window of about half of that: a few segments of an Ethernet."""


class RetransmissionTimeout(Cause):
    """Packets are lost, and a timer runs before they are sent again."""

    name = "retransmission timeout"
    page = "retransmission-timeout"
    summary = (
        "Packets are lost on the way, where a queue overflows, and TCP waits for a timer before it sends them again."
    )
    seconds = 25.0
    to_the_byte = False

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """Retransmissions of what was really lost; the more so if operations are late by timeouts."""
        kinds = ("step", "plateau", "collapse", "spike", "stall", "bimodal", "launch effect", "drift")
        if finding.kind not in kinds or not scene.uses_tcp(finding):
            return None
        launches = scene.launches(finding)
        segments = moved(launches, SEGMENTS)
        lost, timeouts = moved(launches, RETRANSMITS) - moved(launches, SPURIOUS), moved(launches, TIMEOUTS)
        late, all_late = late_at(finding, scene), late_in_launches(finding, scene)
        slow = int(sum(late.excess_ns >= TIMEOUT_NS)) if late is not None else 0
        timers = late is not None and slow > 0 and timeouts >= TIMEOUTS_PER_LATE * all_late
        many = lost >= max(LOST_SHARE * segments, LOST_PER_LAUNCH * len(launches))
        if not segments or not (timers or many):
            return None
        reasons = [
            f"{lost:,.0f} segments were lost and sent again during the study's launches: {lost / segments:.2g} of "
            f"those sent ({RETRANSMITS} without {SPURIOUS})."
        ]
        if timers and late is not None:
            reasons.append(
                f"{slow:,} of {late.operations:,} operations there are late by 180 ms or more, and {timeouts:,.0f} "
                f"retransmission timers ran out ({TIMEOUTS}): the shortest is 200 ms."
            )
        return Suspicion(0.85 if timers else 0.6, tuple(reasons))

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """A receive buffer so small that queues do not overflow."""
        symptom = narrow(case.symptom)
        words = f"rcvbuf:{RECEIVE_BUFFER}"
        contrast = case.contrast(case.arm(f"sockets={words}", sockets(words), sizes=symptom.sizes), symptom)
        figures = {**contrast.figures(), "retransmits": _counts(contrast)}
        if not contrast.reproduced:
            return not_shown(contrast)
        said: tuple[str, ...] = (
            f"With receive buffers of {RECEIVE_BUFFER:,} bytes, so that little is under way at once: "
            f"{contrast.words()}.",
            _counted(contrast),
        )
        vanished = _lost(contrast.changed) <= COUNTED_LEFT * _lost(contrast.found)
        if not vanished and not contrast.removed:
            said += ("Packets were lost nevertheless, so this refutes nothing.",)
            return Examination(None, None, said, figures=figures)
        remedy = (
            "find the queue that overflows (`tc -s qdisc`, `ethtool -S`, the switch's drop counters) and lengthen it, "
            "or let fewer ranks send to one at once, in smaller pieces; on a network of your own a shorter timeout "
            "helps: `ip route change ... rto_min 5ms`"
        )
        return Examination(contrast.removed, _agrees(contrast), said, remedy, figures)


def _lost(measured: Measured) -> float:
    """Per launch, segments sent again and timers that ran out."""
    return lost_per_launch(measured) + per_launch(measured, TIMEOUTS)


def _counts(contrast: Contrast) -> dict[str, float]:
    return {
        "retransmits": per_launch(contrast.found, RETRANSMITS),
        "retransmits_with_it": per_launch(contrast.changed, RETRANSMITS),
        "timeouts": per_launch(contrast.found, TIMEOUTS),
        "timeouts_with_it": per_launch(contrast.changed, TIMEOUTS),
    }


def _agrees(contrast: Contrast) -> bool:
    before, after = _lost(contrast.found), _lost(contrast.changed)
    return before >= LOST_COUNTED and after <= COUNTED_LEFT * before


def _counted(contrast: Contrast) -> str:
    figures = _counts(contrast)
    return (
        f"Per launch, {figures['retransmits']:,.0f} segments were sent again and {figures['timeouts']:.1f} timers ran "
        f"out as found; {figures['retransmits_with_it']:,.0f} and {figures['timeouts_with_it']:.1f} with it."
    )
