# SPDX-License-Identifier: BSD-3-Clause
"""Nagle's algorithm where it should not be: on the sockets of an MPI, and on bare ones written to twice a message."""

from __future__ import annotations

from collections.abc import Mapping

from volley.detect.finding import Finding
from volley.explain.tcp import planted_sockets
from volley.selftest.plant import Plant

MILLISECONDS_40 = 20.0
"""Times the usual: 40 ms are hundreds of times any message of these sizes; less is not the planted effect."""


class NagleOnMpich(Plant):
    """TCP_NODELAY does not reach MPICH's sockets: its rendezvous messages wait for acknowledgements."""

    name = "Nagle turned on"
    cause = "Nagle with delayed ACK"
    systems = "mpich/tcp"
    tests = "pingpong"
    sizes = (256, 1024, 4096, 8192, 12288, 20480, 32768, 49152)
    seconds = 30.0

    def variables(self) -> Mapping[str, str]:
        """The library's own setsockopt() is held off."""
        return planted_sockets("nagle")

    def shows(self, finding: Finding) -> bool:
        """Slow from 16 KiB on, where MPICH asks before it sends."""
        return finding.kind in ("step", "plateau", "collapse", "spike") and finding.magnitude > MILLISECONDS_40


class WriteWriteRead(Plant):
    """Header and body by two writes, then a read: what the test tcp does in its variant `write`."""

    name = "write write read"
    cause = "Nagle with delayed ACK"
    systems = "machine"
    tests = "tcp"
    sizes = (64, 1024, 8192, 16384, 32768, 65536, 131072, 262144)
    seconds = 20.0
    quick = True

    def shows(self, finding: Finding) -> bool:
        """Small messages slower than large ones."""
        return finding.variant == "write" and finding.kind == "step" and finding.magnitude < 1 / MILLISECONDS_40
