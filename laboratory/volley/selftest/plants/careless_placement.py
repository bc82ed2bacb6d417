# SPDX-License-Identifier: BSD-3-Clause
"""A batch system that puts all ranks of some launches on one core, and an MPI that is not told to bind them."""

from __future__ import annotations

from collections.abc import Mapping

from volley.detect.finding import Finding
from volley.explain.surroundings import reachable_cpus
from volley.selftest.plant import Plant
from volley.systems import settings


class CarelessPlacement(Plant):
    """Every other launch, or so, has one core for two ranks that spin."""

    name = "careless placement"
    cause = "pinning and migration"
    systems = "openmpi/shm"
    tests = "pingpong"
    sizes = (8, 512, 4096, 65536)
    launches = 9
    pin = False
    loads_the_machine = True

    def unavailable(self) -> str:
        """It takes two cores for one to be wrong."""
        return "" if len(reachable_cpus()) >= 2 else "there is one core only"

    def variables(self) -> Mapping[str, str]:
        """A library in all processes confines half of the launches."""
        return settings.variables({"confined": "2"}, str)

    def shows(self, finding: Finding) -> bool:
        """Launches differ by orders of magnitude."""
        return finding.test == "pingpong" and finding.kind == "launch effect"
