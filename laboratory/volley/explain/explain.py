# SPDX-License-Identifier: BSD-3-Clause
"""From findings to verdicts: which causes may be behind each, which were tried, and what that proved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from volley.detect.finding import Finding
from volley.detect.finding_text import sentences
from volley.explain.bisect import locate
from volley.explain.case import Case
from volley.explain.cause import WORTH_A_WORD, Cause, Examination, Suspicion, causes
from volley.explain.experiment import Bench, TimeIsUp
from volley.explain.scene import Scene
from volley.explain.symptom import Edge, symptom_of
from volley.progress import Display

SECONDS_PER_FINDING = 60.0
"""The experiments of one finding may take so long."""
CLEARLY = 0.6
"""A suspicion from this weight on leaves little doubt."""
QUIET = 0.3
"""CPUs' worth of other programs' time up to which an experiment may refute a cause."""


@dataclass(frozen=True)
class Tried:
    """One cause, and what became of it."""

    cause: Cause
    suspicion: Suspicion
    examination: Examination | None = None
    """None: not examined; `why_not` says why."""
    why_not: str = ""

    disturbed: float = 0.0
    """CPUs' worth of time that other programs used during the experiment. Above QUIET it refutes nothing: an
    intervention may work and be hidden."""

    @property
    def status(self) -> str:
        """``CONFIRMED``, ``RULED OUT``, or ``SUSPECTED``: neither proven nor refuted."""
        seen = self.examination
        if seen is None:
            return "SUSPECTED"
        if seen.removed and seen.counter:
            return "CONFIRMED"
        if seen.counter is False or (seen.removed is False and self.disturbed <= QUIET):
            return "RULED OUT"
        return "SUSPECTED"

    @property
    def showed(self) -> bool:
        """Whether the finding was there when this cause was examined, as far as that was looked at."""
        return self.examination is None or self.examination.reproduced

    @property
    def rank(self) -> float:
        """Order among causes of one finding: proven first, then what an experiment speaks for, then likely ones."""
        seen = self.examination
        return (
            {"CONFIRMED": 10.0, "SUSPECTED": 0.0, "RULED OUT": -10.0}[self.status]
            + (2.0 if seen and seen.removed else 0.0)
            + self.suspicion.weight
        )


@dataclass(frozen=True)
class Verdict:
    """Findings of one place, and why."""

    findings: tuple[Finding, ...]
    """The first stands for all; the others lie in the same place of the same curve."""
    status: str
    """CONFIRMED, SUSPECTED, UNEXPLAINED or UNDECIDED."""
    tried: tuple[Tried, ...] = ()
    """Surest first."""
    note: str = ""
    """What else is to be said: not examined, did not show again."""
    seconds: float = 0.0
    contrasts: tuple[dict[str, Any], ...] = ()
    """Every experiment: ``{"arm", "before", "after", "removed"}``, amounts per launch."""
    curves: tuple[dict[str, Any], ...] = ()
    """For a picture: ``{"arm", "system", "sizes", "ns"}`` of everything measured."""
    command: str = ""
    """Shows the finding again."""

    @property
    def finding(self) -> Finding:
        """The one that stands for all, with the cause and the status reached."""
        first = self.findings[0]
        cause = self.tried[0].cause.name if self.status in ("CONFIRMED", "SUSPECTED") else None
        return replace(first, cause=cause, status=self.status)

    @property
    def best(self) -> Tried | None:
        """The cause that is told."""
        return self.tried[0] if self.status in ("CONFIRMED", "SUSPECTED") else None

    def to_json(self) -> dict[str, Any]:
        """As `volley explain --json` prints it, and as explanation.json keeps it."""
        return {
            **self.finding.to_json(),
            "also": [
                {**one.to_json(), "cause": self.finding.cause, "status": self.status} for one in self.findings[1:]
            ],
            "note": self.note,
            "seconds": round(self.seconds, 1),
            "command": self.command,
            "headline": headline(self),
            "sentences": [sentences(one) for one in self.findings],
            "contrasts": list(self.contrasts),
            "curves": list(self.curves),
            "causes": [_tried_json(one) for one in self.tried],
        }


def _tried_json(one: Tried) -> dict[str, Any]:
    seen = one.examination
    said: dict[str, Any] = {
        "cause": one.cause.name,
        "page": one.cause.page,
        "summary": one.cause.summary,
        "status": one.status,
        "weight": round(one.suspicion.weight, 2),
        "reasons": list(one.suspicion.reasons),
    }
    if seen is None:
        return {**said, "examined": False, "why_not": one.why_not}
    return {
        **said,
        "examined": True,
        "removed": seen.removed,
        "counter": seen.counter,
        "said": list(seen.said),
        "remedy": seen.remedy,
        "figures": dict(seen.figures),
    }


def places(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Findings of one curve that share an edge belong together: a collapse begins with a step. The step comes first,
    because it says more exactly where, unless it alone is UNDECIDED.
    """
    groups: list[list[Finding]] = []
    for one in findings:
        home = next((group for group in groups if any(_same_place(one, other) for other in group)), None)
        if home is None:
            groups.append([one])
        else:
            home.append(one)
    return [sorted(group, key=lambda one: (one.status == "UNDECIDED", one.kind != "step")) for group in groups]


