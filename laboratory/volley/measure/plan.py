# SPDX-License-Identifier: BSD-3-Clause
"""The design of a study: which cells there are, in which order, with which points.

A cell is one test on one system with one world size. A study runs in blocks: each block launches every
cell once, in a fresh random order, so that slow changes of the machine fall on all systems alike.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from volley.benchmarks import TRAFFIC_PER_RANK, Test
from volley.sizes import with_neighbours
from volley.systems import System

T = TypeVar("T")


class Buffers(StrEnum):
    """What becomes of what is sent between two operations."""

    WRITTEN = "written"
    """Every line of it is written, as programs do that compute what they send."""
    KEPT = "kept"
    """Nothing: the same bytes go again, and may lie in the receiver's cache already."""


@dataclass
class Options:
    """How a study is carried out; kept in study.json so that --resume goes on the same way."""

    quick: bool = False
    budget_seconds: float = 600.0
    """Time for measuring; installing and compiling are not counted."""
    precision: float = 0.02
    """A cell stops when its intervals are this narrow (relative half-width of the median's interval)."""
    maximum_launches: int = 30
    seconds_per_point: float = 0.01
    freeze_seconds: float = 10.0
    launch_limit_seconds: float = 60.0
    """A launch that takes longer is ended from outside, whole."""
    seed: int = 1
    pin: bool = True
    repetitions: int | None = None
    """Exactly so many operations per point and launch, instead of as many as fit the time."""
    sizes: list[int] | None = None
    """Instead of the tests' own sizes."""
    ranks: list[int] | None = None
    """Instead of the tests' own world sizes."""
    buffers: Buffers = Buffers.WRITTEN
    """Of tests in whose chains of operations nothing is passed on: ping-pong, Sendrecv, the collectives."""
    hosts: str = ""
    """The hosts to launch on (volley.hosts.base.Hosts.spec); '': this machine."""
    ranks_per_host: int = 1
    interface: str = ""
    """The network interface that MPIs are told to use on several hosts; '': what hosts or MPIs say."""
    in_order: bool = False
    """Sizes from small to large within a launch instead of in random order: where what came before matters."""
    count_events: bool = False
    """Count what the processor counts of each point, as facts (benchmarks/volley_events.h)."""
    added_sizes: dict[str, list[int]] = field(default_factory=dict)
    """Per test, sizes added where a curve disagreed with interpolation."""


@dataclass(frozen=True)
class Cell:
    """One test on one system with one world size."""

    system: System
    test: Test
    ranks: int

    @property
    def key(self) -> tuple[str, str, int]:
        """Names it within a study."""
        return (self.system.name, self.test.name, self.ranks)


def make_cells(
    systems: Iterable[System], tests: Sequence[Test], options: Options, cores: int, hosts: int = 1
) -> list[Cell]:
    """Every combination that makes sense: tests without MPI run on the bare machine only."""
    cells = []
    for system in systems:
        for test in tests:
            if test.needs_mpi != system.needs_mpi:
                continue
            worlds = worlds_of(test, options, hosts)
            if options.quick and test.axis != "ranks":
                worlds = worlds[:1]
            for ranks in dict.fromkeys(world or max(2, cores) for world in worlds):
                cells.append(Cell(system, test, ranks))
    return cells


def worlds_of(test: Test, options: Options, hosts: int) -> Sequence[int]:
    """World sizes: the test's own; on several hosts all of those, unless the test is for so many ranks and no other."""
    if hosts == 1:
        return test.ranks if options.ranks is None or len(test.ranks) == 1 else options.ranks
    if len(test.ranks) == 1 and test.ranks[0] > 0:
        return test.ranks
    if options.ranks is not None:
        return options.ranks
    world = hosts * options.ranks_per_host
    smaller = [ranks for ranks in test.ranks if 0 < ranks < world] if test.axis == "ranks" else []
    return [*smaller, world]


CROWDED_STEP = 16
"""With more ranks than cores an operation may take tens of milliseconds: only sizes this factor apart."""


QUICK_NEIGHBOURS = (1024, 131072)
"""Bounds of the sizes that have their neighbours measured in a quick study: where protocols change."""
QUICK_DENSE_BELOW = 1 << 20
"""Above this a quick study measures every other power of two: each costs much time and says little new."""
QUICK_TIME_SHARE = 0.3
QUICK_MINIMUM_REPETITIONS = 3
QUICK_MESSAGES = 300
"""Of a stream at least: one that comes late every 41st is a period only after some of them."""
LEAST_POINTS_SECONDS = 4.0
"""A launch begins no further point after this long, or after POINTS_SHARE of the budget if that is longer: points
come in random order, and a slow system must not use up the time of the others."""
POINTS_SHARE = 0.01


