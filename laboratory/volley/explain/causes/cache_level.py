# SPDX-License-Identifier: BSD-3-Clause
"""A cache that ends: what fits into it is copied faster than what does not.

Signature: the rate falls where some multiple of the size reaches the size of one of the machine's own caches.
Intervention: every message from and to another place of a memory several times as large as that cache, so that
nothing is ever in it. The edge of this very finding must go, and it must go because the sizes before it lose the cache,
which those behind it never had. Counter: copying alone, without any MPI, on the same machine: its rate must fall across
the sizes at which as many bytes are in use. Where the processor counts its misses, they are told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from volley.benchmarks import TRAFFIC_PER_RANK
from volley.detect.finding import Finding
from volley.explain.case import Case, Contrast
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.scene import Scene
from volley.explain.symptom import PerByte, edge_of
from volley.sizes import format_size

COPIES = (1, 2, 3, 4)
"""Halves of what one rank needs (a source and a target) that an operation keeps in use: the other rank's, too, and
what the MPI has between."""
COPYING = "memcpy"
"""Of the machine's own tests: one core copies."""
MISSES = {"first_level_misses": "first-level", "last_level_misses": "last-level"}
"""Events of benchmarks/volley_events.h, and the cache they are of."""
LARGER = 16
"""Times the cache: what messages are spread over. With four times a level-2 cache of 2 MiB, small messages still find a
part of theirs in it (Intel MPI's Sendrecv: 128 ns per KiB at 330 KB, 160 at 4 MiB; from 16 times on 229 and 229)."""
LEAST_LARGER = 4
"""With less it is not tried."""
MOST_BYTES = 1 << 30
"""More memory is not taken for it: for caches of more than 64 MiB it is less than LARGER times."""
SLOWER = math.log(1.25)
"""By so much copying alone must slow down per byte across the edge."""
STILL_CACHED = 0.6
"""What lies behind the edge may lose so much (as a log ratio) of what the sizes before it lose without the cache. A
step that has another reason becomes small beside memory's time, but both its sides lose alike."""


@dataclass(frozen=True)
class Cache:
    """One of the machine's data caches."""

    level: int
    size: int


class CacheLevel(Cause):
    """The working set no longer fits into a cache."""

    name = "cache level"
    page = "cache-level"
    summary = "The buffers in use no longer fit into one of the processor's caches, and copying slows down."
    seconds = 15.0

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """The rate falls for good where buffers outgrow a cache."""
        if finding.kind not in ("step", "plateau", "collapse") or finding.magnitude < 1:
            return None
        alone = scene.pattern(finding.test) == "machine" and finding.variant == COPYING
        if not alone and not scene.cold(finding.test):
            return None
        fits = [
            (cache, copies) for cache in _caches(scene) for copies in COPIES if _crosses(finding, cache, copies, scene)
        ]
        if not fits:
            return None
        cache, copies = fits[-1]
        return Suspicion(
            0.45 if finding.kind != "step" else 0.35,
            (
                f"What {copies / 2:g} ranks use at {finding.size_from:,} bytes fits into the level-{cache.level} cache "
                f"({format_size(cache.size)}); at the next size measured it does not.",
            ),
            {"cache": cache, "copies": copies},
        )

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """Messages from ever new places; and copying without an MPI."""
        cache: Cache = suspicion.details["cache"]
        spread = min(LARGER * cache.size, MOST_BYTES)
        if spread < LEAST_LARGER * cache.size:
            return Examination(None, None, (f"The cache is too large ({format_size(cache.size)}) to be avoided here.",))
        if not case.scene.cold(case.finding.test):
            return Examination(None, None, ("This is the machine's own copying: there is no MPI to take away.",))
        low, high = edge_of(case.finding, case.symptom.curve)
        own = case.symptom if case.finding.kind == "step" else PerByte(case.finding, low, high)
        changed = case.arm(f"messages spread over {format_size(spread)}", variant=f"cold:{spread}", sizes=own.sizes)
        contrast = case.contrast(changed, own)
        if not contrast.reproduced:
            return not_shown(contrast)
        buffers = suspicion.details["copies"] / 2
        across = PerByte(case.finding, max(64, round(low * buffers / 2)), round(high * buffers * 2))
        alone = _copying(case, across)
        before, behind = (_cost(contrast, [one for one in own.sizes if (one > low) is far]) for far in (False, True))
        said = [
            f"If no message is in the cache: {contrast.words()}. Messages before the edge take {np.exp(before):.2f} "
            f"times as long so, those behind it {np.exp(behind):.2f} times.",
            f"Copying without an MPI takes {np.exp(alone):.2f} times as long per byte at {across.behind:,} bytes as at "
            f"{across.before:,}.",
            *_misses(contrast, (low, high)),
        ]
        hidden = contrast.removed and behind > STILL_CACHED * before
        if hidden:
            said.append("What lies behind the edge was in the cache as well: that hides an edge, and removes none.")
        return Examination(
            None if hidden else contrast.removed,
            None if math.isnan(alone) else alone >= SLOWER,
            tuple(said),
            "nothing is wrong: compute on data while they are in the cache, and send in pieces that fit into it",
            contrast.figures(),
        )


def _cost(contrast: Contrast, sizes: list[int]) -> float:
    """Log of how much longer messages of these sizes take if none is in the cache."""
    found, cold = (arm.medians_ns() for arm in (contrast.found, contrast.changed))
    return float(np.mean([math.log(cold[size] / found[size]) for size in sizes if size in found and size in cold]))


def _misses(contrast: Contrast, edge: tuple[int, int]) -> Iterator[str]:
    """What the processor counted on both sides of the edge, as found and without the cache; nothing if it cannot."""
    for event, cache in MISSES.items():
        counted = [
            (measured.event_per_operation(event, size), size)
            for measured in (contrast.found, contrast.changed)
            for size in edge
        ]
        per_kib = [1024 * number / size for number, size in counted if number is not None]
        if len(per_kib) == len(counted):
            before, behind, cold_before, cold_behind = per_kib
            yield (
                f"The processor counted {before:.2g} misses of its {cache} cache per KiB before the edge and "
                f"{behind:.2g} behind it; {cold_before:.2g} and {cold_behind:.2g} if no message is in the cache."
            )


def _caches(scene: Scene) -> Iterator[Cache]:
    for one in scene.environment.get("caches", []):
        yield Cache(int(one["level"]), int(one["bytes"]))


def _crosses(finding: Finding, cache: Cache, copies: int, scene: Scene) -> bool:
    """Whether `copies` buffers fit before the edge and not behind it; an L1 of 48 KiB is never quite ours alone."""
    test = scene.tests.get(finding.test)
    need = TRAFFIC_PER_RANK[test.buffers if test else "one message"]
    low, high = (copies * need(size, finding.ranks or 2) / 2 for size in edge_of(finding, scene.curve(finding)))
    return low <= 1.1 * cache.size and high >= 0.8 * cache.size


def _copying(case: Case, symptom: PerByte) -> float:
    """Log of how much longer a byte takes behind than before, copied by one core without an MPI; NaN: not measured."""
    amounts = symptom.amounts(case.copying_alone(symptom.sizes))
    return float(np.median(amounts)) if amounts else math.nan
