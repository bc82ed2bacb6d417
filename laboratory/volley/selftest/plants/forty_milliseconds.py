# SPDX-License-Identifier: BSD-3-Clause
"""Decoys of Nagle with delayed ACK: waits of 40 ms on TCP that have another reason. Nothing may be CONFIRMED."""

from __future__ import annotations

from collections.abc import Mapping

from volley.detect.finding import Finding
from volley.explain.tcp import planted_sockets
from volley.selftest.plant import Plant

SIZES = (64, 512)


def _stalls_of_40_ms(finding: Finding) -> bool:
    return finding.kind == "stall" and abs((finding.duration_ns or 0.0) - 40e6) < 8e6


class DelayedSender(Plant):
    """Every 35th small send waits 40 ms in the sender."""

    name = "sender that waits 40 ms"
    cause = None
    systems = "machine"
    tests = "tcp_stream"
    sizes = SIZES
    seconds = 20.0

    def variables(self) -> Mapping[str, str]:
        """In every process of every launch."""
        return planted_sockets("delay:35:40000")

    def shows(self, finding: Finding) -> bool:
        """Stalls of 40 ms."""
        return _stalls_of_40_ms(finding)


class SleepingReceiver(Plant):
    """Every 50th small receive is followed by 40 ms of sleep."""

    name = "receiver that sleeps 40 ms"
    cause = None
    systems = "machine"
    tests = "tcp_stream"
    sizes = SIZES
    seconds = 20.0

    def variables(self) -> Mapping[str, str]:
        """In every process of every launch."""
        return planted_sockets("late:50:40000")

    def shows(self, finding: Finding) -> bool:
        """Stalls of 40 ms."""
        return _stalls_of_40_ms(finding)


class DelayedSenderBesideNagle(Plant):
    """Every fifth send waits 44 ms, in launches where real delayed acknowledgements are counted as well."""

    name = "sender that waits 44 ms beside Nagle"
    cause = None
    systems = "machine"
    tests = "tcp"
    sizes = (64, 256, 1024, 4096)
    seconds = 20.0

    def variables(self) -> Mapping[str, str]:
        """In every process of every launch."""
        return planted_sockets("delay:5:44000")

    def shows(self, finding: Finding) -> bool:
        """Two modes, 44 ms apart, where Nagle is off."""
        slow = float(finding.evidence.get("slow_ns", 0.0))
        return finding.kind == "bimodal" and "nodelay" in finding.variant and abs(slow - 44e6) < 8e6
