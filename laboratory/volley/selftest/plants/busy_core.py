# SPDX-License-Identifier: BSD-3-Clause
"""A program that loops on the core of rank 0, for ever."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from volley.detect.finding import Finding
from volley.explain.surroundings import busy
from volley.machine.facts import usable_cpus
from volley.selftest.plant import Plant

SIZES = (8, 64, 512, 2048, 8192, 32768, 65536, 131072, 196608, 262144, 393216, 524288, 786432, 1048576)
"""Large ones mostly: their operations fill the time per point."""


class BusyCore(Plant):
    """A single process of somebody else."""

    name = "busy core"
    cause = "other load"
    systems = "mpich/shm"
    tests = "pingpong"
    sizes = SIZES
    seconds = 20.0
    launches = 6
    loads_the_machine = True

    @contextlib.contextmanager
    def surroundings(self) -> Iterator[None]:
        """One busy process where rank 0 is bound."""
        with busy(usable_cpus()[:1]):
            yield

    def shows(self, finding: Finding) -> bool:
        """Operations that come late now and then."""
        return finding.test == "pingpong" and finding.kind == "stall"
