# SPDX-License-Identifier: BSD-3-Clause
"""4K aliasing: a copy whose stores the processor takes for stores to what it loads next.

Processors compare loads with the stores before them by the last twelve bits of their addresses, those within a page. A
copy that begins a few bytes behind its source, whole pages aside, loads at each step what has the address, within its
page, of the store before. AMD's Zen 3 and Zen 4 are slow then at `rep movsb`, the instruction by which glibc's memcpy
copies from `glibc.cpu.x86_rep_movsb_threshold` on (its bug 30994). Blocks of a few bytes more or less than whole pages
lie so if they stand side by side in a buffer, as those of MPI_Alltoall.

Signature: the slow sizes are those whose blocks, side by side, lie so; sizes beside them that are not slow do not.
Intervention: that threshold is set out of reach, and memcpy copies in loops. Counter: copying alone to such a place,
without any MPI, must take longer than to the same place in a page, and no longer. Where that changes nothing, the
kernel may be the one who copies (process_vm_readv, by the same instruction): so beside it the receive buffer is moved
within its page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from volley.benchmarks import all_tests
from volley.detect.finding import Finding
from volley.explain.case import Case
from volley.explain.cause import Cause, Examination, Suspicion, not_shown
from volley.explain.experiment import Measured
from volley.explain.scene import Scene
from volley.explain.symptom import Spike, edge_of
from volley.machine.tunables import OUT_OF_REACH, REPEATS_FROM, VARIABLE, out_of_reach

PAGE, LINE = 4096, 64
"""Bytes after which the processor's comparison begins anew."""
NEAR, FARTHEST = 15, 31
"""Bytes behind its source, within a page, up to which a copy is always slow, and up to which it may be. Zen 4, glibc
2.36, times as long as at 0: 1 to 15 behind 30 (8 KiB) and 17 (64 KiB), 16 to 31 behind 2.5 and 1.1 to 1.4, from 32 on
1.0; wherever in its page the source begins (test ceilings, variants memcpy:N)."""
LEAST = 2048
"""Bytes of a block below which memcpy does not copy so: glibc's own threshold is 2,048 or more (dl-cacheinfo.h)."""
MOST_ALONE = 16384
"""Bytes of a copy without an MPI: MPIs copy long blocks in parts, and memcpy itself goes by loops from the second
cache's size on (dl-cacheinfo.h: rep_movsb_stop_threshold)."""
SLOWER = math.log(1.25)
"""By so much copying alone must take longer."""
SHOWN = 0.5
"""Of a spike's height, what must show beside such sizes as are never slow for this."""
PAD = "let blocks that stand side by side begin at multiples of 64 bytes"
SIDE_BY_SIDE, ANY, EDGE = 0.6, 0.35, 0.3
"""How likely it is where blocks stand side by side in the test's own buffers, in other tests, and at steps."""


def distance(size: int, blocks: int, shift: int = 0) -> int:
    """How far behind its source, whole pages aside, a block goes that has `blocks` of its size side by side where it
    comes from and where it goes: the least of all pairs of places at which the copy is slow; 0 if it is slow for none.

    shift: how much further in its page the buffer begins where it goes.
    """
    apart = ((sign * step * size + shift) % PAGE for step in range(blocks) for sign in (1, -1))
    return min((one for one in apart if 0 < one <= FARTHEST), default=0) if size >= LEAST else 0


