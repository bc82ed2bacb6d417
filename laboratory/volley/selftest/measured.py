# SPDX-License-Identifier: BSD-3-Clause
"""Planted oddities in measured noise: a second judge of detectors, which shares none of their assumptions.

The launches of a real study, drawn without replacement, bring their noise as it is: what a launch adds to all sizes or
to some, modes, drifts, interruptions, operations that follow each other. A curve's own level is taken out; in its place
comes a smooth one of another form than detectors fit (a power mean of start-up and size, no straight lines), with what
the measured level strays from its neighbours, up to RIPPLE. What the noise has of its own (OWN) is no false finding: it
is counted by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from volley.detect.material import CurveData, Floats, Integers, Material, Series
from volley.errors import DataError
from volley.selftest.synthetic import EFFECTS, Planted, Random

OWN = ("bimodal", "drift", "stall", "launch effect", "freeze", "failure")
"""Kinds that real launches may show without anything planted."""
FEWEST_SIZES = 8
RIPPLE = 0.03
"""What measured sizes stray from their neighbours is left in up to here (a log ratio): more may be a true oddity."""
LAUNCHES = (3, 5, 8)


@dataclass(frozen=True)
class Noise:
    """One measured curve without its level."""

    curve: CurveData
    sizes: Integers
    """Those that every one of `launches` measured."""
    launches: tuple[int, ...]
    strays: Floats
    """[launch, size]: log ratio to the level."""
    ripple: Floats
    """Per size: how far the level strays from its neighbours."""
    operations: dict[tuple[int, int], Floats]
    """(launch, size) → each operation's time over its launch's value there, in order."""

    @classmethod
    def of(cls, curve: CurveData) -> Noise | None:
        """None where too few launches measured the same sizes."""
        if curve.axis != "size" or curve.stream or not curve.comparable or not curve.series:
            return None
        sizes = np.isfinite(curve.log_ns).mean(axis=0) >= 0.9
        whole = np.isfinite(curve.log_ns[:, sizes]).all(axis=1) if sizes.any() else np.zeros(0, dtype=bool)
        if sizes.sum() < FEWEST_SIZES or whole.sum() < 2 * min(LAUNCHES):
            return None
        log_ns = curve.log_ns[np.ix_(whole, sizes)]
        level = np.median(log_ns, axis=0)
        value = {
            (launch, int(size)): float(np.exp(log_ns[row, column]))
            for row, launch in enumerate(np.asarray(curve.launches)[whole])
            for column, size in enumerate(curve.sizes[sizes])
        }
        operations = {
            key: one.times_ns / value[key] for one in curve.series if (key := (one.launch, one.size)) in value
        }
        launches = tuple(int(one) for one in np.asarray(curve.launches)[whole])
        return cls(curve, curve.sizes[sizes], launches, log_ns - level, _ripple(curve.sizes[sizes], level), operations)


def _ripple(sizes: Integers, level: Floats) -> Floats:
    """How far each size lies off the line between its neighbours (log-log), up to RIPPLE."""
    x = np.log(np.maximum(sizes.astype(float), 0.5))
    share = (x[1:-1] - x[:-2]) / (x[2:] - x[:-2])
    off = level[1:-1] - ((1 - share) * level[:-2] + share * level[2:])
    return np.asarray(np.concatenate([[0.0], np.clip(off - np.median(off), -RIPPLE, RIPPLE), [0.0]]))


@dataclass
class Sample:
    """Launches drawn from one curve's noise, on a level of their own."""

    noise: Noise
    launches: tuple[int, ...]
    log_level: Floats
    planted: Floats
    """Per size: log factor."""

    def curve(self) -> CurveData:
        """As if it had been measured."""
        rows = [self.noise.launches.index(one) for one in self.launches]
        log_ns = self.log_level + self.planted + self.noise.strays[rows]
        series = [
            Series(number + 1, int(size), self.noise.operations[launch, int(size)] * np.exp(log_ns[number, column]))
            for number, launch in enumerate(self.launches)
            for column, size in enumerate(self.noise.sizes)
            if (launch, int(size)) in self.noise.operations
        ]
        name = self.noise.curve
        numbers = tuple(range(1, len(rows) + 1))
        return CurveData(name.system, name.test, name.variant, name.ranks, self.noise.sizes, numbers, log_ns, series)


