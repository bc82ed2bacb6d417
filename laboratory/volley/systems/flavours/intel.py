# SPDX-License-Identifier: BSD-3-Clause
"""Intel MPI's launcher, and what is known of Intel MPI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from volley.systems import knobs
from volley.systems.flavours.base import Flavour, Way
from volley.systems.traits import Algorithm, Traits

MOST_ALGORITHMS = 8
"""I_MPI_ADJUST_* are numbered from 1; most collectives have fewer, and unknown numbers are ignored."""


def algorithms(collective: str, knobs: Mapping[str, str]) -> Iterable[Algorithm]:
    """By number."""
    if not any(known.startswith("I_MPI_") for known in knobs):
        return
    setting = f"I_MPI_ADJUST_{collective.upper()}"
    for number in range(1, MOST_ALGORITHMS + 1):
        yield Algorithm(f"{setting}={number}", {setting: str(number)})


class Intel(Flavour):
    """Intel MPI's launcher, a Hydra of its own."""

    name = "intel"
    said = ("Intel(R) MPI",)
    asked_first = True
    traits = Traits(
        colours=("#b8860b", "#f0c040"),
        yielding={"I_MPI_THREAD_YIELD": "2"},
        yielding_advice="with Intel MPI set I_MPI_THREAD_YIELD=2 or I_MPI_WAIT_MODE=1",
        binding_advice="I_MPI_PIN=1",
        algorithms=algorithms,
    )
    transports: ClassVar[Mapping[str, str]] = {
        "shm": "shared memory (I_MPI_FABRICS=shm)",
        "tcp": "TCP through the loopback interface (I_MPI_FABRICS=ofi, libfabric's tcp provider)",
    }

    network_transports = ("tcp",)

    def arguments(self, way: Way) -> list[str]:
        """Here only the number: everything else is in the environment."""
        place = way.placement
        if place is None:
            return ["-n", str(way.ranks)]
        started = ["-bootstrap", "ssh", "-bootstrap-exec", str(place.agent), "-hosts", ",".join(place.hosts)]
        started += ["-ppn", str(place.ranks_per_host)]
        return [*started, *(["-iface", place.interface] if place.interface else []), "-n", str(way.ranks)]

    def variables(self, prefix: Path, way: Way) -> dict[str, str]:
        """Pinning off, since the test programs pin themselves; ranks by fork, never by ssh.

        I_MPI_ROOT and the library folder are what setvars.sh would have set: its tools and libfabric
        are found by them. FI_PROVIDER_PATH must name the wheel's providers, or libfabric has none.
        """
        library = prefix / "lib"
        found = {
            "I_MPI_ROOT": str(prefix),
            "I_MPI_PIN": "0",
            "I_MPI_HYDRA_BOOTSTRAP": "ssh" if way.placement else "fork",
            "LD_LIBRARY_PATH": str(library),
        }
        if way.placement and way.placement.interface:
            found["FI_TCP_IFACE"] = way.placement.interface
        if way.transport == "shm":
            found["I_MPI_FABRICS"] = "shm"
        elif way.transport == "tcp":
            found |= {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "I_MPI_OFI_PROVIDER": "tcp"}
            if list(library.glob("lib*-fi.so")):
                found["FI_PROVIDER_PATH"] = str(library)
        return found

    def knobs(self, prefix: Path, transport: str, keep_loader: bool = False) -> dict[str, str]:
        """Variables with their defaults, by ``impi_info``; those without one are left out."""
        environment = self.environment(prefix, Way("", transport, 1), keep_loader)
        found = knobs.collect([prefix / "bin" / "impi_info", "-e"], environment, knobs.IMPI_INFO_LINE)
        return {name: value for name, value in found.items() if value != "not defined"}
