# SPDX-License-Identifier: BSD-3-Clause
"""The eager limit: longer messages wait for the receiver's word before they move (rendezvous).

Signature: a step up at a size that one of the MPI's own settings names. Intervention: that setting is moved; the step
must go from its place and stand at the new one, as many bytes away as the setting was moved. Counter: up to which
size a blocking send returns while the receiver is outside MPI (test late_receiver); it must be at the step, and
move with it. Where an MPI never lets such a send return (Open MPI above 256 bytes), the counter is a third value of
the setting: the step must follow to the byte again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from volley.benchmarks import all_tests
from volley.detect.finding import Finding
from volley.explain.case import Case, Contrast
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.experiment import LAUNCHES, Arm
from volley.explain.scene import Scene
from volley.explain.symptom import Edge, edge_of
from volley.sizes import format_size

HEADER = 256
"""Bytes by which a limit on a message may lie below the buffer or packet that a setting names."""
NAMES = re.compile(r"eager|short|limit|cell|thresh|rndv|rendez|max_send|inline|sendv", re.IGNORECASE)
PLAIN = re.compile(r"eager_limit|eager_max|short|cell_size|threshold", re.IGNORECASE)
"""Names that say it outright are tried first."""
LATE = "late_receiver"
"""The test that asks up to which size a blocking send returns."""
OTHERS = re.compile(r"fbox|progress_threshold|btl_(self|ofi|uct|usnic|portals)|CH3|NEMESIS", re.IGNORECASE)
"""Counts of messages, and limits of ways that messages between two ranks of one machine do not take."""
MOST_KNOBS = 3
ARRIVED = 0.4
"""Share of the step that must stand where the setting has put it."""


@dataclass(frozen=True)
class Knob:
    """A setting that may be the limit."""

    name: str
    value: int
    """What the MPI says, or, if that is elsewhere, where the step is."""
    divisor: int = 1
    """Parts that the test's size is cut into: 1 between two ranks."""
    at_step: bool = True
    """Whether the MPI's own value is at the step. If not, only its name speaks for it: it may have been set since."""

    def moved(self) -> int:
        """Another value, so far away that the step must move, and not so far that other limits come into play."""
        return self.value // 2 // 8 * 8 if self.value >= 1024 else self.value * 2

    def target(self, edge: Edge, value: int) -> Edge:
        """Where the step must be with `value`: as far from it as it was from the old one, if that was known."""
        if self.at_step:
            shift = (value - self.value) * self.divisor
            return edge.at(edge.low + shift, edge.high + shift)
        return edge.at(max(1, value - HEADER), value + 8)


