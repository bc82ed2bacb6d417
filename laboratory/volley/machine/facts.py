# SPDX-License-Identifier: BSD-3-Clause
"""The machine a study ran on: what it is, what could spoil a comparison, and what its counters say."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from volley.data.results import Launch, Warning
from volley.machine import control_groups
from volley.machine.environment import clean_environment
from volley.machine.processes import Command, run

OTHER_LOAD_LIMIT = 0.05
"""Share of a CPU used by others, while nothing is measured, above which a warning is given."""
STOLEN_LIMIT = 0.01
"""Share of time the hypervisor gave to others, above which a warning is given."""

LOADER = "/lib64/ld-linux-x86-64.so.2"
"""Where every program for x86-64 has glibc's (its ABI supplement, section 5.2.1)."""
LOADER_LIMIT_SECONDS = 20.0


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def usable_cpus() -> list[int]:
    """The CPUs this process may run on."""
    return sorted(os.sched_getaffinity(0))


def caches() -> list[dict[str, Any]]:
    """Data caches of the first usable CPU: ``{"level", "type", "bytes", "shared_cpus"}``, from sysfs."""
    found = []
    for index in sorted(Path(f"/sys/devices/system/cpu/cpu{usable_cpus()[0]}/cache").glob("index*")):
        size = re.fullmatch(r"(\d+)([KMG]?)", _read(index / "size"))
        kind = _read(index / "type")
        if not size or kind == "Instruction":
            continue
        unit = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}[size[2]]
        found.append(
            {
                "level": int(_read(index / "level") or 0),
                "type": kind,
                "bytes": int(size[1]) * unit,
                "shared_cpus": _read(index / "shared_cpu_list"),
            }
        )
    return found


def _cpu_model() -> str:
    match = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return match[1] if match else platform.machine()


def congestion_controls() -> list[str]:
    """TCP congestion controls that an unprivileged program may choose; the default first."""
    default = _read("/proc/sys/net/ipv4/tcp_congestion_control")
    allowed = _read("/proc/sys/net/ipv4/tcp_allowed_congestion_control").split()
    if os.geteuid() == 0:
        allowed += _read("/proc/sys/net/ipv4/tcp_available_congestion_control").split()
    return list(dict.fromkeys(name for name in [default, *allowed] if name))


def streams_from() -> int | None:
    """Bytes from which memcpy writes past the caches in a launch, as glibc's loader says (2.33 and later); None where
    it has no such thing."""
    if not Path(LOADER).exists():
        return None
    told = run(Command((LOADER, "--list-tunables"), clean_environment()), LOADER_LIMIT_SECONDS)
    match = re.search(r"x86_non_temporal_threshold: (0x[0-9a-f]+)", told.output)
    return int(match[1], 16) if match else None


def environment() -> dict[str, Any]:
    """The machine's facts, for study.json and the report."""
    memory = re.search(r"MemTotal:\s+(\d+)", _read("/proc/meminfo"))
    return {
        "host": platform.node(),
        "cpu": _cpu_model(),
        "cores": len(usable_cpus()),
        "usable_cpus": usable_cpus(),
        "caches": caches(),
        "streams_from": streams_from(),
        "memory_bytes": int(memory[1]) * 1024 if memory else 0,
        "kernel": f"{platform.system()} {platform.release()}",
        "libc": " ".join(platform.libc_ver()),
        "virtual": "hypervisor" in _read("/proc/cpuinfo").split("flags", 1)[-1].split("\n", 1)[0],
        "clock_source": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "not reported",
        "cpu_quota": control_groups.quota(),
        "congestion_control": _read("/proc/sys/net/ipv4/tcp_congestion_control"),
        "congestion_controls": congestion_controls(),
        "huge_pages": _read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "ptrace_scope": _read("/proc/sys/kernel/yama/ptrace_scope") or "no Yama",
        "python": platform.python_version(),
    }


def _cpu_times(stat: str | None = None) -> dict[str, float]:
    """Seconds of all CPUs since boot by kind (proc(5), /proc/stat's first line)."""
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    text = _read("/proc/stat") if stat is None else stat
    values = text.split("\n", 1)[0].split()[1 : 1 + len(names)]
    tick = os.sysconf("SC_CLK_TCK")
    return {name: int(value) / tick for name, value in zip(names, values, strict=False)}


