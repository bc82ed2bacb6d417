# SPDX-License-Identifier: BSD-3-Clause
"""A sender that nobody wakes; and decoys: ranks that take their time themselves, which the stream shows alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from volley.detect.finding import Finding
from volley.explain.causes.late_wake_up import TEST
from volley.selftest.plant import Plant
from volley.systems import settings

SIZES = (256, 2048)
"""Such messages lie in Volley's ring until they are received; with larger ones the sender waits for something else."""


class _OnTheStream:
    """What these have in common: a shim below the program, and messages of the stream that come late by it."""

    systems = "volley/process"
    tests = TEST
    sizes: ClassVar[Sequence[int] | None] = SIZES
    launches = 4
    shim: ClassVar[str]
    """What the shim `messages` does."""
    late_milliseconds: ClassVar[float]

    def variables(self) -> Mapping[str, str]:
        """In every process of every launch."""
        return settings.variables({"messages": self.shim}, str)

    def shows(self, finding: Finding) -> bool:
        """Messages that come late by that."""
        late = (finding.duration_ns or 0.0) / 1e6
        return finding.kind == "stall" and 0.5 * self.late_milliseconds < late < 1.5 * self.late_milliseconds


class UnheardWakes(_OnTheStream, Plant):
    """The wakes that Volley's receivers give their senders are lost, so that a time limit ends the senders' sleep."""

    name = "unheard wakes"
    cause = "late wake-up"
    shim = "unheard"
    late_milliseconds = 100.0


class BusyReceiver(_OnTheStream, Plant):
    """Every 50th message takes the receiver 30 ms: the sender has no room and sleeps, as it should."""

    name = "receiver that works 30 ms"
    cause = None
    shim = "busy:50:30000"
    late_milliseconds = 30.0


class SleepingSender(_OnTheStream, Plant):
    """Every 50th send sleeps 30 ms, whether there is room or not."""

    name = "sender that sleeps 30 ms"
    cause = None
    shim = "asleep:50:30000"
    late_milliseconds = 30.0
