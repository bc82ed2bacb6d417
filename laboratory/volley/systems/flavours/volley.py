# SPDX-License-Identifier: BSD-3-Clause
"""Our own launcher, and what is known of our library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from volley.systems import knobs
from volley.systems.flavours.base import LOST_WAKE_UPS, Flavour, Way
from volley.systems.traits import Algorithm, Traits

VOLLEY_LOST = re.compile(r"^Volley: rank \d+: (\d+) waits? nobody ended in time\b.*lost wake-ups", re.MULTILINE)


BY_NAME = ("daemon", "fabric")
"""Transports that mpiexec is told also for several hosts, where TCP goes without saying."""

ALGORITHMS = {
    "barrier": ("published", "hierarchical", "dissemination"),
    "bcast": ("published", "direct", "pieces", "hierarchical", "binomial", "scatter_ring"),
    "allgather": ("published", "staged", "direct", "hierarchical", "ring", "bruck", "linear"),
    "alltoall": ("published", "staged", "direct", "hierarchical", "bruck", "linear"),
    "reduce": ("published", "staged", "last", "direct", "hierarchical", "scatter_gather", "binomial"),
    "allreduce": ("published", "staged", "last", "direct", "hierarchical", "ring", "recursive_doubling"),
    "reduce_scatter": ("published", "staged", "direct", "pairwise", "linear"),
    "scan": ("published", "direct", "staged", "recursive_doubling"),
}
"""Of the operations that there are tests for, as docs/compiling-and-running.md has them."""


IN_MEMORY = frozenset({"published", "pieces", "staged", "last", "direct"})
"""Algorithms for ranks of one host."""


def may_be_possible(algorithm: str, ranks: int, hosts: int) -> bool:
    """Whether there can be ranks in such a job that use that algorithm."""
    if algorithm == "hierarchical":
        return 1 < hosts < ranks
    return hosts == 1 or algorithm not in IN_MEMORY


def algorithms(collective: str, knobs: Mapping[str, str]) -> Iterable[Algorithm]:
    """By name; where one is not possible, the library takes its own choice."""
    for name in ALGORITHMS.get(collective, ()):
        yield Algorithm(f"{collective}={name}", {"VOLLEY_COLLECTIVES": f"{collective}={name}"})


class Volley(Flavour):
    """Our own launcher."""

    name = "volley"
    said = ("(Volley)",)
    traits = Traits(
        colours=("#aa3377", "#e27fb5"),
        dashes={"process": "dash", "daemon": "dot", "fabric": "dashdot"},
        sockets=frozenset({"tcp", "daemon", "fabric"}),
        binding_advice="mpiexec --bind core",
        algorithms=algorithms,
    )
    transports: ClassVar[Mapping[str, str]] = {
        "shared": "ranks share one address space: messages go straight from buffer to buffer",
        "process": "each rank is a process: messages go through common memory, or are read from the other process",
        "tcp": "TCP through the loopback interface; over several hosts between them, and memory within each",
        "daemon": "every message through a process beside the ranks of each host, as LAM's lamd has it",
        "fabric": "libfabric, by the provider that it likes best or FI_PROVIDER names",
    }
    network_transports = ("tcp", "daemon", "fabric")

    def arguments(self, way: Way) -> list[str]:
        """No binding, since the test programs pin themselves."""
        place = way.placement
        where = self._kind(way.transport)
        if place is not None:
            network = ["--interface", place.interface] if place.interface else []
            carried = self._kind(way.transport) if way.transport in BY_NAME else []
            where = ["--agent", str(place.agent), "--hosts", place.with_slots(), *network, *carried]
        return [*where, "--bind", "none", "-n", str(way.ranks)]

    def knobs(self, prefix: Path, transport: str, keep_loader: bool = False) -> dict[str, str]:
        """The library's settings for such ranks, by ``mpiexec --settings``."""
        environment = self.environment(prefix, Way("", transport, 1), keep_loader)
        tool: list[str | Path] = [prefix / "bin" / "mpiexec", *self._kind(transport), "--settings"]
        return knobs.collect(tool, environment, knobs.VOLLEY_LINE)

    def counted(self, said: str) -> dict[str, float]:
        """Lost wake-ups, of all ranks: printed at a program's end where there were any."""
        lost = sum(int(number) for number in VOLLEY_LOST.findall(said))
        return {LOST_WAKE_UPS: float(lost)} if lost else {}

    def _kind(self, transport: str) -> list[str]:
        if transport == "tcp" or transport in BY_NAME:
            return ["--transport", transport]
        return ["--ranks", transport] if transport in self.transports else []
