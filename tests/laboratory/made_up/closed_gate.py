# SPDX-License-Identifier: BSD-3-Clause
"""A made-up cause: the gate is closed."""

from __future__ import annotations

from volley.detect.finding import Finding
from volley.explain.case import Case
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.experiment import Measured
from volley.explain.scene import Scene

OPEN = {"MADE_UP_LIMIT": str(1 << 40)}


class ClosedGate(Cause):
    """Messages above the limit wait at the gate."""

    name = "closed gate"
    page = "closed-gate"
    summary = "Messages above the limit wait at the gate."

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """A step of a system that has a gate."""
        if finding.kind != "step" or "MADE_UP_LIMIT" not in scene.knobs(finding.system):
            return None
        advice = scene.traits(finding.system).buffers_advice
        pattern = scene.pattern(finding.test)
        return Suspicion(0.9, (f"It has a gate ({pattern}); what is known of it says: {advice}.",))

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """The gate opened; the test counts who waited."""
        contrast = case.contrast(case.arm("gate open", OPEN))
        if not contrast.reproduced:
            return not_shown(contrast)
        waited, still = (_waits(one) for one in (contrast.found, contrast.changed))
        said = (f"{contrast.words()}; {waited} waits as found, {still} with the gate open.",)
        return Examination(contrast.removed, waited > 0 and not still, said, case.system.traits.buffers_advice)


def _waits(measured: Measured) -> int:
    return sum(int(fact["waits"]) for fact in measured.facts("waits"))