EDGED = ("step", "plateau", "collapse")


def _same_place(one: Finding, other: Finding) -> bool:
    alike = (one.system, one.test, one.variant, one.ranks) == (other.system, other.test, other.variant, other.ranks)
    return alike and one.kind in EDGED and other.kind in EDGED and one.size_from == other.size_from


def suspicions(finding: Finding, scene: Scene) -> list[Tried]:
    """Causes that may be behind it, likeliest first; nothing is measured."""
    found = []
    for cause in causes():
        suspicion = cause.suspect(finding, scene)
        if suspicion is not None:
            found.append(Tried(cause, suspicion, why_not="not examined"))
    return sorted(found, key=lambda one: -one.suspicion.weight)


def headline(one: Verdict) -> str:
    """The cause and how sure it is; or that nothing is known."""
    best = one.best
    if best is not None:
        return f"{one.status}: {best.cause.name}. {best.cause.summary}"
    if one.status == "UNDECIDED":
        return f"UNDECIDED: {one.note}."
    ruled = [tried.cause.name for tried in one.tried if tried.status == "RULED OUT"]
    if ruled:
        return f"UNEXPLAINED: no known cause is left; ruled out: {', '.join(ruled)}."
    return "UNEXPLAINED: no known cause fits."


def _worth_narrowing(likely: Sequence[Tried]) -> bool:
    """Not where the likeliest cause by far has no byte at which it begins, and slow operations, too."""
    return not likely or likely[0].cause.to_the_byte or likely[0].suspicion.weight < CLEARLY


@dataclass
class Explainer:
    """Examines findings of one study, one after the other."""

    scene: Scene
    bench: Bench
    display: Display
    seconds: float = SECONDS_PER_FINDING
    why_not: str = ""
    """Why nothing can be measured again; '' if it can."""

    def explain(self, group: Sequence[Finding]) -> Verdict:
        """The verdict on findings of one place. Takes `seconds` at most, and what is under way."""
        finding = group[0]
        likely = suspicions(finding, self.scene)
        reason = self._cannot(finding)
        if reason or finding.status == "UNDECIDED":
            note = reason or "the data themselves cannot tell whether it would show again"
            return judge(group, [replace(one, why_not=note) for one in likely], note)
        symptom = symptom_of(finding, self.scene.curve(finding), self.scene.material.curves)
        if symptom is None:
            return judge(group, likely, "what such a finding rests on is not a time that could be measured again")
        wide = case = Case(finding, self.scene, self.bench, symptom)
        self.bench.begin(self.seconds)
        if isinstance(symptom, Edge) and symptom.high - symptom.low > 1 and _worth_narrowing(likely):
            case = self._to_the_byte(case, symptom)
            likely = suspicions(case.finding, self.scene) or likely
        done, note, case = self._examine(case, likely, wide)
        verdict = judge((case.finding, *group[1:]), done, note)
        return replace(
            verdict,
            seconds=self.seconds - self.bench.left_seconds(),
            contrasts=tuple(one.figures() for one in case.contrasts),
            curves=_curves(self.bench),
            command=case.command(case.arm()),
        )

    def _cannot(self, finding: Finding) -> str:
        if self.why_not:
            return self.why_not
        if finding.system not in self.scene.systems:
            return f"{finding.system} is not to be had here now, so nothing was measured again"
        if finding.test not in self.scene.tests:
            return f"there is no test {finding.test} here, so nothing was measured again"
        return ""

    def _to_the_byte(self, case: Case, edge: Edge) -> Case:
        """The case with its edge narrowed, if the step shows while narrowing."""
        self.display.note(f"{case.finding.system} {case.finding.test}: looking for the byte of the step")
        place = locate(case, edge)
        if place.effect == 0.0:
            return case
        moved = {"bisected": place.exact, "found_between": [case.finding.size_from, case.finding.size_to]}
        finding = replace(
            case.finding,
            size_from=place.low,
            size_to=place.high if case.finding.kind == "step" else case.finding.size_to,
            evidence={**case.finding.evidence, **moved},
        )
        return Case(finding, case.scene, case.bench, edge.at(place.low, place.high), case.contrasts)

    def _examine(self, case: Case, likely: Sequence[Tried], wide: Case) -> tuple[list[Tried], str, Case]:
        """Tries causes in turn until one is proven, the time is up, or the finding does not show again.

        Where its edge was narrowed to, which noise can mislead, it may not show: then the same cause and all that
        follow are tried on the `wide` one. What does not show there either is not there now, whatever a cause may be.
        With the causes and a note comes the case on which the last was tried.
        """
        done: list[Tried] = []
        rest = list(likely)
        while rest:
            one = rest.pop(0)
            self.display.note(f"{case.finding.system} {case.finding.test}: is it {one.cause.name}?")
            seen = self._seen(one, case)
            if seen is not None and not seen.showed and case is not wide:
                case = wide
                tried = {other.cause for other in done}
                others = {other.cause: other for other in suspicions(wide.finding, self.scene)}
                seen = self._seen(others.pop(one.cause, one), wide) or seen
                rest = [other for cause, other in others.items() if cause not in tried]
            if seen is None:
                return [*done, *_left([one, *rest], LATE)], LATE, case
            done.append(seen)
            if seen.status == "CONFIRMED":
                return [*done, *_left(rest, "another cause was proven first")], "", case
            if not _reproduced(done):
                return [*done, *_left(rest, "it did not show again")], NOT_AGAIN, case
        return done, "", case

    def _seen(self, one: Tried, case: Case) -> Tried | None:
        """The cause, examined; None if the time was up before that said anything."""
        try:
            seen = one.cause.examine(one.suspicion, case)
        except TimeIsUp:
            return None
        disturbed = 0.0 if one.cause.keeps_others_off else self.bench.others_cpus()
        if seen.removed is False and seen.counter is not False and disturbed > QUIET:
            said = f"Other programs used {disturbed:.1f} CPUs meanwhile: this refutes nothing."
            seen = replace(seen, said=(*seen.said, said))
        return replace(one, examination=seen, why_not="", disturbed=disturbed)


