# SPDX-License-Identifier: BSD-3-Clause
"""Experiments: one thing is changed, all else stays, and launches of both arms take turns.

An :class:`Arm` says what is launched and in which surroundings; a :class:`Bench` launches arms in random order,
round by round, so that slow changes of the machine fall on all of them, and stops when its time is up.
"""

from __future__ import annotations

import contextlib
import random
import statistics
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from volley.benchmarks import Test
from volley.data.results import Launch
from volley.data.states import states_of
from volley.data.store import labelled
from volley.detect.build import build
from volley.detect.material import CurveData, Material
from volley.hosts.base import Hosts
from volley.hosts.this_machine import ThisMachine
from volley.machine.facts import OTHERS
from volley.measure.launcher import Launcher
from volley.measure.plan import Buffers, Cell, Options
from volley.progress import Display
from volley.systems import System

LAUNCHES = 5
"""Per arm: that all of one arm's values lie above all of the other's is chance once in 252 (rank sum, C(10, 5)). Fewer
prove nothing: of three and three it is chance once in 20."""
FEWEST = 3
"""Launches per arm below which nothing is said at all, not even that an intervention did nothing."""
MOST_ROUNDS = 2
"""Times as many as asked for, where the machine changes its state."""
SECONDS_PER_POINT = 0.03
LAUNCH_LIMIT_SECONDS = 20.0
FREEZE_SECONDS = 5.0

Surroundings = Callable[[], AbstractContextManager[None]]
"""What is changed around a launch: a priority, a control group, a busy core. Must undo it."""


class TimeIsUp(Exception):
    """A finding's time is used up: what was measured so far decides."""


@dataclass(frozen=True)
class Arm:
    """One side of an experiment."""

    name: str
    """What distinguishes it, as a person would say it: ``as found``, ``rpi_tcp_short=131072``."""
    system: System
    test: Test
    """With only those variants that are measured."""
    ranks: int
    sizes: tuple[int, ...]
    pin: bool = True
    buffers: Buffers = Buffers.WRITTEN
    in_order: bool = False
    """Sizes from small to large: where connections remember what they carried."""
    repetitions: int | None = None
    """Exactly so many operations per point; None: as many as fit SECONDS_PER_POINT."""
    surroundings: Surroundings = contextlib.nullcontext

    def options(self) -> Options:
        """As the launcher wants them."""
        return Options(
            sizes=sorted(self.sizes),
            pin=self.pin,
            buffers=self.buffers,
            repetitions=self.repetitions,
            in_order=self.in_order,
            seconds_per_point=SECONDS_PER_POINT,
            launch_limit_seconds=LAUNCH_LIMIT_SECONDS,
            freeze_seconds=FREEZE_SECONDS,
            count_events=True,
        )


@dataclass
class Measured:
    """What the launches of one arm gave."""

    arm: Arm
    launches: list[Launch] = field(default_factory=list)
    frames: list[pl.DataFrame] = field(default_factory=list)
    """One per launch, with the columns of results.SAMPLE_COLUMNS."""

    def without(self, numbers: Collection[int]) -> Measured:
        """Without these launches."""
        frames = [frame.filter(~pl.col("launch").is_in(list(numbers))) for frame in self.frames]
        return Measured(
            self.arm,
            [one for one in self.launches if one.number not in numbers],
            [frame for frame in frames if len(frame)],
        )

    @cached_property
    def material(self) -> Material:
        """The samples as detectors look at them. Read it when measuring is over."""
        if not self.frames:
            return Material(self.arm.name)
        found = build(self.arm.name, pl.concat(self.frames).lazy(), {self.arm.test.name: self.arm.test})
        found.launches = self.launches
        return found

    @property
    def curve(self) -> CurveData | None:
        """Its curve; None if no launch brought samples."""
        return self.material.curves[0] if self.material.curves else None

    def medians_ns(self) -> dict[int, float]:
        """Size → median over launches."""
        import numpy as np

        if self.curve is None:
            return {}
        middle = np.exp(np.nanmedian(self.curve.log_ns, axis=0))
        return {int(size): float(value) for size, value in zip(self.curve.sizes, middle, strict=True)}

    def counter(self, name: str) -> list[float]:
        """Per launch, how far a counter of the launch moved."""
        return [launch.counters.get(name, 0.0) for launch in self.launches]

    def per_operation(self, name: str) -> list[float]:
        """The same, divided by the operations that the launch timed (each operation counted once)."""
        each = max(self.arm.ranks, 1)
        return [
            launch.counters.get(name, 0.0) / max(launch.operations / each, 1)
            for launch in self.launches
            if launch.operations
        ]

    def event_per_operation(self, event: str, size: int) -> float | None:
        """What the processor counted (benchmarks/volley_events.h) at a size per operation, of all ranks together.

        The middle launch's; None where the machine does not count it.
        """
        per_launch = []
        for launch in self.launches:
            counted = [
                fact[event] / fact["operations"]
                for fact in launch.facts
                if fact["fact"] == "counted" and fact["size"] == size and event in fact
            ]
            if counted:
                per_launch.append(sum(counted))
        return statistics.median(per_launch) if per_launch else None

    def facts(self, name: str) -> list[dict[str, Any]]:
        """What the test itself said, of all launches."""
        return [fact for launch in self.launches for fact in launch.facts if fact["fact"] == name]


