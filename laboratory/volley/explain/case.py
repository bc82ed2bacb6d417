# SPDX-License-Identifier: BSD-3-Clause
"""One finding under examination: measured again as found, and with one thing changed."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from volley.benchmarks import Test, all_tests
from volley.detect.finding import Finding
from volley.explain.experiment import FEWEST, LAUNCHES, Arm, Bench, Measured, Surroundings
from volley.explain.scene import Scene
from volley.explain.symptom import Symptom
from volley.measure.plan import Buffers
from volley.sizes import format_size
from volley.systems import System, resolve
from volley.units import format_ratio

AS_FOUND = "as found"
LEFT = 0.3
"""An effect is removed if at most this share of its log is left, and no launch of one arm looks like the other's."""
SHOWN = 0.4
"""It shows again if at least this share of what the finding promises is there."""
LEAST_SHOWN = 0.08
"""And never less than this on a log scale: below, noise would pass for an effect."""
COPYING_LAUNCHES = 3
"""Copying within one core hardly differs between launches."""
STAYED = 0.6
"""With this share of its log left or more, an intervention did nothing."""
THREEFOLD = (2.2, 3.8)
"""Between these, three times the absence made an operation stand three times as long."""
UNMOVED = 1.4
"""Below this it does not wait for who is away."""


def is_gone(before: Sequence[float], after: Sequence[float]) -> bool | None:
    """Whether amounts that were there `before` are gone `after`, each of a launch of its own (see Contrast.removed)."""
    fewest = min(len(before), len(after))
    if fewest < FEWEST:
        return None
    left = float(np.median(after)) / float(np.median(before))
    if left <= LEFT and max(after) < min(before):
        return True if fewest >= LAUNCHES else None
    return False if left >= STAYED else None


def follows_absence(once: float, threefold: float) -> bool | None:
    """Whether what waits for an absent rank stood three times as long when that rank was away three times as long."""
    ratio = threefold / once
    if THREEFOLD[0] <= ratio <= THREEFOLD[1]:
        return True
    return False if ratio < UNMOVED else None


@dataclass(frozen=True)
class Contrast:
    """Two arms of one experiment, and how much of the symptom each launch of them shows."""

    found: Measured
    changed: Measured
    before: tuple[float, ...]
    after: tuple[float, ...]
    expected: float
    shares_of: str = ""
    """As Symptom.shares_of."""

    @property
    def reproduced(self) -> bool:
        """The effect shows without the change."""
        least = max(SHOWN * self.expected, min(LEAST_SHOWN, 0.5 * self.expected))
        return len(self.before) >= FEWEST and float(np.median(self.before)) >= least

    @property
    def share_left(self) -> float:
        """Of the effect, with the change; NaN if it did not show."""
        if not self.reproduced or not self.after:
            return float("nan")
        return float(np.median(self.after)) / float(np.median(self.before))

    @property
    def removed(self) -> bool | None:
        """True: gone, and launches do not overlap. False: it stayed. None: in between, or not to be told."""
        return is_gone(self.before, self.after) if self.reproduced else None

    @property
    def outcome(self) -> str:
        """What became of the effect, behind its name."""
        return "is gone" if self.removed else "stays" if self.removed is False else "is smaller"

    def words(self) -> str:
        """``2.31 times the time → 1.02 times``: what the effect was, and what the change left of it."""
        if not self.before or not self.after:
            failed = self.found if not self.before else self.changed
            reasons = sorted({launch.reason for launch in failed.launches if launch.reason})
            why = reasons[0][:160] if reasons else "none measured all sizes"
            return f"no launch {failed.arm.name} gave a number: {why}"
        before, after = float(np.median(self.before)), float(np.median(self.after))
        if self.shares_of:
            return f"{100 * before:.3g} % of the {self.shares_of} showed it as found, {100 * after:.3g} % with it"
        found, changed = (format_ratio(np.exp(one), whole=True) for one in (before, after))
        return f"{found} times the time as found, {changed} times with it"

    def figures(self) -> dict[str, Any]:
        """For --json."""
        return {
            "arm": self.changed.arm.name,
            "before": [round(one, 5) for one in self.before],
            "after": [round(one, 5) for one in self.after],
            "removed": self.removed,
            "unit": f"share of {self.shares_of}" if self.shares_of else "log ratio",
        }


