# SPDX-License-Identifier: BSD-3-Clause
"""Open MPI's launcher, and what is known of Open MPI."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from volley.systems import knobs
from volley.systems.base import Placement
from volley.systems.flavours.base import AS_IT_COMES, Flavour, Way
from volley.systems.traits import Algorithm, CopySwitch, Traits

RULES = "coll_tuned_use_dynamic_rules"
RULES_FILE = "coll_tuned_dynamic_rules_filename"


def algorithms(collective: str, knobs: Mapping[str, str]) -> Iterable[Algorithm]:
    """By number, as the component `tuned` counts them; and without its file of rules, if it has one."""
    file = knobs.get(RULES_FILE, "") if knobs.get(RULES) in ("1", "true") else ""
    if file:
        yield Algorithm(f"{RULES}=0", {RULES: "0"}, without_rules=f"{RULES_FILE} is {file}")
    count = knobs.get(f"coll_tuned_{collective}_algorithm_count", "")
    if count.isdigit():
        setting = f"coll_tuned_{collective}_algorithm"
        for number in range(1, int(count)):
            settings = {RULES: "1", "coll_tuned_priority": "100", setting: str(number)}
            yield Algorithm(f"{setting}={number}", settings)


class OpenMpi(Flavour):
    """Open MPI's launcher (ORTE up to 4, PRRTE from 5)."""

    name = "openmpi"
    said = ("Open MPI", "OpenRTE", "open-mpi.org")
    traits = Traits(
        colours=("#d55e00", "#ff8b45"),
        yielding={"OMPI_MCA_mpi_yield_when_idle": "1"},  # version 5 does so where its launcher sees too few cores
        yielding_advice="with Open MPI set mpi_yield_when_idle=1",
        buffers_advice="btl_tcp_sndbuf=0 and btl_tcp_rcvbuf=0",
        binding_advice="mpiexec --bind-to core",
        single_copy_advice="smsc=^cma",
        copy_switches=(
            CopySwitch("smsc", {"smsc": "cma"}, "^cma"),
            CopySwitch("smsc", {"smsc": "^cma"}),
            CopySwitch("btl_sm_single_copy_mechanism", {"btl_sm_single_copy_mechanism": "none"}),
            CopySwitch("btl_vader_single_copy_mechanism", {"btl_vader_single_copy_mechanism": "none"}),
        ),
        algorithms=algorithms,
    )
    transports: ClassVar[Mapping[str, str]] = {
        "shm": "shared memory (pml ob1, btl sm or vader)",
        "tcp": "TCP through the loopback interface (pml ob1, btl tcp)",
        AS_IT_COMES: "what it chooses itself when no transport is named",
    }
    network_transports = ("tcp", AS_IT_COMES)
    segments = ("vader_segment.*", "sm_segment.*")

    def setting_variable(self, name: str) -> str:
        """``btl_sm_eager_limit`` travels as OMPI_MCA_btl_sm_eager_limit; names in capitals are variables already."""
        return name if name.isupper() else f"OMPI_MCA_{name}"

    def arguments(self, way: Way) -> list[str]:
        """Root is allowed, since containers often have nobody else; ranks may outnumber cores; no binding,
        since the test programs pin themselves.
        """
        chosen: list[str] = []
        if way.transport == "shm":
            shared = "vader" if way.major in (3, 4) else "sm"
            chosen = ["--mca", "pml", "ob1", "--mca", "btl", f"{shared},self"]
        elif way.transport == "tcp":
            chosen = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
            # The loopback interface by name: a machine without any other network can be measured too.
            interface = way.placement.interface if way.placement else "lo"
            chosen += ["--mca", "btl_tcp_if_include", interface] if interface else []
        unbound = ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
        hosts = self._hosts(way, way.placement) if way.placement else []
        return ["--allow-run-as-root", *unbound, *hosts, *chosen, "-n", str(way.ranks)]

    def _hosts(self, way: Way, place: Placement) -> list[str]:
        """The agent starts all daemons from the first host: that it is on the others, too, is not needed then."""
        if way.major >= 5:
            option, agent, control = "--prtemca", "plm_ssh", "prte_if_include"
        else:
            option, agent, control = "--mca", "plm_rsh", "oob_tcp_if_include"
        words = [option, "plm", "ssh" if way.major >= 5 else "rsh", option, f"{agent}_agent", str(place.agent)]
        words += [option, f"{agent}_no_tree_spawn", "1", "--host", place.with_slots()]
        words += [option, control, place.interface] if place.interface else []
        return [*words, *(["--mca", "mpi_yield_when_idle", "1"] if place.cores_shared else [])]

    def knobs(self, prefix: Path, transport: str, keep_loader: bool = False) -> dict[str, str]:
        """Parameters with their current values, by ``ompi_info``."""
        environment = self.environment(prefix, Way("", transport, 1), keep_loader)
        tool: list[str | Path] = [prefix / "bin" / "ompi_info", "--all", "--parsable"]
        return knobs.collect(tool, environment, knobs.OMPI_INFO_LINE)
