# SPDX-License-Identifier: BSD-3-Clause
"""Invented curves and streams with a planted oddity each, and clean ones: to measure what detectors are worth.

A clean curve is latency and bandwidth, with a rate that falls by up to an eighth where a cache ends, noise of
operations (log-normal, with rare interruptions up to 20 times as long), noise of a launch at one size, and an
offset of each launch at all sizes, of the amounts seen in real studies (medians per launch of MPICH, Open MPI
and Intel MPI over shared memory and TCP differ by 1 to 8 %; docs/detecting.md). Whatever changes a time by a
tenth or more at once, or for good, is an oddity and planted on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from volley.data.results import Launch
from volley.detect.material import CurveData, Material, Series, StreamData
from volley.sizes import powers_of_two, with_neighbours

Floats = NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True)
class Conditions:
    """How a curve is measured."""

    launches: int
    repetitions: int
    noise: float
    """Standard deviation of a launch's value at one size, relative."""
    launch_noise: float
    """Standard deviation of a launch's offset at all sizes."""
    neighbours: bool


SETTINGS = tuple(
    Conditions(launches, repetitions, noise, launch_noise, neighbours)
    for launches, repetitions in ((3, 60), (5, 60), (10, 40))
    for noise, launch_noise in ((0.005, 0.01), (0.02, 0.02), (0.04, 0.03))
    for neighbours in (True, False)
)
"""Three launches are what a quick study has; 0.5 to 4 % is where 3 launches of real MPIs lie."""

EFFECTS = (1.2, 1.35, 1.6, 2.5, 6.0)
"""Ratios planted. A fifth is the smallest that is asked for."""


@dataclass(frozen=True)
class Planted:
    """One case: what is measured, and what was put into it."""

    kind: str
    """Empty: clean."""
    material: Material
    size_from: int = 0
    size_to: int = 0
    effect: float = 1.0
    period: int | None = None
    against: Material | None = None


@dataclass
class Draft:
    """A curve while it is being made."""

    random: Random
    setting: Conditions
    sizes: NDArray[np.int64]
    base_ns: Floats
    level: Floats
    """[launch, size]: factor on the base."""

    def times(self, operations: Callable[[int, int, Floats], Floats] | None = None, widest: float = 0.10) -> CurveData:
        """Draws all operations; `operations` may bend those of (launch, size index)."""
        setting, random = self.setting, self.random
        spread = random.uniform(0.02, widest)
        drawn = np.exp(random.normal(0, spread, (setting.launches, len(self.sizes), setting.repetitions)))
        rare = random.random(drawn.shape) < 0.01
        drawn = np.where(rare, drawn * np.exp(random.uniform(0.2, 3, drawn.shape)), drawn)
        drawn *= (self.base_ns * self.level)[:, :, None]
        if operations is not None:
            for launch in range(setting.launches):
                for place in range(len(self.sizes)):
                    drawn[launch, place] = operations(launch, place, drawn[launch, place])
        series = [
            Series(launch + 1, int(size), drawn[launch, place])
            for launch in range(setting.launches)
            for place, size in enumerate(self.sizes)
        ]
        log_ns = np.log(np.median(drawn, axis=2))
        launches = tuple(range(1, setting.launches + 1))
        return CurveData("synthetic", "pingpong", "-", 2, self.sizes, launches, log_ns, series)


def draft(random: Random, setting: Conditions) -> Draft:
    """A clean curve's sizes, times and noise."""
    last = 1 << int(random.integers(18, 24))
    powers = powers_of_two(1, last)
    sizes = (
        powers
        if not setting.neighbours
        else sorted({*powers, *with_neighbours([size for size in powers if size >= 1024], 1, last)})
    )
    x = np.array(sizes, dtype=np.int64)
    latency = 10 ** random.uniform(2.3, 4.7)
    rate = 10 ** random.uniform(-0.3, 1.2)
    cache = random.uniform(0, 0.12) / (1 + np.exp(-(np.log2(x) - random.uniform(14, 21))))
    base = latency + x / rate * (1 + cache)
    shape = (setting.launches, len(x))
    level = np.exp(random.normal(0, setting.noise, shape) + random.normal(0, setting.launch_noise, (shape[0], 1)))
    return Draft(random, setting, x, base, level)


