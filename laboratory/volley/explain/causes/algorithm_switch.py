# SPDX-License-Identifier: BSD-3-Clause
"""Collectives that change their algorithm with the size of the message.

Signature: a step or an odd size in a collective, and nothing of the kind between two ranks at that size. Intervention:
one algorithm is forced at all sizes; with one of them the step must go. Counter: both sides are those of two different
algorithms: below the step the MPI takes as long as one of the forced ones, above it as long as another.
"""

from __future__ import annotations

import math

import numpy as np

from volley.detect.finding import Finding
from volley.explain.case import Case, Contrast
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.experiment import Measured
from volley.explain.scene import Scene
from volley.explain.symptom import Edge, launch_rows
from volley.systems.traits import Algorithm

ALIKE = math.log(1.15)
"""Two algorithms that take the same time within this are the same to us."""


class AlgorithmSwitch(Cause):
    """Another algorithm from some size on."""

    name = "algorithm switch"
    page = "algorithm-switch"
    summary = "The collective changes its algorithm at this size, and the two do not take the same time there."
    seconds = 30.0

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """An edge in a collective; likelier if messages between two ranks show none there."""
        if scene.pattern(finding.test) != "collective" or finding.kind not in ("step", "plateau", "collapse"):
            return None
        forced = list(scene.traits(finding.system).algorithms(finding.test, scene.knobs(finding.system)))
        pairs = [
            one
            for one in scene.findings
            if one.system == finding.system
            and scene.pattern(one.test) == "messages"
            and one.kind == finding.kind
            and one.size_from <= finding.size_to
            and finding.size_from <= one.size_to
        ]
        reasons = [f"It is a collective, and its MPI lets {len(forced)} algorithms be chosen."] if forced else []
        tested = {scene.pattern(one.test) for one in scene.material.curves if one.system == finding.system}
        if pairs:
            reasons.append(f"Messages between two ranks have a {pairs[0].kind} there, too, which speaks against it.")
        elif "messages" in tested:
            reasons.append("Messages between two ranks show nothing at that size.")
        weight = (0.6 if forced else 0.3) - (0.3 if pairs else 0.0)
        for rules in (one.without_rules for one in forced if one.without_rules):
            weight += 0.2
            reasons.append(f"Its algorithms are chosen by a file: {rules}.")
        return Suspicion(weight, tuple(reasons), {"forced": forced})

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """Forces each algorithm in turn, all in one experiment."""
        edge = case.symptom
        forced: list[Algorithm] = suspicion.details["forced"]
        if not forced or not isinstance(edge, Edge):
            return Examination(None, None, ("No way is known to choose this MPI's algorithms.",))
        arms = [case.arm(), *(case.arm(one.name, one.settings) for one in forced)]
        found, *others = case.bench.run(arms)
        contrasts = [case.compare(found, one) for one in others]
        figures = {one.changed.arm.name: one.figures() for one in contrasts}
        if not contrasts[0].reproduced:
            return not_shown(contrasts[0])
        below = _same_as(found, others, edge, True)
        behind = _same_as(found, others, edge, False)
        without = [one for one in contrasts if one.removed]
        names = ", ".join(one.changed.arm.name for one in without[:3])
        names += f" and {len(without) - 3} more" if len(without) > 3 else ""
        said = [f"With one algorithm at all sizes the step goes ({names})." if without else _stays(contrasts)]
        two = bool(below and behind and not set(below) & set(behind))
        if two:
            said.append(f"Before it the MPI takes as long as with {below[0]}, behind it as long as with {behind[0]}.")
        best = _fastest(others, edge)
        remedy = f"choose the algorithm yourself: {best} is the fastest just behind the step" if best else ""
        if not any(_differs(found, one, edge) for one in others):
            return Examination(
                None, None, ("The MPI takes as long whatever is chosen: it may not obey.",), figures=figures
            )
        for rules in [one for one in forced if one.without_rules]:
            if any(one.changed.arm.name == rules.name for one in without):
                two = True
                said.append("Without the file of rules the step goes: it is the file that switches there.")
                remedy = f"correct the file ({rules.without_rules}), or leave it out; {remedy}"
        everywhere = all(one.removed is False for one in contrasts)
        return Examination(
            True if without else False if everywhere else None,
            True if two else None,
            tuple(said),
            remedy,
            figures,
        )


def _stays(contrasts: list[Contrast]) -> str:
    left = [one.share_left for one in contrasts if one.share_left == one.share_left]
    return f"With each of the {len(contrasts)} algorithms {min(left, default=1.0):.0%} of the step or more is left."


def _side(measured: Measured, edge: Edge, before: bool) -> float:
    """Log of the time on one side of the edge; NaN if nothing was measured."""
    values = [
        value
        for row in launch_rows(measured)
        for size, value in row.items()
        if size in edge.sizes and ((size <= edge.low) if before else (size >= edge.high))
    ]
    return float(np.median(values)) if values else math.nan


def _same_as(found: Measured, others: list[Measured], edge: Edge, before: bool) -> list[str]:
    """Names of the algorithms that take as long as the MPI's own choice on one side, nearest first."""
    own = _side(found, edge, before)
    away = sorted((abs(_side(one, edge, before) - own), one.arm.name) for one in others)
    return [name for distance, name in away if distance <= ALIKE]


def _differs(found: Measured, other: Measured, edge: Edge) -> bool:
    """Whether a forced algorithm makes any difference, on either side."""
    return any(abs(_side(found, edge, before) - _side(other, edge, before)) > ALIKE for before in (True, False))


def _fastest(others: list[Measured], edge: Edge) -> str:
    known = [(side, one.arm.name) for one in others if not math.isnan(side := _side(one, edge, False))]
    return min(known)[1] if known else ""
