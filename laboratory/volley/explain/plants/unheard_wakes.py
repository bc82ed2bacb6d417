# SPDX-License-Identifier: BSD-3-Clause
"""A sender that nobody wakes; and decoys: ranks that take their time themselves, which the stream shows alike."""

from __future__ import annotations

from collections.abc import Mapping

from volley.detect.finding import Finding
from volley.explain.causes.late_wake_up import TEST
from volley.explain.plant import Plant
from volley.systems import settings

SIZES = (256, 2048)
"""Such messages lie in Volley's ring until they are received; with larger ones the sender waits for something else."""


def _late_by(finding: Finding, milliseconds: float) -> bool:
    late = (finding.duration_ns or 0.0) / 1e6
    return finding.kind == "stall" and 0.5 * milliseconds < late < 1.5 * milliseconds


class UnheardWakes(Plant):
    """The wakes that Volley's receivers give their senders are lost, so that a time limit ends the senders' sleep."""

    name = "unheard wakes"
    cause = "late wake-up"
    systems = "volley/process"
    tests = TEST
    sizes = SIZES
    launches = 4

    def variables(self) -> Mapping[str, str]:
        """In every process of every launch."""
        return settings.variables({"messages": "unheard"}, str)

    def shows(self, finding: Finding) -> bool:
        """Messages that come late by Volley's time limit."""
        return _late_by(finding, 100)


class BusyReceiver(Plant):
    """Every 50th message takes the receiver 30 ms: the sender has no room and sleeps, as it should."""

    name = "receiver that works 30 ms"
    cause = None
    systems = "volley/process"
    tests = TEST
    sizes = SIZES
    launches = 4

    def variables(self) -> Mapping[str, str]:
        """In every process of every launch."""
        return settings.variables({"messages": "busy:50:30000"}, str)

    def shows(self, finding: Finding) -> bool:
        """Messages that come late by that."""
        return _late_by(finding, 30)


class SleepingSender(Plant):
    """Every 50th send sleeps 30 ms, whether there is room or not."""

    name = "sender that sleeps 30 ms"
    cause = None
    systems = "volley/process"
    tests = TEST
    sizes = SIZES
    launches = 4

    def variables(self) -> Mapping[str, str]:
        """In every process of every launch."""
        return settings.variables({"messages": "asleep:50:30000"}, str)

    def shows(self, finding: Finding) -> bool:
        """Messages that come late by that."""
        return _late_by(finding, 30)
