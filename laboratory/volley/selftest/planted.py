# SPDX-License-Identifier: BSD-3-Clause
"""What explanations are worth: causes planted on purpose, measured, detected, explained; and what came out."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from volley.benchmarks import find_tests
from volley.data.store import StudyFolder
from volley.errors import SystemUnavailable, UsageError, VolleyError
from volley.explain.explain import Verdict
from volley.explain.investigation import Investigation, investigate, prepare
from volley.measure.plan import Options
from volley.measure.study import conduct, new_facts
from volley.progress import Display, Silent
from volley.selftest.plant import Plant, plants
from volley.selftest.quiet import disturbance, launches_of, load_now
from volley.systems import System, resolve

SECONDS_PER_FINDING = 60.0
MOST_PLACES = 2
"""Findings of a plant that are explained: the strongest."""
MOST_TRIES = 3
QUIET_MISSES = 2
"""Misses on a quiet machine that make a failure. One can be chance."""


@dataclass(frozen=True)
class PlantResult:
    """What came out of one plant."""

    plant: Plant
    verdicts: tuple[Verdict, ...]
    """Of the findings that show the plant."""
    seen: tuple[str, ...]
    """All findings of the study, short."""
    seconds: float
    why_not: str = ""
    """Why it was not planted; '' if it was."""
    disturbed: str = ""
    """What else the machine did meanwhile, so that a miss says nothing; '' if it was quiet."""

    @property
    def found(self) -> bool:
        """Whether detection saw it."""
        return bool(self.verdicts)

    @property
    def first_cause(self) -> str | None:
        """The cause told first; None if none was."""
        told = [one.finding.cause for one in self.verdicts if one.finding.cause is not None]
        return told[0] if told else None

    @property
    def status(self) -> str:
        """Of the verdict that names that cause; of the first, if none does."""
        told = [one.status for one in self.verdicts if one.finding.cause is not None]
        return (told or [self.verdicts[0].status])[0]

    @property
    def right(self) -> bool:
        """The right cause first; of a decoy, that nothing is called proven."""
        if self.plant.cause is None:
            return self.found and not self.wrongly_confirmed
        return self.first_cause == self.plant.cause

    @property
    def confirmed(self) -> bool:
        """The right cause, proven."""
        return any(one.status == "CONFIRMED" and one.finding.cause == self.plant.cause for one in self.verdicts)

    @property
    def wrongly_confirmed(self) -> bool:
        """A wrong cause was called proven: what must never be."""
        return any(one.status == "CONFIRMED" and one.finding.cause != self.plant.cause for one in self.verdicts)


@dataclass(frozen=True)
class Outcome:
    """What became of one plant, however often it was tried."""

    tries: tuple[PlantResult, ...]

    @property
    def told(self) -> PlantResult:
        """The try that counts: one that called a wrong cause proven, else the last."""
        return next((one for one in self.tries if one.wrongly_confirmed), self.tries[-1])

    @property
    def settled(self) -> bool:
        """Whether another try could change nothing."""
        last = self.tries[-1]
        return (
            bool(last.why_not) or last.right or last.wrongly_confirmed or self.missed or len(self.tries) >= MOST_TRIES
        )

    @property
    def missed(self) -> bool:
        """Missed on a quiet machine, and again with more launches: whoever broke that is to know."""
        return sum(not (one.why_not or one.right or one.disturbed) for one in self.tries) >= QUIET_MISSES

    @property
    def undecided(self) -> bool:
        """Missed, but not on a machine quiet enough for that to say anything."""
        last = self.told
        return not (last.why_not or last.right or last.wrongly_confirmed or self.missed)

    @property
    def seconds(self) -> float:
        """Of all tries."""
        return sum(one.seconds for one in self.tries)


def choose(names: str | None, quick: bool) -> list[Plant]:
    """The plants of ``a,b``; all, or the quick ones. Raises UsageError."""
    known = {one.name: one for one in plants()}
    if names is None:
        return [one for one in known.values() if one.quick or not quick]
    chosen = []
    for name in (part.strip() for part in names.split(",")):
        if name not in known:
            raise UsageError(f'there is no plant "{name}"', f"there are: {', '.join(known)}")
        chosen.append(known[name])
    return chosen


def conclude(plant: Plant, display: Display, keep: Path | None = None) -> Outcome:
    """Tries a plant until its cause is told, or the machine was quiet often enough to say that it is missed.

    Every further try has more launches. A machine that never rests ends as undecided.
    """
    outcome = Outcome((run(plant, display, keep),))
    while not outcome.settled:
        times = len(outcome.tries) + 1
        why = outcome.tries[-1].disturbed or "the machine was quiet"
        display.line(f"{plant.name}: not told ({why}); again with {times} times the launches")
        outcome = Outcome((*outcome.tries, run(plant, display, keep, times)))
    return outcome


def run(plant: Plant, display: Display, keep: Path | None = None, times: int = 1) -> PlantResult:
    """Plants, measures, detects, explains, and takes the plant away. `keep`: a folder for its study, with report.
    `times`: as many launches, and as much time, as a first try has.
    """
    started = time.monotonic()
    why_not = plant.unavailable()
    if why_not:
        return PlantResult(plant, (), (), 0.0, why_not)
    with tempfile.TemporaryDirectory(prefix="volley-plant-") as scratch:
        place = keep / plant.slug if keep is not None else Path(scratch) / "study"
        if times > 1 and keep is not None:
            shutil.rmtree(place)
        try:
            load_before = load_now() if plant.loads_the_machine else ""
            systems = _prepared(plant, display)
            before = _study(plant, systems, Path(scratch) / "before", display, times) if plant.compares else None
            with plant.surroundings():
                folder = _study(plant, systems, place, display, times)
                wanted, seen = _planned(plant, folder, before, times)
                verdicts = investigate(wanted, Silent())
            disturbed = disturbance(launches_of(folder, before), verdicts)
            if plant.loads_the_machine:
                disturbed = load_before or load_now()
        except SystemUnavailable as problem:
            return PlantResult(plant, (), (), time.monotonic() - started, f"{problem.problem}: {problem.remedy}")
    return PlantResult(plant, tuple(verdicts), seen, time.monotonic() - started, disturbed=disturbed)


def _prepared(plant: Plant, display: Display) -> list[System]:
    """Its systems, installed before anything is planted: a plant may cut the network."""
    systems = [system for name in plant.systems.split(",") for system in resolve(name.strip())]
    for system in systems:
        system.prepare(display.note)
    return systems


def _study(plant: Plant, systems: Sequence[System], path: Path, display: Display, times: int) -> Path:
    options = Options(
        budget_seconds=plant.seconds * times,
        precision=0.0,
        maximum_launches=plant.launches * times,
        sizes=list(plant.sizes) if plant.sizes is not None else None,
        ranks=list(plant.ranks) if plant.ranks is not None else None,
        pin=plant.pin,
        hosts=plant.hosts,
        freeze_seconds=5.0,
        quick=len(plant.ranks or ()) < 2,  # a quick study measures the first world only
    )
    tests = find_tests(plant.tests)
    facts = new_facts(f"planted: {plant.name}", ["volley", "selftest"], options, tests)
    facts.options["requested_systems"] = [one.request for one in systems]
    folder = StudyFolder.create(path, facts)
    display.note(f"{plant.name}: measuring")
    conduct(folder, systems, tests, options, Silent())
    if not any(launch.operations for launch in folder.facts.launches):
        reasons = {launch.reason for launch in folder.facts.launches if launch.reason}
        raise VolleyError(f"{plant.name}: nothing could be measured: {'; '.join(sorted(reasons)) or 'no launch'}")
    return path


def _planned(plant: Plant, path: Path, before: Path | None, times: int) -> tuple[Investigation, tuple[str, ...]]:
    against = str(before) if before is not None else None
    each = SECONDS_PER_FINDING * times
    wanted = prepare(path, None, None, None, against, 10 * each, each)
    seen = tuple(
        f"{one.kind} {one.test} {one.variant} {one.size_from}-{one.size_to} × {one.magnitude:.2f} {one.status}"
        for group in wanted.groups
        for one in group
    )
    decided = [group for group in wanted.groups if group[0].status != "UNDECIDED"]
    wanted.groups = [group for group in decided if any(plant.shows(one) for one in group)][:MOST_PLACES]
    return wanted, seen
