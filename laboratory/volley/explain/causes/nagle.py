# SPDX-License-Identifier: BSD-3-Clause
"""Nagle's algorithm against delayed acknowledgements: the sender waits for the receiver's, which waits for a timer.

Signature: operations late by about 40 ms (Linux's shortest delay of an acknowledgement, HZ/25, and a tick), or by
200 ms (its longest, HZ/5), or a few times that; and the kernel sent delayed acknowledgements meanwhile, about as many.
Interventions: TCP_NODELAY, which ends the wait of the sender, and TCP_QUICKACK, which ends that of the receiver. Each
alone must remove the effect: what batching, buffers or a sleeping receiver do, one of them may change, but not both.
Counter: TcpExt.DelayedACKs, about one per late operation as found, and hardly any without the effect.
"""

from __future__ import annotations

from volley.detect.finding import Finding
from volley.explain.case import Case, Contrast
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.scene import Scene
from volley.explain.tcp import (
    DELAYED_ACKS,
    LATE_NS,
    Late,
    late_at,
    late_in_launches,
    late_measured,
    moved,
    narrow,
    per_launch,
    scale_of,
    sockets,
)

WINDOWS_NS = ((35e6, 62e6), (180e6, 230e6))
"""TCP_DELACK_MIN is HZ/25 and TCP_DELACK_MAX HZ/5 (include/net/tcp.h); timers end on a tick, 4 ms where HZ is 250, and
the process that was woken needs its turn."""
MOST_WAITS = 4
"""An operation may wait more than once: a round trip waits in both directions."""
FITTING = 0.6
"""Share of late operations whose lateness must be such."""
LATE_SHARE = 0.3
"""Of the operations where the finding is: fewer late ones do not move a median."""
LATE_SHARE_SINGLE = 0.01
"""The same where the finding is about single operations, or a mean."""
ACKS_PER_LATE = 0.5
"""Delayed acknowledgements per late operation, at least. More come from the warm-up, which is not timed."""
ACKS_LEFT = 0.3
"""Share of the delayed acknowledgements that may be left with the effect gone."""


REMEDY = (
    "set TCP_NODELAY on the sockets, or hand header and body to the kernel in one call (writev, sendmsg); MPIs "
    "do so by themselves: look for what takes it away; `@sockets=nodelay` behind a system's name in `volley study` "
    "does it from outside"
)


class Nagle(Cause):
    """The sender holds a small segment back, the receiver holds the acknowledgement back."""

    name = "Nagle with delayed ACK"
    page = "nagle-with-delayed-ack"
    summary = (
        "The sender keeps a small segment until earlier data are acknowledged (Nagle), and the receiver delays that "
        "acknowledgement."
    )
    seconds = 30.0
    to_the_byte = False

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """Late operations on TCP, by the time that Linux delays acknowledgements, and delayed acknowledgements."""
        if finding.kind not in ("step", "plateau", "collapse", "spike", "stall", "bimodal", "launch effect"):
            return None
        if not scene.uses_tcp(finding):
            return None
        late = late_at(finding, scene)
        least = LATE_SHARE_SINGLE if _about_single_ones(finding, scene) else LATE_SHARE
        if late is None or late.share < least or late.fitting(WINDOWS_NS, MOST_WAITS) < FITTING:
            return None
        if not _long_enough(finding, scene):
            return None
        reasons = [_how_late(late)]
        acks, all_late = moved(scene.launches(finding), DELAYED_ACKS), late_in_launches(finding, scene)
        if not any(launch.counters for launch in scene.launches(finding)):
            return Suspicion(0.45, tuple(reasons))
        each = acks / max(all_late, 1)
        reasons.append(
            f"The kernel sent {acks:,.0f} delayed acknowledgements during the study's launches: {each:.2g} per "
            f"operation that was late ({DELAYED_ACKS}, warm-up included)."
        )
        return Suspicion(0.9, tuple(reasons)) if each >= ACKS_PER_LATE else None

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """TCP_NODELAY, then TCP_QUICKACK: each must remove it, and the delayed acknowledgements with it."""
        symptom = narrow(case.symptom)
        figures: dict[str, object] = {}
        said: list[str] = []
        counters: list[bool] = []
        for words, what in (
            ("nodelay", "TCP_NODELAY set on all sockets"),
            ("quickack", "acknowledgements not delayed (TCP_QUICKACK after every receive) and Nagle left as it was"),
        ):
            changed = case.arm(f"sockets={words}", sockets(words), sizes=symptom.sizes)
            contrast = case.contrast(changed, symptom)
            figures[words] = {**contrast.figures(), **_acks(contrast)}
            if not contrast.reproduced:
                return not_shown(contrast)
            said.append(f"With {what}: {contrast.words()}.")
            if not contrast.removed:
                return Examination(contrast.removed, None, tuple(said), figures=figures)
            counters.append(_agrees(contrast))
            said.append(_counted(contrast))
        return Examination(True, all(counters), tuple(said), REMEDY, figures)


def _about_single_ones(finding: Finding, scene: Scene) -> bool:
    test = scene.tests.get(finding.test)
    return finding.kind in ("stall", "bimodal") or (test is not None and test.statistic == "mean")


def _long_enough(finding: Finding, scene: Scene) -> bool:
    """Whether what the finding calls late or slow is late by a timer: others of its operations may be, too."""
    if finding.kind == "stall":
        return (finding.duration_ns or 0.0) >= LATE_NS
    if finding.kind == "bimodal":
        apart = float(finding.evidence.get("slow_ns", 0.0)) - float(finding.evidence.get("fast_ns", 0.0))
        return apart / scale_of(scene.tests.get(finding.test)) >= LATE_NS
    return True


def _how_late(late: Late) -> str:
    middle = sorted(late.excess_ns)[len(late.excess_ns) // 2]
    waits = next(
        (times for times in range(1, MOST_WAITS + 1) for low, high in WINDOWS_NS if low <= middle / times <= high), 1
    )
    each = f"{waits} times {middle / waits / 1e6:.1f} ms" if waits > 1 else f"{middle / 1e6:.1f} ms"
    return (
        f"{late.share:.2g} of the operations there are late by {each}: Linux delays an acknowledgement by 40 to 200 ms."
        if late.share < 0.995
        else f"Every operation there is late by {each}: Linux delays an acknowledgement by 40 to 200 ms."
    )


def _acks(contrast: Contrast) -> dict[str, float]:
    return {
        "late_operations": late_measured(contrast.found),
        "late_operations_with_it": late_measured(contrast.changed),
        "delayed_acks": per_launch(contrast.found, DELAYED_ACKS),
        "delayed_acks_with_it": per_launch(contrast.changed, DELAYED_ACKS),
    }


def _agrees(contrast: Contrast) -> bool:
    """One delayed acknowledgement or so per late operation, and hardly any once the effect is gone."""
    late, before, after = late_measured(contrast.found), contrast.found, contrast.changed
    enough = sum(before.counter(DELAYED_ACKS)) >= ACKS_PER_LATE * late > 0
    return enough and per_launch(after, DELAYED_ACKS) <= ACKS_LEFT * per_launch(before, DELAYED_ACKS)


def _counted(contrast: Contrast) -> str:
    figures = _acks(contrast)
    return (
        f"Delayed acknowledgements per launch: {figures['delayed_acks']:.1f} as found "
        f"({late_measured(contrast.found) / max(len(contrast.found.launches), 1):.1f} late operations), "
        f"{figures['delayed_acks_with_it']:.1f} with it."
    )