LATE = "its time was up"
NOT_AGAIN = "it did not show again when it was measured now"


def _left(rest: Iterable[Tried], why_not: str) -> Iterator[Tried]:
    return (replace(one, why_not=why_not) for one in rest)


def judge(group: Sequence[Finding], tried: Sequence[Tried], note: str) -> Verdict:
    """CONFIRMED only by intervention and counter; SUSPECTED what is likely and not refuted; else UNEXPLAINED."""
    ordered = sorted(tried, key=lambda one: -one.rank)
    findings = _located(group, ordered)
    best = ordered[0] if ordered else None
    if best is not None and best.status == "CONFIRMED":
        return Verdict(findings, "CONFIRMED", tuple(ordered), note)
    if findings[0].status == "UNDECIDED" or not _reproduced(ordered):
        return Verdict(findings, "UNDECIDED", tuple(ordered), note)
    supported = best is not None and bool(best.examination and best.examination.removed)
    if best is not None and best.status == "SUSPECTED" and (supported or best.suspicion.weight >= WORTH_A_WORD):
        return Verdict(findings, "SUSPECTED", tuple(ordered), note)
    return Verdict(findings, "UNEXPLAINED", tuple(ordered), note)


def _reproduced(tried: Sequence[Tried]) -> bool:
    """Whether the finding showed again in at least one experiment, or none said that it did not."""
    seen = [one.examination for one in tried if one.examination is not None]
    gone = [one for one in seen if not one.reproduced]
    return not gone or any(one.removed is not None for one in seen)


def _located(group: Sequence[Finding], ordered: Sequence[Tried]) -> tuple[Finding, ...]:
    """The findings, the first with its place as exact as the best cause's examination made it."""
    first, *rest = group
    seen = ordered[0].examination if ordered else None
    if seen is not None and seen.size_from is not None:
        first = replace(first, size_from=seen.size_from, size_to=seen.size_to or first.size_to)
    return (first, *rest)


def _curves(bench: Bench) -> tuple[dict[str, Any], ...]:
    """Medians by size of every arm that was measured, arms of one name together."""
    merged: dict[tuple[str, str, str, int], dict[int, float]] = {}
    for one in bench.measured:
        key = (one.arm.name, one.arm.test.name, one.arm.test.variants[0], one.arm.ranks)
        merged.setdefault(key, {}).update(one.medians_ns())
    return tuple(
        {
            "arm": arm,
            "test": test,
            "variant": variant,
            "ranks": ranks,
            "sizes": sorted(values),
            "ns": [round(values[size], 1) for size in sorted(values)],
        }
        for (arm, test, variant, ranks), values in merged.items()
        if values
    )
