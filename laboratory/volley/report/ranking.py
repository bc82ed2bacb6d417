# SPDX-License-Identifier: BSD-3-Clause
"""Findings as a person should meet them: what has one cause once, and what costs most first.

What costs is the share of time lost, times the sizes and tests it touches, times how sure it is. What the machine did
to all systems alike is said once, about the machine, with what it touched.
"""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from volley.data.results import LOST_HOST, Study
from volley.data.states import states_of
from volley.detect.certainty import together
from volley.detect.finding import Finding
from volley.detect.finding_text import heading, sentences
from volley.detect.material import CurveData, Floats, Material
from volley.explain.cause import causes
from volley.explain.occupancy import loads, timely
from volley.sizes import format_size

FIRST = 5
"""Findings on the first screen."""
EDGED = ("step", "plateau", "collapse")
BROKEN = ("failure", "freeze", "wrong figures")
"""Kinds that are no matter of time: what they touch is lost."""
TIMELY = 0.5
"""From so much on (explain.occupancy.timely) a kind of finding is what a machine does that is not quiet."""
ALL_AT_ONCE = 3
"""Systems that show the same kind of finding, and half of those measured: then it is not theirs."""
ALL_ALIKE = {
    "launch effect": "Launches of most systems differ",
    "bimodal": "Operations of most systems have two speeds",
    "drift": "Most systems become slower or faster within launches",
}
ALL_ALIKE_SAYS = "It touches systems that have nothing in common but the machine."
ALL_ALIKE_ADVICE = "look for what else runs there (other programs, other virtual machines); measure on a quiet machine"
THEY_ANSWER = "they answered again later, and what had failed was made anew"
UNSURE = 0.3
"""Certainty of what is UNDECIDED, in the cost."""
MANY_SPIKES = 3
"""So many sizes off one curve, all slower, have something in common: they are told as one."""
STEP_REACH = 4
"""A step that nothing else follows costs up to so many times its size."""
SEEN = "SEEN"
"""Status of what the machine's own counters say."""
STATUS_ORDER = ("CONFIRMED", "SUSPECTED", "UNEXPLAINED", "UNDECIDED")


@dataclass(frozen=True)
class Ranked:
    """Findings of one cause, as one."""

    title: str
    status: str
    """The surest of its findings'; of what the machine did: SEEN."""
    cost: float
    """Share of the time of all curves measured that it takes away, times how sure it is."""
    members: tuple[Finding, ...]
    says: tuple[str, ...]
    """Whole sentences: what, how much, on what grounds."""
    advice: str
    """What to do."""
    about_machine: bool = False
    cause: str = ""
    command: str = ""
    """Shows it again."""
    explained: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    """What explanation.json has of its findings."""
    worst: float = 1.0
    """The largest ratio of times among its findings, of tests that say how fast a system is."""

    @property
    def decided(self) -> bool:
        """Whether it would show again, as far as these data tell."""
        return self.status != "UNDECIDED"

    @property
    def systems(self) -> tuple[str, ...]:
        """Whom it touches."""
        return tuple(dict.fromkeys(one.system for one in self.members))

    @property
    def tests(self) -> tuple[str, ...]:
        """Which tests it touches."""
        return tuple(dict.fromkeys(one.test for one in self.members))


Key = tuple[str, str, str, int]


def curve_key(one: Finding | CurveData) -> Key:
    """What tells curves apart."""
    return (one.system, one.test, one.variant, one.ranks)


