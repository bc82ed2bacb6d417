# SPDX-License-Identifier: BSD-3-Clause
"""A container that does not let one rank read another's memory: an MPI that relies on it ends."""

from __future__ import annotations

from collections.abc import Mapping

from volley.detect.finding import Finding
from volley.selftest.plant import Plant
from volley.systems import settings


class MemoryRefusedToMpich(Plant):
    """Each rank is as a hardened machine would have it; this MPI has no other way for large messages."""

    name = "memory refused (MPICH)"
    cause = "single copy unavailable"
    systems = "mpich==5.0.2/shm,volley/process"  # the other one has a way, and tells the sizes
    tests = "pingpong,peer_memory"
    sizes = (1024, 65536, 1048576)
    launches = 4

    def variables(self) -> Mapping[str, str]:
        """By a library in all ranks."""
        return settings.variables({"memory": "refuse"}, str)

    def shows(self, finding: Finding) -> bool:
        """Launches fail."""
        return finding.test == "pingpong" and finding.kind == "failure"
