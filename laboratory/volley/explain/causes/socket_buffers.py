# SPDX-License-Identifier: BSD-3-Clause
"""Socket buffers of a fixed size, too small: at most a buffer is under way per round trip, however fast the network.

Signature: slower beyond a size, on TCP; where the test has the sockets in its own hands, TCP_INFO says how long
connections stood waiting for the receiver's window or for room in the send buffer. Intervention: what the program sets
(SO_SNDBUF, SO_RCVBUF) is held off, so that the kernel sizes buffers as it does for all others; nothing else changes.
Counter: the share of the busy time that connections were limited by window or buffer, by TCP_INFO of all connections of
the launch, and the sizes of the buffers. Where the kernel's own sizes are too small, larger ones are tried: they also
hide a receiver that is slow to read, so that this proves nothing (SUSPECTED at most).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from volley.detect.finding import Finding
from volley.explain.case import Case, Contrast
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.experiment import Arm
from volley.explain.scene import Scene
from volley.explain.symptom import Symptom
from volley.explain.tcp import Connections, affected, narrow, reporting, sockets

NAMES = re.compile(r"snd_?buf|rcv_?buf|sndbuf|rcvbuf|so_buf|sockbuf|socket_buffer|buf_?size", re.IGNORECASE)
SMALLEST = 2048
"""Bytes: Linux gives no send buffer below 4608 bytes; shorter messages never fill one."""
LIMITED = 0.06
"""Share of the busy time from which connections were limited without doubt; below UNLIMITED they were not. TCP_INFO
counts in ticks, so few seconds are coarse, and what lies between tells nothing."""
UNLIMITED = 0.01
LIMITED_LEFT = 0.3
"""Share of that share which may be left with the effect gone."""
LARGE = 4 * 1024 * 1024
"""Bytes: the largest that Linux takes by itself for sending (tcp_wmem), ten times what a fast Ethernet needs."""


@dataclass(frozen=True)
class BufferContrast:
    """Two arms, and what TCP_INFO said of their connections."""

    contrast: Contrast
    found: Connections
    changed: Connections


class SocketBuffers(Cause):
    """A program fixes the size of its buffers, and the kernel does as it is told."""

    name = "socket buffers"
    page = "socket-buffers"
    summary = "Socket buffers of a fixed size are too small: no more than a buffer is under way per round trip."
    seconds = 25.0
    to_the_byte = False

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """Slower messages on TCP; the heavier if connections were limited, or a setting names a buffer."""
        if finding.kind not in ("step", "plateau", "collapse", "spike", "bimodal", "stall", "launch effect"):
            return None
        if finding.magnitude < 1 or not scene.uses_tcp(finding):
            return None
        curve = scene.curve(finding)
        low, high = affected(finding, curve) if curve is not None else (finding.size_from, finding.size_to)
        if high < SMALLEST:
            return None
        limited = _limited(finding, scene, low, high)
        if limited is not None:
            if limited < LIMITED:
                return None
            said = f"Connections stood for {limited:.0%} of their busy time waiting for window or buffer (TCP_INFO)."
            return Suspicion(0.8, (said,))
        knobs = [
            (name, value)
            for name, value in scene.numeric_knobs(finding.system)
            if NAMES.search(name) and "tcp" in name and value <= 2 * high
        ]
        if knobs:
            said = ", ".join(f"{name} is {value:,}" for name, value in knobs[:3])
            return Suspicion(0.6, (f"BufferContrast have a fixed size: the setting {said}.",))
        return Suspicion(0.3, ("The messages go through TCP sockets, whose buffers may have a fixed size.",))

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """The kernel's own sizes; then, if that does not remove it, large ones."""
        symptom = narrow(case.symptom)
        own = _compare(case, symptom, "sndbuf:auto+rcvbuf:auto", "buffers left to the kernel")
        figures: dict[str, object] = {"auto": _figures(own)}
        if not own.contrast.reproduced:
            return not_shown(own.contrast)
        said = [
            f"With the program's own buffer sizes held off, so that the kernel sizes them: {own.contrast.words()}.",
            _counted(own),
        ]
        if own.contrast.removed:
            remedy = (
                "leave the buffers to the kernel, which sizes them by need: "
                + _setting(case)
                + "; or set them to bandwidth times round trip at least"
            )
            return Examination(True, _agrees(own), tuple(said), remedy, figures)
        if own.contrast.removed is None or own.found.share < LIMITED:
            return Examination(own.contrast.removed, None, tuple(said), figures=figures)
        large = _compare(case, symptom, f"sndbuf:{LARGE}+rcvbuf:{LARGE}", f"buffers of {LARGE:,} bytes")
        figures["large"] = _figures(large)
        said += [f"With buffers of {LARGE:,} bytes: {large.contrast.words()}.", _counted(large)]
        if large.contrast.removed:
            said.append("Large buffers also hide a receiver that is slow to read, so this proves nothing.")
        remedy = "raise net.ipv4.tcp_rmem, net.ipv4.tcp_wmem, net.core.rmem_max and net.core.wmem_max"
        return Examination(large.contrast.removed, None, tuple(said), remedy, figures)


