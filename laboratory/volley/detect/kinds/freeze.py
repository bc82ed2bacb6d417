# SPDX-License-Identifier: BSD-3-Clause
"""freeze: a launch in which nothing moved any more, or a curve that breaks off after its times exploded."""

from __future__ import annotations

import math
import re
from collections import Counter

from volley.data.results import Launch
from volley.detect.finding import Finding
from volley.detect.kinds.collapse import stretches
from volley.detect.material import CurveData, Material
from volley.detect.registry import Detector, Search
from volley.detect.statistics import interval
from volley.units import format_time

EXPLODED = math.log(10)
"""From one size to the next the time grows by this much more than the sizes before promise."""
SHORT = 4
"""The others of its kind went on to sizes this many times larger, at least."""


class FreezeDetector(Detector):
    """By what the watchdog wrote into the study; in a bare table, by where a curve ends."""

    kinds = ("freeze",)

    def search(self, material: Material, against: Material | None) -> Search:
        """One candidate per system and test."""
        return Search([*ended(material, "freeze", "frozen"), *_broken_off(material)], max(len(material.curves), 1))


def ended(material: Material, kind: str, status: str) -> list[Finding]:
    """A finding per system, test and number of ranks of which launches ended with `status`; one apart of those in which
    hosts were lost.
    """
    found_so: dict[tuple[str, str, int, bool], list[Launch]] = {}
    for launch in material.launches:
        if launch.status == status:
            found_so.setdefault((launch.system, launch.test, launch.ranks, bool(launch.lost)), []).append(launch)
    started = Counter((one.system, one.test, one.ranks) for one in material.launches if one.status != "not measured")
    found = []
    for (system, test, ranks, _), launches in found_so.items():
        size = _size(launches[0])
        ((reason, _),) = Counter(launch.reason for launch in launches).most_common(1)
        found.append(
            Finding(
                kind,
                system,
                test,
                size,
                size,
                math.inf,
                (math.inf, math.inf),
                1.0,
                evidence={
                    "says": f"{len(launches)} of {started[(system, test, ranks)]} launches: {reason}",
                    "launches": [launch.number for launch in launches],
                    "launches_started": started[(system, test, ranks)],
                },
                ranks=ranks,
            )
        )
    return found


def _size(launch: Launch) -> int:
    """Where it stood, from the rank's own words or the reason's."""
    for fact in launch.facts:
        if isinstance(fact.get("size"), int):
            return int(fact["size"])
    match = re.search(r"(?:size |at )(\d+)", launch.reason)
    return int(match[1]) if match else 0


def _broken_off(material: Material) -> list[Finding]:
    """Curves that end early, with a last time far above what the one before promised."""
    if material.launches:  # a study says itself how each launch ended
        return []
    longest: dict[tuple[str, str], int] = {}
    for curve in material.curves:
        at = (curve.test, curve.variant)
        longest[at] = max(longest.get(at, 0), int(curve.sizes[-1]))
    found = []
    for curve in material.curves:
        others = longest[(curve.test, curve.variant)]
        if len(curve.sizes) >= 4 and others >= SHORT * int(curve.sizes[-1]):
            finding = _exploded(curve, others)
            found += [finding] if finding else []
    return found


def _exploded(curve: CurveData, others: int) -> Finding | None:
    """The curve ends within a stretch that began with a jump by EXPLODED or more."""
    ending = [one for one in stretches(curve) if one.recovered is None and one.last == len(curve.sizes)]
    if not ending or ending[0].first < 3:
        return None
    jump = curve.shape.edge(ending[0].first, ending[0].last)
    if jump.effect < EXPLODED:
        return None
    level = curve.shape.levels.level
    last = int(curve.sizes[-1])
    next_size = round(last * last / max(int(curve.sizes[-2]), 1))
    return Finding(
        "freeze",
        curve.system,
        curve.test,
        last,
        next_size,
        math.exp(jump.effect),
        interval(jump.effect, jump.error, jump.freedom),
        0.85,
        evidence={
            "says": f"the measurements end at {last:,}, where others go on to {others:,}; from "
            f"{int(curve.sizes[ending[0].first]):,} on times are {math.exp(jump.effect):.0f} times what sizes before "
            f"promise, the last is {format_time(math.exp(level[-1]))}",
            "last_size": last,
            "others_last_size": others,
            "last_time_ns": math.exp(level[-1]),
        },
        variant=curve.variant,
        ranks=curve.ranks,
        p_value=jump.p_value,
    )