def shift_for(sizes: Sequence[int], blocks: int) -> int:
    """How much further in its page a receive buffer may begin so that no block of any of these sizes goes so near."""
    shifts = range(PAGE // 2, 0, -LINE)
    return next((one for one in shifts if not any(distance(size, blocks, one) for size in sizes)), 0)


class PageAliasing(Cause):
    """Copies to a place a few bytes behind, in a page, the one they come from."""

    name = "4K aliasing"
    page = "page-aliasing"
    summary = (
        "Blocks of this size lie a few bytes off each other's place in a page, where the instruction that copies, rep "
        "movsb, takes each load for one of what it has just stored."
    )
    seconds = 15.0

    def suspect(self, finding: Finding, scene: Scene) -> Suspicion | None:
        """The slow sizes, and they alone, make blocks that lie so."""
        if finding.kind not in ("spike", "step") or scene.uses_tcp(finding) or scene.pattern(finding.test) == "machine":
            return None
        own_blocks = _has_blocks(finding, scene)
        blocks = finding.ranks if own_blocks else 2
        slow, quick = _step(finding, scene) if finding.kind == "step" else _spike(finding, scene, blocks)
        apart = [distance(size, blocks) for size in slow]
        if not quick or not apart or not all(apart) or any(0 < distance(size, blocks) <= NEAR for size in quick):
            return None
        size, behind = max(slow), min(apart)
        said = (
            f"Blocks of {size:,} bytes side by side lie {_bytes(behind)} off each other's place in a page; those "
            f"of {_and(quick)} bytes, which take less time, lie at the same place or farther off."
        )
        weight = EDGE if finding.kind == "step" else SIDE_BY_SIDE if own_blocks else ANY
        return Suspicion(weight, (said,), {"bytes": min(size, MOST_ALONE), "behind": behind, "blocks": blocks})

    def examine(self, suspicion: Suspicion, case: Case) -> Examination:
        """First copying alone, which takes a second, then the MPI: as found, with a memcpy that copies by loops, and
        with a receive buffer elsewhere in its page."""
        size, behind, blocks = (suspicion.details[name] for name in ("bytes", "behind", "blocks"))
        own = case.symptom
        if isinstance(own, Spike) and case.finding.magnitude >= 1:
            own = _beside_quick(own, blocks)
        shift = shift_for(own.sizes, blocks) if case.scene.cold(case.finding.test) else 0
        loops = out_of_reach(REPEATS_FROM, case.system.settings)
        alone = _alone_by_memcpy(case, size, behind, loops)
        if not alone.agrees and shift:
            alone = _alone_by_kernel(case, size, behind, shift, alone)
        if not alone.agrees:
            return Examination(alone.agrees, alone.agrees, alone.said)
        arms = [case.arm(sizes=own.sizes), case.arm("no rep movsb", loops, sizes=own.sizes)]
        if shift:
            arms.append(case.arm("buffer moved", variant=f"shifted:{shift}", sizes=own.sizes))
        found, *changed = case.bench.run(arms, own.launches)
        by_memcpy, *moved = (case.compare(found, one, own) for one in changed)
        if not by_memcpy.reproduced:
            return not_shown(by_memcpy)
        said = [f"Where memcpy copies by loops: {by_memcpy.words()}."]
        said += [f"With receive buffers {shift:,} bytes further in their pages: {one.words()}." for one in moved]
        gone = {one.removed for one in moved} - {False}
        if (by_memcpy.removed and not alone.kernel) or not gone or (gone == {None} and by_memcpy.removed is None):
            case.contrasts = [*(one for one in case.contrasts if one is not by_memcpy), by_memcpy]  # the last is drawn
            remedy = f"set {VARIABLE}={REPEATS_FROM}={OUT_OF_REACH:#x}, update glibc (its bug 30994), or {PAD}"
            counter = None if alone.kernel else alone.agrees
            return Examination(by_memcpy.removed, counter, (*said, *alone.said), remedy, by_memcpy.figures())
        if not alone.kernel:
            alone = _alone_by_kernel(case, size, behind, shift, alone)
        remedy = f"{PAD}; no setting changes how the kernel copies" if alone.agrees else PAD
        return Examination(moved[0].removed, alone.agrees or None, (*said, *alone.said), remedy, moved[0].figures())


@dataclass(frozen=True)
class Alone:
    """Whether copying without an MPI is slow at such a place, and not with what is changed."""

    agrees: bool | None
    """None: it could not be measured."""
    said: tuple[str, ...]
    kernel: bool = False


def _alone_by_memcpy(case: Case, size: int, behind: int, loops: dict[str, str]) -> Alone:
    before, after = (_longer(case, size, f"memcpy:{behind}", "memcpy:0", settings) for settings in ({}, loops))
    said = (
        f"Copying {size:,} bytes by memcpy, without an MPI, takes {np.exp(before):.2f} times as long to a place "
        f"{_bytes(behind)} behind its source, whole pages aside, as to the same place in a page; "
        f"{np.exp(after):.2f} times with {REPEATS_FROM} out of reach."
    )
    return _judged(before, after, (said,))


def _alone_by_kernel(case: Case, size: int, behind: int, shift: int, memcpy: Alone) -> Alone:
    """Linux copies by the same instruction, and no setting tells it otherwise. What was said of memcpy stays."""
    before, after = (_longer(case, size, f"kernel:{one}", "kernel:0") for one in (behind, behind + shift))
    said = (
        f"Copying {size:,} bytes by the kernel (process_vm_readv) takes {np.exp(before):.2f} times as long to a place "
        f"{_bytes(behind)} behind its source as to the same place in a page; {np.exp(after):.2f} times to one "
        f"{_bytes(behind + shift)} behind."
    )
    return replace(_judged(before, after, (said, *memcpy.said)), kernel=True)


def _judged(before: float, after: float, said: tuple[str, ...]) -> Alone:
    if math.isnan(before) or math.isnan(after):
        return Alone(None, ("Copying alone could not be measured.", *said[1:]))
    return Alone(before >= SLOWER and after <= 0.5 * before, said)


def _longer(case: Case, size: int, near: str, same: str, settings: dict[str, str] | None = None) -> float:
    """Log of how much longer copying alone takes in one variant of the test `ceilings` than in another."""
    times = [_time(case.copying_alone((size,), variant, settings), size) for variant in (near, same)]
    return times[0] - times[1]


def _time(alone: Measured, size: int) -> float:
    return math.log(alone.medians_ns().get(size, math.nan))


def _has_blocks(finding: Finding, scene: Scene) -> bool:
    """Whether each rank's buffer has a block for each rank."""
    test = scene.tests.get(finding.test) or all_tests().get(finding.test)
    return test is not None and test.buffers == "message per rank"


def _step(finding: Finding, scene: Scene) -> tuple[list[int], list[int]]:
    """The slow side of a step, and the other."""
    low, high = edge_of(finding, scene.curve(finding))
    return ([high], [low]) if finding.magnitude >= 1 else ([low], [high])


def _spike(finding: Finding, scene: Scene, blocks: int) -> tuple[list[int], list[int]]:
    """The slow sizes of a spike and those beside them, if the study says that they are quicker."""
    spike = Spike(finding, scene.curve(finding))
    least = SHOWN * abs(math.log(finding.magnitude))
    if finding.magnitude < 1:  # whole pages, among sizes a few bytes off them
        spike.beside = [size for size in spike.beside if distance(size, blocks)]
        return spike.beside, spike.odd if -_height(spike) >= least else []
    spike = _beside_quick(spike, blocks)
    return spike.odd, spike.beside if _height(spike) >= least else []


def _height(spike: Spike) -> float:
    """Log of what the odd sizes take more in the study than the sizes beside them promise; 0 if there are none."""
    if spike.curve is None or not spike.beside:
        return 0.0
    level = dict(zip(spike.curve.sizes.tolist(), np.nanmedian(spike.curve.log_ns, axis=0).tolist(), strict=True))
    promised = np.interp(np.log(spike.odd), np.log(spike.beside), [level[size] for size in spike.beside])
    return float(np.mean([level[size] for size in spike.odd]) - np.mean(promised))


def _beside_quick(spike: Spike, blocks: int) -> Spike:
    """The spike beside those sizes whose blocks lie so that copies are never slow."""
    return spike.beside_those(lambda size: not distance(size, blocks))


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count:,} bytes"


def _and(sizes: list[int]) -> str:
    words = [f"{size:,}" for size in sizes]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
