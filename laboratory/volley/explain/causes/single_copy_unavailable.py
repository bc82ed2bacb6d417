# SPDX-License-Identifier: BSD-3-Clause
"""Reading another process's memory is refused, so that large messages are copied twice.

Signature: large messages over shared memory are slow for their size, or launches fail, and one process may not read
another's memory here (Yama, a container without SYS_PTRACE, seccomp). Intervention: ranks allow it themselves (shim
`memory`), where the system lets them. Counter: a process_vm_readv between ranks of that very MPI, refused before and
allowed after.
"""

from __future__ import annotations

import re
from dataclasses import replace

from volley.benchmarks import all_tests
from volley.detect.finding import Finding
from volley.explain.case import Case
from volley.explain.cause import Cause, Examination, Suspicion
from volley.explain.experiment import Measured
from volley.explain.scene import Scene

LARGE = 2048
"""Bytes below which no MPI reads from the other process."""
PERMIT = {"memory": "permit"}
TOLD = re.compile(r"process_vm_readv|\bcma\b|not permitted|EPERM", re.IGNORECASE)
"""What an MPI may say when it ends for that."""


class SingleCopyUnavailable(Cause):
    """No rank may read another's memory."""

    name = "single copy unavailable"
    page = "single-copy-unavailable"
    summary = "The system refuses to let one rank read another's memory, so that large messages are copied twice."
    seconds = 15.0

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """Large messages through shared memory, on a system that says, or showed, that it refuses."""
        failed = finding.kind == "failure"
        if not failed and (finding.kind not in ("plateau", "collapse", "step", "regression") or finding.magnitude < 1):
            return None
        if scene.uses_tcp(finding) or scene.pattern(finding.test) in ("probe", "machine"):
            return None
        if not failed and finding.size_to < LARGE:
            return None
        refused = [one for one in scene.facts(finding.system, "peer_memory", "peer_memory") if not one["allowed"]]
        scope = str(scene.environment.get("ptrace_scope", ""))
        reasons = [f"Rank 0 may not read rank 1's memory: {refused[0]['reason']}."] if refused else []
        if scope in ("1", "2", "3"):
            reasons.append(f"kernel.yama.ptrace_scope is {scope}: a process may not read what is not its child's.")
        if failed and not reasons and not TOLD.search(str(finding.evidence.get("says", ""))):
            return None
        if failed:
            reasons.append("An MPI that relies on reading the sender's memory may end where it is refused.")
            return Suspicion(0.8, tuple(reasons))
        if not reasons:
            return Suspicion(0.1, ("Large messages through shared memory may be read straight from the sender.",))
        return Suspicion(0.7 if refused else 0.5, tuple(reasons))

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """Asks the system, then has the ranks allow it."""
        probe = replace(all_tests()["peer_memory"], variants=("-",))
        arms = [case.arm(sizes=(65536,)), case.arm("with memory=permit", PERMIT, sizes=(65536,))]
        before, after = (
            _allowed(one) for one in case.bench.run([replace(one, test=probe, ranks=2) for one in arms], 1)
        )
        if before:
            return Examination(False, False, ("One rank may read another's memory here: nothing is refused.",))
        if before is None:
            return Examination(None, None, ("The probe of reading another rank's memory did not run.",))
        advice = case.system.traits.single_copy_advice
        remedy = (
            "allow it: sysctl kernel.yama.ptrace_scope=0 on the host, or --cap-add=SYS_PTRACE for the container; or "
            "tell the MPI not to try" + (f" ({advice})" if advice else "")
        )
        if not after:
            said = "One rank may not read another's memory, and ranks cannot allow it themselves here."
            return Examination(None, True, (said,), remedy)
        contrast = case.contrast(case.arm("with memory=permit", PERMIT))
        said = f"One rank may not read another's memory; with ranks that allow it: {contrast.words()}."
        return Examination(contrast.removed, True, (said,), remedy, contrast.figures(), reproduced=contrast.reproduced)


def _allowed(measured: Measured) -> bool | None:
    """What the probe found; None if it did not run."""
    facts = measured.facts("peer_memory")
    return bool(facts[0]["allowed"]) if facts else None