@dataclass
class Ranking:
    """Ranks the findings of one study."""

    material: Material
    study: Study | None
    folder: Path
    explained: Sequence[Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        self.curves = {curve_key(one): one for one in self.material.curves}
        self.counted = sum(one.comparable for one in self.material.curves) or 1
        self.states = states_of(self.material.launches)
        self.cores = int(self.study.environment.get("cores", 0)) if self.study else 0

    def ranked(self, findings: Iterable[Finding]) -> list[Ranked]:
        """What costs most first; what is UNDECIDED behind all that is not."""
        told = [self._as_explained(one) for one in findings]
        rest, found = self._about_the_machine(told)
        for group in _together([_merged(place) for place in _places(rest)]):
            found.append(self._of_a_system(group))
        return sorted(found, key=lambda one: (not one.decided, -one.cost, one.title))

    # What the machine did

    def _about_the_machine(self, findings: list[Finding]) -> tuple[list[Finding], list[Ranked]]:
        """Findings that are left, and those about the machine."""
        found: list[Ranked] = []
        rest = findings
        changed = self._changed_state(rest)
        if changed is not None:
            rest, one = changed
            found.append(one)
        for cause in causes():
            mine = [one for one in rest if cause.about_machine and one.cause == cause.name]
            if mine:
                rest = [one for one in rest if one not in mine]
                best = [it["causes"][0] for it in map(self._explanation, mine) if it and it.get("causes")][:1]
                said = " ".join(text for one in best for text in one.get("said", ()))
                remedy = "".join(str(one.get("remedy", "")) for one in best)
                found.append(self._machine(cause.summary[:-1], mine, said, remedy))
        for title, touched, says, advice in self._conditions():
            mine = [one for one in rest if touched(one) and one.cause is None]
            if mine:
                rest = [one for one in rest if one not in mine]
                found.append(self._machine(title, mine, says, advice))
        everybody = {one.system for one in self.material.curves if one.system != "machine"}
        for kind, title in ALL_ALIKE.items():
            mine = [one for one in rest if one.kind == kind and one.cause is None]
            if len({one.system for one in mine}) >= max(ALL_AT_ONCE, len(everybody) / 2):
                rest = [one for one in rest if one not in mine]
                found.append(self._machine(title, mine, ALL_ALIKE_SAYS, ALL_ALIKE_ADVICE))
        return rest, found

    def _changed_state(self, findings: list[Finding]) -> tuple[list[Finding], Ranked] | None:
        """The host moved this machine's processors: the probe says so itself."""
        unlike = self.states.unlike(self.material.launches)
        voided = sum(len(one.state.get("voided", ())) for one in self.material.launches)
        if not self.states.moved and not voided:
            return None
        moved = [one for one in self.material.launches if one.number in self.states.unusual]
        mine = [one for one in findings if timely(one.kind) >= TIMELY and self._by_state(one)]
        words = self.states.words() or "it changed within launches"
        said = [f"{words[:1].upper()}{words[1:]}."]
        if voided:
            said.append(f"{voided} launches in which it changed were void and were run again.")
        if unlike:
            said.append(f"{len(unlike)} launches in another state than most are left out of curves and verdicts.")
        if moved:
            touched = [sorted({getattr(one, name) for one in moved}) for name in ("system", "test")]
            where = f"{_listed(touched[0], 'systems')} in {_listed(touched[1], 'tests')}"
            said.append(f"Launches in a rarer state were of {where}.")
        one = self._machine(
            "The machine changed its state while it was measured",
            mine,
            " ".join(said),
            "nothing is wrong with any MPI; where few launches are left, measure on: "
            f"volley study --resume --out {shlex.quote(str(self.folder))}",
        )
        lost = len(unlike) / max(sum(bool(launch.operations) for launch in self.material.launches), 1)
        return [it for it in findings if it not in mine], replace(one, cost=max(one.cost, lost / 2))

    def _by_state(self, one: Finding) -> bool:
        """Whether the probe explains it: its own launches were of several states. Of like launches it does not."""
        curve = self.curves.get(curve_key(one))
        if curve is None or not self.states.mixed(curve.launches):
            return False
        furthest = one.evidence.get("furthest_launch")
        return furthest not in curve.launches or self.states.apart(int(furthest), curve.launches)

    def _conditions(self) -> list[tuple[str, Callable[[Finding], bool], str, str]]:
        """Title, which findings it explains, what was seen, and what to do: of everything that holds here."""
        found: list[tuple[str, Callable[[Finding], bool], str, str]] = []
        cores = self.cores

        def passing(one: Finding) -> bool:
            return timely(one.kind) >= TIMELY

        if cores and any(ranks > cores for _, _, _, ranks in self.curves):
            worlds = sorted({ranks for _, _, _, ranks in self.curves if ranks > cores})
            found.append(
                (
                    f"More ranks than cores: {', '.join(map(str, worlds))} ranks share {cores} cores",
                    lambda one: one.ranks > cores and one.kind not in BROKEN,
                    "Such curves show how an MPI waits and who got a core when, not how fast it moves data.",
                    "start as many ranks as there are cores; to see how an MPI waits, compare these curves alone",
                )
            )
        lost = {one.number: one.reason for one in self.material.launches if one.lost}
        if lost:
            left_out = [one for one in self.study.warnings if one.name == LOST_HOST] if self.study else []
            again = f"once they answer: volley study --resume --out {shlex.quote(str(self.folder))}"
            found.append(
                (
                    "Hosts were lost while it was measured",
                    lambda one: one.kind in BROKEN and set(one.evidence.get("launches", [None])) <= set(lost),
                    "; ".join(one[:1].upper() + one[1:] for one in dict.fromkeys(lost.values())) + ".",
                    "; ".join(dict.fromkeys([*(one.remedy for one in left_out), again])) if left_out else THEY_ANSWER,
                )
            )
        for load in loads(self.material.launches, cores):
            found.append((load.title, passing, load.says, load.advice))
        return found

    def _machine(self, title: str, members: Sequence[Finding], says: str, advice: str) -> Ranked:
        systems = sorted({one.system for one in members})
        tests = sorted({one.test for one in members})
        counted = f"{len(members)} findings, which are not told one by one" if len(members) > 1 else "one finding"
        touches = (
            f"It touches {_listed(systems, 'systems')} in {_listed(tests, 'tests')}: {counted}." if members else ""
        )
        said = tuple(part for part in (says, touches) if part)
        return Ranked(title, SEEN, self._cost(members), tuple(members), said, advice, about_machine=True)

    # What a system does

    def _as_explained(self, one: Finding) -> Finding:
        """With the status and cause that an experiment gave it."""
        known = self._explanation(one)
        return replace(one, status=str(known["status"]), cause=known.get("cause")) if known else one

    def _explanation(self, one: Finding) -> Mapping[str, Any] | None:
        return next((it for it in self.explained if _same(it, one)), None)

    def _of_a_system(self, group: Sequence[Finding]) -> Ranked:
        """Findings of one system and one cause, at one place of several tests, as one."""
        group = sorted(together(group), key=self._strength, reverse=True)
        strongest = group[0]
        known = self._explanation(strongest)
        curves = list(dict.fromkeys(_curve_words(one) for one in group))
        title = f"{strongest.system}: {strongest.cause or _headed(group, strongest)}"
        if len(curves) > 1:
            title += f", in {len({one.test for one in group})} tests" if len({one.test for one in group}) > 1 else ""
        says = []
        if known is not None:
            best = known["causes"][0] if known.get("causes") and strongest.cause else None
            says = [str(known["headline"]).partition(": ")[2], *(best.get("said", ()) if best else ())]
        says += [f"{_curve_words(one)}: {sentences(one)}" for one in group[:MOST_SENTENCES]]
        if len(group) > MOST_SENTENCES:
            says.append(f"and {len(group) - MOST_SENTENCES} more.")
        return Ranked(
            title,
            min((one.status for one in group), key=STATUS_ORDER.index),
            self._cost(group),
            tuple(group),
            tuple(one for one in says if one),
            self._advice(strongest, known),
            cause=strongest.cause or "",
            command=str(known.get("command", "")) if known else "",
            explained=(known,) if known else (),
            worst=self._worst(group),
        )

    def _worst(self, group: Iterable[Finding]) -> float:
        own = [one for one in group if (curve := self.curves.get(curve_key(one))) is None or curve.comparable]
        return max((one.magnitude for one in own if math.isfinite(one.magnitude)), default=1.0)

    def _strength(self, one: Finding) -> tuple[bool, int, float]:
        """What stands for all: times that say how fast a system is, then what is surest, then what is largest."""
        curve = self.curves.get(curve_key(one))
        comparable = curve is None or curve.comparable
        return (comparable, -STATUS_ORDER.index(one.status), abs(math.log(_ratio(one))))

    def _advice(self, one: Finding, known: Mapping[str, Any] | None) -> str:
        if known is not None and one.cause and known.get("causes"):
            remedy = str(known["causes"][0].get("remedy", ""))
            if remedy:
                return remedy
        place = shlex.quote(str(self.folder))
        if one.status == "UNDECIDED":
            return f"measure on: volley study --resume --out {place}"
        if known is None:
            return f"find out why: volley explain {place} --system {shlex.quote(one.system)} --test {one.test}"
        return "no known cause is left: docs/explaining.md says how to add one"

    def _cost(self, findings: Iterable[Finding]) -> float:
        """Per size of each curve what the worst of its findings takes, over all sizes of all curves."""
        worst: dict[Key, Floats] = {}
        for one in findings:
            certain = UNSURE if one.status == "UNDECIDED" else max(one.confidence, UNSURE)
            curve = self.curves.get(curve_key(one))
            touched = np.ones(1) if curve is None or one.kind in BROKEN else _touched(one, curve).astype(float)
            amount = certain * self._lost(one) * touched
            worst[curve_key(one)] = np.maximum(worst.get(curve_key(one), 0.0), amount)
        return sum(float(amounts.mean()) for amounts in worst.values()) / self.counted

    def _lost(self, one: Finding) -> float:
        """Share of the time of the sizes that it touches that a finding takes away."""
        if one.kind in BROKEN:
            return 1.0
        ratio = _ratio(one)
        if ratio <= 1:
            return 0.0
        curve = self.curves.get(curve_key(one))
        if curve is not None and not curve.comparable:
            return 0.0  # a probe of how an MPI behaves: no program waits for it
        share = 1.0 - 1.0 / ratio
        if one.kind == "bimodal":
            share *= float(one.evidence.get("slow_share", 0.5))
        return share


MOST_SENTENCES = 6


def _ratio(one: Finding) -> float:
    return one.magnitude if math.isfinite(one.magnitude) and one.magnitude > 0 else 10.0


def _touched(one: Finding, curve: CurveData) -> npt.NDArray[np.bool_]:
    """Which of a curve's sizes a finding touches: one at least."""
    low, high = one.size_from, max(one.size_from, one.size_to)
    if one.kind == "step":
        low, high = one.size_to, STEP_REACH * one.size_to
    inside = (curve.sizes >= low) & (curve.sizes <= high)
    if not inside.any():
        inside[np.abs(curve.sizes - low).argmin()] = True
    return inside


def _headed(group: Sequence[Finding], strongest: Finding) -> str:
    """``Spikes at 15 sizes from 8,193 B to 1 MiB``, of the strongest's curve; otherwise as it is headed by itself."""
    alike = [one for one in group if one.kind == "spike" and curve_key(one) == curve_key(strongest)]
    if strongest.kind != "spike" or len(alike) < MANY_SPIKES:
        return heading(strongest)
    least, most = min(one.size_from for one in alike), max(one.size_to for one in alike)
    return f"Spikes at {len(alike)} sizes from {format_size(least)} to {format_size(most)}"


def _curve_words(one: Finding) -> str:
    """``pingpong, 2 ranks``."""
    variant = f" {one.variant}" if one.variant != "-" else ""
    return f"{one.test}{variant}" + (f", {one.ranks} ranks" if one.ranks else "")


def _listed(names: Sequence[str], what: str) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} {what}"


