# SPDX-License-Identifier: BSD-3-Clause
"""Looking for algorithms that are quicker here than the library's own choice, and making sure of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from volley.benchmarks import Test
from volley.errors import UsageError
from volley.explain.experiment import Arm, Bench, TimeIsUp
from volley.explain.symptom import launch_rows
from volley.measure.plan import Options, sizes_of
from volley.progress import Display
from volley.systems import System
from volley.systems.flavours.volley import may_be_possible
from volley.systems.traits import Algorithm
from volley.tune.rules import Rows, Rule, judged, pick

T = TypeVar("T")

SETTING = "VOLLEY_COLLECTIVES"
LOOKS = 3
"""Launches of each algorithm, to pick from."""
PROOFS = 8
"""Launches with the rules and without. That all of eight are quicker than eight others is chance once in 12,870: little
enough among forty rules."""


@dataclass(frozen=True)
class World:
    """Where an operation is tuned: what the rules hold for."""

    ranks: int
    hosts: int


@dataclass
class Found:
    """What tuning gave."""

    rules: list[Rule] = field(default_factory=list)
    """With their verdicts."""
    unfinished: list[str] = field(default_factory=list)
    """Operations whose time was up, in words."""


@dataclass
class _Draft:
    test: Test
    sizes: tuple[int, ...]
    world: World
    rules: list[Rule]


def choices(system: System, test: Test) -> list[Algorithm]:
    """What can be chosen. Raises UsageError for a system whose choice no such file can carry."""
    found = list(system.traits.algorithms(test.name, {}))
    if any(set(one.settings) != {SETTING} for one in found) or (system.needs_mpi and not found):
        raise UsageError(
            f"{system.name} reads no rules for {test.name}",
            "volley tune is for Volley's library and its collective operations: --system volley, or NAME=PREFIX of one",
        )
    return found


def tuned_sizes(test: Test, world: World, environment: Mapping[str, Any], largest: int) -> tuple[int, ...]:
    """The test's powers of two; over several hosts no more than a line carries in reasonable time."""
    several = world.hosts > 1
    sizes = sizes_of(test, world.ranks, Options(), environment["cores"], environment["memory_bytes"], several)
    return tuple(size for size in sizes if size <= largest and size & (size - 1) == 0)


class Search:
    """Tunes the operations of some tests in some worlds, one after the other."""

    def __init__(self, system: System, bench: Bench, display: Display, budget_seconds: float, largest: int) -> None:
        self.system = system
        self.bench = bench
        self.display = display
        self.begun = time.monotonic()
        self.until = self.begun + budget_seconds
        self.largest = largest
        self.launches_left = 0
        self.found = Found()

    def run(self, tests: Sequence[Test], worlds: Sequence[World]) -> Found:
        """Looks everywhere, then makes sure of what was picked."""
        todo = [(test, world) for world in worlds for test in tests]
        looks = [self._launches_of_look(test, world) for test, world in todo]
        self.launches_left = sum(looks) + len(todo) * 2 * PROOFS
        drafts = []
        for (test, world), launches in zip(todo, looks, strict=True):
            draft = self._step(test, world, launches, partial(self._look, test, world))
            drafts += [draft] if draft and draft.rules else []
        self.launches_left = len(drafts) * 2 * PROOFS
        proofs: list[tuple[Rule, Rows, Rows]] = []
        for draft in drafts:
            rows = self._step(draft.test, draft.world, 2 * PROOFS, partial(self._prove, draft))
            proofs += [(rule, *(rows or ((), ()))) for rule in draft.rules]
        self.found.rules = judged(proofs)
        return self.found

    def _step(self, test: Test, world: World, launches: int, what: Callable[[], T]) -> T | None:
        """Does it; None if its time was too short: twice its share of what is left, as others may need less."""
        left = max(self.until - time.monotonic(), 0.0)
        self.bench.begin(left * min(1.0, 2 * launches / max(self.launches_left, 1)))
        self.launches_left -= launches
        self.display.advance(time.monotonic() - self.begun, left)
        try:
            return what()
        except TimeIsUp:
            self.found.unfinished.append(f"{test.name} of {world.ranks} ranks")
            return None

    def _algorithms(self, test: Test, world: World) -> list[Algorithm]:
        known = choices(self.system, test)
        return [one for one in known if may_be_possible(one.name.partition("=")[2], world.ranks, world.hosts)]

    def _launches_of_look(self, test: Test, world: World) -> int:
        return LOOKS * (1 + len(self._algorithms(test, world)))

    def _look(self, test: Test, world: World) -> _Draft:
        sizes = tuned_sizes(test, world, self.bench.environment, self.largest)
        algorithms = self._algorithms(test, world)
        arms = [Arm("as it is", self.system, test, world.ranks, sizes)]
        arms += [Arm(one.name, self.system.adjusted(one.settings), test, world.ranks, sizes) for one in algorithms]
        own, *others = [launch_rows(one) for one in self.bench.run(arms, LOOKS)]
        names = [one.name.partition("=")[2] for one in algorithms]
        scale = world.ranks if test.name == "reduce_scatter" else 1  # the library counts the whole vector
        rules = [
            Rule(test.name, name, at, until, world.ranks, world.hosts, scale)
            for name, at, until in pick(own, dict(zip(names, others, strict=True)))
        ]
        return _Draft(test, sizes, world, rules)

    def _prove(self, draft: _Draft) -> tuple[Rows, Rows]:
        text = ":".join(rule.text() for rule in draft.rules)
        arms = [
            Arm("as tuned", self.system.adjusted({SETTING: text}), draft.test, draft.world.ranks, draft.sizes),
            Arm("as it is", self.system, draft.test, draft.world.ranks, draft.sizes),
        ]
        tuned, own = self.bench.run(arms, PROOFS)
        return launch_rows(tuned), launch_rows(own)
