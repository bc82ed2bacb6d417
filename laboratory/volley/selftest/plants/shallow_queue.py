# SPDX-License-Identifier: BSD-3-Clause
"""A link with a shallow queue: what is sent faster than it drains is lost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from volley.detect.finding import Finding
from volley.explain.namespace import no_namespace, own_network
from volley.selftest.plant import Plant

SHAPE = (
    ("ip", "link", "set", "lo", "mtu", "1500"),
    ("tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "2gbit", "burst", "20k", "limit", "20k"),
)
"""A bucket of 20 KiB and a queue as long: a burst of more than about 40 KiB loses packets."""


class ShallowQueue(Plant):
    """Messages longer than the queue lose packets, and wait for timers."""

    name = "shallow queue"
    cause = "retransmission timeout"
    systems = "mpich/tcp"
    tests = "pingpong"
    sizes = (64, 1024, 4096, 8192, 16384, 65536, 131072, 196608, 262144)
    seconds = 30.0

    def unavailable(self) -> str:
        """Needs a network of its own."""
        return no_namespace()

    @contextlib.contextmanager
    def surroundings(self) -> Iterator[None]:
        """All launches are inside."""
        with own_network(*SHAPE):
            yield

    def shows(self, finding: Finding) -> bool:
        """Slow beyond what queue and bucket hold."""
        return finding.magnitude > 2 and finding.size_to > 16384
