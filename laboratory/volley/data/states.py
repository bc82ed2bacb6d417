# SPDX-License-Identifier: BSD-3-Clause
"""In which state the machine was in each launch, and which launches may be compared with each other.

The host of a virtual machine moves its processors: for seconds everything takes two to three times as long, whatever
the MPI. A probe before and after each launch (hosts/probe.h) shows it. On a machine of one's own the probe stands
still, and all launches are alike.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

import numpy as np

from volley.data.results import Launch
from volley.units import format_time

APART: Mapping[str, float] = {"line_ns": 2.0, "copy_ns": 1.6, "step_ns": 1.9}
"""Two states are two if one of these differs by more. On a virtual machine with two states, 350 probes: line_ns mostly
32 to 57 or 180 to 215, copy_ns 810 to 940 or 1900 to 2050. step_ns lay between 0.25 and 0.46 in both: where both CPUs
are one core's, another program on the one slows down the other, which is load and no state."""
WORDS: Mapping[str, str] = {
    "line_ns": "a cache line from core to core",
    "copy_ns": "copying 64 KiB from core to core",
    "step_ns": "one addition",
}


@dataclass(frozen=True)
class MachineState:
    """What the probe said of the cores that a launch uses. 0: not known."""

    line_ns: float = 0.0
    """A cache line's way from one to another."""
    copy_ns: float = 0.0
    """Copying 64 KiB that another has just written."""
    step_ns: float = 0.0
    """One addition that waits for the one before: the clock rate."""

    def apart(self, other: MachineState) -> str:
        """What differs so much that these are two states: the number furthest apart; '' if nothing does."""
        ratios = {
            name: abs(math.log(there / here)) / math.log(APART[name])
            for name, here in asdict(self).items()
            if here > 0 and (there := getattr(other, name)) > 0
        }
        worst = max(ratios, key=lambda name: ratios[name], default="")
        return worst if worst and ratios[worst] > 1 else ""

    def change(self, later: MachineState) -> str:
        """``a cache line from core to core took 40 ns, then 190 ns``; '' if nothing changed."""
        name = self.apart(later)
        if not name:
            return ""
        return f"{WORDS[name]} took {format_time(getattr(self, name))}, then {format_time(getattr(later, name))}"


def worst_of(states: Sequence[MachineState]) -> MachineState:
    """Of several pairs of cores, the slowest in each respect."""
    return MachineState(**{one.name: max(getattr(state, one.name) for state in states) for one in fields(MachineState)})


def _read(said: object) -> MachineState:
    if not isinstance(said, Mapping):
        return MachineState()
    known = {name: said.get(name) for name in APART}
    return MachineState(**{name: float(value) for name, value in known.items() if isinstance(value, int | float)})


def probed(launch: Launch) -> tuple[MachineState, MachineState]:
    """What the probe said before and after a launch."""
    return _read(launch.state.get("before")), _read(launch.state.get("after"))


def change_within(launch: Launch) -> str:
    """What changed between the probes before and after a launch; '' if nothing did, or nobody probed."""
    before, after = probed(launch)
    return before.change(after)


def state_of(launch: Launch) -> MachineState | None:
    """Of the whole launch; None if nobody probed, or it changed in the middle."""
    both = probed(launch)
    if both == (MachineState(), MachineState()) or change_within(launch):
        return None
    means = {}
    for one in fields(MachineState):
        known = [value for state in both if (value := getattr(state, one.name)) > 0]
        means[one.name] = math.exp(float(np.mean(np.log(known)))) if known else 0.0
    return MachineState(**means)


@dataclass(frozen=True)
class States:
    """The states of a study's launches."""

    groups: tuple[frozenset[int], ...] = ()
    """Numbers of launches in one state each, the most frequent state first."""
    middles: tuple[MachineState, ...] = ()
    """The first launch of each."""
    changed: frozenset[int] = frozenset()
    """In these it changed in the middle."""

    @property
    def moved(self) -> bool:
        """Whether there was more than one state."""
        return len(self.groups) > 1 or bool(self.changed)

    def words(self) -> str:
        """``a cache line from core to core took 40 ns in 30 launches, 190 ns in 12``; '' of one state alone."""
        if len(self.groups) < 2:
            return "the machine's state changed within launches" if self.changed else ""
        name = self.middles[0].apart(self.middles[1]) or "line_ns"
        parts = [
            f"{format_time(getattr(middle, name))} in {len(group)}"
            for group, middle in zip(self.groups, self.middles, strict=True)
        ]
        return f"{WORDS[name]} took {parts[0]} launches, {', '.join(parts[1:])}"

    @property
    def usual(self) -> frozenset[int]:
        """Numbers of the launches in the most frequent state."""
        return self.groups[0] if self.groups else frozenset()

    @property
    def unusual(self) -> frozenset[int]:
        """Numbers of all launches in another state, or in which it changed."""
        return frozenset().union(*self.groups[1:], self.changed)

    def mixed(self, numbers: Collection[int]) -> bool:
        """Whether these launches were made in more than one state, or it changed within one of them."""
        among = set(numbers)
        return bool(self.changed & among) or sum(bool(group & among) for group in self.groups) > 1

    def apart(self, number: int, numbers: Collection[int]) -> bool:
        """Whether a launch was made in another state than most of these, or it changed within it."""
        usual = max(self.groups, key=lambda group: len(group & set(numbers)), default=frozenset())
        return number in self.changed or number not in usual

    def unlike(self, launches: Iterable[Launch]) -> set[int]:
        """Launches to be left out, so that those that stay are of one state: of each cell those outside the most
        frequent state, unless that leaves none.
        """
        if not self.moved:
            return set()
        cells: dict[tuple[str, str, int], list[int]] = {}
        for one in launches:
            if one.operations:
                cells.setdefault((one.system, one.test, one.ranks), []).append(one.number)
        kept = (set(numbers) & self.unusual for numbers in cells.values() if self.usual & set(numbers))
        return set().union(*kept)


def states_of(launches: Iterable[Launch]) -> States:
    """Groups launches by the state the machine was in. Those that nobody probed belong to no group."""
    groups: list[tuple[MachineState, set[int]]] = []
    changed = set()
    for one in launches:
        if change_within(one):
            changed.add(one.number)
        state = state_of(one)
        if state is None:
            continue
        home = next((numbers for middle, numbers in groups if not middle.apart(state)), None)
        if home is None:
            groups.append((state, {one.number}))
        else:
            home.add(one.number)
    ordered = sorted(groups, key=lambda group: -len(group[1]))
    return States(
        tuple(frozenset(numbers) for _, numbers in ordered),
        tuple(middle for middle, _ in ordered),
        frozenset(changed),
    )