def _network_counters(text: str | None = None) -> dict[str, float]:
    """TCP's counters from /proc/net/netstat and /proc/net/snmp: lines in pairs, names then values."""
    found: dict[str, float] = {}
    files = [_read("/proc/net/netstat"), _read("/proc/net/snmp")] if text is None else [text]
    lines = [line for file in files for line in file.splitlines() if line.startswith(("Tcp:", "TcpExt:"))]
    for names, values in zip(lines[::2], lines[1::2], strict=False):
        kind, _, rest = names.partition(": ")
        for name, value in zip(rest.split(), values.partition(": ")[2].split(), strict=False):
            found[f"{kind}.{name}"] = float(value)
    return found


INTERFACE_LINE = re.compile(
    r"^\s*(\S+):\s*(\d+)\s+(\d+)\s+\d+\s+(\d+)(?:\s+\d+){4}\s+(\d+)\s+(\d+)\s+\d+\s+(\d+)", re.MULTILINE
)
"""Of /proc/net/dev: bytes, packets, errors and drops received, compressed and so on; then the same, sent."""


def parse_counters(text: str) -> dict[str, float]:
    """Counters of a host from its /proc/net/netstat, snmp, dev and /proc/stat, one behind the other."""
    found = _network_counters(text)
    for name, *values in INTERFACE_LINE.findall(text):
        if name != "lo":
            kinds = ("rx_bytes", "rx_packets", "rx_drops", "tx_bytes", "tx_packets", "tx_drops")
            found |= {f"net.{name}.{kind}": float(value) for kind, value in zip(kinds, values, strict=True)}
    _, _, stat = text.partition("\ncpu ")
    return found | {f"cpu.{name}_seconds": value for name, value in _cpu_times(f"cpu {stat}").items()}


def counters() -> dict[str, float]:
    """Counters whose movement during a launch is kept with it."""
    return {
        **{f"cpu.{name}_seconds": value for name, value in _cpu_times().items()},
        **_network_counters(),
        **{f"cgroup.{name}": value for name, value in control_groups.throttling().items()},
    }


@contextlib.contextmanager
def counting(moved: dict[str, float]) -> Iterator[None]:
    """Fills `moved` with what counters() moved within the block; those that stood still are left out."""
    before = counters()
    yield
    after = counters()
    moved.update(
        {name: round(after[name] - before.get(name, 0), 4) for name in after if after[name] != before.get(name, 0)}
    )


OTHERS = "others.cpu_seconds"
"""Counter of a launch: CPU time that others than its processes used meanwhile."""
OTHERS_LIMIT = 0.15
"""CPUs' worth of it, in the middle launch of a study, above which a warning is given."""


def busy_seconds(moved: dict[str, float]) -> float:
    """CPU time used by anyone, from what counters() moved."""
    return sum(moved.get(f"cpu.{name}_seconds", 0) for name in ("user", "nice", "system", "irq", "softirq"))


def idle_load(seconds: float = 0.5) -> tuple[float, float]:
    """(CPUs' worth of other load, share of time stolen), watched for `seconds` while we sleep."""
    before = _cpu_times()
    time.sleep(seconds)
    after = _cpu_times()
    moved = {name: after[name] - before[name] for name in after}
    total = sum(moved.values()) or 1.0
    busy = total - moved.get("idle", 0) - moved.get("iowait", 0) - moved.get("steal", 0)
    return busy / seconds, moved.get("steal", 0) / total