def _case(kind: str, curve: CurveData, size_from: int = 0, size_to: int = 0, effect: float = 1.0) -> Planted:
    return Planted(kind, Material("synthetic", [curve]), size_from, size_to, effect)


def clean(random: Random, setting: Conditions, effect: float) -> Planted:
    """Nothing planted."""
    return _case("", draft(random, setting).times())


def spike(random: Random, setting: Conditions, effect: float) -> Planted:
    """One size slower in all launches."""
    made = draft(random, setting)
    place = int(random.integers(1, len(made.sizes) - 1))
    made.level[:, place] *= effect
    return _case("spike", made.times(), int(made.sizes[place]), int(made.sizes[place]), effect)


def step(random: Random, setting: Conditions, effect: float) -> Planted:
    """All sizes from one on slower, or faster (as behind a change of algorithm)."""
    made = draft(random, setting)
    place = int(random.integers(4, len(made.sizes) - 4))
    factor = effect if random.random() < 0.75 else 1 / effect
    made.level[:, place:] *= factor
    return _case("step", made.times(), int(made.sizes[place - 1]), int(made.sizes[place]), factor)


def collapse(random: Random, setting: Conditions, effect: float) -> Planted:
    """Some octaves slower, then as before."""
    made = draft(random, setting)
    octave = np.log2(made.sizes)
    first = random.integers(5, int(octave[-1]) - 6)
    inside = (octave > first) & (octave < first + random.integers(3, 5))
    made.level[:, inside] *= effect
    kind = "collapse" if effect >= 2 else "plateau"
    places = np.flatnonzero(inside)
    return _case(kind, made.times(), int(made.sizes[places[0] - 1]), int(made.sizes[places[-1] + 1]), effect)


def bimodal(random: Random, setting: Conditions, effect: float) -> Planted:
    """At some sizes a quarter to half of the operations is slower, by at least four times their spread."""
    made = draft(random, setting)
    share = random.uniform(0.25, 0.5)
    first, last = sorted(random.choice(len(made.sizes), 2, replace=False))
    effect = max(effect, 1.35)

    def bend(launch: int, place: int, times: Floats) -> Floats:
        slow = random.random(len(times)) < share
        return np.where(slow, times * effect, times) if first <= place <= last else times

    curve = made.times(bend, widest=min(0.10, np.log(effect) / 4))
    return _case("bimodal", curve, int(made.sizes[first]), int(made.sizes[last]), effect)


def drift(random: Random, setting: Conditions, effect: float) -> Planted:
    """Operations of each point become slower from the first to the last."""
    made = draft(random, setting)
    rise = effect ** np.linspace(0, 1, setting.repetitions)
    curve = made.times(lambda launch, place, times: times * rise)
    return _case("drift", curve, int(made.sizes[0]), int(made.sizes[-1]), effect)


