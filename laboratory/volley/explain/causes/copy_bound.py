# SPDX-License-Identifier: BSD-3-Clause
"""Large messages that take as long as copying them: the more copies, the longer.

Signature: a plateau of large messages over shared memory, or a band of them that became slower, whose time per byte is
about that of one or two copies.
Intervention: the MPI is told to copy otherwise: through shared segments, or straight from the sender's memory
(cross memory attach); ranks in one address space, where that is possible. Counter: what one core needs to bring over
what another has written, by the test `ceilings`: the message must take one to four such copies, with the change and
without. Where the finding has an edge, messages must take more copies behind it than before it: else something else
begins there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from volley.detect.finding import Finding
from volley.explain.case import Case
from volley.explain.cause import Cause, Examination, Suspicion
from volley.explain.scene import Scene
from volley.explain.symptom import Edge
from volley.systems.traits import Traits

KINDS = ("plateau", "collapse", "regression")
ONE_COPY = "pingpong1"
"""Of ceilings: one core copies what the other has written."""
MORE = 0.3
"""Copies that a message must take more behind the edge than before it, and more than with another way of copying."""
LARGE = 65536
"""Bytes from which copying, and not latency, makes the time."""
COPIES = (0.6, 5.0)
"""Times one copy that a message may take to be said to be bound by copying: two messages at once, each in and out, are
four where both cores share the memory's rate."""


class CopyBound(Cause):
    """The copies are the time."""

    name = "copy-bound plateau"
    page = "copy-bound-plateau"
    summary = "Large messages take as long as the copies that move them; nothing else is in the way."
    seconds = 15.0

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """Large messages through shared memory that take one to four copies' time."""
        if finding.kind not in KINDS or finding.magnitude < 1 or finding.size_to < LARGE:
            return None
        if scene.uses_tcp(finding) or scene.pattern(finding.test) != "messages":
            return None
        curve = scene.curve(finding)
        copies = _copies(finding, scene)
        if curve is None or copies is None or not COPIES[0] <= copies <= COPIES[1]:
            return None
        said = (
            f"A message takes {copies:.1f} times as long as one core needs to bring as much over (at the middle size)."
        )
        return Suspicion(0.3, (said,), {"switch": _switch(scene.traits(finding.system), scene.knobs(finding.system))})

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """Other copies, and the machine's own."""
        switch: Mapping[str, str] | None = suspicion.details["switch"]
        if switch is None:
            return Examination(None, None, ("No setting is known by which this MPI copies otherwise.",))
        name = ", ".join(f"{key}={value}" for key, value in switch.items())
        contrast = case.contrast(case.arm(name, switch))
        alone = case.copying_alone(case.symptom.sizes, variant=ONE_COPY).medians_ns()
        near, far = _sides(case)
        before, after = (_middle(one.medians_ns(), alone, far) for one in (contrast.found, contrast.changed))
        said = [
            f"{contrast.words()} ({name}).",
            f"A message takes {before:.1f} copies' time as found, {after:.1f} with it (at the middle size).",
        ]
        fewer = after <= before - MORE
        bound = all(COPIES[0] <= one <= COPIES[1] for one in (before, after) if not np.isnan(one))
        begins = True
        if near:
            few = _middle(contrast.found.medians_ns(), alone, near)
            begins = before >= few + MORE
            said.append(f"Before the edge it takes {few:.1f} copies' time as found.")
        return Examination(
            contrast.removed,
            _agrees(bound and fewer, begins) if contrast.removed else None,
            tuple(said),
            f"set {name}" if contrast.removed else "send less at once, or in pieces that stay in the cache",
            contrast.figures(),
            reproduced=contrast.reproduced,
        )


def _agrees(copies: bool, begins: bool) -> bool | None:
    """True only if more copies begin at the edge; where they do not, start-up may hide it."""
    return (True if begins else None) if copies else False


def _sides(case: Case) -> tuple[list[int], list[int]]:
    """The sizes before the finding's edge and behind it; of a regression, which has no edge, none and the slower."""
    sizes, finding = case.symptom.sizes, case.finding
    if not isinstance(case.symptom, Edge):
        slower = [one for one in sizes if max(LARGE, finding.size_from) <= one <= finding.size_to]
        return [], slower or [max(sizes)]
    edge = case.symptom
    return [one for one in sizes if one <= edge.low], [one for one in sizes if one >= edge.high]


def _switch(traits: Traits, knobs: Mapping[str, str]) -> Mapping[str, str] | None:
    """What makes this MPI copy otherwise, by what it reports of itself."""
    for one in traits.copy_switches:
        if one.reported in knobs and one.value in ("", knobs[one.reported]):
            return one.settings
    return None


def _middle(times: Mapping[int, float], one_copy: Mapping[int, float], sizes: Iterable[int]) -> float:
    """How many copies a message takes: the median over sizes, as each cache makes one or the other faster."""
    known = [times[size] / one_copy[size] for size in sizes if size in times and size in one_copy]
    return float(np.median(known or [math.nan]))


def _copies(finding: Finding, scene: Scene) -> float | None:
    """The same, of the finding's messages and the machine's own copies; None without ceilings in the study."""
    own = scene.curve(finding)
    alone = [one for one in scene.material.curves if one.test == "ceilings" and one.variant == ONE_COPY]
    if own is None or not alone:
        return None
    inside = range(max(LARGE, finding.size_from), finding.size_to + 1)
    times, one_copy = (
        {size: float(np.exp(level)) for size, level in zip(one.sizes.tolist(), levels, strict=True) if size in inside}
        for one, levels in ((curve, np.nanmedian(curve.log_ns, axis=0)) for curve in (own, alone[0]))
    )
    copies = _middle(times, one_copy, one_copy)
    return None if math.isnan(copies) else copies
