# SPDX-License-Identifier: BSD-3-Clause
"""What so few launches can prove: a finding that repetitions alone make clear is UNDECIDED.

Operations of one launch share its luck, so that a thousand of them are no ground to say that the next launch would show
the same. What is fixed in a program (a limit, an algorithm, a copy too many) shows in every launch from the first; what
lies between launches or comes and goes needs more of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from volley.detect.finding import UNDECIDED_CONFIDENCE, Finding
from volley.detect.material import Material

FIXED = 3
"""Launches that prove what is the same in every launch. By sign alone three agree by chance once in four times, but a
curve's other sizes speak as well."""
CLEARLY_FIXED = 2
CLEAR = math.log(2)
"""An effect so large is believed from CLEARLY_FIXED launches on: launches do not differ by as much."""
PASSING = 6
"""Launches that prove what differs between launches or within them: the fewest that have an interval of 95 % (n values
enclose the median with probability 1 - 2 / 2^n)."""
SURE_TOGETHER = 0.9
"""Confidence in what several tests show at one place, with few launches each: one may still be chance."""
NEEDED = {
    "step": FIXED,
    "plateau": FIXED,
    "collapse": FIXED,
    "rank collapse": FIXED,
    "spike": FIXED,
    "held up": FIXED,
    "bimodal": PASSING,
    "drift": PASSING,
    "launch effect": PASSING,
}
"""Kinds whose findings rest on launches. A stream's stalls, failures and wrong figures show in one."""


def needed(one: Finding) -> int:
    """Launches from which on a finding like this is more than UNDECIDED."""
    most = PASSING if one.evidence.get("interruptions") else NEEDED.get(one.kind, 0)
    large = math.isfinite(one.magnitude) and one.magnitude > 0 and abs(math.log(one.magnitude)) >= CLEAR
    return CLEARLY_FIXED if most == FIXED and large else most


def together(findings: Sequence[Finding]) -> list[Finding]:
    """Findings at one place of several tests of one system: launches of all these tests bear out what is fixed in a
    program, though each test alone has too few. Those that so have enough are no longer UNDECIDED.
    """
    fixed = [one for one in findings if NEEDED.get(one.kind) == FIXED]
    launches: dict[tuple[str, str, str, int], int] = {}
    for one in fixed:
        key, told = (one.system, one.test, one.variant, one.ranks), one.evidence.get("launches")
        launches[key] = max(launches.get(key, 0), told if isinstance(told, int) else FIXED)
    if len({test for _, test, _, _ in launches}) < 2 or sum(launches.values()) < FIXED:
        return list(findings)
    return [
        replace(one, status="UNEXPLAINED", confidence=SURE_TOGETHER)
        if one in fixed and one.status == "UNDECIDED" and "launches_needed" in one.evidence
        else one
        for one in findings
    ]


def weighed(one: Finding, material: Material) -> Finding:
    """The finding, UNDECIDED if it rests on fewer launches than it needs."""
    key = (one.system, one.test, one.variant, one.ranks)
    curve = next((it for it in material.curves if (it.system, it.test, it.variant, it.ranks) == key), None)
    told = one.evidence.get("launches")
    launches = told if isinstance(told, int) else len(curve.launches) if curve is not None else needed(one)
    if one.status == "UNDECIDED" or launches >= needed(one):
        return one
    evidence = {**one.evidence, "launches": launches, "launches_needed": needed(one)}
    return replace(one, status="UNDECIDED", confidence=min(one.confidence, UNDECIDED_CONFIDENCE), evidence=evidence)
