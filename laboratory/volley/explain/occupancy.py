# SPDX-License-Identifier: BSD-3-Clause
"""Whether ranks had the cores they wanted: what the counters of launches say, each as a share of time.

The causes that lie in the scheduler look alike in times; these numbers tell them apart.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from volley.data.results import Launch
from volley.machine.facts import OTHERS, OTHERS_LIMIT, STOLEN_LIMIT, busy_seconds

WAITING = 0.05
"""Share of the time ranks wanted to run and had no core, from which on that may matter: on a quiet machine it is
below 0.01."""
FALLEN = 0.5
"""A counter has fallen with an intervention if at most this share of it is left."""
OTHERS_BUSY = 0.25
"""CPUs' worth of time of others, from which on they may matter."""
THROTTLED = 0.03
"""Share of a launch's time in which its group was stopped, from which on that may matter."""


TOUCHED = 0.25
"""Share of launches that must show load before it is told of the machine."""


@dataclass(frozen=True)
class Load:
    """What used the machine beside the launches."""

    title: str
    says: str
    """In how many launches, and how much."""
    advice: str


@dataclass(frozen=True)
class Occupancy:
    """Medians over launches; None where the launches did not say."""

    launches: int
    waiting: float | None
    """Of the time in which ranks wanted to run, the share without a core."""
    switched: float
    """Involuntary context switches of a rank per second."""
    per_operation: float
    """Context switches of all ranks, voluntary or not, per operation."""
    per_operation_mean: float
    """The mean over launches: a few launches with very many show in it."""
    others: float
    """CPUs' worth of time used by others than the launch."""
    own: float
    """CPUs' worth of time used by the launch."""
    periods: float
    """Quota periods in which the group was throttled."""
    throttled: float
    """Time throttled, summed over CPUs, as a share of the launch's time."""
    migrations: float | None
    """Of all ranks, per second."""

    @property
    def wanting(self) -> bool:
        """Whether ranks lacked a core for a share of time that matters; where the kernel does not say, by switches."""
        return self.waiting >= WAITING if self.waiting is not None else self.switched >= 30

    def waits_less_than(self, other: Occupancy) -> bool:
        """Whether ranks lack a core for at most FALLEN of the time they did in `other`."""
        if self.waiting is None or other.waiting is None:
            return self.switched <= FALLEN * other.switched
        return self.waiting <= FALLEN * other.waiting

    def waiting_words(self) -> str:
        """``ranks had no core for 42 % of the time they wanted one``."""
        if self.waiting is None:
            return f"a rank was switched from its core {self.switched:.0f} times a second"
        return f"ranks had no core for {self.waiting:.0%} of the time they wanted one"


def occupancy(launches: Sequence[Launch]) -> Occupancy:
    """Of all launches that brought samples."""
    measured = [one for one in launches if one.operations and one.seconds > 0]

    def middle(value: Callable[[Launch], float]) -> float:
        return statistics.median(value(one) for one in measured) if measured else 0.0

    def known(name: str) -> bool:
        return any(name in one.counters for one in measured)

    def counted(name: str) -> Callable[[Launch], float]:
        return lambda one: one.counters.get(name, 0.0)

    return Occupancy(
        launches=len(measured),
        waiting=middle(waiting_share) if known("ranks.waiting_seconds") else None,
        switched=middle(lambda one: counted("ranks.involuntary_switches")(one) / max(one.ranks, 1) / one.seconds),
        per_operation=middle(switches_per_operation),
        per_operation_mean=statistics.fmean(map(switches_per_operation, measured)) if measured else 0.0,
        others=middle(lambda one: counted(OTHERS)(one) / one.seconds),
        own=middle(lambda one: (busy_seconds(one.counters) - counted(OTHERS)(one)) / one.seconds),
        periods=middle(counted("cgroup.nr_throttled")),
        throttled=middle(lambda one: counted("cgroup.throttled_usec")(one) * 1e-6 / one.seconds),
        migrations=middle(lambda one: counted("ranks.migrations")(one) / one.seconds)
        if known("ranks.migrations")
        else None,
    )


def waiting_share(one: Launch) -> float:
    """Of the time in which a launch's ranks wanted to run, the share they had no core."""
    waited, ran = one.counters.get("ranks.waiting_seconds", 0.0), one.counters.get("ranks.cpu_seconds", 0.0)
    return waited / (waited + ran) if waited + ran > 0 else 0.0


def switches_per_operation(one: Launch) -> float:
    """Context switches of all ranks, voluntary or not, over the operations of the launch."""
    switches = sum(one.counters.get(f"ranks.{name}_switches", 0.0) for name in ("voluntary", "involuntary"))
    return switches / max(one.operations / max(one.ranks, 1), 1)


def timely(kind: str) -> float:
    """How typical a kind of finding is of ranks that lack a core, 0 to 1."""
    return {
        "stall": 1.0,
        "launch effect": 0.8,
        "bimodal": 0.8,
        "drift": 0.6,
        "spike": 0.5,
        "rank collapse": 0.3,
        "plateau": 0.25,
        "collapse": 0.25,
        "step": 0.15,
        "freeze": 0.3,
    }.get(kind, 0.0)


def loads(launches: Sequence[Launch], cores: int) -> list[Load]:
    """Every kind of load that a good part of the launches had beside them."""
    measured = [one for one in launches if one.operations and one.seconds > 0]
    if not measured:
        return []
    found: list[Load] = []

    def share(test: Callable[[Launch], bool]) -> float:
        return sum(map(test, measured)) / len(measured)

    others = share(lambda one: one.counters.get(OTHERS, 0.0) / one.seconds > OTHERS_LIMIT)
    if others >= TOUCHED:
        found.append(
            Load(
                "Other programs used the cores while it was measured",
                f"In {100 * others:.0f} % of the launches they used {OTHERS_LIMIT:g} CPUs or more.",
                "end them, or measure when they rest; the curves they touch are marked",
            )
        )
    stolen = share(
        lambda one: one.counters.get("cpu.steal_seconds", 0.0) / (one.seconds * max(cores, 1)) > STOLEN_LIMIT
    )
    if stolen >= TOUCHED:
        found.append(
            Load(
                "The hypervisor gave this machine's time to others",
                f"In {100 * stolen:.0f} % of the launches more than {100 * STOLEN_LIMIT:.0f} % of it.",
                "measure on a host that is not shared, or when its neighbours rest",
            )
        )
    throttled = share(lambda one: one.counters.get("cgroup.nr_throttled", 0.0) > 0)
    if throttled >= TOUCHED:
        found.append(
            Load(
                "This control group was stopped for having used up its CPU time",
                f"In {100 * throttled:.0f} % of the launches.",
                "raise cpu.max of the group, or restrict its CPUs instead of their time",
            )
        )
    return found
