# SPDX-License-Identifier: BSD-3-Clause
"""Pinning and migration: ranks share a core though others are free, or are moved from core to core.

Signature: ranks were not bound, or all were confined to fewer cores than there are ranks while the machine has more;
and ranks lacked a core, or migrated. Intervention: each rank is bound to a core of its own (where the confinement is
the job's own affinity, that is widened first). Counter: context switches per operation, the time ranks wait for a core,
or migrations fall.
"""

from __future__ import annotations

import math
from functools import partial
from statistics import correlation

import numpy as np

from volley.data.results import Launch
from volley.detect.finding import Finding
from volley.explain.case import Case
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.experiment import Arm
from volley.explain.occupancy import FALLEN, Occupancy, occupancy, switches_per_operation, timely
from volley.explain.scene import Scene
from volley.explain.surroundings import affinity, reachable_cpus
from volley.machine.facts import usable_cpus
from volley.units import format_ratio

MOVING = 2.0
"""Migrations a second, of all ranks, from which on they may matter."""
LAUNCHES_AGREE = 0.7
"""Correlation between launches' times and their context switches (logs of both) that speaks for this."""
FEWER = 0.2
"""Context switches per operation have fallen if at most this share of them is left."""


UNLUCKY = 2
"""Launches in which ranks lacked a core, from which on that is no accident of one."""


class Migration(Cause):
    """Where ranks run is left to chance."""

    name = "pinning and migration"
    page = "pinning-and-migration"
    summary = "Ranks were not bound to cores of their own: the scheduler moved them, or put several on one core."
    seconds = 15.0

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """Unbound ranks, or too few cores for them where more could be had."""
        launches = scene.launches(finding)
        seen = occupancy(launches)
        if not seen.launches or finding.magnitude < 1 or not timely(finding.kind):
            return None
        confined = _confined(launches, finding.ranks)
        if not confined and not _unbound(launches):
            return None
        moving = seen.migrations is not None and seen.migrations >= MOVING
        if not seen.wanting and not moving and not (confined and occupancy(confined).wanting):
            return None
        reasons, agrees = [], _slow_ones_switch(finding, scene, launches)
        if confined:
            reasons.append(
                f"In {len(confined)} of {seen.launches} launches the {finding.ranks} ranks were confined to fewer "
                f"cores than ranks ({_cores_of(confined[0])}); this machine has {len(reachable_cpus())}."
            )
        if _unbound(launches):
            reasons.append("The ranks were not bound to cores.")
        if agrees:
            reasons.append(
                "The slow launches are those whose ranks were switched most often per operation: they shared a core."
            )
        reasons.append(
            f"{seen.waiting_words()[:1].upper()}{seen.waiting_words()[1:]}"
            + (f", and were moved to another core {seen.migrations:.1f} times a second." if moving else ".")
        )
        weight = 0.95 if confined and agrees else 0.85 if confined or agrees else 0.5
        return Suspicion(weight * timely(finding.kind), tuple(reasons))

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """Each rank on a core of its own."""
        arm = _bound(case)
        if isinstance(arm, str):
            return Examination(None, None, (arm,))
        contrast = case.contrast(arm)
        found, changed = occupancy(contrast.found.launches), occupancy(contrast.changed.launches)
        if not contrast.reproduced:
            return not_shown(contrast)
        advice = case.system.traits.binding_advice
        said = (
            f"With {arm.name}, the effect {contrast.outcome} ({contrast.words()}).",
            f"As found, {found.waiting_words()}{_moved(found)}; so, {changed.waiting_words()}{_moved(changed)}.",
            f"Context switches per operation: {format_ratio(found.per_operation_mean)} as found, "
            f"{format_ratio(changed.per_operation_mean)} so.",
        )
        return Examination(
            contrast.removed,
            _counter(found, changed, _lacking(contrast.found.launches)),
            said,
            f"bind each rank to a core{f': {advice}' if advice else ''}; and ask the batch system for as many cores as "
            "ranks (Slurm: --cpus-per-task, --cpu-bind=cores)",
            {**contrast.figures(), "waiting": [found.waiting, changed.waiting]},
        )


def _unbound(launches: list[Launch]) -> bool:
    return any(len(cpus) > 1 for launch in launches for cpus in launch.affinity)


def _confined(launches: list[Launch], ranks: int) -> list[Launch]:
    """Launches whose ranks, all together, had fewer cores than ranks, while this machine has enough."""
    if len(reachable_cpus()) < ranks:
        return []
    return [one for one in launches if one.affinity and len({cpu for cpus in one.affinity for cpu in cpus}) < ranks]


def _cores_of(launch: Launch) -> str:
    cores = sorted({cpu for cpus in launch.affinity for cpu in cpus})
    return f"core {cores[0]}" if len(cores) == 1 else f"cores {', '.join(map(str, cores))}"


def _slow_ones_switch(finding: Finding, scene: Scene, launches: list[Launch]) -> bool:
    """Whether launches that take long are those whose ranks were switched most."""
    curve = scene.curve(finding)
    if curve is None:
        return False
    switched = {one.number: math.log(1e-6 + switches_per_operation(one)) for one in launches if one.operations}
    rows = [
        (float(np.nanmean(row)), switched[number])
        for number, row in zip(curve.launches, curve.log_ns, strict=True)
        if number in switched and np.isfinite(row).any()
    ]
    if len(rows) < 3 or any(len({row[at] for row in rows}) < 2 for at in (0, 1)):
        return False
    return correlation([row[0] for row in rows], [row[1] for row in rows]) >= LAUNCHES_AGREE


def _bound(case: Case) -> Arm | str:
    """The arm in which every rank has a core of its own, or why there can be none."""
    ranks = case.arm().ranks
    if len(usable_cpus()) >= ranks:
        if case.arm().pin:
            return "The ranks are bound to cores of their own already."
        return case.arm("each rank bound to a core of its own", pin=True)
    if len(reachable_cpus()) < ranks:
        return f"There are {len(reachable_cpus())} cores to be had for {ranks} ranks."
    if why := case.system.traits.inherits_nothing:
        return f"{why}, so this was not tried."
    return case.arm(
        f"all {len(reachable_cpus())} cores allowed", pin=False, surroundings=partial(affinity, reachable_cpus())
    )


def _lacking(launches: list[Launch]) -> bool:
    """Whether ranks lacked a core in several launches: where chance places them, the middle one may be a lucky one."""
    return sum(occupancy([one]).wanting for one in launches) >= UNLUCKY


def _counter(found: Occupancy, changed: Occupancy, lacking: bool) -> bool | None:
    """Whether ranks wait for a core, are switched, or are moved much less; False if they never did."""
    fewer = changed.per_operation_mean <= FEWER * found.per_operation_mean
    if lacking and (fewer or changed.waits_less_than(found)):
        return True
    moved = found.migrations is not None and found.migrations >= MOVING
    if moved and changed.migrations is not None and found.migrations is not None:
        return changed.migrations <= FALLEN * found.migrations
    return None if lacking else False


def _moved(seen: Occupancy) -> str:
    return "" if seen.migrations is None else f" and were moved {seen.migrations:.1f} times a second"