def warnings_before() -> list[Warning]:
    """What on this machine, seen before anything is measured, could spoil a comparison."""
    found = []
    facts = environment()
    load, stolen = idle_load()
    if load > OTHER_LOAD_LIMIT:
        found.append(
            Warning(
                "other load",
                f"other programs use {load:.2f} CPUs while nothing is measured",
                "end them, or read small differences with care",
            )
        )
    if stolen > STOLEN_LIMIT:
        found.append(Warning("stolen time", f"the hypervisor gives {stolen:.0%} of this machine's time to others"))
    quota = facts["cpu_quota"]
    if quota is not None and quota < facts["cores"]:
        found.append(
            Warning(
                "CPU quota",
                f"this control group may use {quota:g} CPUs' worth of time on {facts['cores']} CPUs: "
                "ranks that spin are stopped for the rest of each period",
                "raise cpu.max, or restrict the CPUs instead of the time",
            )
        )
    if facts["governor"] not in ("performance", "not reported"):
        found.append(
            Warning(
                "frequency",
                f'the CPU frequency governor is "{facts["governor"]}": the first operations may run slower',
                "cpupower frequency-set -g performance",
            )
        )
    if facts["congestion_control"] == "bbr":
        found.append(
            Warning(
                "congestion control",
                "TCP's congestion control is bbr, which paces: on loopback large messages over TCP can take "
                "twice as long as with cubic",
                "sysctl net.ipv4.tcp_congestion_control=cubic",
            )
        )
    if facts["cores"] < 2:
        found.append(
            Warning(
                "one core",
                "two ranks share one core here: every number includes the scheduler",
                "use more CPUs",
            )
        )
    if facts["virtual"]:
        found.append(
            Warning(
                "virtual machine",
                "this is a virtual machine: caches and cores may be shared with neighbours that cannot be seen",
            )
        )
    if facts["clock_source"] and facts["clock_source"] not in ("tsc", "arch_sys_counter"):
        found.append(
            Warning(
                "clock",
                f'the kernel\'s clock source is "{facts["clock_source"]}": reading the time costs more, see the '
                "overhead per operation",
            )
        )
    return found


CROWDED, PINNED_DIFFERENTLY = "more ranks than cores", "pinning"
OTHER_LOAD_MEANWHILE = "other load while measuring"
STOLEN_MEANWHILE, THROTTLED_MEANWHILE = "stolen time while measuring", "CPU quota while measuring"
AFTERWARDS = {OTHER_LOAD_MEANWHILE, CROWDED, PINNED_DIFFERENTLY, STOLEN_MEANWHILE, THROTTLED_MEANWHILE}
"""Names of the warnings that are made anew from the launches each time a study goes on."""


def warnings_after(launches: list[Launch], cores: int) -> list[Warning]:
    """What the launches themselves showed that could spoil a comparison."""
    found = []
    measured = [launch for launch in launches if launch.operations]
    crowded = sorted({launch.ranks for launch in measured if launch.ranks > cores})
    if crowded:
        found.append(
            Warning(
                CROWDED,
                f"worlds of {', '.join(map(str, crowded))} ranks share {cores} cores: their numbers show how an MPI "
                "waits, not how fast it moves data",
            )
        )
    stolen = sum(launch.counters.get("cpu.steal_seconds", 0) for launch in measured)
    duration = sum(launch.seconds for launch in measured) * max(cores, 1)
    if duration and stolen / duration > STOLEN_LIMIT:
        found.append(
            Warning(
                STOLEN_MEANWHILE,
                f"while measuring, {stolen / duration:.1%} of the time was given to other machines",
            )
        )
    others = [launch.counters[OTHERS] / launch.seconds for launch in measured if OTHERS in launch.counters]
    if others and statistics.median(others) > OTHERS_LIMIT:
        found.append(
            Warning(
                OTHER_LOAD_MEANWHILE,
                f"in half of the launches other programs used {statistics.median(others):.2f} CPUs or more",
                "end them and measure again: ranks that wait for a core are slow without fault of their MPI",
            )
        )
    throttled = sum(launch.counters.get("cgroup.nr_throttled", 0) for launch in measured)
    if throttled:
        found.append(Warning(THROTTLED_MEANWHILE, f"the group was throttled {throttled:.0f} times while measuring"))
    placements: dict[tuple[str, int], dict[str, set[str]]] = {}
    for launch in measured:
        placements.setdefault((launch.test, launch.ranks), {}).setdefault(str(launch.affinity), set()).add(
            launch.system
        )
    differing = sorted({test for (test, _), by_place in placements.items() if len(by_place) > 1})
    if differing:
        found.append(
            Warning(
                PINNED_DIFFERENTLY,
                f"systems were pinned differently in: {', '.join(differing)} (see the table of launches)",
                "measure again with --pin",
            )
        )
    return found