@dataclass
class Case:
    """A finding, where it comes from, and the bench it is examined on."""

    finding: Finding
    scene: Scene
    bench: Bench
    symptom: Symptom
    contrasts: list[Contrast] = field(default_factory=list)
    """All that were made, for --json and pictures."""

    @property
    def system(self) -> System:
        """The system it was found on."""
        return self.scene.systems[self.finding.system]

    @property
    def test(self) -> Test:
        """The test, with the finding's variant alone."""
        return replace(self.scene.tests[self.finding.test], variants=(self.finding.variant,))

    def arm(
        self,
        name: str = AS_FOUND,
        settings: Mapping[str, str] | None = None,
        variant: str | None = None,
        ranks: int | None = None,
        sizes: Sequence[int] | None = None,
        pin: bool | None = None,
        surroundings: Surroundings | None = None,
    ) -> Arm:
        """The finding's own arm, with what is named changed."""
        test = self.test if variant is None else replace(self.test, variants=(variant,))
        arm = Arm(
            name,
            self.system.adjusted(settings) if settings else self.system,
            test,
            ranks or self.finding.ranks or 2,
            tuple(sizes) if sizes is not None else self.symptom.sizes,
            bool(self.scene.study.options.get("pin", True)) if self.scene.study and pin is None else bool(pin),
            Buffers(self.scene.study.options.get("buffers", Buffers.KEPT)) if self.scene.study else Buffers.WRITTEN,
        )
        return replace(arm, surroundings=surroundings) if surroundings else arm

    def contrast(self, changed: Arm, symptom: Symptom | None = None, launches: int | None = None) -> Contrast:
        """Measures `changed` and the same as found, in turns. Both measure the sizes of `changed`."""
        symptom = symptom or self.symptom
        found, other = self.bench.run([self.arm(sizes=changed.sizes), changed], launches or symptom.launches)
        return self.compare(found, other, symptom)

    def compare(self, found: Measured, changed: Measured, symptom: Symptom | None = None) -> Contrast:
        """The contrast of two arms that were measured together."""
        symptom = symptom or self.symptom
        before, after = tuple(symptom.amounts(found)), tuple(symptom.amounts(changed))
        contrast = Contrast(found, changed, before, after, symptom.expected, symptom.shares_of)
        self.contrasts.append(contrast)
        return contrast

    def copying_alone(
        self,
        sizes: tuple[int, ...],
        variant: str = "memcpy",
        settings: Mapping[str, str] | None = None,
    ) -> Measured:
        """What copying so many bytes takes on this machine, without any MPI (test ceilings)."""
        (machine,) = resolve("machine")
        machine.prepare(self.bench.display.note)
        test = replace(all_tests()["ceilings"], variants=(variant,))
        name = f"{'changed' if settings else AS_FOUND}, {variant}"
        arm = Arm(name, machine.adjusted(settings or {}), test, 2, sizes)
        (measured,) = self.bench.run([arm], COPYING_LAUNCHES)
        return measured

    def command(self, arm: Arm) -> str:
        """The command that measures `arm` again."""
        words = ["volley", "study", "--systems", arm.system.pinned_request, "--tests", arm.test.name]
        words += ["--ranks", str(arm.ranks), "--sizes", ",".join(map(str, arm.sizes)), "--launches", "5"]
        words += self.bench.hosts.option
        if arm.buffers != Buffers.WRITTEN:
            words += ["--buffers", arm.buffers.value]
        if not arm.pin:
            words.append("--no-pin")
        return " ".join(shlex.quote(word) for word in words)

    def place(self) -> str:
        """Where the finding is: ``65,536 to 65,537 B``."""
        low, high = self.finding.size_from, self.finding.size_to
        return format_size(low) if low == high else f"{format_size(low)} to {format_size(high)}"
