# SPDX-License-Identifier: BSD-3-Clause
"""The tests of windows, files and spawning, run for real: bytes are right, and what they say of an MPI is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from volley.benchmarks import all_tests
from volley.detect import detect
from volley.explain.experiment import Arm, Bench, Measured
from volley.machine import facts as machine_facts
from volley.progress import Silent
from volley.systems import System

Ready = Callable[[str], System]
POINTS = {
    "rma": (2, (8, 70_001)),
    "rma_rate": (2, (8, 4096)),
    "rma_atomic": (3, (8,)),
    "file": (3, (4096, 1 << 20)),
    "spawn": (1, (0,)),
}
"""Ranks and sizes."""


def measure(system: System, name: str, ranks: int, sizes: tuple[int, ...]) -> Measured:
    test = replace(all_tests()[name], maximum_repetitions=7, minimum_repetitions=5)
    (found,) = Bench(machine_facts.environment(), Silent()).run([Arm("as found", system, test, ranks, sizes)], 1)
    assert [one.status for one in found.launches] == ["measured"], found.launches
    return found


@pytest.mark.parametrize(
    ("family", "name"),
    [
        *[("volley/shared", name) for name in sorted(POINTS)],
        *[("volley/process", name) for name in ("rma", "rma_atomic", "file")],
        *[("mpich==4.1.3/shm", name) for name in ("rma", "rma_rate", "rma_atomic")],
    ],
)
def test_every_way_is_right_and_timed(family: str, name: str, ready: Ready) -> None:
    ranks, sizes = POINTS[name]
    found = measure(ready(family), name, ranks, sizes)
    assert not found.facts("mismatch")
    timed = {(one.variant, int(size)) for one in found.material.curves for size in one.sizes}
    assert timed == {(variant, size) for variant in all_tests()[name].variants for size in sizes}


def test_a_target_that_computes_holds_up_nobody(ready: Ready) -> None:
    found = measure(ready("volley/shared"), "passive_target", 2, (8, 4096))
    for one in found.facts("absence"):
        assert one["stands_ns"] < 0.2 * one["absent_ns"], one
    assert not detect(found.material, ["held up"])


def test_a_target_that_must_call_the_mpi_is_found(ready: Ready) -> None:
    """MPICH reaches memory of the program's own only through the target's progress."""
    found = measure(ready("mpich==4.1.3/shm"), "passive_target", 2, (8, 4096))
    told = [one for one in detect(found.material, ["held up"]) if one.variant == "create"]
    assert [(one.size_from, one.size_to) for one in told] == [(8, 4096)]
