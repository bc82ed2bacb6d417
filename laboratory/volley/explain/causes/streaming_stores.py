# SPDX-License-Identifier: BSD-3-Clause
"""Streaming stores: from some length on, memcpy writes past the caches, and whoever reads the copy waits for memory.

glibc's memcpy on x86 does so above `glibc.cpu.x86_non_temporal_threshold` (memmove-vec-unaligned-erms.S), which it
reckons from what the processor says of its last cache (dl-cacheinfo.h). Where a virtual machine says that wrongly, the
threshold lies far too low.

Signature: the rate falls where copying alone, without any MPI, falls as well, and the threshold is no larger than that.
Intervention: the threshold is set out of
reach (GLIBC_TUNABLES). Counter: copying alone must have slowed down at the same sizes, and no longer.
"""

from __future__ import annotations

import math

import numpy as np

from volley.detect.finding import Finding
from volley.explain.case import Case
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.scene import Scene
from volley.explain.symptom import PerByte, edge_of
from volley.machine.tunables import OUT_OF_REACH, STREAMS_FROM, VARIABLE, out_of_reach

KINDS = ("step", "plateau", "collapse")
SLOWER = math.log(1.25)
"""By so much copying alone must take longer per byte behind the edge."""
LIKELY, UNLIKELY = 0.5, 0.3
PARTS = 4
"""An MPI that copies a message in so many parts, or fewer, falls where a part reaches the threshold."""


class StreamingStores(Cause):
    """memcpy goes past the caches."""

    name = "streaming stores"
    page = "streaming-stores"
    summary = "From this length on, the C library's memcpy writes past the caches, and the reader waits for memory."
    seconds = 12.0

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """Copying alone falls at the same place."""
        if finding.kind not in KINDS or finding.magnitude < 1 or scene.uses_tcp(finding):
            return None
        low, high = edge_of(finding, scene.curve(finding))
        slower = _alone(scene, low, high)
        if scene.pattern(finding.test) == "machine" or slower < SLOWER:
            return None
        said = f"Copying alone takes {np.exp(slower):.2f} times as long per byte there, without any MPI."
        told = scene.environment.get("streams_from")
        if told is None:
            return Suspicion(LIKELY, (said,))
        streams = f"The C library's memcpy writes past the caches from {told:,} bytes on."
        return Suspicion(LIKELY if told <= PARTS * high else UNLIKELY, (said, streams))

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """Without streaming stores: first copying alone, which takes a second, then the MPI."""
        low, high = edge_of(case.finding, case.symptom.curve)
        alone = PerByte(case.finding, max(64, low // PARTS), 2 * high)
        none = out_of_reach(STREAMS_FROM, case.system.settings)
        arms = (case.copying_alone(alone.sizes), case.copying_alone(alone.sizes, settings=none))
        before, after = (float(np.median(alone.amounts(arm) or [math.nan])) for arm in arms)
        said = (
            f"Copying {alone.behind:,} bytes without an MPI takes {np.exp(before):.2f} times as long per byte as "
            f"{alone.before:,}; {np.exp(after):.2f} times with {STREAMS_FROM} out of reach.",
        )
        if math.isnan(before) or math.isnan(after):
            return Examination(None, None, ("Copying alone could not be measured.",))
        agrees = before >= SLOWER and after <= 0.5 * before
        if not agrees:
            return Examination(False, False, said)
        contrast = case.contrast(case.arm("no streaming stores", none))
        if not contrast.reproduced:
            return not_shown(contrast)
        return Examination(
            contrast.removed,
            agrees,
            (f"{contrast.words()}.", *said),
            f"set {VARIABLE}={STREAMS_FROM}={OUT_OF_REACH:#x} (or to the size of the last cache), or update glibc",
            contrast.figures(),
        )


def _alone(scene: Scene, low: int, high: int) -> float:
    """Log of how much longer a byte takes behind the edge than before it, copied without an MPI; 0 if not measured."""
    found = [one for one in scene.material.curves if one.test == "ceilings" and one.variant == "memcpy"]
    if not found:
        return 0.0
    sizes = found[0].sizes
    per_byte = np.nanmedian(found[0].log_ns, axis=0) - np.log(np.maximum(sizes, 1))
    before = per_byte[(sizes <= low) & (sizes >= low // PARTS)]
    behind = per_byte[sizes >= high]
    return float(behind[0] - before.min()) if len(before) and len(behind) else 0.0
