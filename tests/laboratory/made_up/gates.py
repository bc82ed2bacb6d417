# SPDX-License-Identifier: BSD-3-Clause
"""Made-up plants: a gate that is closed, and one that nobody sees."""

from __future__ import annotations

from volley.detect.finding import Finding
from volley.selftest.plant import Plant


class ClosedGatePlanted(Plant):
    """The step of the made-up system."""

    name = "gate that is closed"
    cause = "closed gate"
    systems = "tollgate"
    tests = "doorstep"
    launches = 4
    seconds = 20.0

    def shows(self, finding: Finding) -> bool:
        """At its limit."""
        return finding.kind == "step" and finding.size_from == 4096


class UnseenGate(Plant):
    """The same, as if detection had lost it."""

    name = "gate that nobody sees"
    cause = "closed gate"
    systems = "tollgate"
    tests = "doorstep"
    launches = 1
    seconds = 20.0

    def shows(self, finding: Finding) -> bool:
        """Never."""
        return False
