# SPDX-License-Identifier: BSD-3-Clause
"""bbr, made for long distances, on the loopback."""

from __future__ import annotations

from collections.abc import Mapping

from volley.detect.finding import Finding
from volley.explain.tcp import planted_sockets
from volley.machine import facts as machine_facts
from volley.selftest.plant import Plant

KINDS = ("step", "plateau", "collapse", "spike", "bimodal", "stall")


class PacingOnLoopback(Plant):
    """Messages of a mebibyte take three times as long as with cubic."""

    name = "bbr on the loopback"
    cause = "congestion control"
    systems = "machine"
    tests = "tcp"
    sizes = (65536, 98304, 131072, 196608, 262144, 1048576, 2097152, 4194304)
    launches = 10
    seconds = 40.0

    def unavailable(self) -> str:
        """Needs bbr, and something to compare with."""
        known = machine_facts.congestion_controls()
        missing = [one for one in ("bbr", "cubic") if one not in known]
        return f"this kernel has no congestion control {missing[0]} (modprobe tcp_{missing[0]})" if missing else ""

    def variables(self) -> Mapping[str, str]:
        """On all connections, whatever the test asks for."""
        return planted_sockets("congestion:bbr")

    def shows(self, finding: Finding) -> bool:
        """Slower where messages are large."""
        return finding.kind in KINDS and finding.magnitude > 1.5 and finding.size_to > 262144
