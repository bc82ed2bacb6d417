# SPDX-License-Identifier: BSD-3-Clause
"""Other load: programs that are no part of the job take cores that its ranks want.

Signature: others used CPU time during the launches, and ranks were ready to run without a core for a share of the time
that matters. Intervention: the launch gets priority over all others (or, without the right to that, the cores that
others leave idle). Counter: the time ranks wait for a core falls with it, while the load is still there.
"""

from __future__ import annotations

from functools import partial

from volley.detect.finding import Finding
from volley.explain.case import Case
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.experiment import Arm
from volley.explain.occupancy import OTHERS_BUSY, THROTTLED, Occupancy, occupancy, timely
from volley.explain.scene import Scene
from volley.explain.surroundings import affinity, idle_cpus, priority, why_not
from volley.machine.facts import idle_load


class OtherLoad(Cause):
    """Somebody else's programs run on our cores."""

    name = "other load"
    page = "other-load"
    summary = "Other programs took cores away from the ranks while they were measured."
    seconds = 12.0
    keeps_others_off = True

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """Ranks lacked a core while others used CPU time."""
        seen = occupancy(scene.launches(finding))
        if not seen.launches or finding.magnitude < 1 or not timely(finding.kind):
            return None
        if seen.others < OTHERS_BUSY or not seen.wanting:
            return None
        weight = timely(finding.kind) * min(0.9, 0.6 + (seen.waiting or 0.0))
        if scene.cores and finding.ranks > scene.cores:
            weight *= 0.6  # then ranks keep each other waiting as well
        if seen.throttled >= THROTTLED:
            weight *= 0.7
        reasons = (
            f"Other programs used {seen.others:.2f} CPUs while the launches ran.",
            f"{_begin(seen.waiting_words())}.",
        )
        return Suspicion(weight, reasons)

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """The same with priority over everybody else."""
        if why := case.system.traits.inherits_nothing:
            return Examination(None, None, (f"{why}, so this was not tried.",))
        arm = _out_of_the_way(case)
        if isinstance(arm, str):
            return Examination(None, None, (arm,))
        contrast = case.contrast(arm)
        found, changed = occupancy(contrast.found.launches), occupancy(contrast.changed.launches)
        if not contrast.reproduced:
            return not_shown(contrast)
        still = max(idle_load(0.3)[0], changed.others)
        effective = changed.waits_less_than(found)
        said = (
            f"With {arm.name}, the effect {contrast.outcome} ({contrast.words()}).",
            f"As found, {found.waiting_words()}; so, {changed.waiting_words()}. Others used {found.others:.2f} CPUs as "
            f"found, and {still:.2f} afterwards."
            + ("" if effective else " It did not give the ranks their cores, so that it stays refutes nothing."),
        )
        return Examination(
            contrast.removed if contrast.removed or effective else None,
            _counter(found, changed, still),
            said,
            "end the other programs, or give the job cores of its own (a batch system's exclusive nodes, cpuset, "
            "isolcpus); `ps -eo pcpu,psr,comm --sort -pcpu` shows who it is",
            {**contrast.figures(), "waiting": [found.waiting, changed.waiting], "others": [found.others, still]},
        )


def _out_of_the_way(case: Case) -> Arm | str:
    """The arm in which others do not disturb, or why there can be none."""
    refused = why_not(priority())
    if not refused:
        return case.arm("priority over all other programs", surroundings=priority)
    idle = idle_cpus()
    ranks = case.arm().ranks
    if len(idle) >= ranks:
        return case.arm(
            f"the cores {', '.join(map(str, idle))}, which others leave idle",
            pin=False,
            surroundings=partial(affinity, idle),
        )
    return (
        f"Priority cannot be raised here ({refused}), and others leave only {len(idle)} cores idle for {ranks} ranks: "
        "as root it can be tried."
    )


def _counter(found: Occupancy, changed: Occupancy, still: float) -> bool | None:
    """Whether ranks get their cores with the intervention, and did not without, with the load still there."""
    if found.others < OTHERS_BUSY or not found.wanting:
        return False
    if not changed.waits_less_than(found):
        return None
    if still < OTHERS_BUSY or found.throttled >= THROTTLED > changed.throttled:
        return None  # the load went away by itself, or it is not the only thing that changed
    return True


def _begin(words: str) -> str:
    return words[:1].upper() + words[1:]
