# SPDX-License-Identifier: BSD-3-Clause
"""This process's CPU control group: its quota, how often it was throttled, and groups of our own beside it.

Both kinds of hierarchy are known: version 1 (``cpu.cfs_quota_us``, ``cpu.shares``) where one is mounted with the
controller cpu, else version 2 (``cpu.max``, ``cpu.weight``); Linux's Documentation/scheduler/sched-bwc.rst and
Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PERIOD_US = 100_000
"""The kernel's own default."""
HIGHEST_SHARES, HIGHEST_WEIGHT = 262_144, 10_000
"""The most that versions 1 and 2 accept."""


@dataclass(frozen=True)
class Hierarchy:
    """Where the groups that share CPU time are, and which one this process is in."""

    top: Path
    """The mount: as much of the tree as can be seen from here."""
    own: Path
    """This process's group."""
    version: int

    @property
    def chain(self) -> list[Path]:
        """The own group and all above it, up to the top: each may have a limit."""
        inner = self.own.relative_to(self.top)
        return [self.own, *(self.top / parent for parent in inner.parents)] if inner != Path() else [self.top]


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def hierarchy(process: Path = Path("/proc/self")) -> Hierarchy | None:
    """The hierarchy that limits CPU time of `process`; None without control groups. Never raises."""
    found: dict[int, Hierarchy] = {}
    groups = dict(re.findall(r"^\d+:([^:]*):(.*)$", _read(process / "cgroup"), re.MULTILINE))
    for line in _read(process / "mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.partition(" ")
        fields = left.split()
        if kind == "cgroup" and "cpu" in options.rpartition(" ")[2].split(","):
            version, path = 1, next((path for names, path in groups.items() if "cpu" in names.split(",")), None)
        elif kind == "cgroup2":
            version, path = 2, groups.get("")
        else:
            continue
        if path is not None and version not in found:
            root, top = fields[3], Path(fields[4])
            # A container may see only a part of the tree, with or without a namespace that hides the rest.
            inner = path[len(root) :] if root != "/" and path.startswith(root) else path
            own = top / inner.strip("/")
            found[version] = Hierarchy(top, own if own.is_dir() else top, version)
    return found.get(1) or found.get(2)


def quota_of(group: Path) -> float | None:
    """CPUs' worth of time that one group may use; None without a limit of its own."""
    fields = _read(group / "cpu.max").split()
    if len(fields) != 2:
        fields = [_read(group / "cpu.cfs_quota_us"), _read(group / "cpu.cfs_period_us")]
    if not all(re.fullmatch(r"\d+", one) for one in fields) or int(fields[1]) == 0:
        return None
    return int(fields[0]) / int(fields[1])


def quota() -> float | None:
    """CPUs' worth of time that this process may use: the tightest limit of its group and all above it."""
    groups = hierarchy()
    limits = [one for group in (groups.chain if groups else []) if (one := quota_of(group)) is not None]
    return min(limits, default=None)


def throttling() -> dict[str, float]:
    """``nr_throttled`` (periods in which it was stopped) and ``throttled_usec``, of the group and all above it."""
    groups = hierarchy()
    found: dict[str, float] = {}
    for group in groups.chain if groups else []:
        said = dict(line.split(maxsplit=1) for line in _read(group / "cpu.stat").splitlines() if " " in line)
        if "nr_throttled" in said:
            nanoseconds = float(said.get("throttled_time", 0))
            microseconds = float(said.get("throttled_usec", nanoseconds / 1e3))
            found["nr_throttled"] = found.get("nr_throttled", 0) + float(said["nr_throttled"])
            found["throttled_usec"] = found.get("throttled_usec", 0) + microseconds
    return found


def unlimited() -> Path | None:
    """The nearest group above this process's limits; None if the limit is at the top of what can be seen."""
    groups = hierarchy()
    if groups is None:
        return None
    limited = [at for at, group in enumerate(groups.chain) if quota_of(group) is not None]
    above = groups.chain[limited[-1] + 1 :] if limited else groups.chain
    return above[0] if above else None


@contextlib.contextmanager
def new(parent: Path, cpus: float | None = None, heavy: bool = False) -> Iterator[Path]:
    """A new group below `parent`, as long as this lasts. Raises OSError where it may not be made.

    cpus: its quota. heavy: with the greatest weight against other groups. In version 2, where groups with processes
    cannot share out CPU time, such a group is made below the next one up that can. Processes that are still in it at
    the end go to this process's own group.
    """
    groups = hierarchy()
    if groups is None:
        raise OSError("there are no CPU control groups here")
    with contextlib.ExitStack() as stack:
        if groups.version == 2 and (cpus is not None or heavy):
            parent = stack.enter_context(_sharing_cpu_time(groups, parent))
        folder = parent / f"volley-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        folder.mkdir()
        stack.callback(_give_up, folder, groups)
        if cpus is not None:
            _set_quota(folder, cpus, groups.version)
        if heavy:
            _set(folder, "cpu.weight" if groups.version == 2 else "cpu.shares", _heaviest(groups.version))
        yield folder


def _give_up(folder: Path, groups: Hierarchy) -> None:
    """Removes a group of ours; whoever is still in it comes home."""
    for process in _read(folder / "cgroup.procs").split():
        with contextlib.suppress(OSError):  # it may have ended meanwhile
            enter(groups.own, int(process))
    with contextlib.suppress(OSError):
        folder.rmdir()


@contextlib.contextmanager
def _sharing_cpu_time(groups: Hierarchy, lowest: Path) -> Iterator[Path]:
    """`lowest` or the nearest group above it whose children have the controller cpu, in version 2.

    Raises OSError if none has, and none may be told to.
    """
    chain = groups.chain
    above = chain[chain.index(lowest) :] if lowest in chain else [lowest]
    problem: OSError | None = None
    for group in above:
        # The kernel's "no internal process constraint": below a group with processes none can be moved into. The root,
        # which alone has no type, is exempt.
        if (group / "cgroup.type").exists() and _read(group / "cgroup.procs"):
            continue
        if "cpu" in _read(group / "cgroup.subtree_control").split():
            yield group
            return
        try:
            _set(group, "cgroup.subtree_control", "+cpu")
        except OSError as refused:  # it is not ours (EACCES), or has no such controller (ENOENT)
            problem = problem or refused
            continue
        try:
            yield group
        finally:
            with contextlib.suppress(OSError):  # others may have come to use it
                _set(group, "cgroup.subtree_control", "-cpu")
        return
    raise problem or OSError(f"no control group above {lowest} is free to share out CPU time")


@contextlib.contextmanager
def within_new(parent: Path, cpus: float | None = None, heavy: bool = False) -> Iterator[None]:
    """Within, this process and all that it starts are in such a new group; afterwards it is back in its own."""
    with new(parent, cpus, heavy) as folder:
        enter(folder, os.getpid())
        yield


def enter(group: Path, process: int) -> None:
    """Puts a process into a group. Raises OSError where it may not be."""
    _set(group, "cgroup.procs", process)


def _set_quota(group: Path, cpus: float, version: int) -> None:
    if version == 2:
        _set(group, "cpu.max", f"{cpus * PERIOD_US:.0f} {PERIOD_US}")
    else:
        _set(group, "cpu.cfs_period_us", PERIOD_US)
        _set(group, "cpu.cfs_quota_us", round(cpus * PERIOD_US))


def _heaviest(version: int) -> int:
    return HIGHEST_WEIGHT if version == 2 else HIGHEST_SHARES


def _set(group: Path, name: str, value: object) -> None:
    (group / name).write_text(f"{value}\n")