HOSTS_LARGEST, HOSTS_BYTES_PER_RANK = 4 << 20, 16 << 20
"""Over several hosts, the largest size, and what a rank may send in one operation: 1.3 s of a line of 100 Mbit/s."""
HOSTS_POINTS_SECONDS = 20.0
"""As LEAST_POINTS_SECONDS: operations that wait for TCP's timers take tenths of a second each."""


def sizes_of(
    test: Test, ranks: int, options: Options, cores: int, memory_bytes: int, several_hosts: bool = False
) -> list[int]:
    """The sizes to measure in a cell: the test's, their neighbours, and what refinement added; over several hosts,
    where operations take long, the test's alone.

    Sizes whose buffers would take more than a quarter of the machine's memory on all ranks are left out.
    """
    base = options.sizes if options.sizes is not None and test.sizes != "0" else test.size_list()
    crowded = ranks > cores and test.axis == "size"
    if options.sizes is None and several_hosts:
        need = TRAFFIC_PER_RANK[test.buffers]
        base = [size for size in base if size <= HOSTS_LARGEST and need(size, ranks) <= 2 * HOSTS_BYTES_PER_RANK]
    elif options.sizes is None and crowded:
        kept, last = [], 0
        for size in base:
            if size == base[-1] or size >= last * CROWDED_STEP:
                kept.append(size)
                last = max(size, 1)
        base = [size for size in kept if size <= 1 << 20] or base[:1]
    elif options.sizes is None and test.neighbours:
        low, high = QUICK_NEIGHBOURS if options.quick else (128, base[-1])
        if options.quick:
            base = [
                size
                for size in base
                if size <= QUICK_DENSE_BELOW or (size.bit_length() % 2 == base[-1].bit_length() % 2)
            ]
        base = sorted({*base, *with_neighbours([size for size in base if low <= size <= high], base[0], base[-1])})
        base = sorted({*base, *options.added_sizes.get(test.name, [])})
    need = TRAFFIC_PER_RANK[test.buffers]
    return [size for size in base if need(size, ranks) * ranks <= memory_bytes / 4]


def variants_of(test: Test, congestion_controls: Sequence[str]) -> list[str]:
    """The test's variants, with ``{congestion}`` filled in."""
    found: list[str] = []
    for variant in test.variants:
        if "{congestion}" in variant:
            found += [variant.replace("{congestion}", name) for name in congestion_controls]
        else:
            found.append(variant)
    return list(dict.fromkeys(found))


def launch_text(
    cell: Cell, options: Options, environment: Mapping[str, Any], launch_number: int, launched_ns: int
) -> str:
    """The contents of launch.txt (benchmarks/volley_test.h reads it): one ``key value`` per line."""
    test = cell.test
    across = "hosts" in environment
    sizes = sizes_of(test, cell.ranks, options, environment["cores"], environment["memory_bytes"], across)
    points = [(size, variant) for variant in variants_of(test, environment["congestion_controls"]) for size in sizes]
    if not options.in_order:
        random.Random(f"{options.seed}-{launch_number}").shuffle(points)
    quick = options.quick
    fewest = QUICK_MESSAGES if test.stamps else QUICK_MINIMUM_REPETITIONS
    least = (
        min(test.minimum_repetitions, fewest)
        if quick or (across and not test.across_hosts)
        else test.minimum_repetitions
    )
    longest = HOSTS_POINTS_SECONDS if across else LEAST_POINTS_SECONDS
    limit = min(options.launch_limit_seconds / 2, max(longest, POINTS_SHARE * options.budget_seconds))
    seconds_per_point = (test.seconds_per_point or options.seconds_per_point) * (QUICK_TIME_SHARE if quick else 1.0)
    lines = [
        f"ranks {cell.ranks}",
        f"freeze_seconds {options.freeze_seconds}",
        f"limit_seconds {limit}",
        f"seconds_per_point {seconds_per_point}",
        f"minimum_repetitions {options.repetitions or least}",
        f"maximum_repetitions {options.repetitions or test.maximum_repetitions}",
        f"seed {options.seed + launch_number}",
        f"launched_ns {launched_ns}",
    ]
    if options.buffers == Buffers.WRITTEN:
        lines.append("writes_buffers 1")
    if options.count_events:
        lines.append("count_events 1")
    if across:
        cpus = environment["cpus_by_host"] if options.pin else {}
        for host in environment["hosts"]:
            lines.append(f"host {host['calls_itself']} {','.join(map(str, cpus.get(host['name'], []))) or '-'}")
    elif options.pin:
        lines += [f"cpu {cpu}" for cpu in environment["usable_cpus"]]
    lines += [f"point {size} {variant}" for size, variant in points]
    return "\n".join(lines) + "\n"


def block_order(cells: Iterable[T], block: int, seed: int) -> list[T]:
    """The cells of one block in their random order."""
    order = list(cells)
    random.Random(f"{seed}-block-{block}").shuffle(order)
    return order
