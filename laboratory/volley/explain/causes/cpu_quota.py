# SPDX-License-Identifier: BSD-3-Clause
"""CPU quota: the control group may use only so much CPU time per period, and is stopped for the rest of it.

Signature: the group was throttled during the launches. Intervention: the launches run in a group without a limit.
Counter: the group's nr_throttled moves as found and stands still without the limit, and the ranks then use more CPU
time than the quota allowed them.
"""

from __future__ import annotations

from volley.detect.finding import Finding
from volley.explain.case import Case
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.occupancy import THROTTLED, Occupancy, occupancy, timely
from volley.explain.scene import Scene
from volley.explain.surroundings import no_cpu_quota, why_not
from volley.machine import control_groups

MORE = 1.2
"""Without a limit that mattered, ranks use this many times the CPU time at least."""


class CpuQuota(Cause):
    """A limit of CPU time, as containers have."""

    name = "CPU quota"
    page = "cpu-quota"
    summary = "The control group used up its CPU time of each period, and all its ranks were stopped until the next."
    seconds = 12.0

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """The group was throttled."""
        seen = occupancy(scene.launches(finding))
        if not seen.launches or finding.magnitude < 1 or not timely(finding.kind) or not seen.periods:
            return None
        weight = timely(finding.kind) * (0.95 if seen.throttled >= THROTTLED else 0.4)
        quota = scene.environment.get("cpu_quota")
        reasons = [
            f"The control group was throttled in {seen.periods:.0f} periods of a launch, "
            f"{seen.throttled:.0%} of its time (summed over CPUs)."
        ]
        if isinstance(quota, int | float):
            reasons.append(f"It may use {quota:g} CPUs' worth of time; {finding.ranks or 2} ranks that spin want more.")
        return Suspicion(weight, tuple(reasons))

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """The same in a group without a limit."""
        remedy = _remedy()
        if why := case.system.traits.inherits_nothing:
            return Examination(None, None, (f"{why}, so this was not tried.",), remedy)
        if control_groups.quota() is None:
            return Examination(None, None, ("No quota holds for this process now.",), remedy)
        refused = why_not(no_cpu_quota())
        if refused:
            return Examination(None, None, (f"A group without the limit cannot be had here: {refused}.",), remedy)
        contrast = case.contrast(case.arm("no CPU quota", surroundings=no_cpu_quota))
        found, changed = occupancy(contrast.found.launches), occupancy(contrast.changed.launches)
        if not contrast.reproduced:
            return not_shown(contrast)
        said_of_both = (
            f"Without the quota, the effect {contrast.outcome} ({contrast.words()}).",
            f"As found, nr_throttled rises by {found.periods:.0f} a launch and the launch uses {found.own:.2f} CPUs; "
            f"without the quota by {changed.periods:.0f}, and it uses {changed.own:.2f}.",
        )
        figures = {"periods": [found.periods, changed.periods], "cpus": [found.own, changed.own]}
        return Examination(
            contrast.removed, _counter(found, changed), said_of_both, remedy, {**contrast.figures(), **figures}
        )


def _counter(found: Occupancy, changed: Occupancy) -> bool | None:
    if found.periods < 1 or found.throttled < THROTTLED or changed.periods:
        return False
    return True if changed.own >= MORE * found.own else None


def _remedy() -> str:
    groups = control_groups.hierarchy()
    limited = [one for one in (groups.chain if groups else []) if control_groups.quota_of(one) is not None]
    name = "cpu.max" if groups is None or groups.version == 2 else "cpu.cfs_quota_us"
    where = f" ({limited[0] / name})" if limited else ""
    return (
        f"raise or remove the limit{where}: docker --cpus, Kubernetes limits.cpu, CPUQuota= of systemd. If the share "
        "must stay limited, give whole cores instead of time (docker --cpuset-cpus, Kubernetes' static CPU manager)"
    )
