# SPDX-License-Identifier: BSD-3-Clause
"""More ranks than cores: a rank that waits by spinning keeps the core from the one it waits for.

Signature: ranks outnumber the usable cores, and ranks lacked a core much of the time. Intervention: as many ranks as
cores. That changes more than the cores (another number of ranks may mean another algorithm), so the counter has two
sides: context switches per operation fall, and the smaller world shows the effect again when it is crowded onto fewer
cores. Where a test needs its ranks, the MPI's own setting for yielding is tried instead.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from statistics import median

from volley.detect.finding import Finding
from volley.explain.case import SHOWN, Case
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.experiment import FEWEST, Measured
from volley.explain.occupancy import occupancy, timely
from volley.explain.scene import Scene
from volley.explain.surroundings import affinity, reachable_cpus
from volley.machine.facts import usable_cpus
from volley.units import format_ratio

FEWER = 0.2
"""Context switches per operation have fallen if at most this share of them is left."""


class MoreRanksThanCores(Cause):
    """Ranks take turns on the cores."""

    name = "more ranks than cores"
    page = "more-ranks-than-cores"
    summary = "Ranks outnumber the cores, and one that waits keeps the core from the one it waits for."
    seconds = 15.0

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """More ranks than usable cores, and ranks that wait for one."""
        if not scene.cores or finding.ranks <= scene.cores or finding.magnitude < 1:
            return None
        seen = occupancy(scene.launches(finding))
        fitting = 1.0 if finding.kind == "rank collapse" else timely(finding.kind)
        if not fitting or not seen.launches or not seen.wanting:
            return None
        weight = fitting * min(0.95, 0.5 + (seen.waiting or 0.0))
        if len(reachable_cpus()) >= finding.ranks:
            weight *= 0.5  # the machine has enough of them: then it is the binding
        reasons = (
            f"{finding.ranks} ranks share {scene.cores} cores; {seen.waiting_words()}.",
            f"There were {format_ratio(seen.per_operation)} context switches per operation.",
        )
        return Suspicion(weight, reasons)

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """As many ranks as cores, and those crowded again; or yielding, where the ranks must stay."""
        cores = len(usable_cpus())
        if cores >= 2 and len(case.test.ranks) > 1:
            return _fewer_ranks(case, cores)
        return _yielding(case)


def _fewer_ranks(case: Case, cores: int) -> Examination:
    arms = [case.arm(), case.arm(f"{cores} ranks on {cores} cores", ranks=cores)]
    few = usable_cpus()[: max(1, cores * cores // case.arm().ranks)]
    inheriting = not case.system.traits.inherits_nothing
    if inheriting:
        name = f"{cores} ranks on {len(few)} {'core' if len(few) == 1 else 'cores'}"
        arms.append(case.arm(name, ranks=cores, pin=False, surroundings=partial(affinity, few)))
    found, fewer, *crowded = case.bench.run(arms, case.symptom.launches)
    contrast = case.compare(found, fewer)
    if not contrast.reproduced:
        return not_shown(contrast)
    before, after = occupancy(found.launches), occupancy(fewer.launches)
    switches = before.per_operation > 0 and after.per_operation <= FEWER * before.per_operation
    said = [
        f"With {fewer.arm.name}, the effect {contrast.outcome} ({contrast.words()}).",
        f"Context switches per operation: {format_ratio(before.per_operation)} as found, "
        f"{format_ratio(after.per_operation)} with {fewer.arm.name}.",
    ]
    again = _shows_again(case, crowded, said)
    counter = False if not switches or again is False else again
    figures = {**contrast.figures(), "switches_per_operation": [before.per_operation, after.per_operation]}
    return Examination(contrast.removed, counter, tuple(said), _remedy(case), figures)


def _shows_again(case: Case, crowded: list[Measured], said: list[str]) -> bool | None:
    """Whether the smaller world shows the effect once it has too few cores as well."""
    amounts = case.symptom.amounts(crowded[0]) if crowded else []
    if len(amounts) < FEWEST:
        said.append("Whether fewer ranks show it on fewer cores could not be tried.")
        return None
    shows = median(amounts) >= SHOWN * case.symptom.expected
    said.append(
        f"{crowded[0].arm.name[:1].upper()}{crowded[0].arm.name[1:]} show it "
        + ("again: it goes with the cores, not with the number of ranks." if shows else "no more.")
    )
    return bool(shows)


def _yielding(case: Case) -> Examination:
    setting = case.system.traits.yielding
    if not setting:
        said = "The test needs these ranks, this machine has no more cores, and this MPI has no setting for yielding."
        return Examination(None, None, (said,), _remedy(case))
    words = ", ".join(f"{name}={value}" for name, value in setting.items())
    contrast = case.contrast(replace(case.arm(words), system=case.system.adjusted(setting)))
    if not contrast.reproduced:
        return not_shown(contrast)
    found, changed = occupancy(contrast.found.launches), occupancy(contrast.changed.launches)
    said = f"With {words}, {contrast.words()}; {changed.waiting_words()}, as found {found.waiting_words()}."
    counter = True if contrast.removed and changed.waits_less_than(found) else None
    return Examination(contrast.removed, counter, (said,), _remedy(case), contrast.figures())


def _remedy(case: Case) -> str:
    tuned = case.system.traits.yielding_advice
    return "start as many ranks as there are cores, or use an MPI whose ranks give their core away while they wait" + (
        f"; {tuned}" if tuned else ""
    )
