# SPDX-License-Identifier: BSD-3-Clause
"""Twice as many ranks as cores, in an MPI that waits by spinning."""

from __future__ import annotations

from typing import ClassVar

from volley.detect.finding import Finding
from volley.machine.facts import usable_cpus
from volley.selftest.plant import Plant


class CrowdedBarrier(Plant):
    """MPICH's barrier, which takes microseconds with a core for each rank and tens of milliseconds without."""

    name = "crowded barrier"
    cause = "more ranks than cores"
    systems = "mpich/shm"
    tests = "barrier"
    ranks: ClassVar[tuple[int, int]] = (len(usable_cpus()), 2 * len(usable_cpus()))
    seconds = 15.0
    launches = 6
    loads_the_machine = True

    def unavailable(self) -> str:
        """One core has no smaller world to compare with; very many would take very long."""
        return "" if 2 <= len(usable_cpus()) <= 16 else f"for 2 to 16 cores, not {len(usable_cpus())}"

    def shows(self, finding: Finding) -> bool:
        """The larger world is slow beyond reason."""
        return finding.test == "barrier" and finding.kind == "rank collapse"
