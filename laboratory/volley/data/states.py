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


def probed(launch: Launch) -> dict[str, tuple[MachineState, MachineState]]:
    """What the probe said before and after a launch, of each host that it used; '' is this machine."""
    told = {str(one["name"]): one["state"] for one in launch.hosts if "state" in one} or {"": launch.state}
    both = {host: (_read(said.get("before")), _read(said.get("after"))) for host, said in told.items()}
    return {host: states for host, states in both.items() if states != (MachineState(), MachineState())}


def change_within(launch: Launch) -> str:
    """What changed between the probes before and after a launch; '' if nothing did, or nobody probed."""
    changes = {host: change for host, (before, after) in probed(launch).items() if (change := before.change(after))}
    return "; ".join(f"{_on(host)}{change}" for host, change in changes.items())


def _on(host: str) -> str:
    return f"on host {host} " if host else ""


def _middle(before: MachineState, after: MachineState) -> MachineState:
    means = {}
    for one in fields(MachineState):
        known = [value for state in (before, after) if (value := getattr(state, one.name)) > 0]
        means[one.name] = math.exp(float(np.mean(np.log(known)))) if known else 0.0
    return MachineState(**means)


@dataclass(frozen=True)
class States:
    """The states of a study's launches."""

    groups: tuple[frozenset[int], ...] = ()
    """Numbers of launches in one state each; first those in the most frequent state of every host they used."""
    told: tuple[str, ...] = ()
    """Of every host that had several states, how often which."""
    changed: frozenset[int] = frozenset()
    """In these it changed in the middle."""

    @property
    def moved(self) -> bool:
        """Whether there was more than one state."""
        return len(self.groups) > 1 or bool(self.changed)

    def words(self) -> str:
        """``a cache line from core to core took 40 ns in 30 launches, 190 ns in 12``; '' of one state alone."""
        return "; ".join(self.told) or ("the machine's state changed within launches" if self.changed else "")

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
    """Groups launches by the states that the hosts they used were in. Those that nobody probed belong to no group.

    What one host does touches launches that used it, and no others.
    """
    changed = set()
    by_host: dict[str, list[tuple[MachineState, set[int]]]] = {}
    for launch in launches:
        if change_within(launch):
            changed.add(launch.number)
            continue
        for host, (before, after) in probed(launch).items():
            state, groups = _middle(before, after), by_host.setdefault(host, [])
            home = next((numbers for middle, numbers in groups if not middle.apart(state)), None)
            if home is None:
                groups.append((state, {launch.number}))
            else:
                home.add(launch.number)
    rare: dict[int, set[tuple[str, int]]] = {}
    told = []
    for host, groups in by_host.items():
        groups.sort(key=lambda group: -len(group[1]))
        for at, (_, numbers) in enumerate(groups):
            for number in numbers:
                rare.setdefault(number, set()).update({(host, at)} if at else ())
        if len(groups) > 1:
            told.append(_how_often(host, groups))
    together: dict[frozenset[tuple[str, int]], set[int]] = {}
    for number, which in rare.items():
        together.setdefault(frozenset(which), set()).add(number)
    ordered = sorted(together, key=lambda which: (bool(which), -len(together[which])))
    return States(tuple(frozenset(together[which]) for which in ordered), tuple(told), frozenset(changed))


def _how_often(host: str, groups: Sequence[tuple[MachineState, set[int]]]) -> str:
    name = groups[0][0].apart(groups[1][0]) or "line_ns"
    parts = [f"{format_time(getattr(middle, name))} in {len(numbers)}" for middle, numbers in groups]
    return f"{_on(host)}{WORDS[name]} took {parts[0]} launches, {', '.join(parts[1:])}"
