# SPDX-License-Identifier: BSD-3-Clause
"""A container that does not let one rank read another's memory: slower than the day before."""

from __future__ import annotations

from collections.abc import Mapping

from volley.detect.finding import Finding
from volley.selftest.plant import Plant
from volley.systems import settings


class MemoryRefused(Plant):
    """Each rank is as a hardened machine would have it; this MPI falls back to two copies."""

    name = "memory refused (Volley)"
    cause = "single copy unavailable"
    systems = "volley/process"
    tests = "pingpong,peer_memory"
    sizes = (4096, 65536, 1048576, 8388608, 12582912, 16777216, 20971520, 25165824)
    launches = 8
    compares = True

    def variables(self) -> Mapping[str, str]:
        """By a library in all ranks."""
        return settings.variables({"memory": "refuse"}, str)

    def shows(self, finding: Finding) -> bool:
        """The large messages are slower than they were."""
        return finding.test == "pingpong" and finding.kind == "regression" and finding.size_to >= 524288