class EagerLimit(Cause):
    """Short messages are sent at once; long ones ask first."""

    name = "eager limit"
    page = "eager-limit"
    summary = "Messages above a limit wait for the receiver's consent (rendezvous) instead of being sent at once."
    seconds = 25.0

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """A step up at a size that a setting names, or where blocking sends stop returning."""
        if finding.kind not in ("step", "plateau", "collapse", "structure change") or finding.magnitude < 1:
            return None
        change = finding.evidence.get("change")
        if scene.pattern(finding.test) in ("machine", "sockets") or change == "vanished":
            return None
        if finding.test == LATE and change != "moved":  # that a sender stands is receiver's progress
            return None
        low, high = edge_of(finding, scene.curve(finding))
        knobs = list(_knobs(low, high, finding, scene))
        probed = scene.facts(finding.system, LATE, "limit")
        limits = {fact["largest_returning"] for fact in probed if fact["smallest_blocking"] is not None}
        at_limit = [limit for limit in limits if low - HEADER <= limit <= high]
        if not knobs and finding.kind == "step":
            knobs = list(_named((at_limit or [low])[0], finding, scene))
        knobs = knobs[:MOST_KNOBS]
        if not knobs and not at_limit:
            return None
        reasons = [
            f"The setting {one.name} is {one.value:,}, and the step is between {low:,} and {high:,} bytes"
            + (f", {one.divisor} times as much." if one.divisor > 1 else ".")
            for one in knobs
            if one.at_step
        ]
        reasons += [f"A blocking send to an absent receiver returns up to {limit:,} bytes." for limit in at_limit]
        if not reasons:
            reasons.append("This MPI has eager limits, which may be set where its own tool does not look.")
        weight = 0.35 if at_limit else 0.1
        if knobs:
            weight += 0.1 if not knobs[0].at_step else 0.55 if PLAIN.search(knobs[0].name) else 0.45
        return Suspicion(weight, tuple(reasons), {"knobs": knobs})

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """Moves each setting that may be it; the step must follow."""
        edge = case.symptom
        assert isinstance(edge, Edge)
        if case.finding.test == LATE:
            return _put_back(case, edge, suspicion.details["knobs"])
        said: list[str] = []
        figures: dict[str, object] = {}
        stayed = 0
        knobs: list[Knob] = suspicion.details["knobs"]
        for knob in knobs:
            moved = _move(case, edge, knob)
            contrast, arrived, target, value = moved
            figures[knob.name] = {**contrast.figures(), "arrived": [round(one, 4) for one in arrived]}
            if not contrast.reproduced:
                return not_shown(contrast)
            instead = f" instead of {knob.value}" if knob.at_step else ""
            said.append(
                f"With {knob.name}={value}{instead}, the step from {edge.low:,} to {edge.high:,} bytes "
                + contrast.outcome
                + f" ({contrast.words()})."
            )
            follows = bool(arrived) and float(np.median(arrived)) > ARRIVED * contrast.expected
            if contrast.removed and follows:
                said.append(f"A step stands between {target.low:,} and {target.high:,} bytes instead.")
                counter, words = _counter(case, edge, knob, value)
                return Examination(
                    True,
                    counter,
                    (*said, *words),
                    f"set {knob.name} above the sizes you send (it costs memory per peer), or below them if memory is "
                    "short; above the limit, post receives before the messages come",
                    figures,
                    size_from=edge.low,
                    size_to=edge.high,
                )
            stayed += contrast.removed is False
        return Examination(False if stayed == len(knobs) and knobs else None, None, tuple(said), figures=figures)


