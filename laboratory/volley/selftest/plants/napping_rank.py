# SPDX-License-Identifier: BSD-3-Clause
"""A decoy: ranks that sleep by themselves look as if somebody took their core."""

from __future__ import annotations

from collections.abc import Mapping

from volley.detect.finding import Finding
from volley.selftest.plant import Plant
from volley.selftest.plants.busy_core import SIZES
from volley.systems import settings


class NappingRank(Plant):
    """Each rank sleeps 12 ms after every 4 ms of running: no other program, no quota, no scheduler."""

    name = "napping rank"
    cause = None
    systems = "mpich/shm"
    tests = "pingpong"
    sizes = SIZES
    seconds = 20.0
    launches = 6

    def variables(self) -> Mapping[str, str]:
        """A library in all ranks makes them sleep."""
        return settings.variables({"naps": "4,12"}, str)

    def shows(self, finding: Finding) -> bool:
        """Operations that come late now and then."""
        return finding.test == "pingpong" and finding.kind in ("stall", "launch effect", "bimodal")
