# SPDX-License-Identifier: BSD-3-Clause
"""The machine's state: its cores, caches or memory were slower in some launches than in others, whatever the MPI.

Signature: the probe before and after each launch (volley.data.states) moved, and the launches it moved in are those
that show the finding. Nothing is measured for this: launches in which the probe stood still are the arm without, those
in which it moved the arm with it, and the probe itself is the counter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from volley.data.results import Launch
from volley.data.states import APART, WORDS, probed
from volley.detect.finding import Finding
from volley.detect.material import CurveData
from volley.explain.case import STAYED, Case, is_gone
from volley.explain.cause import Cause, Examination, Suspicion
from volley.explain.experiment import LAUNCHES
from volley.explain.scene import Scene
from volley.explain.symptom import Operations, symptom_of
from volley.units import format_ratio, format_time

MOVED = math.log(1.15)
"""A probe that differs by less between launches has not moved: no finding is smaller (kinds/launch_effect.py)."""
LEAST_CHANCE = 20
"""So many ways there must be to choose the launches in which the probe moved: that they are those that show the
finding is then chance once in so many."""
WITHIN = ("bimodal", "drift")
"""Kinds that show within a launch: what counts is whether the probe changed from before to after it."""


@dataclass(frozen=True)
class Split:
    """Launches parted by what the probe said, and how much of the finding each shows."""

    host: str
    """Where; '' is this machine."""
    name: str
    """Which number of the probe."""
    still: Mapping[int, float]
    moved: Mapping[int, float]
    """Number of launch → amount, log of a ratio."""
    nearer: float
    """What the probe said, in the middle launch of those in which it stood still: ns, or a ratio of after to before."""
    further: float

    @property
    def chance(self) -> int:
        """How many ways there are to choose the launches in which it moved."""
        return math.comb(len(self.still) + len(self.moved), len(self.moved))

    @property
    def agrees(self) -> bool:
        """Whether every launch in which it moved shows more than any in which it did not."""
        return min(self.moved.values()) > max(self.still.values())


class MachineStateMoved(Cause):
    """Launches that differ because the machine did."""

    name = "machine's state"
    page = "machine-state"
    summary = "The machine itself was slower in some launches than in others, as a probe without any MPI says."
    seconds = 0.0
    to_the_byte = False
    about_machine = True

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """The probe moved in the launches that show it, and in no others."""
        split = _split(finding, scene)
        if split is None or split.chance < LEAST_CHANCE or not split.agrees:
            return None
        enough = min(len(split.still), len(split.moved)) >= LAUNCHES
        return Suspicion(0.95 if enough else 0.6, (_words(finding, split),))

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """Compares the launches that there are."""
        split = _split(case.finding, case.scene)
        if split is None:
            return Examination(None, False, ("The probe stood still in all launches.",))
        still, moved = tuple(split.still.values()), tuple(split.moved.values())
        removed = is_gone(moved, still) if split.agrees else _stays(moved, still)
        shown, left = (format_ratio(math.exp(float(np.median(one)))) for one in (moved, still))
        said = (
            _words(case.finding, split),
            f"Those {len(moved)} launches show {shown} times, the {len(still)} others {left} times. Nothing "
            "was measured for this.",
        )
        return Examination(
            removed,
            True if split.agrees else None,
            said,
            "nothing is wrong with the MPI: measure when the host of this virtual machine is quiet, or on a machine of "
            "your own; `volley compare` compares launches of one state",
            {"probe": split.name, "host": split.host, "still": list(split.still), "moved": list(split.moved)},
        )


def _stays(moved: tuple[float, ...], still: tuple[float, ...]) -> bool | None:
    """False where launches in which the probe stood still show as much."""
    return False if float(np.median(still)) >= STAYED * float(np.median(moved)) else None


def _split(finding: Finding, scene: Scene) -> Split | None:
    """The finding's launches by the probe's number that moved most; None if none moved, or nobody probed."""
    curve = scene.curve(finding)
    if curve is None or finding.kind not in ("launch effect", *WITHIN):
        return None
    amounts = _amounts(finding, curve)
    launches = [one for one in scene.launches(finding) if one.number in amounts]
    hosts = set.intersection(*(set(probed(one)) for one in launches)) if launches else set()
    asked = ((host, name) for host in sorted(hosts) for name in APART)
    gaps = [gap for host, name in asked if (gap := _gap(finding, launches, host, name)) is not None]
    if not gaps:
        return None
    _, host, name, still, moved = max(gaps, key=lambda gap: gap[0])
    if finding.kind not in WITHIN:  # a level is a level beside that of the others
        middle = float(np.median([amounts[number] for number in still]))
        amounts = {number: abs(one - middle) if number in still else one - middle for number, one in amounts.items()}
    return Split(
        host,
        name,
        {number: amounts[number] for number in still},
        {number: amounts[number] for number in moved},
        math.exp(float(np.median(list(still.values())))),
        math.exp(float(np.median(list(moved.values())))),
    )


def _gap(
    finding: Finding, launches: list[Launch], host: str, name: str
) -> tuple[float, str, str, dict[int, float], dict[int, float]] | None:
    """The widest gap of one of a host's numbers, as a share of what makes two states; launches below and above."""
    told = {one.number: value for one in launches if (value := _told(finding, one, host, name)) is not None}
    if len(told) < max(len(launches), 2):
        return None
    order = sorted(told, key=lambda number: told[number])
    at = max(range(1, len(order)), key=lambda at: told[order[at]] - told[order[at - 1]])
    width = told[order[at]] - told[order[at - 1]]
    if width < MOVED:
        return None
    below, above = ({number: told[number] for number in part} for part in (order[:at], order[at:]))
    return width / math.log(APART[name]), host, name, below, above


def _told(finding: Finding, launch: Launch, host: str, name: str) -> float | None:
    """Log of what the probe said of a launch: of its level, or of how much it changed within."""
    before, after = (getattr(one, name) for one in probed(launch)[host])
    if before <= 0 or after <= 0:
        return None
    return abs(math.log(after / before)) if finding.kind in WITHIN else math.log(before * after) / 2


def _amounts(finding: Finding, curve: CurveData) -> dict[int, float]:
    """Per launch, how much it shows: how slow it is at all sizes alike, or what its operations show."""
    symptom = symptom_of(finding, curve)
    if not isinstance(symptom, Operations):
        level = np.nanmean(curve.log_ns - np.nanmedian(curve.log_ns, axis=0), axis=1)
        return {number: float(one) for number, one in zip(curve.launches, level, strict=True) if np.isfinite(one)}
    found: dict[int, list[float]] = {}
    for series in curve.series:
        if finding.size_from <= series.size <= finding.size_to and len(series.times_ns) >= 4:
            found.setdefault(series.launch, []).append(symptom.of(series.times_ns))
    return {number: float(np.mean(values)) for number, values in found.items()}


def _words(finding: Finding, split: Split) -> str:
    which = ", ".join(map(str, sorted(split.moved))) + (f" on {split.host}" if split.host else "")
    if finding.kind in WITHIN:
        return (
            f"In launches {which} {WORDS[split.name]} took {format_ratio(split.further)} times as long after the "
            f"launch as before it, or before it as after it; in the others {format_ratio(split.nearer)} times."
        )
    return (
        f"In launches {which} {WORDS[split.name]} took {format_time(split.further)}, in the others "
        f"{format_time(split.nearer)}, without any MPI."
    )
