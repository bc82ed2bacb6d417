# SPDX-License-Identifier: BSD-3-Clause
"""Congestion control that slows what it should not: bbr paces, on a network whose round trip is microseconds.

Signature: large messages on TCP slower than their size explains, or unsteady, under a congestion control that paces;
segments arrive out of order. Intervention: another congestion control on the same sockets, and nothing else.
Counter: segments that arrived out of order (TcpExt.TCPOFOQueue), which paced segments do where they are sent by a timer
on one core and by the program on another. Where hardly any did, the counter says nothing, and nothing is proven: on a
network that really loses packets any two congestion controls differ.
"""

from __future__ import annotations

from volley.detect.finding import Finding
from volley.explain.case import Case, Contrast
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.scene import Scene
from volley.explain.tcp import (
    LOST_SHARE,
    OUT_OF_ORDER,
    RETRANSMITS,
    SEGMENTS,
    SPURIOUS,
    affected,
    lost_per_launch,
    moved,
    per_launch,
    sockets,
)

PACING = ("bbr", "bbr2", "bbr3")
"""They send by a rate they estimate, not by what is acknowledged (Cardwell et al. 2016)."""
LARGE = 32 * 1024
"""Bytes: the initial window of ten segments passes any congestion control; on loopback that is more."""
OUT_OF_ORDER_PER_LAUNCH = 5.0
"""In a study, for them to be a reason to think of it."""
OUT_OF_ORDER_COUNTED = 8.0
"""In all launches of an experiment's arm, for their absence to mean something: eight by chance against none or few."""
LEFT = 0.4
"""Share of the segments out of order that may be left with the effect gone."""
KINDS = ("step", "plateau", "collapse", "spike", "bimodal", "stall", "launch effect", "drift", "regression")


class CongestionControl(Cause):
    """The kernel's idea of how fast to send."""

    name = "congestion control"
    page = "congestion-control"
    summary = "The TCP congestion control sends more slowly than the network could take, or in bursts out of order."
    seconds = 20.0
    to_the_byte = False

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """Large messages on TCP under bbr; the more so if segments arrived out of order."""
        if finding.kind not in KINDS:
            return None
        if not scene.uses_tcp(finding):
            return None
        curve = scene.curve(finding)
        high = affected(finding, curve)[1] if curve is not None else finding.size_to
        current, other = _current(finding, scene), _other(finding, scene)
        if high < LARGE or finding.magnitude < 1 or not current or other is None:
            return None
        details = {"current": current, "other": other}
        if current not in PACING:
            return Suspicion(0.15, (f"The congestion control is {current}.",), details)
        launches = scene.launches(finding)
        disorder = moved(launches, OUT_OF_ORDER) / max(len(launches), 1)
        reasons = [f"The congestion control is {current}, which paces what is sent by its own estimate of the rate."]
        if disorder < OUT_OF_ORDER_PER_LAUNCH:
            return Suspicion(0.45, tuple(reasons), details)
        reasons.append(
            f"Per launch, {disorder:,.0f} segments arrived out of order ({OUT_OF_ORDER}) and "
            f"{moved(launches, SPURIOUS) / len(launches):,.0f} were sent again though they had arrived ({SPURIOUS})."
        )
        return Suspicion(0.75, tuple(reasons), details)

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """Another congestion control."""
        other, current = suspicion.details["other"], suspicion.details["current"]
        words = f"congestion:{other}"
        contrast = case.contrast(case.arm(f"sockets={words}", sockets(words)))
        figures = {**contrast.figures(), **_counts(contrast)}
        if not contrast.reproduced:
            return not_shown(contrast)
        said = (f"With {other} instead of {current}: {contrast.words()}.", _counted(contrast))
        remedy = (
            f"sysctl net.ipv4.tcp_congestion_control={other} on the nodes of a cluster ({current} is made for long "
            "distances), or set TCP_CONGESTION on the sockets; `@sockets=congestion:"
            f"{other}` behind a system's name in `volley study` does that from outside"
        )
        return Examination(contrast.removed, _agrees(contrast), said, remedy, figures)


def _current(finding: Finding, scene: Scene) -> str:
    """The congestion control in force: as the test's connections said, or the system's default."""
    said = [
        str(one["congestion"])
        for one in scene.facts(finding.system, finding.test, "tcp_connection")
        if one["variant"] == finding.variant
    ]
    return said[0] if said else str(scene.environment.get("congestion_control", ""))


def _other(finding: Finding, scene: Scene) -> str | None:
    """What to try instead: cubic, Linux's own default, where it is to be had; never another that paces."""
    known = [str(one) for one in scene.environment.get("congestion_controls", [])]
    current = _current(finding, scene)
    return next((one for one in ("cubic", "reno") if one in known and one != current), None)


def _counts(contrast: Contrast) -> dict[str, float]:
    return {
        "out_of_order": per_launch(contrast.found, OUT_OF_ORDER),
        "out_of_order_with_it": per_launch(contrast.changed, OUT_OF_ORDER),
        "retransmits": per_launch(contrast.found, RETRANSMITS),
        "retransmits_with_it": per_launch(contrast.changed, RETRANSMITS),
    }


def _agrees(contrast: Contrast) -> bool | None:
    """Segments out of order before, hardly any after; None if there were hardly any, or packets were really lost."""
    before, after = moved(contrast.found.launches, OUT_OF_ORDER), moved(contrast.changed.launches, OUT_OF_ORDER)
    lossy = lost_per_launch(contrast.changed) > LOST_SHARE * max(per_launch(contrast.changed, SEGMENTS), 1.0)
    if before < OUT_OF_ORDER_COUNTED or lossy:
        return None
    return after <= LEFT * before


def _counted(contrast: Contrast) -> str:
    figures = _counts(contrast)
    return (
        f"Per launch, {figures['out_of_order']:,.1f} segments arrived out of order and {figures['retransmits']:,.1f} "
        f"were sent again as found; {figures['out_of_order_with_it']:,.1f} and {figures['retransmits_with_it']:,.1f} "
        "with it."
    )