def noises(material: Material) -> list[Noise]:
    """Every curve of a study that can lend its noise. Raises DataError if none can."""
    found = [noise for curve in material.curves if (noise := Noise.of(curve)) is not None]
    if not found:
        raise DataError(
            f"no curve of {material.name} has {FEWEST_SIZES} sizes in {2 * min(LAUNCHES)} launches",
            "make one: volley study --tests pingpong,sendrecv --launches 12 --precision 0 --budget 5m",
        )
    return found


def _level(random: Random, noise: Noise) -> Floats:
    """Log of the power mean of a start-up and a term of the size: a knee that is sharp or long, and no jump."""
    size = np.maximum(noise.sizes.astype(float), 1)
    start = 10 ** random.uniform(2.3, 4.7)
    moved = size ** random.uniform(0.93, 1.0) / 10 ** random.uniform(-0.3, 1.2)
    knee = random.uniform(0.8, 3)
    return np.asarray(np.log(start**knee + moved**knee) / knee + noise.ripple)


def _draw(random: Random, noise: Noise, wanted: int) -> tuple[Sample, Sample]:
    """Two samples of the same level, with no launch in common."""
    count = min(wanted, len(noise.launches) // 2)
    chosen = [noise.launches[at] for at in random.permutation(len(noise.launches))]
    level = _level(random, noise)
    nothing = np.zeros(len(noise.sizes))
    first, second = tuple(chosen[:count]), tuple(chosen[count : 2 * count])
    return Sample(noise, first, level, nothing), Sample(noise, second, level, nothing.copy())


def _case(kind: str, sample: Sample, places: Sequence[int] = (0,), effect: float = 1.0) -> Planted:
    sizes = sample.noise.sizes
    ends = (int(sizes[places[0]]), int(sizes[places[-1]])) if kind else (0, 0)
    return Planted(kind, Material("measured noise", [sample.curve()]), *ends, effect)


def clean(random: Random, sample: Sample, other: Sample, effect: float) -> Planted:
    """Nothing planted."""
    return _case("", sample)


def same_again(random: Random, sample: Sample, other: Sample, effect: float) -> Planted:
    """The same system by other launches of it: no regression."""
    return replace(_case("", sample), against=Material("older", [other.curve()]))


def spike(random: Random, sample: Sample, other: Sample, effect: float) -> Planted:
    """One size slower."""
    place = int(random.integers(1, len(sample.planted) - 1))
    sample.planted[place] += np.log(effect)
    return _case("spike", sample, [place], effect)


def step(random: Random, sample: Sample, other: Sample, effect: float) -> Planted:
    """All sizes from one on slower, or faster."""
    place = int(random.integers(3, len(sample.planted) - 3))
    factor = effect if random.random() < 0.75 else 1 / effect
    sample.planted[place:] += np.log(factor)
    return _case("step", sample, [place - 1, place], factor)


def stretch(random: Random, sample: Sample, other: Sample, effect: float) -> Planted:
    """Three or four sizes slower, then as before."""
    width = int(random.integers(3, 5))
    first = int(random.integers(2, len(sample.planted) - width - 1))
    sample.planted[first : first + width] += np.log(effect)
    return _case("collapse" if effect >= 2 else "plateau", sample, [first - 1, first + width], effect)


def regression(random: Random, sample: Sample, other: Sample, effect: float) -> Planted:
    """Slower than before at all sizes."""
    sample.planted += np.log(effect)
    whole = [0, len(sample.planted) - 1]
    return replace(_case("regression", sample, whole, effect), against=Material("older", [other.curve()]))


MAKERS: tuple[Callable[[Random, Sample, Sample, float], Planted], ...] = (spike, step, stretch, regression)
CLEAN: tuple[Callable[[Random, Sample, Sample, float], Planted], ...] = (clean, same_again)


def cases(material: Material, seed: int, rounds: int) -> Iterator[Planted]:
    """Every kind at every effect in turn, a clean case after each; the same for the same seed and study."""
    sources = noises(material)
    for round_ in range(rounds):
        for number, maker in enumerate(MAKERS):
            random = np.random.default_rng([seed, round_, number])
            noise = sources[int(random.integers(len(sources)))]
            wanted = LAUNCHES[(round_ + number) % len(LAUNCHES)]
            yield maker(random, *_draw(random, noise, wanted), EFFECTS[round_ % len(EFFECTS)])
            yield CLEAN[(round_ + number) % len(CLEAN)](random, *_draw(random, noise, wanted), 1.0)
