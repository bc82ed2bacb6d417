# SPDX-License-Identifier: BSD-3-Clause
"""held up: an operation that another rank need not take part in stands until that rank is back in MPI.

A test that sends a rank away says so in a fact "absence": how long the operation stood, and how long the rank was away
after it began. Both are medians of a launch, so that a look of the machine elsewhere does not decide.
"""

from __future__ import annotations

import math

from volley.detect.finding import Finding
from volley.detect.material import Material
from volley.detect.registry import Detector, Search
from volley.detect.statistics import launch_interval, launch_p_value
from volley.units import format_time

AS_LONG = 0.8
"""Share of the absence that an operation must stand to be held up by it."""
HALF = -math.log(1 - 0.5)
"""Against this, the loss of half of the absence, launches are tested."""
MOST = 1 - 1e-3

Place = tuple[str, str, str, int]
"""System, test, variant, ranks."""
Told = dict[str, float | str]


class HeldUpDetector(Detector):
    """What launches say of absences, put together over sizes."""

    kinds = ("held up",)

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per run of sizes at which an operation is held up in most launches."""
        places: dict[Place, dict[int, list[Told]]] = {}
        for launch in material.launches:
            for fact in launch.facts:
                if fact["fact"] == "absence":
                    place = (launch.system, launch.test, str(fact["variant"]), launch.ranks)
                    places.setdefault(place, {}).setdefault(int(fact["size"]), []).append(fact)
        found = [one for place, sizes in places.items() for one in _runs(place, sizes)]
        return Search(found, sum(len(sizes) for sizes in places.values()))


def share(fact: Told) -> float:
    """Of the absence, for which the operation stood; 1 where it stood longer."""
    return min(float(fact["stands_ns"]) / max(float(fact["absent_ns"]), 1.0), 1.0)


def _runs(place: Place, sizes: dict[int, list[Told]]) -> list[Finding]:
    runs: list[list[int]] = [[]]
    for size in sorted(sizes):
        held = [one for one in sizes[size] if share(one) >= AS_LONG]
        if 2 * len(held) > len(sizes[size]):
            runs[-1].append(size)
        elif runs[-1]:
            runs.append([])
    return [_finding(place, run, [one for size in run for one in sizes[size]]) for run in runs if run]


def _finding(place: Place, run: list[int], told: list[Told]) -> Finding:
    system, test, variant, ranks = place
    launches = len(told) // len(run)
    middle = sorted(told, key=lambda one: float(one["stands_ns"]))[len(told) // 2]
    stands, absent = float(middle["stands_ns"]), float(middle["absent_ns"])
    lost = [-math.log(1 - min(share(one), MOST)) for one in told]
    return Finding(
        "held up",
        system,
        test,
        run[0],
        run[-1],
        math.exp(-math.log(1 - min(share(middle), MOST))),
        launch_interval(lost),
        1.0,
        evidence={
            "says": f"{middle['operation']} stands {format_time(stands)} while {middle['away']} computes outside MPI "
            f"for {format_time(absent)}",
            "stands_ns": stands,
            "absent_ns": absent,
            "away": middle["away"],
            "launches": launches,
        },
        variant=variant,
        ranks=ranks,
        duration_ns=stands,
        p_value=launch_p_value(lost, HALF),
    )
