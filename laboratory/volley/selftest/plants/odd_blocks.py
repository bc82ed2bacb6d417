# SPDX-License-Identifier: BSD-3-Clause
"""Blocks one byte longer than whole pages, side by side: slow wherever a processor's `rep movsb` is slow at them."""

from __future__ import annotations

import ctypes
import mmap
import time
from functools import cache

from volley.detect.finding import Finding
from volley.selftest.plant import Plant

ODD = (65537, 262145)
SLOWER = 3.0
"""Times as long as to the same place in a page, from which on it shows in an MPI that copies twice as well."""


@cache
def _slower() -> float:
    """How many times as long a copy of an odd block takes to a place one byte behind its source, whole pages aside."""
    size = ODD[0]
    whole = (size + 2 * mmap.PAGESIZE) // mmap.PAGESIZE * mmap.PAGESIZE
    with mmap.mmap(-1, 2 * whole) as memory:
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        ctypes.memset(start, 1, 2 * whole)
        near, same = (min(_copy_ns(start + whole + behind, start, size) for _ in range(50)) for behind in (1, 0))
    return near / same


def _copy_ns(target: int, source: int, size: int) -> int:
    begun = time.perf_counter_ns()
    ctypes.memmove(target, source, size)
    return time.perf_counter_ns() - begun


class OddBlocks(Plant):
    """MPI_Alltoall copies from and to such blocks in the program's own buffers. AMD's Zen 3 and Zen 4 have it by
    themselves, and Open MPI lets the kernel copy."""

    name = "blocks one byte too long"
    cause = "4K aliasing"
    systems = "openmpi/shm"
    tests = "alltoall"
    ranks = (2,)
    sizes = tuple(sorted({*ODD, *(place - beside for place in (8192, 65536, 262144) for beside in (64, 0, -64)),
                          4096, 16384, 32768, 131072, 524288}))  # fmt: skip
    seconds = 25.0

    def unavailable(self) -> str:
        """Where copies to such places are about as quick as others."""
        if _slower() >= SLOWER:
            return ""
        return "copying takes as long here to a place one byte behind its source, whole pages aside, as to another"

    def shows(self, finding: Finding) -> bool:
        """Slower at one of those sizes."""
        odd = finding.size_from in ODD and finding.size_to in ODD
        return finding.test == "alltoall" and finding.kind == "spike" and finding.magnitude > 1.3 and odd
