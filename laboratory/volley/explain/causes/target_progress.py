# SPDX-License-Identifier: BSD-3-Clause
"""A passive target that must call MPI: MPI_Win_unlock stands as long as the target computes outside MPI.

Only the test passive_target shows it: in latency tests the target waits inside MPI, where it serves others. Signature:
the origin stands as long as the target is away. Intervention: the target calls MPI_Iprobe while it is away; the wait
must go. Counter: the absence itself; three times as long away, the origin must stand three times as long (a slow copy,
or a timer of the MPI, would not).
"""

from __future__ import annotations

import numpy as np

from volley.detect.finding import Finding
from volley.explain.case import Case, follows_absence
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.experiment import Measured
from volley.explain.scene import Scene
from volley.units import format_time


class TargetProgress(Cause):
    """The origin needs the target to call MPI."""

    name = "target's progress"
    page = "target-progress"
    summary = "A lock, put or accumulation moves only while its target is inside MPI: the origin waits for it."
    seconds = 20.0
    to_the_byte = False

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """The origin of passive_target is held up."""
        if finding.test != "passive_target" or finding.kind != "held up":
            return None
        memory = "of the program's own (MPI_Win_create)" if "create" in finding.variant else "of MPI_Win_allocate"
        stands, absent = (format_time(float(finding.evidence[name])) for name in ("stands_ns", "absent_ns"))
        return Suspicion(
            0.9, (f"With memory {memory}, lock, put and unlock stand {stands} while the target is away for {absent}.",)
        )

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """A target that calls MPI_Iprobe meanwhile, and one that is away three times as long."""
        variant = case.finding.variant
        arms = [case.arm(), *(case.arm(name, variant=f"{variant},{name}") for name in ("polling", "away3"))]
        as_found, polling, longer = case.bench.run(arms)
        contrast = case.compare(as_found, polling)
        if not contrast.reproduced:
            return not_shown(contrast)
        found, after, away = (_stands_ns(one) for one in (as_found, polling, longer))
        if not (found and after and away):
            return Examination(None, None, ("A launch did not say how long the origin stood.",), reproduced=True)
        first, second, third = (float(np.median(one)) for one in (found, after, away))
        said = (
            f"MPI_Win_lock, MPI_Put and MPI_Win_unlock stand {format_time(first)}; {format_time(second)} if the target "
            f"calls MPI_Iprobe while it is away; {format_time(third)} if it is away three times as long.",
        )
        follows = follows_absence(first, third)
        figures = {"as_found_ns": found, "polling_ns": after, "away_three_times_ns": away, **contrast.figures()}
        return Examination(contrast.removed, follows, said, _remedy(variant), figures, reproduced=True)


def _remedy(variant: str) -> str:
    first = "take the window's memory from MPI_Win_allocate, which the MPI may be able to reach by itself; "
    return (first if "create" in variant else "") + (
        "call MPI_Iprobe or MPI_Test now and then while computing, or let the MPI have a thread for progress"
    )


def _stands_ns(measured: Measured) -> list[float]:
    """How long the origin stood, one value per launch."""
    told = [[float(fact["stands_ns"]) for fact in one.facts if fact["fact"] == "absence"] for one in measured.launches]
    return [float(np.median(values)) for values in told if values]