def alike(results: Sequence[Measured]) -> list[Measured]:
    """The arms with launches of one state of the machine alone: the most frequent one."""
    unusual = states_of([launch for one in results for launch in one.launches]).unusual
    return [one.without(unusual) for one in results] if unusual else list(results)


class Bench:
    """Launches arms. One Bench serves all findings of one explanation, one after the other."""

    def __init__(
        self, environment: Mapping[str, Any], display: Display, seed: int = 1, hosts: Hosts | None = None
    ) -> None:
        self.environment = environment
        self.display = display
        self.hosts = hosts or ThisMachine()
        self.random = random.Random(seed)
        self.deadline = float("inf")
        self.launched = 0
        self.launch_seconds = 0.0
        """What a launch of the last round since begin() took on average, with its surroundings; 0 before the first."""
        self.measured: list[Measured] = []
        """Everything measured since begin(), for pictures."""

    def begin(self, seconds: float) -> None:
        """From now on, `seconds` are left; run() raises TimeIsUp rather than go beyond them."""
        self.deadline = time.monotonic() + seconds
        self.measured = []
        self.launch_seconds = 0.0

    def left_seconds(self) -> float:
        """Until the deadline."""
        return self.deadline - time.monotonic()

    def others_cpus(self) -> float:
        """CPUs' worth of time that other programs used, in the middle launch since begin()."""
        launches = [launch for one in self.measured for launch in one.launches if launch.seconds > 0]
        shares = [launch.counters.get(OTHERS, 0.0) / launch.seconds for launch in launches]
        return statistics.median(shares) if shares else 0.0

    def run(self, arms: Sequence[Arm], launches: int = LAUNCHES) -> list[Measured]:
        """Launches every arm so many times, in random order within each round; results in the order of `arms`.

        No round is begun that would end too late, going by the one before. Raises TimeIsUp if each arm does not
        get three launches so (or all that were asked for). If the machine changes its state meanwhile, launches in
        the rarer state are left out, and more are made in their place.
        """
        results = [Measured(arm) for arm in arms]
        with self._launchers(arms) as launchers:
            for turn in range(MOST_ROUNDS * launches):
                if turn >= launches and all(len(one.launches) >= launches for one in alike(results)):
                    break
                order = list(range(len(arms)))
                self.random.shuffle(order)
                begun = time.monotonic()
                if self.left_seconds() <= len(arms) * self.launch_seconds:
                    if turn < min(FEWEST, launches):
                        raise TimeIsUp
                    break
                for at in order:
                    self._launch(results[at], launchers[at])
                self.launch_seconds = (time.monotonic() - begun) / len(arms)
        like = alike(results)
        if all(len(one.launches) >= min(FEWEST, launches) for one in like):
            results = like
        self.measured += results
        return results

    @contextlib.contextmanager
    def _launchers(self, arms: Sequence[Arm]) -> Iterator[list[Launcher]]:
        with contextlib.ExitStack() as stack:
            launchers = []
            for arm in arms:
                launcher = Launcher(arm.options(), self.environment, self.hosts)
                stack.callback(launcher.close)
                launchers.append(launcher)
            yield launchers

    def _launch(self, measured: Measured, launcher: Launcher) -> None:
        arm = measured.arm
        self.launched += 1
        self.display.note(f"{arm.system.base_name} {arm.test.name}: {arm.name}")
        cell = Cell(arm.system, arm.test, arm.ranks)
        with arm.surroundings():
            launch, samples = launcher.launch(cell, self.launched, 1)
        if launch.status not in ("measured", "wrong bytes"):
            arm.system.recover()
        measured.launches.append(launch)
        if len(samples):
            measured.frames.append(labelled(launch, samples))
