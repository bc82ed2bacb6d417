# SPDX-License-Identifier: BSD-3-Clause
"""Many senders for one receiver, behind a port whose queue is shallow: the collapse of 2005, on emulated hosts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from volley.detect.finding import Finding
from volley.errors import VolleyError
from volley.hosts.cluster import Cluster, require_means, up
from volley.selftest.plant import Plant

HOSTS = 13
RATE_BITS = 100_000_000
QUEUE_BYTES = 60 << 10
"""Some forty packets: what thirteen hosts' bursts of 64 KiB overrun."""


class ShallowPort(Plant):
    """Twelve hosts send to one, over ports of 60 KB."""

    name = "shallow port"
    cause = "incast: losses at a shallow port"
    systems = "mpich/tcp"
    tests = "incast"
    sizes = (1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
    launches = 6
    seconds = 120.0
    pin = False
    loads_the_machine = True  # the kernel's work for thirteen hosts is nobody's process

    @property
    def hosts(self) -> str:
        """The emulated cluster, while it is up."""
        return f"cluster:{self._cluster}"

    @property
    def _cluster(self) -> str:
        return f"selftest-{os.getpid()}"

    def unavailable(self) -> str:
        """Where hosts cannot be emulated."""
        try:
            require_means()
        except VolleyError as problem:
            return problem.problem
        return ""

    @contextlib.contextmanager
    def surroundings(self) -> Iterator[None]:
        """The cluster is up around everything."""
        names = [f"n{number}" for number in range(1, HOSTS + 1)]
        cluster = up(Cluster(self._cluster, names, RATE_BITS, QUEUE_BYTES, "cubic"))
        try:
            yield
        finally:
            cluster.end()

    def shows(self, finding: Finding) -> bool:
        """Slower by far where bursts overrun the queue."""
        return finding.test == "incast" and finding.magnitude > 1.5 and finding.size_to > 8192
