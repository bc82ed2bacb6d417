# SPDX-License-Identifier: BSD-3-Clause
"""Findings in words: what, where, how much, how sure; and what could not be seen."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from volley.detect.finding import Finding
from volley.detect.material import Material
from volley.sizes import format_size
from volley.units import format_ratio

WANTED = 1.2
"""Effects from a fifth on are what the detectors promise to see."""
SEEN_FROM = 4.5
"""Standard errors from which a spike survives correction for some sixty sizes (p < 0.002 / 60)."""


def _range(one: Finding) -> str:
    return (
        format_size(one.size_from)
        if one.size_from == one.size_to
        else f"{format_size(one.size_from)} to {format_size(one.size_to)}"
    )


def _factor(ratio: float) -> str:
    """``1.35 times the time`` of what is without it."""
    if not math.isfinite(ratio):
        return "for ever"
    return f"{format_ratio(ratio)} times the time"


def _spread(one: Finding) -> str:
    low, high = one.interval
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f" ({format_ratio(low)} to {format_ratio(high)})"


WITHOUT_FACTOR = ("failure", "freeze", "wrong figures", "stall", "held up")
"""Kinds whose magnitude is not a ratio of times: it says nothing to a reader."""

WORDS: dict[str, Callable[[Finding], str]] = {
    "spike": lambda one: f"Spike at {_range(one)}",
    "step": lambda one: (
        f"Step {one.evidence['direction']} between {format_size(one.size_from)} and {format_size(one.size_to)}"
    ),
    "plateau": lambda one: f"Plateau from {format_size(one.size_from)} to {format_size(one.size_to)}",
    "collapse": lambda one: f"Collapse beyond {format_size(one.size_from)}",
    "stall": lambda one: f"Stalls at {_range(one)}" if one.size_to else "Stalls",
    "held up": lambda one: f"Held up by {one.evidence['away']} at {_range(one)}",
    "rank collapse": lambda one: f"Collapse with {one.ranks} ranks at {_range(one)}",
    "bimodal": lambda one: f"Two modes at {_range(one)}",
    "drift": lambda one: f"Drift within launches at {_range(one)}",
    "launch effect": lambda one: "Launches differ",
    "failure": lambda one: "Launches failed",
    "freeze": lambda one: f"Freeze at {format_size(one.size_from)}",
    "wrong figures": lambda one: "Wrong figures",
    "structure change": lambda one: "Structure changed",
    "regression": lambda one: f"Regression at {_range(one)}",
}


def heading(one: Finding) -> str:
    """``Step up between 4 KiB and 4,097 B``."""
    return WORDS[one.kind](one) if one.kind in WORDS else one.kind


def sentences(one: Finding) -> str:
    """One line: what, where, how much, on what grounds, how sure."""
    title = heading(one)
    much = "" if one.kind in WITHOUT_FACTOR else f", {_factor(one.magnitude)}{_spread(one)}"
    sure = f"confidence {min(math.floor(one.confidence * 100), 99)} %"
    return f"{title}{much}: {one.evidence.get('says', '')}. {_doubt(one)}{sure}."


def _doubt(one: Finding) -> str:
    """Why a finding is UNDECIDED."""
    if one.status != "UNDECIDED":
        return ""
    launches = one.evidence.get("launches")
    if "launches_needed" in one.evidence:
        return f"{launches} launch{'' if launches == 1 else 'es'}, and {one.evidence['launches_needed']} are needed; "
    if launches in (None, 0, 1):
        return "One launch only: it may not show again; "
    return "Launches do not agree; "


def blind_spots(material: Material) -> list[str]:
    """One line if noise hides effects of a fifth in some curves, naming the worst."""
    hidden = []
    for curve in material.curves:
        if curve.axis == "size" and curve.shape.pieces:
            smallest = math.exp(SEEN_FROM * float(np.median(curve.shape.levels.error)))
            if smallest > WANTED:
                hidden.append((smallest, f"{curve.system} {curve.test}"))
    if not hidden:
        return []
    worst, name = max(hidden)
    return [
        f"In {len(hidden)} of {len(material.curves)} curves the noise hides single sizes {WANTED:g} times too slow; "
        f"worst: {name}, where less than {format_ratio(worst)} times cannot be seen. More launches would."
    ]
