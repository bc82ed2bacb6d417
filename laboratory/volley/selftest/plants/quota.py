# SPDX-License-Identifier: BSD-3-Clause
"""A control group that may use half a CPU, around two ranks that spin."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from volley.detect.finding import Finding
from volley.explain.surroundings import cpu_quota, why_not
from volley.selftest.plant import Plant
from volley.selftest.plants.busy_core import SIZES

CPUS = 0.5


class Quota(Plant):
    """As `docker run --cpus 0.5`."""

    name = "CPU quota"
    cause = "CPU quota"
    systems = "mpich/shm"
    tests = "pingpong"
    sizes = SIZES
    seconds = 25.0
    launches = 6
    loads_the_machine = True

    def unavailable(self) -> str:
        """Where control groups cannot be made."""
        refused = why_not(cpu_quota(CPUS))
        return f"a control group with a quota cannot be made: {refused}" if refused else ""

    @contextlib.contextmanager
    def surroundings(self) -> Iterator[None]:
        """The quota, around everything."""
        with cpu_quota(CPUS):
            yield

    def shows(self, finding: Finding) -> bool:
        """Operations that come up to a period late."""
        return finding.test == "pingpong" and finding.kind == "stall"
