# SPDX-License-Identifier: BSD-3-Clause
"""Hosts of an emulated cluster (cluster.py), which is up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from volley.data.results import Warning
from volley.hosts.base import DeeperQueue, Hosts
from volley.hosts.cluster import INTERFACE, Cluster, require_means, whole
from volley.machine.processes import User
from volley.sizes import format_size

DEEP_BYTES = 64 << 20
"""More than TCP has under way to one host: 6 MiB of window for each of ten senders (net.ipv4.tcp_rmem)."""
ENTERING = "+sys_admin,+sys_chroot,+sys_ptrace"
"""Capabilities by which the agent enters a host for an ordinary user; it drops them there."""


class EmulatedCluster(Hosts):
    """Namespaces of this machine: processes can be seen from here, files are shared, cores too."""

    kind = "cluster"
    interface = INTERFACE
    cores_shared = True

    def __init__(self, name: str, ranks_per_host: int = 1, hosts: Sequence[str] = ()) -> None:
        require_means()
        self.cluster: Cluster = whole(name)
        super().__init__(hosts or self.cluster.hosts, ranks_per_host)

    def start(self, host: str, line: str) -> tuple[str, ...]:
        """By the agent."""
        return (str(self.agent), host, line)

    @property
    def agent(self) -> Path:
        """The cluster's."""
        return self.cluster.agent

    @property
    def spec(self) -> str:
        """By the cluster's name."""
        return f"cluster:{self.cluster.name}"

    @property
    def option(self) -> list[str]:
        """By the cluster's name."""
        return ["--cluster", self.cluster.name]

    def deeper_queue(self) -> DeeperQueue | None:
        """By tc's limit, at all ports of the switch."""
        words = f"queues of {DEEP_BYTES >> 20} MiB at the switch instead of {format_size(self.cluster.buffer_bytes)}"
        return DeeperQueue(words, partial(self.cluster.buffer, DEEP_BYTES))

    def remedy(self, host: str) -> str:
        """How it is looked at."""
        return f"volley cluster status --name {self.cluster.name}"

    def port_drops(self) -> dict[str, float]:
        """As the switch's ports count them."""
        return self.cluster.port_drops()

    def notes(self) -> list[Warning]:
        """What differs from a real cluster."""
        return [
            Warning(
                "emulated hosts",
                f"{len(self.names)} hosts are one machine and share its {os.cpu_count()} cores: ranks are not bound, "
                "and times of small messages show the scheduler; after a pause a port passes "
                f"{self.cluster.burst_bytes:,} bytes at once (tc tbf's bucket), so such messages beat the line's rate",
                "read the network's limits off it, not latencies",
            )
        ]

    def environment(self) -> dict[str, Any]:
        """Adds what the network is."""
        told = self.cluster.to_json()
        network = {
            name: told[name] for name in ("rate_bits_per_second", "buffer_bytes", "burst_bytes", "congestion_control")
        }
        return {**super().environment(), "network": network}

    def as_user(self, argv: tuple[str, ...], user: User | None) -> tuple[str, ...]:
        """An ordinary user's processes may call the agent outside the hosts, and the first one in a host as well."""
        if user is None:
            return argv
        who = ("--reuid", str(user.uid), "--regid", str(user.gid), "--clear-groups")
        right = ("--inh-caps", ENTERING, "--ambient-caps", ENTERING)
        return ("setpriv", *who, *right, "env", "VOLLEY_ENTERS_AGAIN=1", *argv)