def _limited(finding: Finding, scene: Scene, low: int, high: int) -> float | None:
    """Share of the busy time that a socket test's connections were limited at these sizes; None if it has no facts."""
    facts = [
        one
        for one in scene.facts(finding.system, finding.test, "tcp_connection")
        if one["variant"] == finding.variant and low <= one["size"] <= high
    ]
    busy = sum(one["busy_us"] for one in facts)
    if not busy:
        return None
    return float(sum(one["receive_window_limited_us"] + one["send_buffer_limited_us"] for one in facts) / busy)


def _compare(case: Case, symptom: Symptom, words: str, name: str) -> BufferContrast:
    """As found and with the sockets set so, both with all connections reported."""
    with reporting() as before, reporting() as after:
        arms = [_arm(case, symptom, "as found", before.words), _arm(case, symptom, name, f"{words}+{after.words}")]
        found, changed = case.bench.run(arms, symptom.launches)
        return BufferContrast(case.compare(found, changed, symptom), before.read(), after.read())


def _arm(case: Case, symptom: Symptom, name: str, words: str) -> Arm:
    return case.arm(name, sockets(words), sizes=symptom.sizes)


def _agrees(both: BufferContrast) -> bool | None:
    """Limited before, hardly any more after, by buffers that are now larger; None if that cannot be told apart."""
    grew = both.changed.send_buffer > both.found.send_buffer or both.changed.receive_buffer > both.found.receive_buffer
    if not grew or both.found.share < UNLIMITED:
        return False
    return True if both.found.share >= LIMITED and both.changed.share <= LIMITED_LEFT * both.found.share else None


def _figures(both: BufferContrast) -> dict[str, object]:
    return {
        **both.contrast.figures(),
        "limited_share": round(both.found.share, 3),
        "limited_share_with_it": round(both.changed.share, 3),
        "send_buffer": both.found.send_buffer,
        "send_buffer_with_it": both.changed.send_buffer,
        "receive_buffer": both.found.receive_buffer,
        "receive_buffer_with_it": both.changed.receive_buffer,
    }


def _counted(both: BufferContrast) -> str:
    return (
        f"Connections waited for window or send buffer {both.found.share:.0%} of their busy time as found (send buffer "
        f"{both.found.send_buffer:,}, receive buffer {both.found.receive_buffer:,} bytes), {both.changed.share:.0%} "
        f"with it ({both.changed.send_buffer:,} and {both.changed.receive_buffer:,})."
    )


def _setting(case: Case) -> str:
    """The MPI's own setting for it."""
    return case.system.traits.buffers_advice or "no SO_SNDBUF and no SO_RCVBUF"
