# SPDX-License-Identifier: BSD-3-Clause
"""MPICH's launcher, Hydra, and what is known of MPICH."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

import psutil

from volley.systems import knobs
from volley.systems.flavours.base import Flavour, Way
from volley.systems.traits import Algorithm, CopySwitch, Traits

ALGORITHMS: Mapping[str, tuple[str, ...]] = {
    "allgather": ("brucks", "recursive_doubling", "ring"),
    "allreduce": ("recursive_doubling", "reduce_scatter_allgather", "ring", "tree"),
    "alltoall": ("brucks", "pairwise", "scattered"),
    "bcast": ("binomial", "scatter_recursive_doubling_allgather", "scatter_ring_allgather", "pipelined_tree"),
    "reduce": ("binomial", "reduce_scatter_gather"),
    "reduce_scatter": ("recursive_halving", "recursive_doubling", "pairwise"),
    "scan": ("recursive_doubling", "smp"),
}
"""Names that MPICH's MPIR_CVAR_*_INTRA_ALGORITHM takes since 3.3 (docs of `mpivars`)."""


def algorithms(collective: str, knobs: Mapping[str, str]) -> Iterable[Algorithm]:
    """By name, past the shared-memory forms."""
    variable = f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"
    if variable not in knobs and not any(known.startswith("MPIR_CVAR_CH4") for known in knobs):
        return
    posix = {f"MPIR_CVAR_{collective.upper()}_POSIX_INTRA_ALGORITHM": "mpir", "MPIR_CVAR_ODD_EVEN_CLIQUES": "0"}
    for name in ALGORITHMS.get(collective, ()):
        yield Algorithm(f"{variable}={name}", {**posix, variable: name})


def has_network() -> bool:
    """Whether an interface besides loopback is up and has an IPv4 address."""
    up = {name for name, state in psutil.net_if_stats().items() if state.isup and name != "lo"}
    addresses = psutil.net_if_addrs()
    return any(one.family == socket.AF_INET for name in up for one in addresses.get(name, []))


class Hydra(Flavour):
    """MPICH's launcher. Ranks are not bound unless -bind-to is given, and share cores without a flag."""

    name = "mpich"
    said = ("HYDRA",)
    traits = Traits(
        colours=("#0072b2", "#5ab4f0"),
        yielding_advice="MPICH has no setting for it at run time",
        binding_advice="mpiexec -bind-to core",
        single_copy_advice="MPIR_CVAR_CH4_CMA_ENABLE=0",
        copy_switches=(
            CopySwitch("MPIR_CVAR_CH4_CMA_ENABLE", {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}, "1"),
            CopySwitch("MPIR_CVAR_CH4_CMA_ENABLE", {"MPIR_CVAR_CH4_CMA_ENABLE": "1"}, "0"),
        ),
        algorithms=algorithms,
    )
    transports: ClassVar[Mapping[str, str]] = {
        "shm": "shared memory (MPICH's own choice on one node)",
        "tcp": "TCP through the loopback interface, by the network module of the build (OFI or UCX)",
    }
    network_transports = ("tcp",)
    segments = ("mpich_shm_*",)

    def arguments(self, way: Way) -> list[str]:
        """``-launcher fork`` here: never ssh, whatever a batch system or host file says. On hosts the agent is ssh."""
        place = way.placement
        if place is None:
            return ["-launcher", "fork", "-n", str(way.ranks)]
        started = ["-launcher", "ssh", "-launcher-exec", str(place.agent), "-hosts", place.with_slots()]
        return [*started, *(["-iface", place.interface] if place.interface else []), "-n", str(way.ranks)]

    def variables(self, prefix: Path, way: Way) -> dict[str, str]:
        """NOLOCAL sends messages of one node to the network module; without UCX_TLS and FI_PROVIDER that
        module (UCX at once, OFI in some builds) takes shared memory again. Seen on 3.4.3, 4.1.3 (OFI) and
        5.0.2 (UCX): the bytes of all messages, and only then, show up on `lo` in /proc/net/dev.

        UCX knows no way over `lo` alone (with UCX_NET_DEVICES=lo it looks for a route to a random address),
        so OFI serves where the machine has no other network.
        """
        if way.transport != "tcp":
            return {}
        chosen = {"MPIR_CVAR_NOLOCAL": "1", "FI_PROVIDER": "tcp", "UCX_TLS": "tcp,self"}
        if way.placement is not None:
            name = way.placement.interface
            return {**chosen, **({"FI_TCP_IFACE": name, "UCX_NET_DEVICES": name} if name else {})}
        return chosen if has_network() else {**chosen, "MPIR_CVAR_CH4_NETMOD": "ofi"}

    def knobs(self, prefix: Path, transport: str, keep_loader: bool = False) -> dict[str, str]:
        """Control variables with their current values, by ``mpivars``, and how it was built."""
        environment = self.environment(prefix, Way("", transport, 1), keep_loader)
        build = knobs.built(prefix / "bin" / "mpichversion", environment)
        return build | knobs.collect([prefix / "bin" / "mpivars"], environment, knobs.MPIVARS_LINE)
