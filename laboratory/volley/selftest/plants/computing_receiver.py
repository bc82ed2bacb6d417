# SPDX-License-Identifier: BSD-3-Clause
"""A receiver that computes, as receivers in programs do: every MPI has the limit, and each its own."""

from __future__ import annotations

from volley.detect.finding import Finding
from volley.selftest.plant import Plant


class ComputingReceiver(Plant):
    """MPICH's sends above its limit stand until the receiver calls MPI."""

    name = "computing receiver"
    cause = "receiver's progress"
    systems = "mpich/shm"
    tests = "late_receiver"
    launches = 3
    quick = True

    def shows(self, finding: Finding) -> bool:
        """The step in the late receiver's curve."""
        return finding.test == "late_receiver" and finding.kind == "step" and finding.magnitude > 10