def _places(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings of one curve at one edge: a step, the plateau or collapse it begins or ends, spikes on the edge."""
    groups: list[list[Finding]] = []
    for one in sorted(findings, key=lambda it: (it.kind != "step", it.size_from)):
        home = next((group for group in groups if any(_share_an_edge(one, other) for other in group)), None)
        if home is None:
            groups.append([one])
        else:
            home.append(one)
    return groups


def _share_an_edge(one: Finding, other: Finding) -> bool:
    if curve_key(one) != curve_key(other) or one.kind not in EDGED or other.kind not in EDGED:
        return False
    step, area = (one, other) if one.kind == "step" else (other, one)
    if step.kind != "step" or area.kind == "step":
        return one.kind != "step" and other.kind != "step" and one.size_from == other.size_from
    return any(step.size_from <= edge <= step.size_to for edge in (area.size_from, area.size_to))


def _merged(place: Sequence[Finding]) -> list[Finding]:
    """What stands for all at one place: what costs most, with the best status; the others behind it."""
    best = min(place, key=lambda one: STATUS_ORDER.index(one.status))
    first = max(place, key=lambda one: (one.cause is not None, one.kind != "step", _ratio(one)))
    told = replace(first, status=best.status, cause=best.cause, confidence=max(one.confidence for one in place))
    return [told, *(one for one in place if one is not first)]


def _together(places: Sequence[Sequence[Finding]]) -> list[list[Finding]]:
    """Places of one system with one cause, or of one kind at one edge, in whatever tests."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    spikes = Counter(curve_key(place[0]) for place in places if _is_unexplained_spike(place[0]))
    for place in places:
        first = place[0]
        if first.cause is not None:
            key: tuple[str, ...] = (first.system, "cause", first.cause)
        elif first.kind in EDGED:
            step = next((one for one in place if one.kind == "step"), first)
            key = (first.system, "edge", _octave(step.size_from), "up" if _ratio(first) > 1 else "down")
        elif _is_unexplained_spike(first) and spikes[curve_key(first)] >= MANY_SPIKES:
            key = (first.system, "spikes")
        elif first.kind == "spike":
            key = (first.system, "spike", _octave(first.size_from))
        else:
            key = (first.system, first.kind)
        groups.setdefault(key, []).extend(place)
    return [
        sorted(group, key=lambda one: (one.test, one.variant, one.ranks, one.size_from)) for group in groups.values()
    ]


def _is_unexplained_spike(one: Finding) -> bool:
    return one.kind == "spike" and one.cause is None and _ratio(one) > 1


def _octave(size: int) -> str:
    """Sizes beside one power of two are one place: a limit of 4096 bytes with a header shows at 4040."""
    return format_size(1 << max(round(math.log2(size)), 0)) if size > 0 else "0"


def _same(known: Mapping[str, Any], one: Finding) -> bool:
    between = known["evidence"].get("found_between", [known["size_from"], known["size_to"]])
    own = (known["system"], known["test"], known["evidence"]["variant"], known["evidence"]["ranks"])
    if own != curve_key(one):
        return False
    everything = [known, *known.get("also", ())]
    if not any(it["kind"] == one.kind for it in everything):
        return False
    places = [[it["size_from"], it["size_to"]] for it in everything if it["kind"] == one.kind]
    return [one.size_from, one.size_to] in [list(between), *places]