def launch_effect(random: Random, setting: Conditions, effect: float) -> Planted:
    """Launches differ: about a third of them is slower at all sizes."""
    made = draft(random, setting)
    slow = random.permutation(setting.launches) < max(1, setting.launches // 3)
    made.level[slow] *= max(effect, 1.35)
    return _case("launch effect", made.times(), int(made.sizes[0]), int(made.sizes[-1]), max(effect, 1.35))


def stall(random: Random, setting: Conditions, effect: float) -> Planted:
    """Every N-th message of a stream late, at sizes below K."""
    period, limit = int(random.integers(8, 64)), int(random.choice([93, 125, 509]))
    streams = []
    for size in (1, 16, 64, 93, 125, 256, 509, 512, 1024):
        gaps = _gaps(random, 800)
        if size < limit:
            late = np.arange(1, 801) % period == period - 1
            gaps[late] += random.uniform(1e6, 2e7) * (effect / 2)
        streams.append(StreamData("synthetic", "stream", "-", 2, size, 1, gaps))
    stalled = [one.size for one in streams if one.size < limit]
    made = Material("synthetic", streams=streams)
    return Planted("stall", made, stalled[0], stalled[-1], effect, period)


def clean_stream(random: Random, setting: Conditions, effect: float) -> Planted:
    """A stream with the noise of a scheduler, and no period."""
    streams = [StreamData("synthetic", "stream", "-", 2, size, 1, _gaps(random, 800)) for size in (1, 16, 256, 1024)]
    return Planted("", Material("synthetic", streams=streams))


def _gaps(random: Random, count: int) -> Floats:
    gaps = 10 ** random.uniform(2.5, 4.3) * np.exp(random.normal(0, random.uniform(0.05, 0.3), count))
    rare = random.random(count) < 0.004
    return np.where(rare, gaps + random.uniform(2e3, 5e4, count), gaps)


def freeze(random: Random, setting: Conditions, effect: float) -> Planted:
    """One of three systems stops half way, after times that explode."""
    curves = []
    for name in ("one", "two", "three"):
        made = draft(random, replace(setting, neighbours=False))
        if name == "three":
            place = len(made.sizes) // 2
            made.level[:, place:] *= random.uniform(30, 300)
            cut = place + 2
            made.sizes, made.base_ns, made.level = made.sizes[:cut], made.base_ns[:cut], made.level[:, :cut]
        curves.append(replace(made.times(), system=name))
    last = int(curves[2].sizes[-1])
    return Planted("freeze", Material("synthetic", curves), last, 2 * last)


def _pair(random: Random, setting: Conditions) -> tuple[Draft, Draft]:
    """The same system measured twice."""
    old = draft(random, setting)
    new = draft(random, setting)
    new.sizes, new.base_ns = old.sizes, old.base_ns
    shape = old.level.shape
    noise = random.normal(0, setting.noise, shape) + random.normal(0, setting.launch_noise, (shape[0], 1))
    new.level = np.exp(noise)
    return old, new


def structure_change(random: Random, setting: Conditions, effect: float) -> Planted:
    """A step that moved by two octaves between two versions."""
    old, new = _pair(random, setting)
    octave = int(random.integers(8, int(np.log2(old.sizes[-1])) - 4))
    factor = max(effect, 1.35)
    for made, limit in ((old, 1 << octave), (new, 1 << (octave - 2))):
        made.level[:, made.sizes > limit] *= factor
    case = _case("structure change", new.times(), 1 << (octave - 2), 1 << octave, factor)
    return replace(case, against=Material("older", [old.times()]))


def regression(random: Random, setting: Conditions, effect: float) -> Planted:
    """A version slower than the one before above some size."""
    old, new = _pair(random, setting)
    new.level *= effect
    case = _case("regression", new.times(), int(new.sizes[0]), int(new.sizes[-1]), effect)
    return replace(case, against=Material("older", [old.times()]))


def same_again(random: Random, setting: Conditions, effect: float) -> Planted:
    """The same system twice: no regression."""
    old, new = _pair(random, setting)
    return replace(_case("", new.times()), against=Material("older", [old.times()]))


def _ended(random: Random, setting: Conditions, kind: str, status: str, reason: str) -> Planted:
    curve = draft(random, setting).times()
    fact = Launch(1, "synthetic", "pingpong", 2, 1, status=status, reason=reason)
    return Planted(kind, Material("synthetic", [curve], launches=[fact]))


def frozen_launch(random: Random, setting: Conditions, effect: float) -> Planted:
    """A launch that a watchdog ended."""
    return _ended(random, setting, "freeze", "frozen", "nothing moved for 10 s at 4096 bytes")


def failed_launch(random: Random, setting: Conditions, effect: float) -> Planted:
    """A launch of which a rank died."""
    return _ended(random, setting, "failure", "failed", "0 of 2 ranks finished, status 139: segmentation fault")


MAKERS: tuple[Callable[[Random, Conditions, float], Planted], ...] = (
    spike, step, collapse, bimodal, drift, launch_effect, stall, freeze, frozen_launch, structure_change, regression,
    failed_launch,
)  # fmt: skip
CLEAN: tuple[Callable[[Random, Conditions, float], Planted], ...] = (clean, clean, clean, clean_stream, same_again)


def cases(seed: int, rounds: int) -> Iterator[Planted]:
    """Every kind at every setting and effect in turn, a clean case after each; the same for the same seed."""
    count = 0
    for round_ in range(rounds):
        for number, maker in enumerate(MAKERS):
            random = np.random.default_rng([seed, round_, number])
            setting = SETTINGS[(round_ + number) % len(SETTINGS)]
            effect = EFFECTS[(round_ // len(SETTINGS) + round_) % len(EFFECTS)]
            yield maker(random, setting, effect)
            yield CLEAN[count % len(CLEAN)](random, setting, 1.0)
            count += 1