def _knobs(low: int, high: int, finding: Finding, scene: Scene) -> Iterator[Knob]:
    """Settings that name a size at the step; outright names and exact sizes first."""
    test = scene.tests.get(finding.test)
    collective = test is not None and (test.traffic != "one message" or finding.ranks > 2)
    divisors = [1, *(part for part in (2, finding.ranks) if collective and part > 1)]
    found = [
        Knob(name, value, part)
        for name, value in scene.numeric_knobs(finding.system)
        if NAMES.search(name) and not OTHERS.search(name)
        for part in dict.fromkeys(divisors)
        if low - 8 <= value * part <= high + min(HEADER, max(16, value // 8)) * part
    ]
    # Names of old components are kept as other names of their successors: one of each value is enough.
    ordered = sorted(found, key=lambda one: (one.divisor, not PLAIN.search(one.name), one.name))
    seen: set[str] = set()
    for one in ordered:
        if (successor := one.name.replace("vader", "sm")) not in seen:
            seen.add(successor)
            yield one


def _named(limit: int, finding: Finding, scene: Scene) -> Iterator[Knob]:
    """Settings that are called an eager limit of this transport, whatever value the MPI tells: it may be set where its
    tool does not look.
    """
    transport = {"shm": "sm", "shared": "sm"}.get(scene.transport(finding), scene.transport(finding))
    names = [name for name, _ in scene.numeric_knobs(finding.system) if PLAIN.search(name)]
    ours = [name for name in names if f"_{transport}_" in name.lower()] or names
    yield from (Knob(name, limit, at_step=False) for name in sorted(ours, key=len)[:MOST_KNOBS])


def _move(case: Case, edge: Edge, knob: Knob) -> tuple[Contrast, list[float], Edge, int]:
    """The setting at another value: what is left of the step, and how much of one stands at the new place."""
    value = _other_value(case, edge, knob)
    target = knob.target(edge, value)
    changed = case.arm(f"{knob.name}={value}", {knob.name: str(value)}, sizes=sorted({*edge.sizes, *target.sizes}))
    contrast = case.contrast(changed, edge)
    arrived = target.amounts(contrast.changed)
    return contrast, arrived, target, value


def _put_back(case: Case, edge: Edge, knobs: list[Knob]) -> Examination:
    """Of a limit that moved between two versions: the setting that puts it back where it was. The counter is what the
    older version reports of that setting.
    """
    was = int(case.finding.evidence["was_from"])
    older = str(case.finding.evidence["versions"][0])
    reported = dict(case.scene.numeric_knobs(older))
    values = {knob.name: _other_value(case, edge, knob) for knob in knobs}
    tries = [{name: value} for name, value in values.items()] + ([values] if len(values) > 1 else [])
    said: list[str] = []
    for tried in tries:  # the lower of two limits rules: then one setting alone does nothing
        settings = {name: str(value) for name, value in tried.items()}
        words = " and ".join(f"{name}={value}" for name, value in settings.items())
        limits = _limits(case, [case.arm(), case.arm(words, settings)], 4 * max(was, edge.high), LAUNCHES)
        if limits is None:
            return Examination(None, None, ("The probes found no limit.",))
        before, after = limits
        said.append(
            f"A blocking send to an absent receiver returns up to {before:,} bytes as found, and up to {after:,} with "
            f"{words} (up to {was:,} with {older})."
        )
        if abs(before - edge.low) > HEADER:
            return Examination(None, None, tuple(said), reproduced=False)
        if abs(after - was) <= HEADER // 4:
            same = {name: value for name, value in reported.items() if name in tried}
            said += [f"{older} reports {name}={value}." for name, value in same.items()]
            counter = bool(same) and all(tried[name] == value for name, value in same.items())
            return Examination(True, counter or None, tuple(said), f"set {words} to have the older version's limit")
    return Examination(None, None, tuple(said))


def _other_value(case: Case, edge: Edge, knob: Knob) -> int:
    """Of a step that moved between two versions, what puts it back where it was; else any that moves it far enough."""
    was = case.finding.evidence.get("was_from")
    if was is None or not knob.at_step:
        return knob.moved()
    return knob.value + round((int(was) - edge.low) / knob.divisor / 64) * 64


def _counter(case: Case, edge: Edge, knob: Knob, value: int) -> tuple[bool | None, list[str]]:
    """Whether blocking sends stop returning at the step, as found and with the setting moved; if this MPI's never
    return so far anyway, whether the step follows a third value.
    """
    limits = _limits(case, [case.arm(), case.arm(f"{knob.name}={value}", {knob.name: str(value)})])
    if limits is not None:
        before, after = limits
        at_step = edge.low // knob.divisor - HEADER <= before <= edge.high // knob.divisor
        follows = abs((after - before) - (value - knob.value)) <= HEADER
        words = (
            f"A blocking send to an absent receiver returns up to {before:,} bytes as found, and up to {after:,} with "
            f"{knob.name}={value}"
        )
        if at_step and follows:
            return True, [f"{words}: the limit is at the step and moves with it."]
        if before != after:
            return None, [f"{words}."]
    third = (value + knob.value) // 2 // 8 * 8
    target = knob.target(edge, third)
    (measured,) = case.bench.run([case.arm(f"{knob.name}={third}", {knob.name: str(third)}, sizes=target.sizes)], 3)
    amounts = target.amounts(measured)
    if amounts and float(np.median(amounts)) > ARRIVED * edge.expected:
        return True, [
            f"With {knob.name}={third} the step stands between {target.low:,} and {target.high:,} bytes: it follows "
            "the setting to the byte."
        ]
    return None, [f"With {knob.name}={third} no step was seen at {format_size(target.low)}."]


def _limits(case: Case, arms: list[Arm], most: int = 0, launches: int = 1) -> tuple[int, int] | None:
    """Up to which size a send to an absent receiver returns, in two arms; `most`: the largest that is tried.

    None if a launch said nothing, or if launches of an arm do not agree.
    """
    test = all_tests()[LATE]
    most = most or 4 * max(case.symptom.sizes)
    measured = case.bench.run([replace(arm, test=test, ranks=2, sizes=(most,)) for arm in arms], launches)
    found = [[int(fact["largest_returning"]) for fact in one.facts("limit")] for one in measured]
    if any(len(each) < launches or len(set(each)) > 1 for each in found):
        return None
    return found[0][0], found[1][0]
