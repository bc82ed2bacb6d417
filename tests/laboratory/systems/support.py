# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of launches share."""

from __future__ import annotations

import contextlib
import uuid
from pathlib import Path

from volley.machine import processes
from volley.machine.processes import Outcome
from volley.systems import System

LIMIT_SECONDS = 60.0


def greet(system: System, program: Path, ranks: int, *arguments: str) -> Outcome:
    """Runs hello and checks that every rank spoke once."""
    outcome = processes.run(system.launch(program, arguments, ranks), LIMIT_SECONDS)
    assert outcome.fine, outcome
    spoken = sorted(line for line in outcome.output.splitlines() if line.startswith("rank"))
    assert spoken == sorted(f"rank {rank} of {ranks}" for rank in range(ranks)), outcome
    return outcome


def freeze_and_go_on(system: System, hang: Path, hello: Path) -> None:
    """A launch that never ends is ended, leaves no process, and does not spoil the next one."""
    segments = {path.name for path in Path("/dev/shm").iterdir()}
    mark = uuid.uuid4().hex  # its own: another run of these tests must not be ended by this one
    outcome = processes.run(system.launch(hang, [], 3), 1.5, mark=mark)
    assert outcome.timed_out
    assert processes.end_all(mark) == 0
    system.recover()
    greet(system, hello, 2)
    left = {path.name for path in Path("/dev/shm").iterdir()} - segments
    assert not [name for name in left if name.startswith(("vader_segment", "sm_segment")) and not _in_use(name)], left
    assert not _running(hang)


def _in_use(segment: str) -> bool:
    """Whether a process has it: another MPI may run on this machine."""
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            if f"/dev/shm/{segment}" in maps.read_text():
                return True
    return not (Path("/dev/shm") / segment).exists()


def _running(program: Path) -> list[str]:
    found = []
    for link in Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            if link.readlink() == program:
                found.append(str(link))
    return found
