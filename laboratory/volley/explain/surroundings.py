# SPDX-License-Identifier: BSD-3-Clause
"""What experiments and plants change around launches: priority, affinity, control groups, busy processes.

All are context managers that undo what they did, whatever happens. Launches inherit from the thread that starts them.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path

from volley.machine import control_groups

HIGHEST = -20
LOOP = "while kill -0 $PPID; do :; done"
"""Busy until the process that started it is gone: nothing stays behind."""


@contextlib.contextmanager
def affinity(cpus: Collection[int]) -> Iterator[None]:
    """Within, this process and what it starts may run on `cpus` only. Raises OSError if none of them may be used."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@cache
def reachable_cpus() -> frozenset[int]:
    """CPUs this process could use if it widened its affinity: those a control group (cpuset) leaves it."""
    before = os.sched_getaffinity(0)
    with contextlib.suppress(OSError), affinity(range(os.cpu_count() or 1)):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(before)


def idle_cpus(seconds: float = 0.3, most_busy: float = 0.2) -> list[int]:
    """Usable CPUs that others leave idle, watched for `seconds`: busy for less than `most_busy` of the time."""
    before = _busy_and_all()
    time.sleep(seconds)
    after = _busy_and_all()
    return [
        cpu
        for cpu in sorted(os.sched_getaffinity(0))
        if cpu in before
        and cpu in after
        and after[cpu][0] - before[cpu][0] <= most_busy * max(after[cpu][1] - before[cpu][1], 1)
    ]


def _busy_and_all() -> dict[int, tuple[int, int]]:
    """CPU → (ticks busy or stolen, all ticks) since boot: proc(5), /proc/stat."""
    found = {}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *ticks = line.split()
        if name.startswith("cpu") and name != "cpu":
            values = [int(one) for one in ticks[:8]]
            found[int(name[3:])] = (sum(values) - values[3] - values[4], sum(values))
    return found


@contextlib.contextmanager
def priority() -> Iterator[None]:
    """Within, what this process starts comes before all others, as far as it is allowed to.

    Niceness says nothing against processes of other control groups, nor of other sessions where the kernel groups
    those (sched_autogroup, sched(7)). So a group of our own gets the greatest weight as well where it can be made,
    with the quota that holds here, so that only the priority changes. Raises OSError if neither can be done.
    """
    with contextlib.ExitStack() as stack:
        heavy = _enter_heavy_group(stack)
        before = os.getpriority(os.PRIO_PROCESS, 0)
        try:
            os.setpriority(os.PRIO_PROCESS, 0, HIGHEST)
            stack.callback(os.setpriority, os.PRIO_PROCESS, 0, before)
        except OSError:
            if not heavy:
                raise
        yield


def _enter_heavy_group(stack: contextlib.ExitStack) -> bool:
    groups = control_groups.hierarchy()
    if groups is None:
        return False
    with contextlib.suppress(OSError):
        stack.enter_context(control_groups.within_new(groups.top, control_groups.quota(), heavy=True))
        return True
    return False


@contextlib.contextmanager
def cpu_quota(cpus: float) -> Iterator[None]:
    """Within, this process and what it starts have `cpus` CPUs' worth of time. Raises OSError where not allowed."""
    groups = control_groups.hierarchy()
    if groups is None:
        raise OSError("there are no CPU control groups here")
    with control_groups.within_new(groups.own, cpus):
        yield


@contextlib.contextmanager
def no_cpu_quota() -> Iterator[None]:
    """Within, no quota holds for this process and what it starts. Raises OSError where not allowed."""
    parent = control_groups.unlimited()
    if parent is None:
        raise OSError("the control group with the limit is the topmost that can be seen from here")
    with control_groups.within_new(parent):
        yield


@contextlib.contextmanager
def busy(cpus: Sequence[int]) -> Iterator[None]:
    """Within, one process loops on each of `cpus` (name one twice for two), as somebody else's program does.

    In a session and, where that can be made, in a control group of its own beside ours: within one group a rank that
    yields gives its core away for a whole slice, so that every operation is slow alike and nothing is odd.
    """
    with contextlib.ExitStack() as stack:
        groups = control_groups.hierarchy()
        apart = None
        with contextlib.suppress(OSError):
            apart = stack.enter_context(control_groups.new(groups.chain[:2][-1])) if groups else None
        for cpu in cpus:
            process = subprocess.Popen(
                ("sh", "-c", LOOP),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            os.sched_setaffinity(process.pid, {cpu})
            if apart is not None:
                control_groups.enter(apart, process.pid)
        yield


def why_not(surroundings: contextlib.AbstractContextManager[None]) -> str:
    """Why these surroundings cannot be had here, by trying; '' if they can."""
    try:
        with surroundings:
            return ""
    except OSError as problem:
        return str(problem)
