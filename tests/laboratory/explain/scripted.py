# SPDX-License-Identifier: BSD-3-Clause
"""A bench whose launches follow a script instead of starting processes: what an examination makes of what it sees."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import polars as pl
from volley.benchmarks import all_tests
from volley.data.results import Launch, Study, SystemFacts
from volley.data.store import labelled
from volley.detect import Finding
from volley.detect.material import CurveData, Material, Series
from volley.explain.case import Case
from volley.explain.experiment import Arm, Bench, Measured
from volley.explain.scene import Scene
from volley.explain.symptom import symptom_of
from volley.measure.launcher import Launcher
from volley.measure.rank_files import SCHEMA
from volley.progress import Silent
from volley.systems import resolve

REPETITIONS = 20
Times = Callable[[Arm, int], float | Sequence[float]]


def nothing(arm: Arm) -> Mapping[str, float]:
    return {}


def silence(arm: Arm) -> Sequence[dict[str, Any]]:
    return ()


@dataclass(frozen=True)
class World:
    """What every launch of an arm brings."""

    times: Times
    """ns of an operation of a size, as the test's curve has it; or of every operation in turn."""
    counters: Callable[[Arm], Mapping[str, float]] = nothing
    facts: Callable[[Arm], Sequence[dict[str, Any]]] = silence
    meanwhile: Callable[[Arm], None] = lambda arm: None


def operations(world: World, arm: Arm, size: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    given = world.times(arm, size)
    times = np.full(REPETITIONS, given) if isinstance(given, float | int) else np.asarray(given, dtype=float)
    return times.astype(np.float64)


class ScriptedBench(Bench):
    """Launches take no time, and differ by less than one percent."""

    def __init__(self, world: World) -> None:
        super().__init__({}, Silent())
        self.world = world

    @contextlib.contextmanager
    def _launchers(self, arms: Sequence[Arm]) -> Iterator[list[Launcher]]:
        yield [cast(Launcher, None) for _ in arms]

    def _launch(self, measured: Measured, launcher: Launcher) -> None:
        arm = measured.arm
        self.launched += 1
        self.world.meanwhile(arm)
        wobble = 1 + 0.002 * (len(measured.launches) % 5 - 2)
        frames = []
        for size in arm.sizes:
            each = operations(self.world, arm, size) * wobble / arm.test.scale
            ends = np.cumsum(each) + 1e9
            for rank, early in ((0, 100), (1, 0)):
                columns = {
                    "variant": [arm.test.variants[0]] * len(each),
                    "rank": [rank] * len(each),
                    "size": [size] * len(each),
                    "repetition": range(len(each)),
                    "start_ns": (ends - each - early).astype(np.int64),
                    "duration_ns": each,
                }
                frames.append(pl.DataFrame(columns, schema=SCHEMA))
        samples = pl.concat(frames)
        launch = Launch(
            self.launched, arm.system.name, arm.test.name, arm.ranks, 1, seconds=1.0, operations=len(samples),
            counters=dict(self.world.counters(arm)), facts=[dict(one) for one in self.world.facts(arm)],
        )  # fmt: skip
        measured.launches.append(launch)
        measured.frames.append(labelled(launch, samples))


def scene_of(
    world: World, finding: Finding, sizes: Sequence[int], knobs: Mapping[str, str] | None = None, **environment: Any
) -> Scene:
    """The study in which it was found: what the same world brings as found, and of copying alone."""
    (system,) = resolve(finding.system)
    bare = resolve("machine")[0]
    numbers = (1, 2, 3, 4, 5)
    curves, launches = [], []
    wanted = [(system, finding.test, finding.variant, finding.ranks)]
    if finding.test != "ceilings":
        wanted += [(bare, "ceilings", variant, 2) for variant in ("memcpy", "pingpong1")]
    for where, test, variant, ranks in wanted:
        arm = Arm("as found", where, all_tests()[test], ranks, tuple(sizes))
        rows = [operations(world, arm, size) for size in sizes]
        series = [Series(n, size, row) for n in numbers for size, row in zip(sizes, rows, strict=True)]
        log_ns = np.log([[float(np.median(row)) for row in rows]] * len(numbers))
        curves.append(CurveData(where.name, test, variant, ranks, np.array(sizes), numbers, log_ns, series))
        launches += [
            Launch(
                n, where.name, test, ranks, n, seconds=1.0, operations=1000, counters=dict(world.counters(arm)),
                facts=[dict(one) for one in world.facts(arm)],
            )
            for n in numbers
        ]  # fmt: skip
    told = [SystemFacts(system.name, "", "", system.transport, knobs=dict(knobs or {}))]
    study = Study(environment=environment, systems=told, options={"pin": False, "buffers": "written"})
    return Scene(
        Material("scripted", curves, launches=launches), study, all_tests(), {system.name: system}, findings=[finding]
    )


def case_of(world: World, finding: Finding, scene: Scene) -> Case:
    symptom = symptom_of(finding, scene.curve(finding), scene.material.curves)
    assert symptom is not None
    bench = ScriptedBench(world)
    bench.begin(600)
    return Case(finding, scene, bench, symptom)
